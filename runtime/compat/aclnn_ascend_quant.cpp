// CANN's aclnnAscendQuant and aclnnAscendQuantV3: their argument rules.
#include "static_call.h"

#include <algorithm>
#include <cinttypes>

namespace qdq::compat {

namespace {

aclnnStatus compute(executor &of, void *workspace) {
    const aclTensor &x = *of.of.inputs[0];
    return compute_static(quantizes, of, workspace, x.view(), codes_view(*of.of.outputs[0], x));
}

constexpr operation first{"aclnnAscendQuant", {{"x"}, {"scale"}, {"offset", true}}, {{"y"}}, compute};
constexpr operation third{"aclnnAscendQuantV3", {{"x"}, {"scale"}, {"offset", true}}, {{"y"}}, compute};

struct call {
    const operation &op;
    const aclTensor *x, *scale, *offset, *y;
    bool sqrt_mode;
    const char *round_mode;
    int32_t dst_type, axis;

    operands all() const { return {{x, scale, offset}, {y}}; }
};

aclnnStatus check_types(const call &c) {
    const operation &op = c.op;
    aclnnStatus status;
    if ((status = check_type<ACL_FLOAT, ACL_FLOAT16, ACL_BF16>(op, "x", c.x->type)) ||
        (status = check_type<ACL_FLOAT, ACL_FLOAT16, ACL_BF16>(op, "scale", c.scale->type)) ||
        (status = check_type<ACL_INT8, ACL_INT32, ACL_INT4, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E5M2>(
             op, "dstType", c.dst_type)) ||
        (status = check_result_type(op, "dstType", c.dst_type, "y", *c.y))) {
        return status;
    }
    if (c.x->type != ACL_FLOAT && c.scale->type != c.x->type) {
        return invalid(op, "scale: data type %d is not x's, %d", c.scale->type, c.x->type);
    }
    return !c.offset || c.offset->type == c.scale->type
               ? aclnnStatus{ACLNN_SUCCESS}
               : invalid(op, "offset: data type %d is not scale's, %d", c.offset->type, c.scale->type);
}

aclnnStatus check_round_mode(const call &c, qdq_rounding &rounding) {
    static constexpr struct {
        const char *name;
        qdq_rounding rounding;
    } modes[] = {{"round", QDQ_NEAREST_EVEN}, {"floor", QDQ_DOWN}, {"ceil", QDQ_UP}, {"trunc", QDQ_TOWARD_ZERO}};
    if (!c.round_mode) {
        return invalid(c.op, "roundMode: NULL");
    }
    for (const auto &mode : modes) {
        if (std::strcmp(c.round_mode, mode.name) == 0 &&
            (mode.rounding == QDQ_NEAREST_EVEN || !is_float8(c.dst_type))) {
            rounding = mode.rounding;
            return ACLNN_SUCCESS;
        }
    }
    if (c.dst_type == ACL_HIFLOAT8 && std::strcmp(c.round_mode, "hybrid") == 0) {
        return invalid(c.op, "roundMode: \"hybrid\" is not offered; of HIFLOAT8 round is");
    }
    return invalid(c.op, "roundMode: \"%s\" is not %s", c.round_mode,
                   is_float8(c.dst_type) ? "round, the one for float8" : "one of round, floor, ceil, trunc");
}

// The scale is one, or one for each of x's elements along axis: in one dimension, or with 1 in all others.
aclnnStatus check_scale(const call &c) {
    const aclTensor &scale = *c.scale;
    const int rank = static_cast<int>(c.x->rank);
    if (c.axis < -rank || c.axis >= rank || (c.axis < 0 ? c.axis + rank : c.axis) < rank - 2) {
        return invalid(c.op, "axis: %d is not one of the last two of %d dimensions", c.axis, rank);
    }
    const int along = c.axis < 0 ? c.axis + rank : c.axis;
    if (scale.rank != 1 && scale.rank != c.x->rank) {
        return invalid(c.op, "scale: %" PRIu64 " dimensions are neither 1 nor x's, %d", scale.rank, rank);
    }
    const int64_t length = scale.shape[scale.rank == 1 ? 0 : along];
    if ((length != 1 && length != c.x->shape[along]) || scale.layout().count() != length) {
        return invalid(c.op, "scale: it has neither one element nor one for each of the %" PRId64 " along axis %d",
                       c.x->shape[along], c.axis);
    }
    return !c.offset || same_shape(*c.offset, scale) ? aclnnStatus{ACLNN_SUCCESS}
                                                     : invalid(c.op, "offset: its shape is not scale's");
}

aclnnStatus get_workspace_size(const call &c, uint64_t *workspace_size, aclOpExecutor **number) {
    qdq_rounding rounding{};
    aclnnStatus status;
    if ((status = check_operands(c.op, c.all(), workspace_size, number)) ||
        (status = check_rank(c.op, "x", *c.x, 1, ascend::most_dimensions)) || (status = check_types(c)) ||
        (status = check_scale(c)) || (status = check_codes(c.op, "y", *c.y, "x", *c.x)) ||
        (status = check_round_mode(c, rounding))) {
        return status;
    }
    const uint64_t workspace = squares_size(c.sqrt_mode, *c.scale);
    auto *const made = make_executor(c.op, c.all(), workspace, workspace_size, number);
    if (!made) {
        return ACLNN_ERR_INNER_CREATE_EXECUTOR;
    }
    made->options.scale_mode = QDQ_MULTIPLY;
    made->options.rounding = rounding;
    made->options.axis = c.axis;
    return ACLNN_SUCCESS;
}

}  // namespace

}  // namespace qdq::compat

using namespace qdq::compat;

aclnnStatus aclnnAscendQuantGetWorkspaceSize(const aclTensor *x, const aclTensor *scale, const aclTensor *offset,
                                             bool sqrtMode, const char *roundMode, int32_t dstType, const aclTensor *y,
                                             uint64_t *workspaceSize, aclOpExecutor **executor) {
    return get_workspace_size({first, x, scale, offset, y, sqrtMode, roundMode, dstType, -1}, workspaceSize, executor);
}

aclnnStatus aclnnAscendQuant(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream) {
    return run(first, workspace, workspaceSize, executor);
}

aclnnStatus aclnnAscendQuantV3GetWorkspaceSize(const aclTensor *x, const aclTensor *scale, const aclTensor *offset,
                                               bool sqrtMode, const char *roundMode, int32_t dstType, int32_t axis,
                                               const aclTensor *y, uint64_t *workspaceSize, aclOpExecutor **executor) {
    return get_workspace_size({third, x, scale, offset, y, sqrtMode, roundMode, dstType, axis}, workspaceSize,
                              executor);
}

aclnnStatus aclnnAscendQuantV3(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream) {
    return run(third, workspace, workspaceSize, executor);
}
