// Quantize and dequantize by scales that are given: a call, or a run of the plan that a repeatable executor keeps.
#pragma once

#include "executors.h"

namespace qdq::compat {

struct static_function {
    decltype(qdq_quantize) *call;
    decltype(qdq_plan_quantize) *plan;
};
inline constexpr static_function quantizes{qdq_quantize, qdq_plan_quantize},
    dequantizes{qdq_dequantize, qdq_plan_dequantize};

// Bytes of a workspace for the squares of a scale's elements, where the mode asks for them.
inline uint64_t squares_size(bool sqrt_mode, const aclTensor &scale) {
    return sqrt_mode ? uint64_t(scale.layout().count()) * sizeof(float) : 0;
}

// Of the executor's inputs, x, scale and zero point or offset, to its output. The scale's squares, in f32, take its
// place where there is a workspace.
inline aclnnStatus compute_static(const static_function &function, executor &of, void *workspace, const qdq_tensor &x,
                                  const qdq_tensor &y) {
    const operation &op = *of.op;
    const qdq_names names{op.inputs[0].name, op.inputs[1].name, op.inputs[2].name, op.outputs[0].name};
    const aclTensor *const given = of.of.inputs[2];
    const qdq_tensor zero_point = given ? given->view() : qdq_tensor{};
    const qdq_tensor *const zero_point_or_null = given ? &zero_point : nullptr;
    qdq_tensor scale = of.of.inputs[1]->view();
    if (of.workspace_size > 0) {
        auto *const squares = static_cast<float *>(workspace);
        const qdq_names of_squares{"", names.scale, names.scale, "workspace"};
        if (const aclnnStatus status = from_qdq(op, of_squares, ascend::multiply(scale, scale, squares))) {
            return status;
        }
        scale = {squares, QDQ_F32, scale.rank, scale.shape, nullptr, {}};
    }
    if (!of.plan) {
        return from_qdq(op, names, function.call(&x, &scale, zero_point_or_null, &y, &of.options));
    }
    const aclnnStatus status = keep_plan(of, workspace, [&](qdq_plan *plan) {
        return from_qdq(op, names, function.plan(plan, &x, &scale, zero_point_or_null, &y, &of.options));
    });
    return status ? status : from_qdq(op, names, qdq_run(of.plan, x.data, y.data, nullptr));
}

}  // namespace qdq::compat
