#include "scale_rules.h"

#include "arithmetic.h"
#include "device_inputs.h"

namespace qdq {

using namespace Halide;

namespace {

constexpr uint32_t infinity = 0x7f800000, quiet_nan = 0x7fc00000, magnitude = 0x7fffffff;
constexpr uint32_t nan_e8m0 = type_of(QDQ_E8M0).layout.nan();
constexpr int largest_e8m0 = int(nan_e8m0) - 1;

Expr bits_of(Expr a) { return reinterpret<uint32_t>(std::move(a)); }
Expr float_of(Expr bits) { return reinterpret<float>(std::move(bits)); }
Expr is_rule(const scale_rule &how, qdq_scale_rule rule) { return how.rule == int(rule); }

// The larger magnitude, NaN where one is: by bits, which order them so.
Expr amax(const extreme_values &of) {
    return float_of(max(bits_of(of.lowest) & bit_pattern(magnitude), bits_of(of.highest)));
}

// Of a number that is not below 0, or the positive quiet NaN: to nearest even. e4m3 saturates, as it has no infinity.
Expr nearest_scale(const instructions &on, qdq_dtype type, const Expr &value) {
    return type == QDQ_F8E4M3 ? encode_any(on, type_of(type).layout, value, value, 0)
                              : element_in_upper_half(on, type_of(type), value) >> 16;
}

// In the type, and not 0: f32 apart, as others take some 40 instructions, which it need not wait for.
Expr bits_in_type(const instructions &on, const scale_rule &how, const Expr &value) {
    Expr number = select(not_a_number(value), bit_pattern(quiet_nan), bits_of(value));
    Expr narrow = nearest_scale(on, QDQ_F8E4M3, float_of(number)), one = nearest_scale(on, QDQ_F8E4M3, 1.0f);
    for (const qdq_dtype type : {QDQ_F16, QDQ_BF16}) {
        narrow = select(how.scale_type == int(type), nearest_scale(on, type, float_of(number)), narrow);
        one = select(how.scale_type == int(type), nearest_scale(on, type, 1.0f), one);
    }
    Expr is_f32 = how.scale_type == int(QDQ_F32);
    Expr bits = lazily(is_f32, number, narrow);
    return select(bits == 0, lazily(is_f32, bits_of(1.0f), one), bits);
}

Expr linear_scale(const instructions &on, const scale_rule &how, const extreme_values &of) {
    Expr by_amax = divide(multiply(amax(of), how.clip_ratio), how.largest);
    Expr range = subtract(multiply(of.highest, how.clip_ratio), multiply(of.lowest, how.clip_ratio));
    Expr steps = cast<float>(cast<int64_t>(how.highest) - cast<int64_t>(how.lowest));
    Expr exact = select(is_rule(how, QDQ_SCALE_MINMAX), divide(range, steps), by_amax);
    return bits_in_type(on, how, select(less(exact, how.least_scale), how.least_scale, exact));
}

// A power of two by its code in e8m0.
Expr code_of_power(const scale_rule &how, const extreme_values &of) {
    Expr clipped = multiply(amax(of), how.clip_ratio);
    Expr of_quotient = is_rule(how, QDQ_SCALE_POWER_ROUND_UP);
    Expr exact = bits_of(select(of_quotient, divide(clipped, how.largest), clipped));
    Expr half = select(how.mantissa_bits < 23, bit_pattern(0x400000) >> cast<uint32_t>(min(how.mantissa_bits, 23)),
                       bit_pattern(0));
    Expr bits = select(is_rule(how, QDQ_SCALE_POWER_EVEN), min(exact + half, bit_pattern(infinity)), exact);
    Expr exponent = cast<int32_t>(bits >> 23);
    Expr power = select(exponent == 0, bit_pattern(0x400000), bit_pattern(0));  // 2^-127 is a subnormal number
    Expr rounds_up = is_rule(how, QDQ_SCALE_POWER_CEIL) || of_quotient;
    Expr up = select(rounds_up && (bits & bit_pattern(0x7fffff)) > power, 1, 0);
    Expr code = clamp(exponent + up - select(of_quotient, 0, how.largest_exponent), 0, largest_e8m0);
    return select(exact > bit_pattern(infinity), bit_pattern(nan_e8m0), cast<uint32_t>(code));
}

Expr power_scale(const scale_rule &how, const extreme_values &of) {
    Expr code = code_of_power(how, of);
    Expr bits = select(code == bit_pattern(nan_e8m0), bit_pattern(quiet_nan), code == bit_pattern(0),
                       bit_pattern(0x400000), code << 23);
    return select(how.scale_type == int(QDQ_E8M0), code, how.scale_type == int(QDQ_F32), bits, bits >> 16);
}

}  // namespace

Expr scale_bits(const instructions &on, const scale_rule &how, const extreme_values &of) {
    return lazily(how.rule >= int(QDQ_SCALE_POWER_FLOOR), power_scale(how, of), linear_scale(on, how, of));
}

Expr zero_point_beside(const instructions &on, const scale_rule &how, const extreme_values &of, Expr scale_bits) {
    constexpr float past_int32 = 0x1p31f;  // as the highest code may be past 2^24, and no f32
    Expr least = cast<float>(how.lowest);
    Expr scale = scale_value(std::move(scale_bits), how.scale_type);
    Expr rounded = nearest_even(on, subtract(least, divide(multiply(of.lowest, how.clip_ratio), scale)));
    Expr is_below = not_a_number(rounded) || less(rounded, least), is_above = !less(rounded, past_int32);
    Expr within = cast<int32_t>(select(is_below || is_above, least, rounded));
    return select(is_below, how.lowest, is_above, how.highest, clamp(within, how.lowest, how.highest));
}

}  // namespace qdq
