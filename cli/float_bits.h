#pragma once

#include <qdq/qdq.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace qdq_cli {

inline float f16_to_f32(uint16_t bits) {
    uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u) {
        return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    }
    if (magnitude < 0x0400u) {  // subnormal: a multiple of 2^-24
        float value = std::ldexp(static_cast<float>(magnitude), -24);
        return sign ? -value : value;
    }
    return std::bit_cast<float>(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
}

inline float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

inline float e8m0_to_f32(uint8_t code) { return code == 255 ? NAN : std::ldexp(1.0f, code - 127); }

inline float e4m3_to_f32(uint8_t code) {
    int exponent = code >> 3 & 15, mantissa = code & 7;
    float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                    : std::ldexp(static_cast<float>(mantissa + 8), exponent - 10);
    float value = (code & 127) == 127 ? NAN : magnitude;
    return code & 128 ? -value : value;
}

// Widens `count` elements, the first at index `first` of `source`, exactly.
inline void widen(qdq_dtype type, const std::byte *source, int64_t first, int64_t count, float *to) {
    if (type == QDQ_F32) {
        std::memcpy(to, source + first * 4, static_cast<size_t>(count) * 4);
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        uint16_t bits;
        std::memcpy(&bits, source + (first + i) * 2, 2);
        to[i] = type == QDQ_F16 ? f16_to_f32(bits) : bf16_to_f32(bits);
    }
}

}  // namespace qdq_cli
