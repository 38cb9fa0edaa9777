// CANN's aclnnQuantize: its argument rules, its tensors and executors.
#include <qdq/compat/aclnn.h>
#include <qdq/qdq.h>

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>

namespace {

constexpr int most_dimensions = 8;

thread_local char recent_error[512];

aclnnStatus fail(aclnnStatus status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(recent_error, sizeof(recent_error), format, arguments);
    va_end(arguments);
    return status;
}

// An enumeration's value as a C program passed it: it may be none of the enumerators.
template<typename Enum> int value_of(const Enum &given) {
    int value;
    static_assert(sizeof(given) == sizeof(value));
    std::memcpy(&value, &given, sizeof(value));
    return value;
}

struct element {
    qdq_dtype dtype;
    int bytes;
};

// Of the types aclnnQuantize takes.
element element_of(int acl_type) {
    switch (acl_type) {
    case ACL_FLOAT16: return {QDQ_F16, 2};
    case ACL_BF16: return {QDQ_BF16, 2};
    case ACL_INT8: return {QDQ_I8, 1};
    case ACL_UINT8: return {QDQ_U8, 1};
    case ACL_INT32: return {QDQ_I32, 4};
    default: return {QDQ_F32, 4};
    }
}

bool is_one_of(int value, std::initializer_list<int> list) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

bool is_private(int format) {
    return is_one_of(format,
                     {ACL_FORMAT_NC1HWC0, ACL_FORMAT_FRACTAL_Z, ACL_FORMAT_NC1HWC0_C04, ACL_FORMAT_FRACTAL_NZ,
                      ACL_FORMAT_NDC1HWC0, ACL_FRACTAL_Z_3D, ACL_FORMAT_FRACTAL_NZ_C0_16, ACL_FORMAT_FRACTAL_NZ_C0_32,
                      ACL_FORMAT_FRACTAL_NZ_C0_2, ACL_FORMAT_FRACTAL_NZ_C0_4, ACL_FORMAT_FRACTAL_NZ_C0_8});
}

}  // namespace

struct aclTensor {
    int type;       // an aclDataType
    int format;     // an aclFormat
    uint64_t rank;  // as given; the first phase refuses one above 8
    bool dense;
    int64_t shape[most_dimensions];
    int64_t strides[most_dimensions];
    int64_t offset;
    void *data;

    // These hold for a rank and a type that the first phase has accepted. The view is valid as long as this object.
    qdq_tensor view() const {
        const element of = element_of(type);
        return {static_cast<char *>(data) + offset * of.bytes,
                of.dtype,
                static_cast<int32_t>(rank),
                shape,
                dense ? nullptr : strides,
                {}};
    }
    bool empty() const { return std::find(shape, shape + rank, 0) != shape + rank; }
};

// It refers to its tensors, as CANN's does.
struct aclOpExecutor {
    const aclTensor *x, *scales, *zero_points, *out;
    qdq_options options;
    // Of a repeatable one, which makes the plan on its first run at its present addresses. On its own, as 1.5 KiB more
    // to allocate would cost a single call 25 ns.
    std::unique_ptr<qdq_plan> plan;
    bool planned;
};

namespace {

constexpr aclnnStatus ok = ACLNN_SUCCESS;

aclnnStatus check_shapes(const aclTensor &x, const aclTensor &scales, const aclTensor *zero_points, int32_t axis,
                         const aclTensor &out) {
    if (x.rank < 1 || x.rank > most_dimensions) {
        return fail(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: x: %" PRIu64 " dimensions are not in 1..8", x.rank);
    }
    if (std::any_of(x.shape, x.shape + x.rank, [](int64_t size) { return size < 0; })) {
        return fail(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: x: a dimension is below 0");
    }
    if (out.rank != x.rank || !std::equal(x.shape, x.shape + x.rank, out.shape)) {
        return fail(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: out: its shape is not x's");
    }
    if (scales.rank != 1) {
        return fail(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: scales: %" PRIu64 " dimensions, not 1", scales.rank);
    }
    if (zero_points && zero_points->rank != 1) {
        return fail(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: zeroPoints: %" PRIu64 " dimensions, not 1",
                    zero_points->rank);
    }
    if (zero_points && zero_points->shape[0] != scales.shape[0]) {
        return fail(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: zeroPoints: %" PRId64 " elements for %" PRId64 " scales",
                    zero_points->shape[0], scales.shape[0]);
    }
    if (scales.shape[0] == 1) {
        return ok;
    }
    const int rank = static_cast<int>(x.rank);
    if (axis < -rank || axis >= rank) {
        return fail(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: axis: %d is not in [%d, %d)", axis, -rank, rank);
    }
    const int64_t length = x.shape[axis < 0 ? axis + rank : axis];
    if (scales.shape[0] != length) {
        return fail(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: scales: %" PRId64 " elements; x's axis %d has %" PRId64,
                    scales.shape[0], axis, length);
    }
    return ok;
}

aclnnStatus check_type(const char *name, int given, std::initializer_list<int> supported) {
    return is_one_of(given, supported)
               ? ok
               : fail(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: %s: data type %d is not supported", name, given);
}

aclnnStatus check_types(const aclTensor &x, const aclTensor &scales, const aclTensor *zero_points, int dtype,
                        const aclTensor &out) {
    aclnnStatus status;
    if ((status = check_type("x", x.type, {ACL_FLOAT, ACL_FLOAT16, ACL_BF16})) ||
        (status = check_type("scales", scales.type, {ACL_FLOAT, ACL_FLOAT16, ACL_BF16})) ||
        (zero_points &&
         (status = check_type("zeroPoints", zero_points->type, {ACL_INT32, ACL_INT8, ACL_UINT8, ACL_BF16}))) ||
        (status = check_type("dtype", dtype, {ACL_INT8, ACL_UINT8, ACL_INT32}))) {
        return status;
    }
    if (out.type != dtype) {
        return fail(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: out: data type %d is not dtype, %d", out.type, dtype);
    }
    const bool asks_for_bf16 = scales.type == ACL_BF16 || (zero_points && zero_points->type == ACL_BF16);
    const bool all_bf16 =
        x.type == ACL_BF16 && scales.type == ACL_BF16 && (!zero_points || zero_points->type == ACL_BF16);
    if (asks_for_bf16 && !all_bf16) {
        return fail(ACLNN_ERR_PARAM_INVALID,
                    "aclnnQuantize: x, scales, zeroPoints: data types %d, %d, %d; where scales or zeroPoints is bf16 "
                    "(27), all are",
                    x.type, scales.type, zero_points ? zero_points->type : -1);
    }
    return ok;
}

aclnnStatus check_formats(const aclTensor &x, const aclTensor &scales, const aclTensor *zero_points,
                          const aclTensor &out) {
    const struct {
        const char *name;
        const aclTensor *tensor;
    } all[] = {{"x", &x}, {"scales", &scales}, {"zeroPoints", zero_points}, {"out", &out}};
    for (const auto &[name, tensor] : all) {
        if (tensor && is_private(tensor->format)) {
            return fail(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: %s: format %d is a private one", name, tensor->format);
        }
    }
    return ok;
}

aclnnStatus from_qdq(qdq_status status) {
    if (status == QDQ_OK) {
        return ok;
    }
    return fail(status == QDQ_UNSUPPORTED ? ACLNN_ERR_INNER_FIND_KERNEL_ERROR : ACLNN_ERR_PARAM_INVALID, "%s",
                qdq_last_error());
}

aclnnStatus check_addresses(const aclOpExecutor &executor) {
    const struct {
        const char *name;
        const aclTensor *tensor;
    } all[] = {
        {"x", executor.x}, {"scales", executor.scales}, {"zeroPoints", executor.zero_points}, {"out", executor.out}};
    for (const auto &[name, tensor] : all) {
        if (tensor && !tensor->data) {
            return fail(ACLNN_ERR_PARAM_NULLPTR, "aclnnQuantize: %s: no address", name);
        }
    }
    return ok;
}

// A single call, or a run of the plan that a repeatable executor keeps.
aclnnStatus compute(aclOpExecutor &executor) {
    const qdq_tensor x = executor.x->view(), scales = executor.scales->view(), out = executor.out->view();
    const qdq_tensor zero_points = executor.zero_points ? executor.zero_points->view() : qdq_tensor{};
    const qdq_tensor *zero_points_or_null = executor.zero_points ? &zero_points : nullptr;
    if (!executor.plan) {
        return from_qdq(qdq_quantize(&x, &scales, zero_points_or_null, &out, &executor.options));
    }
    if (!executor.planned) {
        if (const aclnnStatus status = from_qdq(
                qdq_plan_quantize(executor.plan.get(), &x, &scales, zero_points_or_null, &out, &executor.options))) {
            return status;
        }
        executor.planned = true;
    }
    return from_qdq(qdq_run(executor.plan.get(), x.data, out.data, nullptr));
}

// CANN's answer to NULL in the functions about executors.
aclnnStatus missing(const char *function, const char *name) {
    return fail(ACLNN_ERR_INNER_NULLPTR, "%s: %s: NULL", function, name);
}

}  // namespace

aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t *stride,
                           int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t storageDimsNum,
                           void *tensorData) {
    if ((!viewDims && viewDimsNum > 0) || (!storageDims && storageDimsNum > 0)) {
        fail(ACLNN_ERR_PARAM_NULLPTR, "aclCreateTensor: %s: NULL", storageDims ? "viewDims" : "storageDims");
        return nullptr;
    }
    aclTensor *made = new (std::nothrow)
        aclTensor{value_of(dataType), value_of(format), viewDimsNum, !stride, {}, {}, offset, tensorData};
    if (!made) {
        fail(ACLNN_ERR_INNER, "aclCreateTensor: out of memory");
        return nullptr;
    }
    const uint64_t kept = std::min<uint64_t>(viewDimsNum, most_dimensions);
    std::copy_n(viewDims, kept, made->shape);
    if (stride) {
        std::copy_n(stride, kept, made->strides);
    }
    return made;
}

aclnnStatus aclDestroyTensor(const aclTensor *tensor) {
    delete tensor;
    return ok;
}

aclnnStatus aclnnQuantizeGetWorkspaceSize(const aclTensor *x, const aclTensor *scales, const aclTensor *zeroPoints,
                                          aclDataType dtype, int32_t axis, aclTensor *out, uint64_t *workspaceSize,
                                          aclOpExecutor **executor) {
    const struct {
        const char *name;
        const void *pointer;
    } required[] = {{"x", x},
                    {"scales", scales},
                    {"out", out},
                    {"workspaceSize", workspaceSize},
                    {"executor", static_cast<const void *>(executor)}};
    for (const auto &[name, pointer] : required) {
        if (!pointer) {
            return fail(ACLNN_ERR_PARAM_NULLPTR, "aclnnQuantize: %s: NULL", name);
        }
    }
    aclnnStatus status;
    if ((status = check_shapes(*x, *scales, zeroPoints, axis, *out)) ||
        (status = check_types(*x, *scales, zeroPoints, value_of(dtype), *out)) ||
        (status = check_formats(*x, *scales, zeroPoints, *out))) {
        return status;
    }
    aclOpExecutor *made = new (std::nothrow) aclOpExecutor{x, scales, zeroPoints, out, {}, nullptr, false};
    if (!made) {
        return fail(ACLNN_ERR_INNER_CREATE_EXECUTOR, "aclnnQuantize: out of memory");
    }
    qdq_profile_options("acl", element_of(out->type).dtype, &made->options);
    made->options.axis = axis;
    *workspaceSize = 0;
    *executor = made;
    return ok;
}

aclnnStatus aclnnQuantize(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream) {
    if (!executor) {
        return fail(ACLNN_ERR_PARAM_NULLPTR, "aclnnQuantize: executor: NULL");
    }
    if (workspaceSize != 0) {
        return fail(workspace ? ACLNN_ERR_PARAM_INVALID : ACLNN_ERR_PARAM_NULLPTR,
                    "aclnnQuantize: workspaceSize: %" PRIu64 "%s; aclnnQuantizeGetWorkspaceSize gave 0", workspaceSize,
                    workspace ? "" : " and workspace NULL");
    }
    if (stream) {
        return fail(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: stream: it is not NULL, and there is no device");
    }
    if (!executor->x->empty()) {
        aclnnStatus status;
        if ((status = check_addresses(*executor)) || (status = compute(*executor))) {
            return status;
        }
    }
    if (!executor->plan) {
        delete executor;
    }
    return ok;
}

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor) {
    if (!executor) {
        return missing("aclSetAclOpExecutorRepeatable", "executor");
    }
    if (!executor->plan) {
        executor->plan.reset(new (std::nothrow) qdq_plan);
    }
    return executor->plan ? ok : fail(ACLNN_ERR_INNER, "aclSetAclOpExecutorRepeatable: out of memory");
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor) {
    if (!executor) {
        return missing("aclDestroyAclOpExecutor", "executor");
    }
    delete executor;
    return ok;
}

namespace {

aclnnStatus set_address(const char *function, aclOpExecutor *executor, size_t index,
                        std::initializer_list<const aclTensor * aclOpExecutor::*> operands, aclTensor *tensor,
                        void *addr) {
    if (!executor || !tensor) {
        return missing(function, executor ? "tensor" : "executor");
    }
    if (index >= operands.size() || executor->*operands.begin()[index] != tensor) {
        return fail(ACLNN_ERR_PARAM_INVALID, "%s: tensor: the executor was not made with it at index %zu", function,
                    index);
    }
    tensor->data = addr;
    executor->planned = false;
    return ok;
}

}  // namespace

aclnnStatus aclSetInputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr) {
    return set_address("aclSetInputTensorAddr", executor, index,
                       {&aclOpExecutor::x, &aclOpExecutor::scales, &aclOpExecutor::zero_points}, tensor, addr);
}

aclnnStatus aclSetOutputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr) {
    return set_address("aclSetOutputTensorAddr", executor, index, {&aclOpExecutor::out}, tensor, addr);
}

const char *aclGetRecentErrMsg() { return recent_error[0] ? recent_error : nullptr; }
