// CANN's aclnnAscendAntiQuant: its argument rules.
#include "static_call.h"

#include <algorithm>
#include <cinttypes>

namespace qdq::compat {

namespace {

aclnnStatus compute(executor &of, void *workspace) {
    const aclTensor &y = *of.of.outputs[0];
    return compute_static(dequantizes, of, workspace, codes_view(*of.of.inputs[0], y), y.view());
}

constexpr operation op{"aclnnAscendAntiQuant", {{"x"}, {"scale"}, {"offset", true}}, {{"y"}}, compute};

aclnnStatus check_types(const aclTensor &x, const aclTensor &scale, const aclTensor *offset, int64_t dst_type,
                        bool sqrt_mode, const aclTensor &y) {
    aclnnStatus status;
    if ((status = check_type<ACL_INT8, ACL_INT4, ACL_INT32, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E5M2>(
             op, "x", x.type)) ||
        (status = check_type<ACL_FLOAT, ACL_BF16>(op, "scale", scale.type)) ||
        (status = check_type<ACL_FLOAT16, ACL_BF16>(op, "y", y.type)) ||
        (status = check_result_type(op, "dstType", dst_type, "y", y))) {
        return status;
    }
    if (offset && offset->type != scale.type) {
        return invalid(op, "offset: data type %d is not scale's, %d", offset->type, scale.type);
    }
    if (is_float8(x.type) && (scale.type != ACL_FLOAT || sqrt_mode)) {
        return invalid(op, "%s for an x of float8, data type %d",
                       sqrt_mode ? "sqrtMode: it is true" : "scale: its data type is not f32", x.type);
    }
    return ACLNN_SUCCESS;
}

// A scalar of INT32 has the codes of a y of shape (8,).
aclnnStatus check_shapes(const aclTensor &x, const aclTensor &y) {
    if (x.rank > 0) {
        const aclnnStatus status = check_rank(op, "y", y, 1, ascend::most_dimensions);
        return status ? status : check_codes(op, "x", x, "y", y);
    }
    if (x.type == ACL_INT4) {
        return invalid(op, "x: a scalar has no even last dimension, as 4 bits want it");
    }
    const bool is_packed = x.type == ACL_INT32;
    const bool fits = is_packed ? y.rank == 1 && y.shape[0] == 8 : y.rank == 0;
    return fits ? aclnnStatus{ACLNN_SUCCESS}
                : invalid(op, "y: its shape is not %s, as of a scalar x", is_packed ? "(8,)" : "()");
}

// The scale is one, or one for each of y's elements along its last or last but one dimension: in one dimension, or with
// 1 in all others. `along` becomes that dimension.
aclnnStatus check_scale(const aclTensor &scale, const aclTensor *offset, const aclTensor &y, int32_t &along) {
    const int rank = static_cast<int>(y.rank);
    if (scale.rank == 0 || scale.empty() || (scale.rank != 1 && scale.rank != y.rank)) {
        return invalid(op, "scale: it is empty, or has %" PRIu64 " dimensions, which are neither 1 nor y's, %d",
                       scale.rank, rank);
    }
    if (offset && !same_shape(*offset, scale)) {
        return invalid(op, "offset: its shape is not scale's");
    }
    const int64_t count = scale.layout().count();
    if (count == 1) {
        along = 0;
        return ACLNN_SUCCESS;
    }
    for (along = rank - 1; along >= std::max(0, rank - 2); along--) {
        const int64_t length = scale.shape[scale.rank == 1 ? 0 : along];
        if (count == length && length == y.shape[along]) {
            return ACLNN_SUCCESS;
        }
    }
    return invalid(op,
                   "scale: %" PRId64
                   " elements are neither one nor one for each along y's last or last but one "
                   "dimension",
                   count);
}

}  // namespace

}  // namespace qdq::compat

using namespace qdq::compat;

aclnnStatus aclnnAscendAntiQuantGetWorkspaceSize(const aclTensor *x, const aclTensor *scale, const aclTensor *offset,
                                                 int64_t dstType, bool sqrtMode, const aclTensor *y,
                                                 uint64_t *workspaceSize, aclOpExecutor **executor) {
    const operands all{{x, scale, offset}, {y}};
    int32_t along = 0;
    aclnnStatus status;
    if ((status = check_operands(op, all, workspaceSize, executor)) ||
        (status = check_types(*x, *scale, offset, dstType, sqrtMode, *y)) || (status = check_shapes(*x, *y)) ||
        (status = check_scale(*scale, offset, *y, along))) {
        return status;
    }
    auto *const made = make_executor(op, all, squares_size(sqrtMode, *scale), workspaceSize, executor);
    if (!made) {
        return ACLNN_ERR_INNER_CREATE_EXECUTOR;
    }
    made->options.dequantize_zp = QDQ_ZP_ADD;
    made->options.axis = along;
    return ACLNN_SUCCESS;
}

aclnnStatus aclnnAscendAntiQuant(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream) {
    return run(op, workspace, workspaceSize, executor);
}
