// The float types an operand may have that C++ has no name for. Each converts to f32 exactly.
#pragma once

#include <bit>
#include <cstdint>

namespace qdq::runtime {

struct float16 {
    uint16_t bits;

    operator float() const {
        const uint32_t magnitude = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
        const uint32_t subnormal =
            std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
        const uint32_t normal = (magnitude << 13) + (112u << 23);
        const uint32_t special = (magnitude << 13) | 0x7f800000u;
        return std::bit_cast<float>(sign | (magnitude < 0x400 ? subnormal : magnitude < 0x7c00 ? normal : special));
    }
};

struct bfloat16 {
    uint16_t bits;

    operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

// A power of two, 2^(bits - 127); 255 is NaN. OCP Microscaling Formats specification.
struct e8m0 {
    uint8_t bits;

    operator float() const {
        const uint32_t value = uint32_t{bits} << 23;
        return std::bit_cast<float>(bits == 0 ? 0x00400000u : bits == 255 ? 0x7fc00000u : value);
    }
};

struct e4m3fn {
    uint8_t bits;

    operator float() const {
        const uint32_t magnitude = bits & 0x7fu, sign = (bits & 0x80u) << 24;
        const uint32_t subnormal =
            std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-9f);
        const uint32_t normal = (magnitude << 20) + (120u << 23);
        return std::bit_cast<float>(sign | (magnitude < 8 ? subnormal : magnitude < 0x7f ? normal : 0x7fc00000u));
    }
};

}  // namespace qdq::runtime
