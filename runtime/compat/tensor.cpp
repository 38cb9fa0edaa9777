#include "tensor.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace {

using qdq::compat::is_one_of;

thread_local char recent_error[512];

struct element {
    qdq_dtype dtype;
    int bits;
};

// Of the types that any function takes.
element element_of(int acl_type) {
    switch (acl_type) {
    case ACL_FLOAT16: return {QDQ_F16, 16};
    case ACL_BF16: return {QDQ_BF16, 16};
    case ACL_INT8: return {QDQ_I8, 8};
    case ACL_UINT8: return {QDQ_U8, 8};
    case ACL_INT32: return {QDQ_I32, 32};
    case ACL_INT4: return {QDQ_I4, 4};
    case ACL_HIFLOAT8: return {QDQ_HIF8, 8};
    case ACL_FLOAT8_E4M3FN: return {QDQ_F8E4M3, 8};
    case ACL_FLOAT8_E5M2: return {QDQ_F8E5M2, 8};
    case ACL_FLOAT8_E8M0: return {QDQ_E8M0, 8};
    case ACL_FLOAT4_E2M1: return {QDQ_F4E2M1, 4};
    case ACL_FLOAT4_E1M2: return {QDQ_F4E1M2, 4};
    case ACL_INT64: return {QDQ_I32, 64};  // of groups' ends alone, whose type nobody looks at
    default: return {QDQ_F32, 32};
    }
}

bool is_private(int format) {
    return is_one_of<ACL_FORMAT_NC1HWC0, ACL_FORMAT_FRACTAL_Z, ACL_FORMAT_NC1HWC0_C04, ACL_FORMAT_FRACTAL_NZ,
                     ACL_FORMAT_NDC1HWC0, ACL_FRACTAL_Z_3D, ACL_FORMAT_FRACTAL_NZ_C0_16, ACL_FORMAT_FRACTAL_NZ_C0_32,
                     ACL_FORMAT_FRACTAL_NZ_C0_2, ACL_FORMAT_FRACTAL_NZ_C0_4, ACL_FORMAT_FRACTAL_NZ_C0_8>(format);
}

}  // namespace

qdq_tensor aclTensor::view() const {
    const element of = element_of(type);
    return {static_cast<char *>(data) + offset * of.bits / 8,
            of.dtype,
            static_cast<int32_t>(rank),
            shape,
            dense ? nullptr : strides,
            {}};
}

bool aclTensor::empty() const { return std::find(shape, shape + rank, 0) != shape + rank; }

namespace qdq::compat {

int32_t fail_with(int32_t status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(recent_error, sizeof(recent_error), format, arguments);
    va_end(arguments);
    return status;
}

aclnnStatus invalid(const operation &op, const char *format, ...) {
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return fail_with(ACLNN_ERR_PARAM_INVALID, "%s: %s", op.name, text);
}

aclnnStatus check_operands(const operation &op, const operands &of, const uint64_t *workspace_size,
                           aclOpExecutor *const *executor) {
    const auto check_given = [&](const char *name, bool is_given) {
        return is_given ? ACLNN_SUCCESS : fail_with(ACLNN_ERR_PARAM_NULLPTR, "%s: %s: NULL", op.name, name);
    };
    const auto check_all = [&](const operand(&named)[most_operands], const aclTensor *const(&given)[most_operands]) {
        for (int i = 0; i < most_operands; i++) {
            const bool is_needed = named[i].name && !named[i].is_optional;
            if (const aclnnStatus status =
                    is_needed ? check_given(named[i].name, given[i] != nullptr) : ACLNN_SUCCESS) {
                return status;
            }
        }
        return aclnnStatus{ACLNN_SUCCESS};
    };
    aclnnStatus status;
    if ((status = check_all(op.inputs, of.inputs)) || (status = check_all(op.outputs, of.outputs)) ||
        (status = check_given("workspaceSize", workspace_size != nullptr)) ||
        (status = check_given("executor", executor != nullptr))) {
        return status;
    }
    return each_given(op, of, [&](const char *name, const aclTensor &tensor) {
        if ((status = check_rank(op, name, tensor, 0, ascend::most_dimensions))) {
            return status;
        }
        if (std::any_of(tensor.shape, tensor.shape + tensor.rank, [](int64_t size) { return size < 0; })) {
            return invalid(op, "%s: a dimension is below 0", name);
        }
        return is_private(tensor.format) ? invalid(op, "%s: format %d is a private one", name, tensor.format)
                                         : aclnnStatus{ACLNN_SUCCESS};
    });
}

aclnnStatus check_result_type(const operation &op, const char *argument, int64_t given, const char *result,
                              const aclTensor &y) {
    return y.type == given ? aclnnStatus{ACLNN_SUCCESS}
                           : invalid(op, "%s: data type %d is not %s, %" PRId64, result, y.type, argument, given);
}

aclnnStatus check_rank(const operation &op, const char *name, const aclTensor &t, int least, int most) {
    return t.rank >= uint64_t(least) && t.rank <= uint64_t(most)
               ? aclnnStatus{ACLNN_SUCCESS}
               : invalid(op, "%s: %" PRIu64 " dimensions are not in %d..%d", name, t.rank, least, most);
}

bool same_shape(const aclTensor &a, const aclTensor &b) {
    return a.rank == b.rank && std::equal(a.shape, a.shape + a.rank, b.shape);
}

aclnnStatus check_codes(const operation &op, const char *codes_name, const aclTensor &codes, const char *values_name,
                        const aclTensor &values) {
    const int64_t in_one = codes.type == ACL_INT32 ? 8 : 1;
    const bool is_packed = is_one_of<ACL_INT32, ACL_INT4, ACL_FLOAT4_E2M1, ACL_FLOAT4_E1M2>(codes.type);
    const bool fits =
        codes.rank == values.rank && std::equal(values.shape, values.shape + values.rank - 1, codes.shape);
    if (!fits || codes.last() > INT64_MAX / 8 || codes.last() * in_one != values.last()) {
        return invalid(op, "%s: its shape is not %s's%s", codes_name, values_name,
                       in_one == 8 ? " with an eighth of its last dimension" : "");
    }
    if (!is_packed) {
        return ACLNN_SUCCESS;
    }
    if (values.last() % 2 != 0) {
        return invalid(op, "%s: the last dimension, %" PRId64 ", is not even, as 4 bits want it", values_name,
                       values.last());
    }
    if (!codes.layout().is_dense() || codes.offset % (in_one == 8 ? 1 : 2) != 0) {
        return invalid(op, "%s: its codes of 4 bits are not dense, or begin within a byte", codes_name);
    }
    return ACLNN_SUCCESS;
}

qdq_tensor codes_view(const aclTensor &codes, const aclTensor &values) {
    qdq_tensor view = codes.view();
    if (codes.type == ACL_INT32) {
        view.dtype = QDQ_I4;
        view.rank = static_cast<int32_t>(values.rank);
        view.shape = values.shape;
        view.strides = nullptr;
    }
    return view;
}

}  // namespace qdq::compat

using qdq::compat::fail_with, qdq::compat::value_of;

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
    const uint64_t kept = std::min<uint64_t>(viewDimsNum, qdq::compat::ascend::most_dimensions);
    std::copy_n(viewDims, kept, made->shape);
    if (stride) {
        std::copy_n(stride, kept, made->strides);
    }
    return made;
}

aclnnStatus aclDestroyTensor(const aclTensor *tensor) {
    std::free(const_cast<aclTensor *>(tensor));
    return ACLNN_SUCCESS;
}

const char *aclGetRecentErrMsg() { return recent_error[0] ? recent_error : nullptr; }
