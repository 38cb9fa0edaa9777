#include "formats.h"

#include "arithmetic.h"

namespace qdq {

using namespace Halide;

namespace {

// An 8-bit or smaller float: sign, exponent, mantissa; OCP 8-bit Floating Point and Microscaling specifications.
struct float_layout {
    int mantissa_bits;
    int bias;
    int sign_bit;       // position of the sign in the code
    int largest_code;   // of a finite value, without sign
    int overflow_code;  // where saturation is off
    int nan_code;
};

float_layout layout_of(format f) {
    switch (f) {
    case format::f8e4m3:
        return {3, 7, 7, 0x7e, 0x7f, 0x7f};
    case format::f8e5m2:
        return {2, 15, 7, 0x7b, 0x7c, 0x7e};
    case format::f8e4m3fnuz:  // no infinity and no -0: its code, 0x80, is the one NaN
        return {3, 8, 7, 0x7f, 0x80, 0x80};
    case format::f8e5m2fnuz:
        return {2, 16, 7, 0x7f, 0x80, 0x80};
    default:  // e2m1 has neither infinity nor NaN: ONNX gives NaN the largest value, +6
        return {1, 1, 3, 0x7, 0x7, 0x7};
    }
}

bool has_negative_zero(format f) { return f != format::f8e4m3fnuz && f != format::f8e5m2fnuz; }

constexpr int f32_mantissa_bits = 23;
constexpr int f32_bias = 127;

// The f32 bits of 2^e.
Expr power_of_two_bits(int e) { return bit_pattern(uint32_t(e + f32_bias) << f32_mantissa_bits); }

}  // namespace

const std::map<std::string, format> &format_names() {
    static const std::map<std::string, format> names = {
        {"i8", format::i8},         {"u8", format::u8},         {"i16", format::i16},       {"u16", format::u16},
        {"i32", format::i32},       {"f8e4m3", format::f8e4m3}, {"f8e5m2", format::f8e5m2}, {"f4e2m1", format::f4e2m1},
        {"f8e4m3fnuz", format::f8e4m3fnuz}, {"f8e5m2fnuz", format::f8e5m2fnuz},
    };
    return names;
}

bool is_float(format f) { return f >= format::f8e4m3; }

Type storage_type(format f) {
    switch (f) {
    case format::i8:
        return Int(8);
    case format::i16:
        return Int(16);
    case format::u16:
        return UInt(16);
    case format::i32:
        return Int(32);
    default:
        return UInt(8);
    }
}

Expr encode(format f, Expr t, Expr x, Expr no_saturate) {
    const float_layout layout = layout_of(f);
    const int shift = f32_mantissa_bits - layout.mantissa_bits;
    Expr t_bits = reinterpret<uint32_t>(t);
    Expr magnitude = t_bits & bit_pattern(0x7fffffff);

    // The first power of two past the largest value keeps what follows in range and still overflows.
    const int overflow_exponent = (layout.largest_code >> layout.mantissa_bits) - layout.bias + 1;
    Expr bounded = min(magnitude, power_of_two_bits(overflow_exponent));

    // Adding 2^(e + shift), e the exponent of t but at least that of the least normal, leaves t / 2^(e - mantissa bits)
    // rounded to nearest even in the low bits of the sum. In subnormals that is the code itself.
    Expr least_normal = power_of_two_bits(1 - layout.bias);
    Expr exponent = max(bounded & bit_pattern(0x7f800000), least_normal);
    Expr aligner = exponent + bit_pattern(uint32_t(shift) << f32_mantissa_bits);
    Expr aligned = reinterpret<uint32_t>(add(reinterpret<float>(bounded), reinterpret<float>(aligner)));
    Expr code = (aligned - aligner) + ((exponent - least_normal) >> shift);

    Expr overflow = select(no_saturate != 0, bit_pattern(layout.overflow_code), bit_pattern(layout.largest_code));
    code = select(code > layout.largest_code, overflow, code);

    Expr is_nan = magnitude > bit_pattern(0x7f800000);
    Expr sign = (select(is_nan, reinterpret<uint32_t>(x), t_bits) >> (31 - layout.sign_bit)) & bit_pattern(1u << layout.sign_bit);
    if (f == format::f4e2m1) {
        sign = select(is_nan, bit_pattern(0), sign);
    }
    if (!has_negative_zero(f)) {  // 0x80 is NaN, whatever its sign was, and nothing else
        sign = select(code == 0 || code == bit_pattern(0x80) || is_nan, bit_pattern(0), sign);
    }
    return cast<int32_t>(select(is_nan, bit_pattern(layout.nan_code), code) | sign);
}

Expr decode(format f, Expr code) {
    if (!is_float(f)) {
        return cast<float>(code);
    }
    const float_layout layout = layout_of(f);
    const int shift = f32_mantissa_bits - layout.mantissa_bits;
    Expr bits = cast<uint32_t>(code);
    Expr magnitude = bits & bit_pattern((1u << layout.sign_bit) - 1);
    Expr sign = (bits >> layout.sign_bit) << 31;
    Expr normal = (magnitude << shift) + power_of_two_bits(-layout.bias);
    // With the exponent field at 1, the mantissa of a subnormal counts up from the least normal: subtract that.
    Expr least_normal = power_of_two_bits(1 - layout.bias);
    Expr subnormal = reinterpret<uint32_t>(
        subtract(reinterpret<float>((magnitude << shift) + least_normal), reinterpret<float>(least_normal)));
    Expr value = select(magnitude < (1 << layout.mantissa_bits), subnormal, normal);
    if (!has_negative_zero(f)) {
        return reinterpret<float>(select(bits == bit_pattern(0x80), bit_pattern(0x7fc00000), value | sign));
    }
    if (layout.nan_code > layout.largest_code) {
        value = select(magnitude > layout.largest_code, bit_pattern(0x7fc00000), value);
    }
    if (f == format::f8e5m2) {
        value = select(magnitude == layout.overflow_code, bit_pattern(0x7f800000), value);
    }
    return reinterpret<float>(value | sign);
}

}  // namespace qdq
