// The element types of qdq.h, decoded and encoded one value at a time. An encoder rounds once, to nearest even (hif8:
// ties away from 0), by integer arithmetic on the significand, so it depends neither on the compiler's float options
// nor on MXCSR.
#pragma once

#include <qdq/qdq.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace reference {

struct integer_range {
    int64_t lowest;
    int64_t highest;
};

bool is_integer(qdq_dtype type);
bool is_packed(qdq_dtype type);  // several elements in a byte
int64_t bits_of(qdq_dtype type);
const char *name_of(qdq_dtype type);  // "f32", "i8", ...

// The values an integer type holds.
integer_range range_of(qdq_dtype type);

// The value of a stored integer: `code` holds the element's bits in its low end.
int64_t decode_integer(qdq_dtype type, uint32_t code);

// The value of a stored float, e8m0 included, exactly; every NaN code gives the positive quiet NaN.
float decode_float(qdq_dtype type, uint32_t code);

// A binary interchange format narrower than binary32, or a cut-down one (e4m3fn, e2m1, AMD's fnuz types, whose one NaN
// is the code of -0).
struct float_format {
    int exponent_bits;
    int mantissa_bits;
    int bias;
    uint32_t sign_bit;
    uint32_t largest_finite;
    uint32_t infinity;  // what an overflow gives where nothing saturates: a NaN where the format has no infinity
    uint32_t nan;       // the positive quiet one; the largest number where the format has no NaN

    bool has_nan() const { return nan != largest_finite; }
    bool has_negative_zero() const { return nan != sign_bit; }
};

inline constexpr float_format f16_format{5, 10, 15, 0x8000, 0x7bff, 0x7c00, 0x7e00};
inline constexpr float_format bf16_format{8, 7, 127, 0x8000, 0x7f7f, 0x7f80, 0x7fc0};

// m / 2^shift to the nearest integer, a tie to the even one.
inline uint32_t shift_right_to_nearest_even(uint32_t m, int shift) {
    if (shift > 31) {
        return 0;  // m < 2^24: less than half a unit
    }
    const uint32_t unit = 1u << shift;
    const uint32_t quotient = m >> shift;
    const uint32_t remainder = m & (unit - 1);
    const bool above_half = remainder > unit / 2;
    const bool tie_at_odd = remainder == unit / 2 && (quotient & 1) != 0;
    return quotient + (above_half || tie_at_odd ? 1 : 0);
}

// The code of |value| rounded to nearest even as if the format's exponents went on upwards for ever: a result above
// `largest_finite` means overflow. `value` is finite.
inline uint32_t round_magnitude(const float_format &format, float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value) & 0x7fffffffu;
    const bool subnormal = (bits >> 23) == 0;
    // |value| = significand * 2^(exponent - 23)
    const uint32_t significand = subnormal ? bits : (bits & 0x7fffffu) | 0x800000u;
    const int exponent = subnormal ? -126 : static_cast<int>(bits >> 23) - 127;

    const int lowest_exponent = 1 - format.bias;
    const int code_exponent = exponent > lowest_exponent ? exponent : lowest_exponent;
    const int shift = (code_exponent - format.mantissa_bits) - (exponent - 23);
    const uint32_t rounded = shift_right_to_nearest_even(significand, shift);
    // `rounded` counts units in the last place of binade `code_exponent`. Codes are consecutive integers across
    // binades, so a carry out of the mantissa, or from the subnormals to the normals, needs no special case.
    return (static_cast<uint32_t>(code_exponent - lowest_exponent) << format.mantissa_bits) + rounded;
}

// An f32 to f16 or bf16: overflow gives infinity, every NaN the positive quiet one.
inline uint32_t encode_ieee(const float_format &format, float value) {
    if (value != value) {
        return format.nan;
    }
    const uint32_t sign = std::signbit(value) ? format.sign_bit : 0;
    if (std::isinf(value)) {
        return sign | format.infinity;
    }
    const uint32_t magnitude = round_magnitude(format, value);
    return sign | (magnitude > format.largest_finite ? format.infinity : magnitude);
}

// The bits of a dequantized f32: every NaN is the positive quiet one.
inline uint32_t encode_f32(float value) { return value != value ? 0x7fc00000u : std::bit_cast<uint32_t>(value); }

// The exponent of a stored type's step at a finite value, between its next numbers as if these had no end: of an
// integer type 0.
int step_exponent(qdq_dtype type, float value);

// An f32 to an f8, f6 or f4 type. The sign of a NaN comes from the caller, since arithmetic does not define it.
uint32_t encode_quantized_float(qdq_dtype type, float value, bool nan_is_negative, bool no_saturate);

}  // namespace reference
