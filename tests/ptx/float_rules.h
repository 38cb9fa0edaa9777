// The operations on floats that PTX defines and C++ does not: conversions of f16, rounding to integers, extremes.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ptx {

inline bool is_nan_f16(uint16_t bits) { return (bits & 0x7fff) > 0x7c00; }

// Exact. A NaN keeps its sign and its payload's upper bits.
inline float f16_to_f32(uint16_t bits) {
    const uint32_t sign = uint32_t{bits & 0x8000u} << 16, magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00) {
        return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    }
    const float value = magnitude >= 0x400 ? std::bit_cast<float>((magnitude << 13) + (112u << 23))
                                           : static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

// Rounded to nearest even, with subnormal results.
inline uint16_t f32_to_f16(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffff;
    const uint32_t sign = bits >> 16 & 0x8000;
    if (magnitude > 0x7f800000) {
        return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    }
    if (magnitude >= 0x47800000) {  // 65536, and infinity
        return static_cast<uint16_t>(sign | 0x7c00);
    }
    if (magnitude < 0x38800000) {  // below 2^-14: a multiple of 2^-24, to which the sum rounds
        const float sum = std::bit_cast<float>(magnitude) + 0.5f;
        return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000));
    }
    const uint32_t odd = magnitude >> 13 & 1;
    return static_cast<uint16_t>(sign | ((magnitude - (112u << 23) + 0xfff + odd) >> 13));
}

enum class rounding { nearest_even, toward_zero, down, up };

template<rounding Mode> float to_integral(float x) {
    switch (Mode) {
    case rounding::nearest_even: return std::nearbyint(x);
    case rounding::toward_zero: return std::trunc(x);
    case rounding::down: return std::floor(x);
    case rounding::up: return std::ceil(x);
    }
}

// Toward zero, to the range of the type; 0 for NaN.
inline int32_t f32_to_s32(float x) {
    if (x != x) {
        return 0;
    }
    if (x >= 0x1p31f) {
        return std::numeric_limits<int32_t>::max();
    }
    return x < -0x1p31f ? std::numeric_limits<int32_t>::min() : static_cast<int32_t>(x);
}

// A number where one of the two is NaN; -0 is below +0.
inline float lesser(float a, float b) {
    const float chosen = a < b ? a : b;
    const float equal = std::bit_cast<float>(std::bit_cast<uint32_t>(a) | std::bit_cast<uint32_t>(b));
    return a != a ? b : b != b ? a : a == b ? equal : chosen;
}
inline float greater(float a, float b) {
    const float chosen = a > b ? a : b;
    const float equal = std::bit_cast<float>(std::bit_cast<uint32_t>(a) & std::bit_cast<uint32_t>(b));
    return a != a ? b : b != b ? a : a == b ? equal : chosen;
}

}  // namespace ptx
