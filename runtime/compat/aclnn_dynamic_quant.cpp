// CANN's aclnnDynamicQuant, V2 and V3: their argument rules, and factors that x is multiplied by first.
#include "executors.h"

#include <cinttypes>

namespace qdq::compat {

namespace {

aclnnStatus compute(executor &of, void *workspace);

constexpr operation first{
    "aclnnDynamicQuant", {{"x"}, {"smoothScalesOptional", true}}, {{"yOut"}, {"scaleOut"}}, compute};
constexpr operation second{"aclnnDynamicQuantV2",
                           {{"x"}, {"smoothScalesOptional", true}, {"groupIndexOptional", true}},
                           {{"yOut"}, {"scaleOut"}, {"offsetOut", true}},
                           compute};
constexpr operation third{"aclnnDynamicQuantV3",
                          {{"x"}, {"smoothScalesOptional", true}, {"groupIndexOptional", true}},
                          {{"yOut"}, {"scaleOut"}, {"offsetOut", true}},
                          compute};

constexpr int64_t most_groups = 1024;

struct call {
    const operation &op;
    const aclTensor *x, *factors, *groups, *y, *scale, *offset;
    const char *mode;
    bool is_symmetrical;

    operands all() const { return {{x, factors, groups}, {y, scale, offset}}; }
    bool is(const char *of_mode) const { return std::strcmp(mode, of_mode) == 0; }
};

aclnnStatus check_types(const call &c) {
    const operation &op = c.op;
    const auto y_type = c.y->type;  // NOLINT(clang-analyzer-core.NullDereference): check_operands refuses NULL
    aclnnStatus status;
    if ((status = check_type<ACL_FLOAT16, ACL_BF16>(op, "x", c.x->type)) ||
        (status = check_type<ACL_INT8, ACL_INT4, ACL_INT32, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E5M2>(
             op, "yOut", y_type)) ||
        (status = check_type<ACL_FLOAT>(op, "scaleOut", c.scale->type)) ||
        (c.offset && (status = check_type<ACL_FLOAT>(op, "offsetOut", c.offset->type))) ||
        (c.groups && (status = check_type<ACL_INT32, ACL_INT64>(op, "groupIndexOptional", c.groups->type)))) {
        return status;
    }
    if (c.offset && is_float8(y_type)) {
        return invalid(op, "yOut: data type %d is not supported where offsetOut is given", y_type);
    }
    return !c.factors || c.factors->type == c.x->type
               ? aclnnStatus{ACLNN_SUCCESS}
               : invalid(op, "smoothScalesOptional: data type %d is not x's, %d", c.factors->type, c.x->type);
}

aclnnStatus check_mode(const call &c) {
    if (!c.mode || !(c.is("pertoken") || c.is("pertensor") || c.is("perchannel"))) {
        return invalid(c.op, "quantMode: \"%s\" is not one of pertoken, pertensor, perchannel",
                       c.mode ? c.mode : "NULL");
    }
    if (c.groups && c.is("perchannel")) {
        return invalid(c.op, "groupIndexOptional: it is given, and quantMode is perchannel");
    }
    return c.is_symmetrical != !c.offset
               ? invalid(c.op, "offsetOut: %s, and isSymmetrical is %s", c.offset ? "it is given" : "NULL",
                         c.is_symmetrical ? "true" : "false")
               : aclnnStatus{ACLNN_SUCCESS};
}

aclnnStatus check_factors(const call &c) {
    if (!c.factors) {
        return c.groups ? invalid(c.op, "smoothScalesOptional: NULL, and groupIndexOptional is not")
                        : aclnnStatus{ACLNN_SUCCESS};
    }
    const uint64_t rank = c.groups ? 2 : 1;
    if (c.factors->rank != rank) {
        return invalid(c.op, "smoothScalesOptional: %" PRIu64 " dimensions, not %" PRIu64, c.factors->rank, rank);
    }
    const int64_t length = c.x->shape[c.x->rank - (c.is("perchannel") ? 2 : 1)];
    if (c.factors->last() != length) {
        return invalid(c.op, "smoothScalesOptional: its last dimension, %" PRId64 ", is not x's, %" PRId64,
                       c.factors->last(), length);
    }
    if (c.groups &&
        (c.groups->rank != 1 || c.groups->shape[0] != c.factors->shape[0] || c.groups->shape[0] > most_groups)) {
        return invalid(c.op,
                       "groupIndexOptional: it has not one dimension of as many elements as smoothScalesOptional has "
                       "rows, %" PRId64 ", at most %" PRId64,
                       c.factors->shape[0], most_groups);
    }
    return ACLNN_SUCCESS;
}

// scaleOut is x's shape without the dimension that shares a scale, or has one element. offsetOut has its shape.
aclnnStatus check_scale(const call &c) {
    const aclTensor &x = *c.x, &scale = *c.scale;
    if (c.offset && !same_shape(*c.offset, scale)) {
        return invalid(c.op, "offsetOut: its shape is not scaleOut's");
    }
    if (c.is("pertensor")) {
        return scale.rank == 1 && scale.shape[0] == 1
                   ? aclnnStatus{ACLNN_SUCCESS}
                   : invalid(c.op, "scaleOut: its shape is not (1,), as for pertensor");
    }
    const uint64_t shared = x.rank - (c.is("perchannel") ? 2 : 1);
    bool fits = scale.rank == x.rank - 1;
    for (uint64_t d = 0; fits && d < scale.rank; d++) {
        fits = scale.shape[d] == x.shape[d < shared ? d : d + 1];
    }
    return fits ? aclnnStatus{ACLNN_SUCCESS}
                : invalid(c.op, "scaleOut: its shape is not x's without dimension %" PRIu64, shared);
}

aclnnStatus get_workspace_size(const call &c, uint64_t *workspace_size, aclOpExecutor **number) {
    aclnnStatus status;
    if ((status = check_operands(c.op, c.all(), workspace_size, number)) ||
        (status = check_rank(c.op, "x", *c.x, 2, ascend::most_dimensions)) || (status = check_mode(c)) ||
        (status = check_types(c)) || (status = check_codes(c.op, "yOut", *c.y, "x", *c.x)) ||
        (status = check_factors(c)) || (status = check_scale(c))) {
        return status;
    }
    const uint64_t product = c.factors || c.offset ? uint64_t(c.x->layout().count()) * sizeof(float) : 0;
    auto *const made = make_executor(c.op, c.all(), product, workspace_size, number);
    if (!made) {
        return ACLNN_ERR_INNER_CREATE_EXECUTOR;
    }
    const auto rank = static_cast<int32_t>(c.x->rank);
    made->along = c.is("pertensor") ? rank : rank - (c.is("perchannel") ? 2 : 1);
    return ACLNN_SUCCESS;
}

int64_t element_of(const aclTensor &ends, int64_t i) {
    const auto *const at = static_cast<const char *>(ends.data);
    const int64_t element = ends.offset + i * ends.layout().strides[0];
    int64_t wide;
    int32_t narrow;
    if (ends.type == ACL_INT64) {
        std::memcpy(&wide, at + element * 8, sizeof wide);
    } else {
        std::memcpy(&narrow, at + element * 4, sizeof narrow);
        wide = narrow;
    }
    return wide;
}

// The groups' ends do not fall, and the last one is the number of x's rows.
aclnnStatus check_ends(const operation &op, const aclTensor &ends, int64_t rows) {
    int64_t last = 0;
    for (int64_t i = 0; i < ends.shape[0]; i++) {
        const int64_t end = element_of(ends, i);
        if (end < last || end > rows) {
            return invalid(op, "groupIndexOptional: element %" PRId64 ", %" PRId64 ", is not in %" PRId64 "..%" PRId64,
                           i, end, last, rows);
        }
        last = end;
    }
    return last == rows ? aclnnStatus{ACLNN_SUCCESS}
                        : invalid(op,
                                  "groupIndexOptional: its last element, %" PRId64
                                  ", is not the number of rows, "
                                  "%" PRId64,
                                  last, rows);
}

// x, or what the workspace gets: x times the factors, or where there are offsets x itself, in f32.
aclnnStatus smoothed(const executor &of, void *workspace, qdq_tensor &x) {
    const aclTensor *const factors = of.of.inputs[1], *const ends = of.of.inputs[2];
    if (of.workspace_size == 0) {
        return ACLNN_SUCCESS;
    }
    auto *const product = static_cast<float *>(workspace);
    const qdq_names names{"", "x", "smoothScalesOptional", "workspace"};
    qdq_status status;
    if (!factors) {
        status = ascend::widen(x, product);
    } else if (ends) {
        const int64_t rows = ascend::layout(x).count() / x.shape[x.rank - 1];
        if (const aclnnStatus wrong = check_ends(*of.op, *ends, rows)) {
            return wrong;
        }
        status = ascend::smooth_by_group(x, factors->view(), product, [&](int64_t i) { return element_of(*ends, i); });
    } else {
        const int32_t of_channel = x.rank - 2;
        status = ascend::smooth(x, factors->view(), of.along == of_channel ? of_channel : x.rank - 1, product);
    }
    x = {product, QDQ_F32, x.rank, x.shape, nullptr, {}};
    return from_qdq(*of.op, names, status);
}

// Scales and offsets, which are written before the codes, lie apart from what is read, and from one another.
aclnnStatus check_apart(const executor &of, const qdq_tensor &values) {
    const operation &op = *of.op;
    for (int i = 1; i <= 2; i++) {
        const ascend::byte_range written(of.of.outputs[i]->view());
        const char *over = written.meets(ascend::byte_range(values)) ? "workspace" : nullptr;
        for (int j = 0; j < most_operands && !over; j++) {
            const aclTensor *const read = of.of.inputs[j];
            over =
                read && !read->empty() && written.meets(ascend::byte_range(read->view())) ? op.inputs[j].name : nullptr;
        }
        if (i == 2 && !over) {
            over = written.meets(ascend::byte_range(of.of.outputs[1]->view())) ? op.outputs[1].name : nullptr;
        }
        if (over) {
            return invalid(op, "%s: it overlaps %s", op.outputs[i].name, over);
        }
    }
    return ACLNN_SUCCESS;
}

// By scales and offsets of the values.
aclnnStatus compute_asymmetric(executor &of, const qdq_tensor &values, const qdq_tensor &scale, const qdq_tensor &y) {
    ascend::layout of_offset = of.of.outputs[2]->layout();
    if (of.along < values.rank) {
        of_offset.insert(of.along);
    }
    const qdq_tensor offset = of_offset.view(of.of.outputs[2]->view().data, QDQ_F32);
    aclnnStatus status = check_apart(of, values);
    if (status) {
        return status;
    }
    of.options.quantize_zp = QDQ_ZP_BEFORE_ROUNDING;
    qdq_plan once;
    const auto make = [&](qdq_plan *plan) {
        return from_qdq(*of.op, {"workspace", "scaleOut", "offsetOut", "yOut"},
                        qdq_plan_quantize(plan, &values, &scale, &offset, &y, &of.options));
    };
    if ((status = of.plan ? keep_plan(of, values.data, make) : make(&once))) {
        return status;
    }
    ascend::scales_of_groups(values.rank, values.shape, of.along, qdq_dtype_bits(y.dtype))
        .compute(static_cast<const float *>(values.data), scale, offset);
    return from_qdq(*of.op, {"workspace", "scaleOut", "offsetOut", "yOut"},
                    qdq_run(of.plan ? of.plan : &once, values.data, y.data, nullptr));
}

aclnnStatus compute(executor &of, void *workspace) {
    const operation &op = *of.op;
    const aclTensor &given = *of.of.inputs[0];
    qdq_tensor x = given.view();
    if (const aclnnStatus status = smoothed(of, workspace, x)) {
        return status;
    }
    ascend::layout of_scale = of.of.outputs[1]->layout();
    if (of.along < x.rank) {
        of_scale.insert(of.along);
    }
    const qdq_tensor scale = of_scale.view(of.of.outputs[1]->view().data, QDQ_F32),
                     y = codes_view(*of.of.outputs[0], given);
    const qdq_names names{of.workspace_size > 0 ? "workspace" : "x", "scaleOut", "", "yOut"};
    if (of.of.outputs[2]) {
        return compute_asymmetric(of, x, scale, y);
    }
    if (!of.plan) {
        return from_qdq(op, names, qdq_quantize_dynamic(&x, &scale, nullptr, &y, nullptr, &of.options));
    }
    const aclnnStatus status = keep_plan(of, nullptr, [&](qdq_plan *plan) {
        return from_qdq(op, names, qdq_plan_quantize_dynamic(plan, &x, &scale, nullptr, &y, nullptr, &of.options));
    });
    return status ? status
                  : from_qdq(op, names, qdq_run_dynamic(of.plan, x.data, scale.data, nullptr, y.data, nullptr));
}

}  // namespace

}  // namespace qdq::compat

using namespace qdq::compat;

aclnnStatus aclnnDynamicQuantGetWorkspaceSize(const aclTensor *x, const aclTensor *smoothScalesOptional,
                                              const aclTensor *yOut, const aclTensor *scaleOut, uint64_t *workspaceSize,
                                              aclOpExecutor **executor) {
    return get_workspace_size({first, x, smoothScalesOptional, nullptr, yOut, scaleOut, nullptr, "pertoken", true},
                              workspaceSize, executor);
}

aclnnStatus aclnnDynamicQuant(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream) {
    return run(first, workspace, workspaceSize, executor);
}

aclnnStatus aclnnDynamicQuantV2GetWorkspaceSize(const aclTensor *x, const aclTensor *smoothScalesOptional,
                                                const aclTensor *groupIndexOptional, int64_t dstType,
                                                const aclTensor *yOut, const aclTensor *scaleOut,
                                                const aclTensor *offsetOut, uint64_t *workspaceSize,
                                                aclOpExecutor **executor) {
    if (yOut && yOut->type != dstType) {
        return check_result_type(second, "dstType", dstType, "yOut", *yOut);
    }
    return get_workspace_size(
        {second, x, smoothScalesOptional, groupIndexOptional, yOut, scaleOut, offsetOut, "pertoken", !offsetOut},
        workspaceSize, executor);
}

aclnnStatus aclnnDynamicQuantV2(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream) {
    return run(second, workspace, workspaceSize, executor);
}

aclnnStatus aclnnDynamicQuantV3GetWorkspaceSize(const aclTensor *x, const aclTensor *smoothScalesOptional,
                                                const aclTensor *groupIndexOptional, int64_t dstType,
                                                bool isSymmetrical, const char *quantMode, const aclTensor *yOut,
                                                const aclTensor *scaleOut, const aclTensor *offsetOut,
                                                uint64_t *workspaceSize, aclOpExecutor **executor) {
    if (yOut && yOut->type != dstType) {
        return check_result_type(third, "dstType", dstType, "yOut", *yOut);
    }
    return get_workspace_size(
        {third, x, smoothScalesOptional, groupIndexOptional, yOut, scaleOut, offsetOut, quantMode, isSymmetrical},
        workspaceSize, executor);
}

aclnnStatus aclnnDynamicQuantV3(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream) {
    return run(third, workspace, workspaceSize, executor);
}
