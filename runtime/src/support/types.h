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

// value_of a scale's code, by operations that compilers make vectors of: the fields are put where f32 has them, and the
// exponent's bias by a product, which makes numbers of subnormal ones, too. Exponents of e8m0 are those of f32, but for
// the first, 2^-127, and the last, NaN.
constexpr float value_of_f16(uint32_t code) {
    const uint32_t fields = static_cast<uint32_t>(static_cast<int16_t>(code)) << 13 & 0x8fffe000;
    const auto scaled = std::bit_cast<uint32_t>(std::bit_cast<float>(fields) * 0x1p112f);
    return std::bit_cast<float>(scaled | (fields << 1 >= 0x7c00u << 14 ? 0x7f800000 : 0));
}

constexpr float value_of_e4m3(uint32_t code) {
    const uint32_t fields = static_cast<uint32_t>(static_cast<int8_t>(code)) << 20 & 0x87f00000;
    const auto scaled = std::bit_cast<uint32_t>(std::bit_cast<float>(fields) * 0x1p120f);  // 0x43f00000 of NaN
    return std::bit_cast<float>(scaled ^ (fields << 1 == 0x7fu << 21 ? 0x43f00000 ^ 0x7fc00000 : 0));
}

constexpr float value_of_e8m0(uint32_t code) {
    const uint32_t first_or_last = ((code + 1) & 0xff) <= 1 ? 0x00400000 : 0;
    return std::bit_cast<float>(code << 23 | first_or_last);
}

}  // namespace qdq::runtime
