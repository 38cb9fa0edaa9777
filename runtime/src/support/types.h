// Element types as the dispatcher sees them: kernels/element_types.h, and the caller's enumerations, which may hold
// anything.
#pragma once

#include "element_types.h"
#include "qdq/qdq.h"

#include <bit>
#include <cstring>

namespace qdq::runtime {

using namespace kernels;

constexpr int dtype_count = std::size(element_types);

// Floats that may be packed four in three bytes.
constexpr bool has_six_bits(const element_type &type) { return type.is_float() && type.layout.sign_bit() == 5; }
constexpr int64_t dense_unit = 4, dense_unit_bytes = 3;

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

// value_of an f16, by operations that compilers make vectors of: a subnormal number is one of f32, too, and scaled up.
inline float value_of_f16(uint32_t code) {
    const uint32_t magnitude = code & 0x7fff, special = magnitude > 0x7bff ? 0x7f800000 : 0;
    const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | (code & 0x8000) << 16);
}

}  // namespace qdq::runtime
