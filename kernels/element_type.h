// What an element type is: how its bits become a number, and where it may stand in a call. The types themselves are
// rows of manifest.cmake, which become `element_types` in the generated element_types.h; everything else derives from
// them.
#pragma once

#include "qdq/qdq.h"

#include <bit>
#include <cstdint>

namespace qdq::kernels {

// What the codes of a float type mean that are not numbers.
enum class specials {
    none,                  // every code is a number: OCP Microscaling Formats, e2m1, e2m3, e3m2, e1m2
    ieee,                  // the largest exponent is infinity and NaN: IEEE 754, e5m2
    nan,                   // all ones are NaN, and there is no infinity: e4m3fn
    nan_as_negative_zero,  // the code of -0 is NaN, and there is neither infinity nor -0: the fnuz types
    powers_of_two,         // no sign, no zero: code c is 2^(c - bias), and all ones are NaN: e8m0
    tapered,               // the width of the exponent varies; there is an infinity, and NaN as above: HiFloat8
};

// Sign, exponent and mantissa of a float type, from the highest bit to the lowest. IEEE 754, OCP 8-bit Floating Point,
// OCP Microscaling Formats. A code's magnitude is the code without its sign.
//
// Of a tapered type (arXiv 2409.16626) the bits are the most that an exponent and a mantissa have. A prefix says how
// many this exponent has: a sign s, and its magnitude below the highest bit, which is 1. Magnitudes are
//
//   0000 mmm     2^(mmm - bias), and 0
//   0001 mmm     1.mmm
//   001 s mmm    1.mmm * 2^+-1
//   01 s e mmm   1.mmm * 2^+-1e
//   10 s ee mm   1.mm * 2^+-1ee
//   11 s eee m   1.m * 2^+-1eee, in binary, where the last with a + is infinity
struct float_layout {
    int exponent_bits;
    int mantissa_bits;
    int bias;
    specials special;

    constexpr int sign_bit() const { return exponent_bits + mantissa_bits; }
    constexpr uint32_t magnitude_mask() const { return (1u << sign_bit()) - 1; }
    constexpr bool is_tapered() const { return special == specials::tapered; }
    constexpr bool has_infinity() const { return special == specials::ieee || is_tapered(); }
    constexpr bool has_nan() const { return special != specials::none; }
    constexpr bool has_negative_zero() const { return special != specials::nan_as_negative_zero && !is_tapered(); }

    // Magnitudes of the largest finite value; of what overflow becomes where it does not saturate; and the code of NaN.
    constexpr uint32_t largest() const {
        return has_infinity() ? infinity() - 1 : special == specials::nan ? magnitude_mask() - 1 : magnitude_mask();
    }
    constexpr uint32_t overflow() const { return has_infinity() ? infinity() : nan(); }
    constexpr uint32_t nan() const {
        switch (special) {
        case specials::ieee: return infinity() | 1u << (mantissa_bits - 1);
        case specials::nan_as_negative_zero:
        case specials::tapered: return 1u << sign_bit();
        default: return magnitude_mask();
        }
    }
    // The largest magnitude that is not NaN.
    constexpr uint32_t last_number() const { return has_infinity() ? infinity() : largest(); }

    constexpr uint32_t least_normal() const { return 1u << mantissa_bits; }

private:
    constexpr uint32_t infinity() const { return is_tapered() ? 0x6f : magnitude_mask() & ~(least_normal() - 1); }
};

// How many bits the mantissa of a number with this exponent has: fewer, the further from 0 that is, where it is
// tapered.
constexpr int mantissa_bits_at(const float_layout &layout, int exponent) {
    const int distance = exponent < 0 ? -exponent : exponent;
    return !layout.is_tapered() || distance < 4 ? layout.mantissa_bits : distance < 8 ? 2 : distance < 16 ? 1 : 0;
}

// The bits of the f32 with the value of a tapered type's magnitude.
constexpr uint32_t tapered_bits(const float_layout &layout, uint32_t magnitude) {
    constexpr uint32_t one = 0x3f800000;
    if (magnitude < layout.least_normal()) {
        return magnitude == 0 ? 0 : (127 - uint32_t(layout.bias) + magnitude) << 23;
    }
    if (magnitude == layout.overflow()) {
        return 0x7f800000;
    }
    // The exponent's magnitude and the mantissa side by side, as an f32 has them: the highest bit, which is not stored,
    // is where the exponent's sign was.
    const uint32_t sign = magnitude < 0x20 ? 8 : 0x10;
    const uint32_t fields = (magnitude & (sign - 1)) | (magnitude < 0x10 ? 0 : sign);
    const uint32_t placed = fields << (magnitude < 0x40 ? 20 : magnitude < 0x60 ? 21 : 22);
    return magnitude & sign ? one ^ placed : one + placed;  // 127 - e is 127 ^ e
}

// The exact value of a code. Bits above the code's own are ignored; NaN is quiet, and positive but for IEEE's.
constexpr float value_of(const float_layout &layout, uint32_t code) {
    constexpr uint32_t quiet_nan = 0x7fc00000;
    const int shift = 23 - layout.mantissa_bits;
    if (layout.special == specials::powers_of_two) {
        const uint32_t exponent = code & layout.magnitude_mask();
        const uint32_t power = exponent == 0 ? 0x00400000u : exponent << 23;  // 2^-127 is a subnormal f32
        return std::bit_cast<float>(exponent == layout.nan() ? quiet_nan : power);
    }
    const uint32_t magnitude = code & layout.magnitude_mask();
    const uint32_t sign = (code >> layout.sign_bit()) << 31;
    if (layout.is_tapered()) {
        return std::bit_cast<float>(magnitude == 0 && sign != 0 ? quiet_nan : sign | tapered_bits(layout, magnitude));
    }
    if (layout.bias == 127) {
        return std::bit_cast<float>(sign | magnitude << shift);
    }
    const uint32_t normal = (magnitude << shift) + (uint32_t(127 - layout.bias) << 23);
    const float least = std::bit_cast<float>(uint32_t(127 + 1 - layout.bias - layout.mantissa_bits) << 23);
    const uint32_t subnormal = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * least);
    uint32_t value = magnitude < layout.least_normal() ? subnormal : normal;
    if (layout.has_infinity() && magnitude > layout.largest()) {
        value = (magnitude << shift) | 0x7f800000u;
    } else if (layout.has_nan() && layout.has_negative_zero() && magnitude > layout.last_number()) {
        value = quiet_nan;
    }
    if (!layout.has_negative_zero() && (code & (2 * layout.magnitude_mask() + 1)) == layout.nan()) {
        return std::bit_cast<float>(quiet_nan);
    }
    return std::bit_cast<float>(sign | value);
}

enum class numbers { signed_integers, unsigned_integers, floats };

// Where a type may stand.
struct roles {
    bool floats = false;  // what quantize reads and dequantize writes
    bool stored = false;  // what quantize writes and dequantize reads
    bool scale = false;
    bool zero_point = false;
    bool host = false;  // devices have no kernels of it
};

struct element_type {
    const char *name;  // in kernels' names, messages, tests and benchmarks
    qdq_dtype dtype;
    int bits;  // of an element in memory; below 8 a byte holds several
    kernels::numbers numbers;
    float_layout layout;  // of floats
    kernels::roles roles;
    int block, longest_block;  // stored types: the fewest and the most elements that share an operand in the block form

    constexpr bool is_float() const { return numbers == kernels::numbers::floats; }
    constexpr bool is_integer() const { return !is_float(); }
    constexpr bool is_signed() const { return numbers == kernels::numbers::signed_integers; }
    constexpr bool is_packed() const { return bits < 8; }
    constexpr int codes_per_byte() const { return is_packed() ? 8 / bits : 1; }
    constexpr int bytes() const { return is_packed() ? 1 : bits / 8; }

    // The range of an integer type; 0 of others.
    constexpr int64_t lowest() const { return is_signed() ? -(int64_t{1} << (bits - 1)) : 0; }
    constexpr int64_t highest() const {
        return is_float() ? 0 : is_signed() ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
    }

    // The largest finite value, and the step to it from the one below.
    constexpr double largest_value() const {
        return is_float() ? value_of(layout, layout.largest()) : double(highest());
    }
    constexpr double last_step() const {
        return is_float() ? largest_value() - value_of(layout, layout.largest() - 1) : 1;
    }
};

}  // namespace qdq::kernels
