#include "formats.h"

#include "arithmetic.h"
#include "grids.h"

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace qdq {

using namespace Halide;

namespace {

constexpr int f32_mantissa_bits = 23;
constexpr int f32_bias = 127;
constexpr float_layout f16_layout = type_of(QDQ_F16).layout;

// The f32 bits of 2^e.
constexpr uint32_t power_of_two(int e) { return uint32_t(e + f32_bias) << f32_mantissa_bits; }

// The bits of a where the mask has ones, elsewhere those of b.
Expr choose_bits(uint32_t mask, Expr a, Expr b) {
    return (std::move(a) & bit_pattern(mask)) | (std::move(b) & bit_pattern(~mask));
}

Expr magnitude_bits(const instructions &on, Expr a) { return reinterpret<uint32_t>(abs_bits(on, std::move(a))); }

Expr is_nan_magnitude(Expr magnitude) { return std::move(magnitude) > bit_pattern(0x7f800000); }

// The value of a normal code, were it a number.
float number_of(const float_layout &layout, uint32_t code) {
    const int exponent = int(code >> layout.mantissa_bits) - layout.bias - layout.mantissa_bits;
    const uint32_t mantissa = code & (layout.least_normal() - 1);
    return std::ldexp(float(mantissa + layout.least_normal()), exponent);
}

// The bits of an f32 above 0 as the magnitude of its exponent and its mantissa, side by side: 127 - e is 127 ^ e.
Expr tapered_fields(const Expr &bits) {
    Expr one = bit_pattern(power_of_two(0));
    return select(bits < one, bits ^ one, bits - one);
}

// The least of those with an exponent that is so far from 0.
Expr fields_from(int exponent) { return bit_pattern(uint32_t(exponent) << f32_mantissa_bits); }

// The code of a tapered type nearest to an f32 of these bits, ties away from 0: up to infinity's.
Expr tapered_code(const float_layout &layout, const Expr &bits) {
    Expr half = by_mantissa_bits(bits, {1u << 22, 1u << 21, 1u << 20, 1u << 19});
    Expr least = bit_pattern(power_of_two(1 - layout.bias));
    Expr rounded = max(bits + half, least), fields = tapered_fields(rounded);
    // The prefix, less the highest bit of the exponent's magnitude, which gives its place to the sign.
    Expr code = select(fields >= fields_from(8), (fields >> 22) + 0x50, fields >= fields_from(4), (fields >> 21) + 0x30,
                       fields >= fields_from(2), (fields >> 20) + 0x10, (fields >> 20) + 8);
    Expr sign = select(fields >= fields_from(2), bit_pattern(16), bit_pattern(8));
    code = code + select(rounded < bit_pattern(power_of_two(0)), sign, bit_pattern(0));
    code = select(fields >= fields_from(16), ((rounded - least) >> f32_mantissa_bits) + 1, code);
    return select(bits < bit_pattern(power_of_two(-layout.bias)), bit_pattern(0), code);
}

// The same of any magnitude: what is above the largest number is bounded by it, or by what would have infinity's code.
Expr saturated_tapered_code(const float_layout &layout, const Expr &magnitude, const Expr &no_saturate) {
    const float largest = value_of(layout, layout.largest());
    const uint32_t bits = std::bit_cast<uint32_t>(largest);
    const uint32_t next = bits + (1u << (f32_mantissa_bits - mantissa_bits_at(layout, std::ilogb(largest))));
    return tapered_code(layout, min(magnitude, select(no_saturate != 0, bit_pattern(next), bit_pattern(bits))));
}

// The code of any magnitude, of a type whose mantissas have the same width.
Expr saturated_code(const float_layout &layout, const Expr &magnitude, const Expr &no_saturate) {
    const int shift = f32_mantissa_bits - layout.mantissa_bits;

    // The first power of two past the largest value keeps what follows in range and still overflows.
    const int overflow_exponent = int(layout.largest() >> layout.mantissa_bits) - layout.bias + 1;
    Expr bounded = min(magnitude, bit_pattern(power_of_two(overflow_exponent)));

    // As in encode, but the origins are subtracted for a code without other bits.
    Expr least_normal = bit_pattern(power_of_two(1 - layout.bias));
    Expr exponent = max(bounded & bit_pattern(0x7f800000), least_normal);
    Expr aligner = exponent + bit_pattern(uint32_t(shift) << f32_mantissa_bits);
    Expr aligned = reinterpret<uint32_t>(add(reinterpret<float>(bounded), reinterpret<float>(aligner)));
    Expr code = (aligned - aligner) + ((exponent - least_normal) >> shift);

    Expr overflow = select(no_saturate != 0, bit_pattern(layout.overflow()), bit_pattern(layout.largest()));
    return select(code > bit_pattern(layout.largest()), overflow, code);
}

// Any t, as encode_any.
Expr encode_float(const instructions &on, const float_layout &layout, Expr t, Expr x, Expr no_saturate) {
    Expr magnitude = magnitude_bits(on, t);
    Expr code = layout.is_tapered() ? saturated_tapered_code(layout, magnitude, no_saturate)
                                    : saturated_code(layout, magnitude, no_saturate);
    Expr is_nan = is_nan_magnitude(magnitude);
    Expr signed_bits = select(is_nan, reinterpret<uint32_t>(x), reinterpret<uint32_t>(t));
    Expr sign = (signed_bits >> (31 - layout.sign_bit())) & bit_pattern(1u << layout.sign_bit());
    if (!layout.has_nan()) {
        sign = select(is_nan, bit_pattern(0), sign);
    }
    if (!layout.has_negative_zero()) {  // the code of -0 is NaN, whatever its sign was, and nothing else
        sign = select(code == 0 || code == bit_pattern(layout.nan()) || is_nan, bit_pattern(0), sign);
    }
    return select(is_nan, bit_pattern(layout.nan()), code) | sign;
}

// The value of a code of a format without infinities, as if none was NaN: an f32 whose exponent is too small by the
// difference of the biases. The code's sign is extended to the left of its exponent, and stays where an f32 has it.
Expr decode_number(const float_layout &layout, const Expr &bits) {
    const int shift = f32_mantissa_bits - layout.mantissa_bits, above = 31 - layout.sign_bit();
    Expr at_top = reinterpret<int32_t>(bits << above);
    Expr placed =
        reinterpret<uint32_t>(at_top >> (above - shift)) & bit_pattern(0x80000000 | layout.magnitude_mask() << shift);
    return multiply(reinterpret<float>(placed), std::ldexp(1.0f, f32_bias - layout.bias));
}

Expr is_nan_code(const float_layout &layout, const Expr &bits) {
    if (!layout.has_negative_zero()) {
        return (bits & bit_pattern(2 * layout.magnitude_mask() + 1)) == bit_pattern(layout.nan());
    }
    return (bits & bit_pattern(layout.magnitude_mask())) > bit_pattern(layout.last_number());
}

// The bits of the f32 with the value of a tapered type's magnitude, but for infinity.
Expr tapered_value(const float_layout &layout, const Expr &magnitude) {
    Expr one = bit_pattern(power_of_two(0)), is_wide = magnitude >= 0x20;
    Expr fields = select(is_wide, (magnitude & 0xf) | 0x10, (magnitude & 7) | ((magnitude >> 1) & 8));
    Expr placed = select(magnitude >= 0x60, fields << 22, magnitude >= 0x40, fields << 21, fields << 20);
    Expr is_below_1 = (magnitude & select(is_wide, bit_pattern(0x10), bit_pattern(8))) != 0;
    Expr number = select(is_below_1, one ^ placed, one + placed);
    Expr power = (magnitude << f32_mantissa_bits) + bit_pattern(power_of_two(-layout.bias));
    return select(magnitude == 0, bit_pattern(0), magnitude < 8, power, number);
}

// The same of any other type.
Expr value_bits(const instructions &on, const float_layout &layout, const Expr &magnitude) {
    const int shift = f32_mantissa_bits - layout.mantissa_bits;
    if (on.fast_subnormals) {  // an f32 whose exponent is too small by the difference of the biases
        return reinterpret<uint32_t>(
            multiply(reinterpret<float>(magnitude << shift), std::ldexp(1.0f, f32_bias - layout.bias)));
    }
    Expr normal = (magnitude << shift) + bit_pattern(power_of_two(-layout.bias));
    // With the exponent field at 1, the mantissa of a subnormal counts up from the least normal: subtract that.
    Expr least_normal = bit_pattern(power_of_two(1 - layout.bias));
    Expr subnormal = reinterpret<uint32_t>(
        subtract(reinterpret<float>((magnitude << shift) + least_normal), reinterpret<float>(least_normal)));
    return select(magnitude < bit_pattern(layout.least_normal()), subnormal, normal);
}

Expr decode_float(const instructions &on, const float_layout &layout, Expr bits) {
    if (on.ptx && !layout.has_infinity()) {
        Expr number = decode_number(layout, bits);
        return layout.has_nan() ? select(is_nan_code(layout, bits), reinterpret<float>(bit_pattern(0x7fc00000)), number)
                                : number;
    }
    Expr magnitude = bits & bit_pattern(layout.magnitude_mask());
    Expr sign = (bits >> layout.sign_bit()) << 31;
    Expr value = layout.is_tapered() ? tapered_value(layout, magnitude) : value_bits(on, layout, magnitude);
    if (layout.has_infinity()) {
        value = select(magnitude == bit_pattern(layout.overflow()), bit_pattern(0x7f800000), value);
    }
    value = value | sign;
    if (!layout.has_negative_zero()) {
        Expr code = bits & bit_pattern(2 * layout.magnitude_mask() + 1);  // a device's words hold more above it
        value = select(code == bit_pattern(layout.nan()), bit_pattern(0x7fc00000), value);
    } else if (layout.has_nan()) {
        value = select(magnitude > bit_pattern(layout.last_number()), bit_pattern(0x7fc00000), value);
    }
    return reinterpret<float>(value);
}

Expr ieee_f16_value(const instructions &on, Expr bits) {
    Expr word = cast<uint32_t>(bits);
    Expr value = on.f16 ? cast<float>(reinterpret<float16_t>(bits)) : decode_float(on, f16_layout, word);
    if (on.f16 && !on.ptx) {
        return value;
    }
    // PTX's conversion may lose the sign of a NaN, and Halide 21's emulation makes NaN infinite. By integers: of
    // (value & 0x7fffffff) | sign LLVM makes abs.f32, and PTX leaves open which NaN that gives of one.
    Expr is_nan = (word & bit_pattern(f16_layout.magnitude_mask())) > bit_pattern(f16_layout.last_number());
    Expr sign = (word & bit_pattern(0x8000)) << 16;
    return select(is_nan, reinterpret<float>(sign | bit_pattern(0x7fc00000)), value);
}

}  // namespace

const element_type &type_named(const std::string &name) {
    for (const element_type &t : element_types) {
        if (t.name == name) {
            return t;
        }
    }
    throw std::invalid_argument("kernels/manifest.cmake has no element type \"" + name + "\"");
}

Expr by_mantissa_bits(const Expr &bits, const std::array<uint32_t, 4> &of) {
    Expr fields = tapered_fields(bits);
    return select(fields >= fields_from(16), bit_pattern(of[0]), fields >= fields_from(8), bit_pattern(of[1]),
                  fields >= fields_from(4), bit_pattern(of[2]), bit_pattern(of[3]));
}

bool pairs(const element_type &floats, const element_type &stored) {
    return floats.bits == 16 && (stored.bits == 8 || stored.bits == 4);
}

Type buffer_type(const element_type &t) {
    switch (t.dtype) {
    case QDQ_F32: return Float(32);
    case QDQ_F16: return Float(16);
    case QDQ_BF16: return BFloat(16);
    default: return t.is_signed() && !t.is_packed() ? Int(t.bits) : UInt(8 * t.bytes());
    }
}

float saturating_magnitude(const element_type &t) {
    if (t.roles.floats) {
        return beyond_all_codes;
    }
    if (t.is_float()) {
        return static_cast<float>(t.largest_value());
    }
    return t.bits == 32 ? 8589934592.0f : 2097152.0f;
}

Expr bounded_by(const instructions &on, const float_layout &layout, Expr limit, Expr t) {
    return layout.has_nan() ? lesser(on, std::move(limit), std::move(t))
                            : lesser_number(on, std::move(limit), std::move(t));
}

namespace {

// The code of a number that is bounded by the largest, but for rounding, in low bits.
Expr nearest_code(const instructions &on, const float_layout &layout, const Expr &bounded) {
    const int shift = f32_mantissa_bits - layout.mantissa_bits;
    // Adding 2^(e + shift), e the exponent of t but at least that of the least normal, leaves t / 2^(e - mantissa bits)
    // rounded to nearest even in the low bits of the sum. In subnormals that is the code itself; above, the exponents
    // passed since then complete it. Their origin is an even constant that is added to the sum.
    const uint32_t least_normal = power_of_two(1 - layout.bias);
    const uint32_t origin = -(least_normal >> shift) & (on.shift_and_add ? 0x7fffff : layout.magnitude_mask());
    Expr exponent = max(reinterpret<uint32_t>(bounded) & bit_pattern(0x7f800000), bit_pattern(least_normal));
    Expr sum;
    if (on.fma) {
        const float aligner = std::ldexp(1.0f, shift) + std::ldexp(float(origin), -layout.mantissa_bits);
        sum = fused_multiply_add(reinterpret<float>(exponent), aligner, bounded);
    } else {
        Expr aligner = exponent + bit_pattern((uint32_t(shift) << f32_mantissa_bits) + origin);
        sum = add(bounded, reinterpret<float>(aligner));
    }
    return reinterpret<uint32_t>(sum) + (exponent >> shift);
}

}  // namespace

encoded encode(const instructions &on, const float_layout &layout, Expr bounded, Expr x, Expr sign_bits) {
    // NaN becomes what would have its code, where one number would.
    const bool bounds_nan = on.number_minimum && layout.has_nan() && !layout.is_tapered();
    if (bounds_nan) {
        bounded = lesser_number(on, number_of(layout, layout.nan()), bounded);
    }
    Expr magnitude =
        layout.is_tapered() ? tapered_code(layout, reinterpret<uint32_t>(bounded)) : nearest_code(on, layout, bounded);

    Expr x_bits = sign_bits.defined() ? sign_bits : reinterpret<uint32_t>(x);
    Expr is_nan = is_nan_magnitude(magnitude_bits(on, x));
    if (!layout.has_nan()) {
        return {magnitude, select(is_nan, bit_pattern(0), x_bits)};
    }
    if (!bounds_nan) {
        magnitude = select(is_nan, bit_pattern(layout.nan()), magnitude);
    }
    if (layout.has_negative_zero()) {
        return {magnitude, x_bits};
    }
    // 0x80 is NaN, whatever its sign was, and nothing else.
    Expr is_zero = (magnitude & bit_pattern(layout.magnitude_mask())) == 0;
    Expr sign = select(is_zero, bit_pattern(0), x_bits);
    return {magnitude, bounds_nan ? sign : select(is_nan, bit_pattern(0x80000000), sign)};
}

Expr code_of(const instructions &on, const float_layout &layout, const encoded &e) {
    if (on.shift_and_add) {
        return e.magnitude | ((e.sign & bit_pattern(0x80000000)) >> (31 - layout.sign_bit()));
    }
    return choose_bits(layout.magnitude_mask(), e.magnitude, e.sign >> (31 - layout.sign_bit()));
}

Expr code_at_top(const float_layout &layout, const encoded &e) {
    Expr magnitude = reinterpret<float>(e.magnitude << (31 - layout.sign_bit())), sign = reinterpret<float>(e.sign);
    return reinterpret<uint32_t>(
        Internal::Call::make(Float(32), "llvm.copysign.f32", {magnitude, sign}, Internal::Call::PureExtern));
}

Expr byte_of(const instructions &on, const float_layout &layout, const encoded &first, const encoded &second) {
    if (on.shift_and_add) {
        return code_of(on, layout, first) | (code_of(on, layout, second) << 4);
    }
    const uint32_t mask = layout.magnitude_mask();
    Expr magnitude = choose_bits(0xf, first.magnitude, second.magnitude << 4);
    Expr sign = choose_bits(0xf, first.sign >> 28, second.sign >> 24);
    return choose_bits(mask | mask << 4, magnitude, sign);
}

Expr encode_any(const instructions &on, const float_layout &layout, Expr t, Expr x, Expr no_saturate) {
    return encode_float(on, layout, t, x, no_saturate);
}

Expr float_value(const instructions &on, const element_type &t, Expr code) {
    if (t.dtype == QDQ_F16) {
        return ieee_f16_value(on, cast<uint16_t>(code));
    }
    Expr word = cast<uint32_t>(code);
    if (t.layout.special == specials::powers_of_two) {
        Expr exponent = word & bit_pattern(t.layout.magnitude_mask());
        return reinterpret<float>(select(exponent == 0, bit_pattern(0x00400000),
                                         exponent == bit_pattern(t.layout.nan()), bit_pattern(0x7fc00000),
                                         exponent << f32_mantissa_bits));
    }
    if (t.layout.bias == f32_bias) {  // f32 and its upper half, bf16
        return reinterpret<float>(word << (f32_mantissa_bits - t.layout.mantissa_bits));
    }
    return decode_float(on, t.layout, word);
}

Expr float_value_or_nan(const instructions &on, const element_type &t, Expr code) {
    return t.dtype == QDQ_F16 && on.f16 ? cast<float>(reinterpret<float16_t>(cast<uint16_t>(code)))
                                        : float_value(on, t, code);
}

Expr ordinary_product(const instructions &on, const element_type &t, const Expr &code, const Expr &scale) {
    const bool by_number = on.ptx && t.layout.has_nan() && !t.layout.has_infinity();
    Expr number = by_number ? decode_number(t.layout, cast<uint32_t>(code)) : float_value(on, t, code);
    Expr product = multiply(number, scale);
    return by_number ? select(is_nan_code(t.layout, cast<uint32_t>(code)), reinterpret<float>(bit_pattern(0x7fc00000)),
                              product)
                     : product;
}

Expr value_in_table(const float_layout &layout, Expr code) {
    const int codes = 2 << layout.sign_bit();
    Buffer<float> table(codes);
    for (int i = 0; i < codes; i++) {
        const float value = value_of(layout, uint32_t(i));
        table(i) = std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value;
    }
    return table(cast<int32_t>(std::move(code) & bit_pattern(uint32_t(codes - 1))));
}

Expr integer_value(const element_type &t, Expr bits, Expr place) {
    const int above = 32 - t.bits;
    if (above == 0) {
        return cast<int32_t>(bits);
    }
    Expr word = cast<uint32_t>(bits), below = t.bits * std::move(place);
    if (t.is_signed()) {
        return cast<int32_t>(word << (above - below)) >> above;
    }
    return cast<int32_t>((word >> below) & bit_pattern((1u << t.bits) - 1));
}

Expr nearest_element(const instructions &on, const element_type &t, Expr a) {
    switch (t.dtype) {
    case QDQ_F32: return a;
    case QDQ_BF16: return reinterpret<bfloat16_t>(cast<uint16_t>(bf16_in_upper_half(a) >> 16));
    default:
        if (!on.f16) {
            return reinterpret<float16_t>(cast<uint16_t>(encode_float(on, f16_layout, a, a, 1)));
        }
        // PTX converts a NaN to one of its own.
        return on.ptx ? reinterpret<float16_t>(select(not_a_number(a), Internal::make_const(UInt(16), f16_layout.nan()),
                                                      reinterpret<uint16_t>(cast<float16_t>(a))))
                      : cast<float16_t>(a);
    }
}

bool converts_normals(const instructions &on, const element_type &t) { return on.bf16 && t.dtype == QDQ_BF16; }

// By the name that Halide's run time gives the instruction: it makes two registers one, and zeros of subnormals.
Expr nearest_element_of_normal(const instructions &on, const element_type &t, Expr a) {
    return converts_normals(on, t) ? reinterpret<bfloat16_t>(Internal::Call::make(
                                         UInt(16), "vcvtne2ps2bf16", {std::move(a)}, Internal::Call::PureExtern))
                                   : nearest_element(on, t, std::move(a));
}

Expr element_in_upper_half(const instructions &on, const element_type &t, Expr a) {
    return t.dtype == QDQ_BF16 ? bf16_in_upper_half(std::move(a))
                               : cast<uint32_t>(reinterpret<uint16_t>(nearest_element(on, t, std::move(a)))) << 16;
}

bool has_f16_layout(const float_layout &layout) {
    return layout.exponent_bits == f16_layout.exponent_bits
               ? layout.special == specials::ieee
               : layout.exponent_bits < f16_layout.exponent_bits && !layout.has_infinity();
}

Expr f16_bits(const float_layout &layout, Expr code) {
    const int shift = f16_layout.mantissa_bits - layout.mantissa_bits;
    auto constant = [](uint32_t bits) { return Internal::make_const(UInt(16), uint64_t(bits)); };
    Expr magnitude = (code & constant(layout.magnitude_mask())) << shift;
    Expr bits = magnitude | ((code >> layout.sign_bit()) << f16_layout.sign_bit());
    if (layout.sign_bit() == 7) {  // the sign at once by extending it: 26 instructions for 64 codes of e4m3, not 38
        Expr extended = reinterpret<uint16_t>(cast<int16_t>(reinterpret<int8_t>(cast<uint8_t>(code))));
        bits = (extended << shift) & constant(0x8000 | layout.magnitude_mask() << shift);
        magnitude = bits & constant(0x7fff);
    }
    Expr nan = constant(f16_layout.nan());
    if (!layout.has_negative_zero()) {
        return select(code == constant(layout.nan()), nan, bits);
    }
    return layout.has_nan() ? select(magnitude > constant(layout.last_number() << shift), nan, bits) : bits;
}

Expr f16_top(const float_layout &layout, Expr byte) {
    // The sign fills the bits by which a wider exponent outdoes the code's; all of them but the first are cleared.
    const int shift = f16_layout.exponent_bits - layout.exponent_bits;
    const uint32_t magnitude = 0x7f >> shift & ~0u << (7 - shift - layout.sign_bit());
    return reinterpret<uint8_t>(reinterpret<int8_t>(std::move(byte)) >> shift) &
           Internal::make_const(UInt(8), 0x80 | magnitude);
}

int f16_exponent_shift(const float_layout &layout) { return f16_layout.bias - layout.bias; }

}  // namespace qdq
