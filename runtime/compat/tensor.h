// CANN's tensors, and the rules that hold for those of every call.
#pragma once

#include "recent_error.h"

#include <qdq/compat/aclnn.h>
#include <qdq/qdq.h>
#include <qdq/compat/ascend.hpp>

#include <cstdint>
#include <cstring>

struct aclTensor {
    int type;       // an aclDataType
    int format;     // an aclFormat
    uint64_t rank;  // as given; the first phase refuses one above 8
    bool dense;     // it was given no strides
    int64_t shape[qdq::compat::ascend::most_dimensions];
    int64_t strides[qdq::compat::ascend::most_dimensions];
    int64_t offset;
    void *data;

    // These hold for a rank and a type that the first phase has accepted. Views are valid as long as this object.
    qdq_tensor view() const;
    qdq::compat::ascend::layout layout() const { return qdq::compat::ascend::layout(view()); }
    int64_t last() const { return shape[rank - 1]; }
    bool empty() const;
};

namespace qdq::compat {

// An enumeration's value as a C program passed it: it may be none of the enumerators.
template<typename Enum> int value_of(const Enum &given) {
    int value;
    static_assert(sizeof(given) == sizeof(value));
    std::memcpy(&value, &given, sizeof(value));
    return value;
}

template<int... list> constexpr bool is_one_of(int value) { return ((value == list) || ...); }

inline bool is_float8(int type) { return is_one_of<ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E5M2>(type); }

// An argument of a function that is a tensor.
struct operand {
    const char *name = nullptr;  // NULL: there is none
    bool is_optional = false;
};

struct executor;

constexpr int most_operands = 3;

// A function in two phases, with its tensors as aclSetInputTensorAddr() and aclSetOutputTensorAddr() count them.
struct operation {
    const char *name;
    operand inputs[most_operands], outputs[most_operands];
    aclnnStatus (*compute)(executor &, void *workspace);
};

struct operands {
    const aclTensor *inputs[most_operands], *outputs[most_operands];
};

// Calls use(name, tensor) for each tensor that is given, until one gives a failure, which it returns.
template<typename Use> aclnnStatus each_given(const operation &op, const operands &of, Use &&use) {
    for (int way = 0; way < 2; way++) {
        for (int i = 0; i < most_operands; i++) {
            const aclTensor *const tensor = way == 0 ? of.inputs[i] : of.outputs[i];
            const char *const name = way == 0 ? op.inputs[i].name : op.outputs[i].name;
            if (const aclnnStatus status = tensor ? use(name, *tensor) : ACLNN_SUCCESS) {
                return status;
            }
        }
    }
    return ACLNN_SUCCESS;
}

// ACLNN_ERR_PARAM_INVALID, with the function's name before the message.
[[gnu::format(printf, 2, 3)]] aclnnStatus invalid(const operation &op, const char *format, ...);

// What is to be given is, has at most 8 dimensions of 0 or more, and no private format.
aclnnStatus check_operands(const operation &op, const operands &of, const uint64_t *workspace_size,
                           aclOpExecutor *const *executor);

template<int... supported> aclnnStatus check_type(const operation &op, const char *name, int given) {
    return is_one_of<supported...>(given) ? ACLNN_SUCCESS
                                          : invalid(op, "%s: data type %d is not supported", name, given);
}

// `dstType`, or another argument with a type, is that of the result.
aclnnStatus check_result_type(const operation &op, const char *argument, int64_t given, const char *result,
                              const aclTensor &y);

aclnnStatus check_rank(const operation &op, const char *name, const aclTensor &t, int least, int most);

// Whether two have one shape.
bool same_shape(const aclTensor &a, const aclTensor &b);

// The codes of x's elements: of x's shape, or eight of 4 bits in each int32, or two of 4 bits in each byte. Those are
// dense, and x's last dimension is a multiple of 8 or 2.
aclnnStatus check_codes(const operation &op, const char *codes_name, const aclTensor &codes, const char *values_name,
                        const aclTensor &values);

// The same as qdq has them: of the values' shape.
qdq_tensor codes_view(const aclTensor &codes, const aclTensor &values);

}  // namespace qdq::compat
