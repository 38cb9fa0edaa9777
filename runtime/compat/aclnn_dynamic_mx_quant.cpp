// CANN's aclnnDynamicMxQuant: its argument rules, and its layout of scales.
#include "executors.h"

#include <cinttypes>

namespace qdq::compat {

namespace {

aclnnStatus compute(executor &of, void *workspace);

constexpr operation op{"aclnnDynamicMxQuant", {{"x"}}, {{"yOut"}, {"mxscaleOut"}}, compute};
constexpr int most_dimensions_of_x = 7;  // the scales have one more

ascend::mx_scales scales_of(const aclTensor &x, int32_t axis, int64_t block) {
    return {static_cast<int32_t>(x.rank), x.shape, axis, block};
}

aclnnStatus check_types(const aclTensor &x, int64_t dst_type, const aclTensor &y, const aclTensor &scale) {
    aclnnStatus status;
    if ((status = check_type<ACL_FLOAT16, ACL_BF16, ACL_FLOAT>(op, "x", x.type)) ||
        (status =
             check_type<ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN, ACL_FLOAT4_E2M1, ACL_FLOAT4_E1M2>(op, "yOut", y.type)) ||
        (status = check_result_type(op, "dstType", dst_type, "yOut", y))) {
        return status;
    }
    return check_type<ACL_FLOAT8_E8M0>(op, "mxscaleOut", scale.type);
}

aclnnStatus check_mode(const char *name, bool is_float4, ascend::float4_mode &mode) {
    if (!ascend::find_float4_mode(name ? name : "rint", mode) || (!is_float4 && mode != ascend::float4_mode::rint)) {
        return invalid(op, "roundModeOptional: \"%s\" is not %s", name,
                       is_float4 ? "one of rint, floor, round" : "rint, the one for float8");
    }
    return ACLNN_SUCCESS;
}

aclnnStatus check_attributes(const aclTensor &x, int64_t axis, int64_t block, int64_t scale_alg, const aclTensor &y) {
    const auto rank = static_cast<int64_t>(x.rank);
    if (axis < -rank || axis >= rank) {
        return invalid(op, "axis: %" PRId64 " is not in [%" PRId64 ", %" PRId64 ")", axis, -rank, rank);
    }
    if (block < 32 || block > 1024 || block % 32 != 0) {
        return invalid(op, "blocksize: %" PRId64 " is not a multiple of 32 in 32..1024", block);
    }
    if (x.type == ACL_FLOAT && (block != 32 || x.shape[axis < 0 ? axis + rank : axis] < 32)) {
        return invalid(op, "blocksize: %" PRId64 "; an x of f32 has blocks of 32 alone, and one at least", block);
    }
    if (scale_alg != 0 && (scale_alg != 1 || !is_float8(y.type))) {
        return invalid(op, "scaleAlg: %" PRId64 " is not 0%s", scale_alg, is_float8(y.type) ? " or 1" : "");
    }
    return ACLNN_SUCCESS;
}

// x's shape with pairs of blocks along the axis, and 2 at the end.
aclnnStatus check_scale(const aclTensor &x, int32_t axis, int64_t block, const aclTensor &scale) {
    bool fits = scale.rank == x.rank + 1 && scale.last() == 2;
    for (uint64_t d = 0; fits && d < x.rank; d++) {
        fits = scale.shape[d] == (int32_t(d) == axis ? scales_of(x, axis, block).pairs() : x.shape[d]);
    }
    if (!fits) {
        return invalid(op, "mxscaleOut: its shape is not x's with %" PRId64 " in dimension %d, and 2 at the end",
                       scales_of(x, axis, block).pairs(), axis);
    }
    return scale.layout().is_dense() ? aclnnStatus{ACLNN_SUCCESS}
                                     : invalid(op, "mxscaleOut: its strides are not dense");
}

// What is written last lies apart from all else.
aclnnStatus check_apart(const executor &of, const qdq_tensor &x, void *workspace) {
    const auto size = static_cast<int64_t>(of.workspace_size);
    const qdq_tensor y = of.of.outputs[0]->view(), paired = of.of.outputs[1]->view(),
                     plain{workspace, QDQ_U8, 1, &size, nullptr, {}};
    const struct {
        const char *name;
        const qdq_tensor &tensor;
    } others[] = {{"x", x}, {"yOut", y}, {"workspace", plain}};
    for (const auto &[name, tensor] : others) {
        if (ascend::byte_range(paired).meets(ascend::byte_range(tensor))) {
            return invalid(op, "mxscaleOut: it overlaps %s", name);
        }
    }
    return ACLNN_SUCCESS;
}

// By the modes floor and round: codes of x, in the workspace in f32, whose nearest ones to even they are afterwards.
aclnnStatus compute_by_mode(const executor &of, const qdq_tensor &x, float *values, const qdq_tensor &dense,
                            const qdq_tensor &y) {
    const qdq_names names{"workspace", "workspace", "", "yOut"};
    const qdq_tensor wide{values, QDQ_F32, x.rank, x.shape, nullptr, {}};
    aclnnStatus status;
    if ((status = from_qdq(op, {"", "x", "", "workspace"}, ascend::widen(x, values))) ||
        (status = from_qdq(op, names, qdq_quantize_dynamic(&wide, &dense, nullptr, &y, &of.how, &of.options)))) {
        return status;
    }
    scales_of(*of.of.inputs[0], of.along, of.options.block_size)
        .each(values, x.shape[of.along], of.options.block_size, static_cast<const uint8_t *>(dense.data),
              [&](float &value, uint8_t scale) {
                  value = ascend::rounded_to_float4(value, scale, y.dtype == QDQ_F4E2M1, of.mode);
              });
    return from_qdq(op, names, qdq_quantize(&wide, &dense, nullptr, &y, &of.options));
}

aclnnStatus compute(executor &of, void *workspace) {
    const aclTensor &given = *of.of.inputs[0];
    const ascend::mx_scales scales = scales_of(given, of.along, of.options.block_size);
    const qdq_tensor x = given.view(), y = of.of.outputs[0]->view(), paired = of.of.outputs[1]->view();
    ascend::layout plain_layout(qdq_tensor{nullptr, QDQ_E8M0, x.rank, x.shape, nullptr, {}});
    plain_layout.shape[of.along] = scales.blocks;
    auto *const plain = static_cast<uint8_t *>(workspace) + (of.workspace_size - scales.count());
    const qdq_tensor dense{plain, QDQ_E8M0, x.rank, plain_layout.shape, nullptr, {}};
    if (const aclnnStatus status = check_apart(of, x, workspace)) {
        return status;
    }
    const qdq_names names{"x", "workspace", "", "yOut"};
    aclnnStatus status;
    if (of.mode != ascend::float4_mode::rint) {
        status = compute_by_mode(of, x, static_cast<float *>(workspace), dense, y);
    } else if (!of.plan) {
        status = from_qdq(op, names, qdq_quantize_dynamic(&x, &dense, nullptr, &y, &of.how, &of.options));
    } else if (!(status = keep_plan(of, nullptr, [&](qdq_plan *plan) {
                     return from_qdq(op, names,
                                     qdq_plan_quantize_dynamic(plan, &x, &dense, nullptr, &y, &of.how, &of.options));
                 }))) {
        status = from_qdq(op, names, qdq_run_dynamic(of.plan, x.data, plain, nullptr, y.data, nullptr));
    }
    if (!status) {
        scales.lay_out(plain, static_cast<uint8_t *>(paired.data));
    }
    return status;
}

}  // namespace

}  // namespace qdq::compat

using namespace qdq::compat;

aclnnStatus aclnnDynamicMxQuantGetWorkspaceSize(const aclTensor *x, int64_t axis, char *roundModeOptional,
                                                int64_t dstType, int64_t blocksize, int64_t scaleAlg,
                                                const aclTensor *yOut, const aclTensor *mxscaleOut,
                                                uint64_t *workspaceSize, aclOpExecutor **executor) {
    const operands all{{x}, {yOut, mxscaleOut}};
    ascend::float4_mode mode{};
    aclnnStatus status;
    if ((status = check_operands(op, all, workspaceSize, executor)) ||
        (status = check_rank(op, "x", *x, 1, most_dimensions_of_x)) ||
        (status = check_types(*x, dstType, *yOut, *mxscaleOut)) ||
        (status = check_attributes(*x, axis, blocksize, scaleAlg, *yOut)) ||
        (status = check_mode(roundModeOptional, !is_float8(yOut->type), mode)) ||
        (status = check_codes(op, "yOut", *yOut, "x", *x))) {
        return status;
    }
    if (!yOut->layout().is_dense()) {
        return invalid(op, "yOut: its strides are not dense");
    }
    const auto along = static_cast<int32_t>(axis < 0 ? axis + static_cast<int64_t>(x->rank) : axis);
    if ((status = check_scale(*x, along, blocksize, *mxscaleOut))) {
        return status;
    }
    const uint64_t plain = x->empty() ? 0 : scales_of(*x, along, blocksize).count();
    const uint64_t values = mode == ascend::float4_mode::rint ? 0 : uint64_t(x->layout().count()) * sizeof(float);
    auto *const made = make_executor(op, all, values + plain, workspaceSize, executor);
    if (!made) {
        return ACLNN_ERR_INNER_CREATE_EXECUTOR;
    }
    made->along = made->options.axis = along;
    made->options.block_size = blocksize;
    made->mode = mode;
    made->how.rule = scaleAlg == 0 ? QDQ_SCALE_POWER_FLOOR : QDQ_SCALE_POWER_ROUND_UP;
    return ACLNN_SUCCESS;
}

aclnnStatus aclnnDynamicMxQuant(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream) {
    return run(op, workspace, workspaceSize, executor);
}
