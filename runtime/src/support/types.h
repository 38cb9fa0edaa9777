// Element types as the dispatcher sees them: kernels/element_types.h, and the caller's enumerations, which may hold
// anything.
#pragma once

#include "element_types.h"
#include "qdq/qdq.h"

#include <cstring>

namespace qdq::runtime {

using namespace kernels;

constexpr int dtype_count = std::size(element_types);

// An enumeration's value as the caller stored it: it may be none of the enumerators.
template<typename Enum> inline int stored_value(const Enum &field) {
    int value;
    static_assert(sizeof(field) == sizeof(value));
    std::memcpy(&value, &field, sizeof(value));
    return value;
}

// Element i of an array that may begin at any address.
template<typename T> inline T element(const void *data, int64_t i) {
    T value;
    std::memcpy(&value, static_cast<const char *>(data) + i * int64_t{sizeof(T)}, sizeof(T));
    return value;
}

}  // namespace qdq::runtime
