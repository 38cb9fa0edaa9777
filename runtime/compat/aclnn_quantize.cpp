// CANN's aclnnQuantize: its argument rules.
#include "static_call.h"

#include <cinttypes>

namespace qdq::compat {

namespace {

aclnnStatus compute(executor &of, void *workspace) {
    return compute_static(quantizes, of, workspace, of.of.inputs[0]->view(), of.of.outputs[0]->view());
}

constexpr operation op{"aclnnQuantize", {{"x"}, {"scales"}, {"zeroPoints", true}}, {{"out"}}, compute};

aclnnStatus check_shapes(const aclTensor &x, const aclTensor &scales, const aclTensor *zero_points, int32_t axis,
                         const aclTensor &out) {
    if (const aclnnStatus status = check_rank(op, "x", x, 1, ascend::most_dimensions)) {
        return status;
    }
    if (!same_shape(out, x)) {
        return invalid(op, "out: its shape is not x's");
    }
    if (scales.rank != 1) {
        return invalid(op, "scales: %" PRIu64 " dimensions, not 1", scales.rank);
    }
    if (zero_points && zero_points->rank != 1) {
        return invalid(op, "zeroPoints: %" PRIu64 " dimensions, not 1", zero_points->rank);
    }
    if (zero_points && zero_points->shape[0] != scales.shape[0]) {
        return invalid(op, "zeroPoints: %" PRId64 " elements for %" PRId64 " scales", zero_points->shape[0],
                       scales.shape[0]);
    }
    if (scales.shape[0] == 1) {
        return ACLNN_SUCCESS;
    }
    const int rank = static_cast<int>(x.rank);
    if (axis < -rank || axis >= rank) {
        return invalid(op, "axis: %d is not in [%d, %d)", axis, -rank, rank);
    }
    const int64_t length = x.shape[axis < 0 ? axis + rank : axis];
    return scales.shape[0] == length
               ? aclnnStatus{ACLNN_SUCCESS}
               : invalid(op, "scales: %" PRId64 " elements; x's axis %d has %" PRId64, scales.shape[0], axis, length);
}

aclnnStatus check_types(const aclTensor &x, const aclTensor &scales, const aclTensor *zero_points, int dtype,
                        const aclTensor &out) {
    aclnnStatus status;
    if ((status = check_type<ACL_FLOAT, ACL_FLOAT16, ACL_BF16>(op, "x", x.type)) ||
        (status = check_type<ACL_FLOAT, ACL_FLOAT16, ACL_BF16>(op, "scales", scales.type)) ||
        (zero_points && (status = check_type<ACL_INT32, ACL_INT8, ACL_UINT8, ACL_FLOAT, ACL_BF16>(
                             op, "zeroPoints", zero_points->type))) ||
        (status = check_type<ACL_INT8, ACL_UINT8, ACL_INT32, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E5M2>(
             op, "dtype", dtype)) ||
        (status = check_result_type(op, "dtype", dtype, "out", out))) {
        return status;
    }
    const bool asks_for_bf16 = scales.type == ACL_BF16 || (zero_points && zero_points->type == ACL_BF16);
    const bool all_bf16 =
        x.type == ACL_BF16 && scales.type == ACL_BF16 && (!zero_points || zero_points->type == ACL_BF16);
    if (asks_for_bf16 && !all_bf16) {
        return invalid(op,
                       "x, scales, zeroPoints: data types %d, %d, %d; where scales or zeroPoints is bf16 (27), all are",
                       x.type, scales.type, zero_points ? zero_points->type : -1);
    }
    return ACLNN_SUCCESS;
}

}  // namespace

}  // namespace qdq::compat

using namespace qdq::compat;

aclnnStatus aclnnQuantizeGetWorkspaceSize(const aclTensor *x, const aclTensor *scales, const aclTensor *zeroPoints,
                                          aclDataType dtype, int32_t axis, aclTensor *out, uint64_t *workspaceSize,
                                          aclOpExecutor **executor) {
    const operands all{{x, scales, zeroPoints}, {out}};
    aclnnStatus status;
    if ((status = check_operands(op, all, workspaceSize, executor)) ||
        (status = check_shapes(*x, *scales, zeroPoints, axis, *out)) ||
        (status = check_types(*x, *scales, zeroPoints, value_of(dtype), *out))) {
        return status;
    }
    auto *const made = make_executor(op, all, 0, workspaceSize, executor);
    if (!made) {
        return ACLNN_ERR_INNER_CREATE_EXECUTOR;
    }
    made->options.axis = axis;
    return ACLNN_SUCCESS;
}

aclnnStatus aclnnQuantize(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream) {
    return run(op, workspace, workspaceSize, executor);
}
