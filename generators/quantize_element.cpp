#include "quantize_element.h"

#include "arithmetic.h"
#include "chance.h"

#include <cmath>

namespace qdq {

using namespace Halide;

namespace {

Expr with_sign_of(const Expr &x, const Expr &magnitude) {
    Expr sign = reinterpret<uint32_t>(x) & bit_pattern(0x80000000);
    return reinterpret<float>(reinterpret<uint32_t>(magnitude) | sign);
}

}  // namespace

quantize_element::quantize_element(const instructions &on, const element_type &stored, const quantize_methods &by,
                                   const options &given)
    : on(on), stored(stored), by(by), given(given) {
    require(on.fma || !by.divides_by_fma, "exact_division is fma", "fma");
    require(on.saturating_narrow || !by.narrows_by_saturating, "narrowing is saturating", "saturating_narrow");
}

Expr quantize_element::fast_code(bool multiplies, const Expr &x, const quantize_operands &o) const {
    if (stored.roles.floats) {
        return fast_quotient(multiplies, x, o);
    }
    return stored.is_integer() ? fast_integer(multiplies, x, o)
                               : cast<int32_t>(code_of(on, stored.layout, fast_encoded(multiplies, x, o)));
}

encoded quantize_element::fast_magnitude_and_sign(bool multiplies, const Expr &x, const quantize_operands &o) const {
    encoded e = fast_encoded(multiplies, x, o);
    return {e.magnitude & bit_pattern(stored.layout.magnitude_mask()), e.sign};
}

encoded quantize_element::magnitude_and_sign(const Expr &code) const {
    Expr bits = cast<uint32_t>(code);
    return {bits & bit_pattern(stored.layout.magnitude_mask()), bits << (31 - stored.layout.sign_bit())};
}

Expr quantize_element::fast_code_at_top(bool multiplies, const Expr &x, const quantize_operands &o) const {
    return stored.is_float() ? reinterpret<int32_t>(code_at_top(stored.layout, fast_encoded(multiplies, x, o)))
                             : fast_integer(multiplies, x, o) << 24;
}

// The bounds times the scale are of x what the bounds are of x / scale, as what lies between the exact and the rounded
// product rounds to a bound, too. NaN is the lower one.
Expr quantize_element::bounded_code(const Expr &x, const quantize_operands &o) const {
    Expr low = multiply(cast<float>(given.lowest), o.scale), high = multiply(cast<float>(given.highest), o.scale);
    return align_nearest(
        divide_by_reciprocal(on, lesser_number(on, high, greater_number(on, low, x)), o.scale, o.inverse));
}

Expr quantize_element::general_code(const Expr &multiplies, const Expr &adds_before, const Expr &x,
                                    const quantize_operands &o) const {
    Expr product = multiply(x, o.scale), quotient = divide(x, o.scale);
    Expr t = on.device() ? lazily(multiplies, product, quotient) : select_shared(on, multiplies, product, quotient);
    if (stored.is_integer() || stored.roles.floats) {
        t = select_shared(on, adds_before, add(t, o.offset), t);
    }
    if (stored.roles.floats) {
        return select(not_a_number(t), with_sign_of(x, reinterpret<float>(bit_pattern(0x7fc00000))), t);
    }
    if (o.chance.defined()) {
        t = lazily(given.rounding == int(QDQ_STOCHASTIC), rounded_by_chance(t, o.chance), t);
    }
    return stored.is_float() ? cast<int32_t>(encode_any(on, stored.layout, t, x, given.no_saturate))
                             : integer_code(on, t, select_shared(on, adds_before, 0, o.addend), given.rounding,
                                            nan_code(), given.lowest, given.highest);
}

// To a number of the type, of which every rounding gives the same code.
Expr quantize_element::rounded_by_chance(const Expr &t, const Expr &chance) const {
    return qdq::rounded_by_chance(on, grid_of(stored), t, chance, bit_pattern(least_normal_of(stored.layout)),
                                  bit_pattern(alignment_of(stored.layout.mantissa_bits)));
}

Expr quantize_element::nan_code() const { return select(given.no_saturate != 0, 0, given.lowest); }

Expr quantize_element::fast_codes(bool multiplies, const std::vector<Expr> &x,
                                  const std::vector<quantize_operands> &o) const {
    if (stored.is_float() && stored.bits == 4) {
        return cast<int32_t>(
            byte_of(on, stored.layout, fast_encoded(multiplies, x[0], o[0]), fast_encoded(multiplies, x[1], o[1])));
    }
    std::vector<Expr> codes;
    for (size_t i = 0; i < x.size(); i++) {
        codes.push_back(fast_code(multiplies, x[i], o[i]));
    }
    return packed(codes);
}

Expr quantize_element::packed(const std::vector<Expr> &codes) const {
    Expr byte = codes.back() << int(stored.bits * (codes.size() - 1));  // nothing looks at the bits above
    for (size_t i = codes.size() - 1; i-- > 0;) {
        byte = byte | (codes[i] & ((1 << stored.bits) - 1)) << int(stored.bits * i);
    }
    return byte;
}

bool quantize_element::narrows_by_saturating() const { return by.narrows_by_saturating && stored.bits <= 16; }

bool quantize_element::saturates(const quantize_operands &o) const {
    return narrows_by_saturating() &&
           (o.is_plain() || by.clamps_narrowed || (o.addend.defined() && adds_while_narrowing()));
}

bool quantize_element::adds_while_narrowing() const {
    return by.adds_while_narrowing && narrows_by_saturating() && stored.is_integer() && stored.bits <= 8;
}

Expr quantize_element::sum_of_words(const Expr &code, const Expr &addend) const {
    return saturating_add(saturating_cast(Int(16), code), cast<int16_t>(cast<int32_t>(addend)));
}

Expr quantize_element::allows_fast(const Expr &multiplies, const quantize_operands &o) const {
    Expr bits = reinterpret<uint32_t>(o.scale);
    Expr divides = bits >= bit_pattern(smallest_divisor) && bits <= bit_pattern(largest_divisor);
    if (stored.is_float()) {
        return select(multiplies, bits >= 1 && bits <= bit_pattern(0x7f7fffff), divides);
    }
    // What is NaN by x alone: 0 times infinity is, too.
    Expr multiplies_numbers = multiplies && (given.no_saturate == 0 || (bits >= 1 && bits <= bit_pattern(0x7f7fffff)));
    Expr small = !less(float(small_zero_point), abs_bits(on, o.offset)) && !not_a_number(o.offset) &&
                 o.addend >= -small_zero_point && o.addend <= small_zero_point;
    return (multiplies_numbers || divides) && (stored.bits == 32 ? small && o.addend == 0 : small);
}

// Of a scale that is positive, as every fast variant of floats has it.
Expr quantize_element::fast_quotient(bool multiplies, const Expr &x, const quantize_operands &o) const {
    Expr magnitude = abs_bits(on, x);
    Expr t = with_sign_of(x, multiplies ? multiply(magnitude, o.scale) : quotient(magnitude, o));
    return o.offset.defined() ? add(t, o.offset) : t;
}

// x / scale where that is below a limit, otherwise the limit, nearly: neither product nor remainder overflows upwards.
// A NaN passes; what overflows downwards becomes infinite, or NaN, and then the lowest code.
Expr quantize_element::quotient(const Expr &x, const quantize_operands &o) const {
    Expr limit = multiply(o.scale, saturating_magnitude(stored));
    Expr bounded = bounds_nan_early() ? lesser_number(on, limit, x) : lesser(on, limit, x);
    return by.divides_by_fma ? divide_by_reciprocal(on, bounded, o.scale, o.inverse) : divide(bounded, o.scale);
}

// A quotient up to 2^-150 is 0 as an f32, and a larger one is not: rounded down and up they differ. A tiny t may be
// either, as divide_by_reciprocal errs there. The largest x whose quotient is 0 is scale * 2^-150, or the largest f32
// below it: a subnormal one, whose bits count steps of 2^-149, for scales below 2^24. A NaN's bits are larger.
Expr quantize_element::with_exact_zeros(const Expr &t, const Expr &x, const Expr &scale) const {
    Expr steps = cast<int32_t>(multiply(scale, 0.5f));
    Expr bits = reinterpret<int32_t>(scale) - (150 << 23);  // times 2^-150: products that are subnormal cost 40 cycles
    Expr largest_of_zero = select(less(scale, std::ldexp(1.0f, 24)), steps, bits);
    return select(reinterpret<int32_t>(abs_bits(on, x)) <= largest_of_zero, 0.0f,
                  add(t, with_sign_of(x, std::ldexp(1.0f, -126))));
}

Expr quantize_element::bounded_quotient(bool multiplies, const Expr &magnitude, const quantize_operands &o) const {
    Expr t = multiplies ? multiply(magnitude, o.scale) : quotient(magnitude, o);
    const bool is_bounded = !multiplies && (stored.layout.has_nan() || bounds_nan_early());
    return is_bounded ? t : bounded_by(on, stored.layout, saturating_magnitude(stored), t);
}

// What is NaN is told by x itself later on. Of instructions that prefer numbers only those of PTX take a signaling NaN,
// which x may be (0x7f800001), for one; a quotient is none.
bool quantize_element::bounds_nan_early() const {
    return stored.is_float() && (on.ptx || (!stored.layout.has_nan() && !on.number_minimum && !on.device()));
}

encoded quantize_element::fast_encoded(bool multiplies, const Expr &x, const quantize_operands &o) const {
    return encode(on, stored.layout, bounded_quotient(multiplies, abs_bits(on, x), o), x, o.sign);
}

Expr quantize_element::fast_integer(bool multiplies, const Expr &x, const quantize_operands &o) const {
    Expr t = multiplies ? multiply(x, o.scale) : quotient(x, o);
    if (o.rounding.defined() && !multiplies && by.divides_by_fma) {
        t = select_shared(on, rounds_to_one_side(o.rounding), with_exact_zeros(t, x, o.scale), t);
    }
    if (multiplies && saturates(o)) {
        t = lesser(on, saturating_magnitude(stored), t);
    }
    if (o.offset.defined()) {
        t = add(t, o.offset);
    }
    if (o.rounding.defined()) {
        t = round_otherwise(on, t, o.rounding);
    }
    if (stored.bits == 32) {  // a sum of f64 takes half as long again, and few that round otherwise add a zero point
        return o.addend.defined() && !o.rounding.defined()
                   ? sum_in_range(on, nearest_even(on, t), o.addend, given.lowest, given.highest)
                   : nearest_i32(on, t, given.lowest, given.highest);
    }
    if (o.addend.defined() && !adds_while_narrowing()) {
        if (!narrows_by_saturating() && !o.rounding.defined()) {
            return aligned_sum(on, t, o.addend, given.lowest, given.highest);
        }
        t = add(o.rounding.defined() ? t : nearest_even(on, t), o.addend);
    }
    if (saturates(o)) {  // t is to be below 2^31; NaN and all below -2^31 give -2^31
        return convert_nearest(on, t);
    }
    if (!o.offset.defined() && on.saturating_conversion && !stored.is_signed()) {  // NaN gives 0, the lowest code
        return cast<int32_t>(convert_nearest_unsigned(on, lesser(on, cast<float>(given.highest), t)));
    }
    return nearest_in_range(t);
}

Expr quantize_element::nearest_in_range(const Expr &t) const {
    Expr within = clamp_or_low(on, t, cast<float>(given.lowest), cast<float>(given.highest));
    return on.saturating_narrow ? convert_nearest(on, within) : align_nearest(within);
}

}  // namespace qdq
