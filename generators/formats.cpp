#include "formats.h"

#include "arithmetic.h"

#include <cmath>

namespace qdq {

using namespace Halide;

namespace {

// A short float: sign, exponent, mantissa. IEEE-754 binary16, OCP 8-bit Floating Point, OCP Microscaling Formats.
struct float_layout {
    int mantissa_bits;
    int bias;
    int sign_bit;       // position of the sign in the code
    int largest_code;   // of a finite value, without sign
    int overflow_code;  // where saturation is off
    int nan_code;

    int exponent_bits() const { return sign_bit - mantissa_bits; }
    uint32_t magnitude_mask() const { return (1u << sign_bit) - 1; }
    bool has_nan() const { return nan_code != largest_code; }
    bool has_infinity() const { return overflow_code != largest_code && overflow_code != nan_code; }
    bool has_negative_zero() const { return nan_code != 1 << sign_bit; }  // AMD's types use its code for NaN
    int last_number() const { return has_infinity() ? overflow_code : largest_code; }
};

constexpr float_layout f16_layout = {10, 15, 15, 0x7bff, 0x7c00, 0x7e00};

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

constexpr int f32_mantissa_bits = 23;
constexpr int f32_bias = 127;
constexpr int f16_mantissa_bits = 10;
constexpr int f16_bias = 15;

// The f32 bits of 2^e.
constexpr uint32_t power_of_two(int e) { return uint32_t(e + f32_bias) << f32_mantissa_bits; }

// The bits of a where the mask has ones, elsewhere those of b.
Expr choose_bits(uint32_t mask, Expr a, Expr b) {
    return (std::move(a) & bit_pattern(mask)) | (std::move(b) & bit_pattern(~mask));
}

Expr magnitude_bits(instructions on, Expr a) { return reinterpret<uint32_t>(abs_bits(on, std::move(a))); }

Expr is_nan_magnitude(Expr magnitude) { return std::move(magnitude) > bit_pattern(0x7f800000); }

// The value of a normal code, were it a number.
float number_of(const float_layout &layout, int code) {
    const int exponent = (code >> layout.mantissa_bits) - layout.bias - layout.mantissa_bits;
    const int mantissa = code & ((1 << layout.mantissa_bits) - 1);
    return std::ldexp(float(mantissa + (1 << layout.mantissa_bits)), exponent);
}

// Any t, as encode_any.
Expr encode_float(instructions on, const float_layout &layout, Expr t, Expr x, Expr no_saturate) {
    const int shift = f32_mantissa_bits - layout.mantissa_bits;
    Expr magnitude = magnitude_bits(on, t);

    // The first power of two past the largest value keeps what follows in range and still overflows.
    const int overflow_exponent = (layout.largest_code >> layout.mantissa_bits) - layout.bias + 1;
    Expr bounded = min(magnitude, bit_pattern(power_of_two(overflow_exponent)));

    // As in encode, but the origins are subtracted for a code without other bits.
    Expr least_normal = bit_pattern(power_of_two(1 - layout.bias));
    Expr exponent = max(bounded & bit_pattern(0x7f800000), least_normal);
    Expr aligner = exponent + bit_pattern(uint32_t(shift) << f32_mantissa_bits);
    Expr aligned = reinterpret<uint32_t>(add(reinterpret<float>(bounded), reinterpret<float>(aligner)));
    Expr code = (aligned - aligner) + ((exponent - least_normal) >> shift);

    Expr overflow = select(no_saturate != 0, bit_pattern(layout.overflow_code), bit_pattern(layout.largest_code));
    code = select(code > layout.largest_code, overflow, code);

    Expr is_nan = is_nan_magnitude(magnitude);
    Expr signed_bits = select(is_nan, reinterpret<uint32_t>(x), reinterpret<uint32_t>(t));
    Expr sign = (signed_bits >> (31 - layout.sign_bit)) & bit_pattern(1u << layout.sign_bit);
    if (!layout.has_nan()) {
        sign = select(is_nan, bit_pattern(0), sign);
    }
    if (!layout.has_negative_zero()) {  // 0x80 is NaN, whatever its sign was, and nothing else
        sign = select(code == 0 || code == bit_pattern(0x80) || is_nan, bit_pattern(0), sign);
    }
    return select(is_nan, bit_pattern(layout.nan_code), code) | sign;
}

Expr decode_float(instructions on, const float_layout &layout, Expr bits) {
    const int shift = f32_mantissa_bits - layout.mantissa_bits;
    Expr magnitude = bits & bit_pattern(layout.magnitude_mask());
    Expr sign = (bits >> layout.sign_bit) << 31;
    Expr normal = (magnitude << shift) + bit_pattern(power_of_two(-layout.bias));
    // With the exponent field at 1, the mantissa of a subnormal counts up from the least normal: subtract that.
    Expr least_normal = bit_pattern(power_of_two(1 - layout.bias));
    Expr subnormal = reinterpret<uint32_t>(
        subtract(reinterpret<float>((magnitude << shift) + least_normal), reinterpret<float>(least_normal)));
    Expr value = select(magnitude < (1 << layout.mantissa_bits), subnormal, normal);
    if (multiply_subnormals(on)) {  // the same: an f32 whose exponent is too small by the difference of the biases
        value = reinterpret<uint32_t>(
            multiply(reinterpret<float>(magnitude << shift), std::ldexp(1.0f, f32_bias - layout.bias)));
    }
    if (layout.has_infinity()) {
        value = select(magnitude == layout.overflow_code, bit_pattern(0x7f800000), value);
    }
    value = value | sign;
    if (!layout.has_negative_zero()) {
        value = select(bits == layout.nan_code, bit_pattern(0x7fc00000), value);
    } else if (layout.has_nan()) {
        value = select(magnitude > layout.last_number(), bit_pattern(0x7fc00000), value);
    }
    return reinterpret<float>(value);
}

}  // namespace

const std::map<std::string, format> &format_names() {
    static const std::map<std::string, format> names = {
        {"i8", format::i8},
        {"u8", format::u8},
        {"i16", format::i16},
        {"u16", format::u16},
        {"i32", format::i32},
        {"i4", format::i4},
        {"u4", format::u4},
        {"f8e4m3", format::f8e4m3},
        {"f8e5m2", format::f8e5m2},
        {"f8e4m3fnuz", format::f8e4m3fnuz},
        {"f8e5m2fnuz", format::f8e5m2fnuz},
        {"f4e2m1", format::f4e2m1},
    };
    return names;
}

bool is_float(format f) { return f >= format::f8e4m3; }
bool is_integer(format f) { return !is_float(f); }
bool is_unsigned(format f) { return f == format::u8 || f == format::u16 || f == format::u4; }
bool is_packed(format f) { return f == format::i4 || f == format::u4 || f == format::f4e2m1; }

Type code_type(format f) {
    switch (f) {
    case format::i8:
    case format::i4:
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

float saturating_magnitude(format f) {
    if (is_float(f)) {
        return number_of(layout_of(f), layout_of(f).largest_code);
    }
    return f == format::i32 ? 8589934592.0f : 2097152.0f;
}

encoded encode(instructions on, format f, Expr t, Expr x) {
    const float_layout layout = layout_of(f);
    const int shift = f32_mantissa_bits - layout.mantissa_bits;
    // Where there is no NaN, it becomes the largest value, and positive.
    Expr bounded =
        layout.has_nan() ? lesser(on, saturating_magnitude(f), t) : lesser_number(on, saturating_magnitude(f), t);
    if (layout.has_nan() && have_number_minimum(on)) {  // NaN becomes what would have its code
        bounded = lesser_number(on, number_of(layout, layout.nan_code), bounded);
    }

    // Adding 2^(e + shift), e the exponent of t but at least that of the least normal, leaves t / 2^(e - mantissa bits)
    // rounded to nearest even in the low bits of the sum. In subnormals that is the code itself; above, the exponents
    // passed since then complete it. Their origin is an even constant that joins the sum.
    const uint32_t least_normal = power_of_two(1 - layout.bias);
    const uint32_t origin = -(least_normal >> shift) & (shift_and_add(on) ? 0x7fffff : layout.magnitude_mask());
    Expr exponent = max(reinterpret<uint32_t>(bounded) & bit_pattern(0x7f800000), bit_pattern(least_normal));
    Expr sum;
    if (have_fma(on)) {
        const float aligner = std::ldexp(1.0f, shift) + std::ldexp(float(origin), -layout.mantissa_bits);
        sum = fused_multiply_add(reinterpret<float>(exponent), aligner, bounded);
    } else {
        Expr aligner = exponent + bit_pattern((uint32_t(shift) << f32_mantissa_bits) + origin);
        sum = add(bounded, reinterpret<float>(aligner));
    }
    Expr magnitude = reinterpret<uint32_t>(sum) + (exponent >> shift);

    Expr x_bits = reinterpret<uint32_t>(x);
    Expr is_nan = is_nan_magnitude(magnitude_bits(on, x));
    if (!layout.has_nan()) {
        return {magnitude, select(is_nan, bit_pattern(0), x_bits)};
    }
    if (!have_number_minimum(on)) {
        magnitude = select(is_nan, bit_pattern(layout.nan_code), magnitude);
    }
    if (layout.has_negative_zero()) {
        return {magnitude, x_bits};
    }
    // 0x80 is NaN, whatever its sign was, and nothing else.
    Expr is_zero = (magnitude & bit_pattern(layout.magnitude_mask())) == 0;
    Expr sign = select(is_zero, bit_pattern(0), x_bits);
    return {magnitude, have_number_minimum(on) ? sign : select(is_nan, bit_pattern(0x80000000), sign)};
}

Expr code_of(instructions on, format f, const encoded &e) {
    const float_layout layout = layout_of(f);
    if (shift_and_add(on)) {
        return e.magnitude | ((e.sign & bit_pattern(0x80000000)) >> (31 - layout.sign_bit));
    }
    return choose_bits(layout.magnitude_mask(), e.magnitude, e.sign >> (31 - layout.sign_bit));
}

Expr byte_of(instructions on, format f, const encoded &first, const encoded &second) {
    if (shift_and_add(on)) {
        return code_of(on, f, first) | (code_of(on, f, second) << 4);
    }
    const uint32_t mask = layout_of(f).magnitude_mask();
    Expr magnitude = choose_bits(0xf, first.magnitude, second.magnitude << 4);
    Expr sign = choose_bits(0xf, first.sign >> 28, second.sign >> 24);
    return choose_bits(mask | mask << 4, magnitude, sign);
}

Expr encode_any(instructions on, format f, Expr t, Expr x, Expr no_saturate) {
    return encode_float(on, layout_of(f), t, x, no_saturate);
}

Expr decode(instructions on, format f, Expr code) {
    return is_float(f) ? decode_float(on, layout_of(f), cast<uint32_t>(code)) : cast<float>(code);
}

// An f16's largest exponent is infinity and NaN; e5m2fnuz has numbers there.
bool has_f16_layout(format f) { return f != format::f8e5m2fnuz; }

Expr f16_bits(format f, Expr code) {
    const float_layout layout = layout_of(f);
    const int shift = f16_mantissa_bits - layout.mantissa_bits;
    auto constant = [](uint32_t bits) { return Internal::make_const(UInt(16), uint64_t(bits)); };
    Expr magnitude = (code & constant(layout.magnitude_mask())) << shift;
    Expr bits = magnitude | ((code >> layout.sign_bit) << 15);
    Expr nan = constant(f16_layout.nan_code);
    if (!layout.has_negative_zero()) {
        return select(code == constant(layout.nan_code), nan, bits);
    }
    return layout.has_nan() ? select(magnitude > constant(uint32_t(layout.last_number()) << shift), nan, bits) : bits;
}

Expr f16_top(format f, Expr byte) {
    const float_layout layout = layout_of(f);
    // The sign fills the bits by which a wider exponent outdoes the code's; all of them but the first are cleared.
    const int shift = 5 - layout.exponent_bits();
    const uint32_t magnitude = 0x7f >> shift & ~0u << (7 - shift - layout.sign_bit);
    return reinterpret<uint8_t>(reinterpret<int8_t>(std::move(byte)) >> shift) &
           Internal::make_const(UInt(8), 0x80 | magnitude);
}

int f16_exponent_shift(format f) { return layout_of(f).exponent_bits() == 5 ? 0 : f16_bias - layout_of(f).bias; }

Expr f16_value(instructions on, Expr bits) {
    Expr word = cast<uint32_t>(bits);
    Expr is_nan = (word & bit_pattern(0x7fff)) > f16_layout.overflow_code;
    Expr nan = ((word & bit_pattern(0x8000)) << 16) | bit_pattern(0x7fc00000);
    return select(is_nan, reinterpret<float>(nan), decode_float(on, f16_layout, word));
}

Expr f16_code(instructions on, Expr a) { return cast<uint16_t>(encode_float(on, f16_layout, a, a, 1)); }

}  // namespace qdq
