// CANN's aclnnQuantize: its argument rules and its tensors.
#include "executors.h"
#include "recent_error.h"

#include <qdq/compat/terms.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

constexpr int most_dimensions = 8;

using qdq::compat::executor, qdq::compat::find_executor;

thread_local char recent_error[512];

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

template<int... list> bool is_one_of(int value) { return ((value == list) || ...); }

bool is_private(int format) {
    return is_one_of<ACL_FORMAT_NC1HWC0, ACL_FORMAT_FRACTAL_Z, ACL_FORMAT_NC1HWC0_C04, ACL_FORMAT_FRACTAL_NZ,
                     ACL_FORMAT_NDC1HWC0, ACL_FRACTAL_Z_3D, ACL_FORMAT_FRACTAL_NZ_C0_16, ACL_FORMAT_FRACTAL_NZ_C0_32,
                     ACL_FORMAT_FRACTAL_NZ_C0_2, ACL_FORMAT_FRACTAL_NZ_C0_4, ACL_FORMAT_FRACTAL_NZ_C0_8>(format);
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

namespace qdq::compat {

int32_t fail_with(int32_t status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(recent_error, sizeof(recent_error), format, arguments);
    va_end(arguments);
    return status;
}

}  // namespace qdq::compat

using qdq::compat::fail_with;

namespace {

constexpr aclnnStatus ok = ACLNN_SUCCESS;

aclnnStatus check_shapes(const aclTensor &x, const aclTensor &scales, const aclTensor *zero_points, int32_t axis,
                         const aclTensor &out) {
    if (x.rank < 1 || x.rank > most_dimensions) {
        return fail_with(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: x: %" PRIu64 " dimensions are not in 1..8", x.rank);
    }
    if (std::any_of(x.shape, x.shape + x.rank, [](int64_t size) { return size < 0; })) {
        return fail_with(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: x: a dimension is below 0");
    }
    if (out.rank != x.rank || !std::equal(x.shape, x.shape + x.rank, out.shape)) {
        return fail_with(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: out: its shape is not x's");
    }
    if (scales.rank != 1) {
        return fail_with(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: scales: %" PRIu64 " dimensions, not 1", scales.rank);
    }
    if (zero_points && zero_points->rank != 1) {
        return fail_with(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: zeroPoints: %" PRIu64 " dimensions, not 1",
                         zero_points->rank);
    }
    if (zero_points && zero_points->shape[0] != scales.shape[0]) {
        return fail_with(ACLNN_ERR_PARAM_INVALID,
                         "aclnnQuantize: zeroPoints: %" PRId64 " elements for %" PRId64 " scales",
                         zero_points->shape[0], scales.shape[0]);
    }
    if (scales.shape[0] == 1) {
        return ok;
    }
    const int rank = static_cast<int>(x.rank);
    if (axis < -rank || axis >= rank) {
        return fail_with(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: axis: %d is not in [%d, %d)", axis, -rank, rank);
    }
    const int64_t length = x.shape[axis < 0 ? axis + rank : axis];
    if (scales.shape[0] != length) {
        return fail_with(ACLNN_ERR_PARAM_INVALID,
                         "aclnnQuantize: scales: %" PRId64 " elements; x's axis %d has %" PRId64, scales.shape[0], axis,
                         length);
    }
    return ok;
}

template<int... supported> aclnnStatus check_type(const char *name, int given) {
    return is_one_of<supported...>(given)
               ? ok
               : fail_with(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: %s: data type %d is not supported", name, given);
}

aclnnStatus check_types(const aclTensor &x, const aclTensor &scales, const aclTensor *zero_points, int dtype,
                        const aclTensor &out) {
    aclnnStatus status;
    if ((status = check_type<ACL_FLOAT, ACL_FLOAT16, ACL_BF16>("x", x.type)) ||
        (status = check_type<ACL_FLOAT, ACL_FLOAT16, ACL_BF16>("scales", scales.type)) ||
        (zero_points &&
         (status = check_type<ACL_INT32, ACL_INT8, ACL_UINT8, ACL_BF16>("zeroPoints", zero_points->type))) ||
        (status = check_type<ACL_INT8, ACL_UINT8, ACL_INT32>("dtype", dtype))) {
        return status;
    }
    if (out.type != dtype) {
        return fail_with(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: out: data type %d is not dtype, %d", out.type, dtype);
    }
    const bool asks_for_bf16 = scales.type == ACL_BF16 || (zero_points && zero_points->type == ACL_BF16);
    const bool all_bf16 =
        x.type == ACL_BF16 && scales.type == ACL_BF16 && (!zero_points || zero_points->type == ACL_BF16);
    if (asks_for_bf16 && !all_bf16) {
        return fail_with(
            ACLNN_ERR_PARAM_INVALID,
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
            return fail_with(ACLNN_ERR_PARAM_INVALID, "aclnnQuantize: %s: format %d is a private one", name,
                             tensor->format);
        }
    }
    return ok;
}

aclnnStatus from_qdq(qdq_status status) {
    static constexpr qdq::compat::argument_names names{"aclnnQuantize", "x", "scales", "zeroPoints", "out"};
    if (status == QDQ_OK) {
        return ok;
    }
    char text[sizeof recent_error];
    qdq::compat::last_error_in_terms_of(names, text);
    return fail_with(status == QDQ_UNSUPPORTED ? ACLNN_ERR_INNER_FIND_KERNEL_ERROR : ACLNN_ERR_PARAM_INVALID, "%s",
                     text);
}

aclnnStatus check_addresses(const executor &of) {
    const struct {
        const char *name;
        const aclTensor *tensor;
    } all[] = {{"x", of.x}, {"scales", of.scales}, {"zeroPoints", of.zero_points}, {"out", of.out}};
    for (const auto &[name, tensor] : all) {
        if (tensor && !tensor->data) {
            return fail_with(ACLNN_ERR_PARAM_NULLPTR, "aclnnQuantize: %s: no address", name);
        }
    }
    return ok;
}

// A single call, or a run of the plan that a repeatable executor keeps.
aclnnStatus compute(executor &of) {
    const qdq_tensor x = of.x->view(), scales = of.scales->view(), out = of.out->view();
    const qdq_tensor zero_points = of.zero_points ? of.zero_points->view() : qdq_tensor{};
    const qdq_tensor *zero_points_or_null = of.zero_points ? &zero_points : nullptr;
    if (!of.plan) {
        return from_qdq(qdq_quantize(&x, &scales, zero_points_or_null, &out, &of.options));
    }
    if (!of.planned) {
        if (const aclnnStatus status =
                from_qdq(qdq_plan_quantize(of.plan, &x, &scales, zero_points_or_null, &out, &of.options))) {
            return status;
        }
        of.planned = true;
    }
    return from_qdq(qdq_run(of.plan, x.data, out.data, nullptr));
}

// CANN's answer to NULL in the functions about executors.
aclnnStatus missing(const char *function, const char *name) {
    return fail_with(ACLNN_ERR_INNER_NULLPTR, "%s: %s: NULL", function, name);
}

aclnnStatus gone(const char *function) {
    return fail_with(ACLNN_ERR_PARAM_INVALID,
                     "%s: executor: it has run or was destroyed, or is none of aclnnQuantizeGetWorkspaceSize's",
                     function);
}

}  // namespace

aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t *stride,
                           int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t storageDimsNum,
                           void *tensorData) {
    if ((!viewDims && viewDimsNum > 0) || (!storageDims && storageDimsNum > 0)) {
        fail_with(ACLNN_ERR_PARAM_NULLPTR, "aclCreateTensor: %s: NULL", storageDims ? "viewDims" : "storageDims");
        return nullptr;
    }
    auto *made = static_cast<aclTensor *>(std::malloc(sizeof(aclTensor)));
    if (!made) {
        fail_with(ACLNN_ERR_INNER, "aclCreateTensor: out of memory");
        return nullptr;
    }
    *made = {value_of(dataType), value_of(format), viewDimsNum, !stride, {}, {}, offset, tensorData};
    const uint64_t kept = std::min<uint64_t>(viewDimsNum, most_dimensions);
    std::copy_n(viewDims, kept, made->shape);
    if (stride) {
        std::copy_n(stride, kept, made->strides);
    }
    return made;
}

aclnnStatus aclDestroyTensor(const aclTensor *tensor) {
    std::free(const_cast<aclTensor *>(tensor));
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
            return fail_with(ACLNN_ERR_PARAM_NULLPTR, "aclnnQuantize: %s: NULL", name);
        }
    }
    aclnnStatus status;
    if ((status = check_shapes(*x, *scales, zeroPoints, axis, *out)) ||
        (status = check_types(*x, *scales, zeroPoints, value_of(dtype), *out)) ||
        (status = check_formats(*x, *scales, zeroPoints, *out))) {
        return status;
    }
    qdq::compat::executor *acquired = qdq::compat::acquire_executor(*executor);
    if (!acquired) {
        return fail_with(ACLNN_ERR_INNER_CREATE_EXECUTOR, "aclnnQuantize: out of memory");
    }
    qdq::compat::executor &made = *acquired;
    made.x = x;
    made.scales = scales;
    made.zero_points = zeroPoints;
    made.out = out;
    made.planned = false;
    if (!made.has_options) {
        qdq_profile_options("acl", QDQ_I8, &made.options);  // the same for every type of out
        made.has_options = true;
    }
    made.options.axis = axis;
    *workspaceSize = 0;
    return ok;
}

aclnnStatus aclnnQuantize(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream) {
    if (!executor) {
        return fail_with(ACLNN_ERR_PARAM_NULLPTR, "aclnnQuantize: executor: NULL");
    }
    if (workspaceSize != 0) {
        return fail_with(workspace ? ACLNN_ERR_PARAM_INVALID : ACLNN_ERR_PARAM_NULLPTR,
                         "aclnnQuantize: workspaceSize: %" PRIu64 "%s; aclnnQuantizeGetWorkspaceSize gave 0",
                         workspaceSize, workspace ? "" : " and workspace NULL");
    }
    qdq::compat::executor *found = find_executor(executor);
    if (!found) {
        return gone("aclnnQuantize");
    }
    if (!found->x->empty()) {
        aclnnStatus status;
        if ((status = check_addresses(*found)) || (status = compute(*found))) {
            return status;
        }
    }
    if (!found->plan) {
        qdq::compat::release_executor(*found);
    }
    return ok;
}

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor) {
    if (!executor) {
        return missing("aclSetAclOpExecutorRepeatable", "executor");
    }
    qdq::compat::executor *found = find_executor(executor);
    if (!found) {
        return gone("aclSetAclOpExecutorRepeatable");
    }
    if (!found->plan) {
        found->plan = static_cast<qdq_plan *>(std::malloc(sizeof(qdq_plan)));
    }
    return found->plan ? ok : fail_with(ACLNN_ERR_INNER, "aclSetAclOpExecutorRepeatable: out of memory");
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor) {
    if (!executor) {
        return missing("aclDestroyAclOpExecutor", "executor");
    }
    qdq::compat::executor *found = find_executor(executor);
    if (!found) {
        return gone("aclDestroyAclOpExecutor");
    }
    qdq::compat::release_executor(*found);
    return ok;
}

namespace {

aclnnStatus set_address(const char *function, const aclOpExecutor *handle, size_t index,
                        std::initializer_list<const aclTensor * executor::*> operands, aclTensor *tensor, void *addr) {
    if (!handle || !tensor) {
        return missing(function, handle ? "tensor" : "executor");
    }
    executor *found = find_executor(handle);
    if (!found) {
        return gone(function);
    }
    if (index >= operands.size() || found->*operands.begin()[index] != tensor) {
        return fail_with(ACLNN_ERR_PARAM_INVALID, "%s: tensor: the executor was not made with it at index %zu",
                         function, index);
    }
    tensor->data = addr;
    found->planned = false;
    return ok;
}

}  // namespace

aclnnStatus aclSetInputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr) {
    return set_address("aclSetInputTensorAddr", executor, index,
                       {&qdq::compat::executor::x, &qdq::compat::executor::scales, &qdq::compat::executor::zero_points},
                       tensor, addr);
}

aclnnStatus aclSetOutputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr) {
    return set_address("aclSetOutputTensorAddr", executor, index, {&qdq::compat::executor::out}, tensor, addr);
}

const char *aclGetRecentErrMsg() { return recent_error[0] ? recent_error : nullptr; }
