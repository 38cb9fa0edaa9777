// The quantize half of the contract in qdq.h, spelled out for one element, a span and a tensor.
#pragma once

#include "formats.h"

#include <qdq/qdq.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace reference {

// A zero point is used exactly when its type is an integer, and as an f32 otherwise. The default is "none".
struct zero_point {
    bool integral = true;
    int64_t integer = 0;
    float real = 0.0f;

    static zero_point of_integer(int64_t value) { return {true, value, 0.0f}; }
    static zero_point of_float(float value) { return {false, 0, value}; }
};

inline float as_float(const zero_point &z) { return z.integral ? static_cast<float>(z.integer) : z.real; }

inline float scaled(float x, float scale, qdq_scale_mode mode) {
    switch (mode) {
    case QDQ_DIVIDE: return x / scale;
    case QDQ_MULTIPLY: return x * scale;
    case QDQ_RECIPROCAL: return x * (1.0f / scale);
    }
    std::abort();
}

// An integral float, or NaN or an infinity unchanged. No instruction here depends on the rounding mode: the whole part
// comes from a truncating cast, and the fraction left over is exact. Without branches, so that a loop can vectorize.
template<qdq_rounding rounding> inline float round_to_integer(float t) {
    const bool may_have_fraction = std::fabs(t) < 8388608.0f;  // from 2^23 on every f32 is integral; false for NaN
    const float v = may_have_fraction ? t : 0.0f;
    const int32_t whole = static_cast<int32_t>(v);
    const float fraction = v - static_cast<float>(whole);  // in (-1, 1), with the sign of v
    const int32_t away_from_zero = v < 0.0f ? -1 : 1;
    const float distance = std::fabs(fraction);
    int32_t step = 0;
    if constexpr (rounding == QDQ_NEAREST_EVEN) {
        const int32_t tie_step = (whole & 1) * away_from_zero;
        step = distance > 0.5f ? away_from_zero : 0;
        step = distance == 0.5f ? tie_step : step;
    } else if constexpr (rounding == QDQ_NEAREST_AWAY) {
        step = distance >= 0.5f ? away_from_zero : 0;
    } else if constexpr (rounding == QDQ_DOWN) {
        step = fraction < 0.0f ? -1 : 0;
    } else if constexpr (rounding == QDQ_UP) {
        step = fraction > 0.0f ? 1 : 0;
    }
    const float rounded = static_cast<float>(whole + step);
    return may_have_fraction ? rounded : t;
}

// t rounded stochastically to a number that a stored type has, or would have without an end, by an element's 16 bits.
float round_by_chance(float t, qdq_dtype type, uint32_t bits);

// The code of NaN.
inline int64_t code_of_nan(qdq_nan nan, integer_range range) {
    if (nan == QDQ_NAN_LOWEST || range.lowest > 0) {
        return range.lowest;
    }
    return range.highest < 0 ? range.highest : 0;
}

// An integral float (or NaN, or an infinity) plus an integer of at most 33 bits, exactly, then saturated.
inline int64_t add_and_saturate(float integral, int64_t zero_point, integer_range range, qdq_nan nan) {
    constexpr float far = 1099511627776.0f;  // 2^40: beyond any type's range whatever the zero point
    if (integral != integral) {
        return code_of_nan(nan, range);
    }
    if (integral >= far) {
        return range.highest;
    }
    if (integral <= -far) {
        return range.lowest;
    }
    const int64_t sum = static_cast<int64_t>(integral) + zero_point;
    if (sum < range.lowest) {
        return range.lowest;
    }
    if (sum > range.highest) {
        return range.highest;
    }
    return sum;
}

// The integer that an exact sum takes from a float zero point: the nearest, ties to even, within int32; 0 for NaN.
inline int64_t as_integer(const zero_point &z) {
    if (z.integral) {
        return z.integer;
    }
    if (z.real != z.real) {
        return 0;
    }
    return add_and_saturate(round_to_integer<QDQ_NEAREST_EVEN>(z.real), 0, {-2147483648LL, 2147483647LL},
                            QDQ_NAN_LOWEST);
}

template<qdq_rounding rounding>
inline int64_t quantize_to_integer(float x, float scale, const zero_point &z, qdq_scale_mode scale_mode,
                                   qdq_quantize_zp order, integer_range range, qdq_nan nan) {
    const float t = scaled(x, scale, scale_mode);
    if (order == QDQ_ZP_BEFORE_ROUNDING) {
        return add_and_saturate(round_to_integer<rounding>(t + as_float(z)), 0, range, nan);
    }
    return add_and_saturate(round_to_integer<rounding>(t), as_integer(z), range, nan);
}

// The range of an integer y: quant_min..quant_max, or the type's own where both are 0.
integer_range saturation_range(qdq_dtype type, const qdq_options &options);

// The code (the element's bits) of one quantized x, which has an index in its tensor.
uint32_t quantize_element(float x, float scale, const zero_point &z, qdq_dtype y, const qdq_options &options,
                          uint64_t index = 0);

// quantize_element over a dense span with one scale and zero point; packed codes come with the first in the lowest
// bits.
void quantize_span(const float *x, int64_t count, float scale, const zero_point &z, qdq_dtype y_type,
                   const qdq_options &options, void *y);

// The two steps of quantize_span for integer types, so that a sweep can share the first between them: `rounded` holds
// the integral floats (NaN and infinities unchanged) that `saturate_span` adds the zero point to. A zero point that
// counts before rounding goes to the first step and "none" to the second.
void round_span(const float *x, int64_t count, float scale, const zero_point &z, const qdq_options &options,
                float *rounded);
void saturate_span(const float *rounded, int64_t count, int64_t zero_point, qdq_dtype y_type,
                   const qdq_options &options, void *y);

// qdq_quantize for a valid call.
void quantize(const qdq_tensor &x, const qdq_tensor &scale, const qdq_tensor *zero_point, const qdq_tensor &y,
              const qdq_options *options);

}  // namespace reference
