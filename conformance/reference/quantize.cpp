#include "quantize.h"

#include "philox.h"
#include "tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

namespace reference {

namespace {

template<qdq_rounding rounding> using rounding_constant = std::integral_constant<qdq_rounding, rounding>;

// Calls body with the rounding as a compile-time constant, so that a loop in it has no switch inside.
template<typename Body> decltype(auto) with_rounding(qdq_rounding rounding, Body &&body) {
    switch (rounding) {
    case QDQ_NEAREST_EVEN: return body(rounding_constant<QDQ_NEAREST_EVEN>{});
    case QDQ_NEAREST_AWAY: return body(rounding_constant<QDQ_NEAREST_AWAY>{});
    case QDQ_TOWARD_ZERO: return body(rounding_constant<QDQ_TOWARD_ZERO>{});
    case QDQ_DOWN: return body(rounding_constant<QDQ_DOWN>{});
    case QDQ_UP: return body(rounding_constant<QDQ_UP>{});
    case QDQ_STOCHASTIC: break;  // not of t alone
    }
    std::abort();
}

// Codes of some bits in bytes, the first in the lowest bits; what follows the last is 0.
void store_packed(int64_t bits, int64_t i, uint32_t code, void *y) {
    const int64_t shift = i * bits % 8;
    uint8_t &byte = static_cast<uint8_t *>(y)[i * bits / 8];
    byte = static_cast<uint8_t>((shift == 0 ? 0 : byte) | (code & ((1u << bits) - 1)) << shift);
}

void saturate_packed(const float *rounded, int64_t count, int64_t zero_point, integer_range range, qdq_nan nan,
                     int64_t bits, void *y) {
    for (int64_t i = 0; i < count; ++i) {
        store_packed(bits, i, static_cast<uint32_t>(add_and_saturate(rounded[i], zero_point, range, nan)), y);
    }
}

template<typename Stored>
void saturate_integers(const float *rounded, int64_t count, int64_t zero_point, integer_range range, qdq_nan nan,
                       Stored *y) {
    for (int64_t i = 0; i < count; ++i) {
        y[i] = static_cast<Stored>(add_and_saturate(rounded[i], zero_point, range, nan));
    }
}

void scale_span(const float *x, int64_t count, float scale, qdq_scale_mode mode, float *t) {
    if (mode == QDQ_DIVIDE) {
        for (int64_t i = 0; i < count; ++i) {
            t[i] = x[i] / scale;
        }
    } else {
        const float factor = mode == QDQ_RECIPROCAL ? 1.0f / scale : scale;
        for (int64_t i = 0; i < count; ++i) {
            t[i] = x[i] * factor;
        }
    }
}

uint32_t quantize_to_float(float x, float scale, qdq_dtype y, const qdq_options &options) {
    const float t = scaled(x, scale, options.scale_mode);
    return encode_quantized_float(y, t, std::signbit(x), options.no_saturate != 0);
}

}  // namespace

integer_range saturation_range(qdq_dtype type, const qdq_options &options) {
    if (options.quant_min == 0 && options.quant_max == 0) {
        return range_of(type);
    }
    return {options.quant_min, options.quant_max};
}

// t in 65536ths of a step, to nearest even by the whole number below: no instruction depends on the rounding mode. Each
// operation is exact in binary64.
float round_by_chance(float t, qdq_dtype type, uint32_t bits) {
    if (t != t || std::isinf(t)) {
        return t;
    }
    const int exponent = step_exponent(type, t);
    const double steps = std::ldexp(std::fabs(static_cast<double>(t)), -exponent);
    const double whole = std::trunc(steps), parts = (steps - whole) * 65536;
    int64_t chances = static_cast<int64_t>(parts);
    const double rest = parts - static_cast<double>(chances);
    chances += rest > 0.5 || (rest == 0.5 && chances % 2 != 0) ? 1 : 0;
    const double rounded = whole + (chances + bits >= 65536 ? 1 : 0);
    return std::copysign(static_cast<float>(std::ldexp(rounded, exponent)), t);
}

namespace {

uint32_t quantize_by_chance(float x, float scale, const zero_point &z, qdq_dtype y, const qdq_options &options,
                            uint64_t index) {
    const bool before = options.quantize_zp == QDQ_ZP_BEFORE_ROUNDING && is_integer(y);
    const float t = scaled(x, scale, options.scale_mode), sum = before ? t + as_float(z) : t;
    const float rounded = round_by_chance(sum, y, random_bits(options.random_seed, options.random_offset + index));
    if (!is_integer(y)) {
        return encode_quantized_float(y, rounded, std::signbit(x), options.no_saturate != 0);
    }
    return static_cast<uint32_t>(
        add_and_saturate(rounded, before ? 0 : as_integer(z), saturation_range(y, options), options.nan));
}

}  // namespace

uint32_t quantize_element(float x, float scale, const zero_point &z, qdq_dtype y, const qdq_options &options,
                          uint64_t index) {
    const uint64_t mask = (uint64_t{1} << bits_of(y)) - 1;
    if (options.rounding == QDQ_STOCHASTIC) {
        return static_cast<uint32_t>(quantize_by_chance(x, scale, z, y, options, index) & mask);
    }
    if (!is_integer(y)) {
        return quantize_to_float(x, scale, y, options);
    }
    const integer_range range = saturation_range(y, options);
    const int64_t value = with_rounding(options.rounding, [&](auto rounding) {
        return quantize_to_integer<rounding.value>(x, scale, z, options.scale_mode, options.quantize_zp, range,
                                                   options.nan);
    });
    return static_cast<uint32_t>(static_cast<uint64_t>(value) & mask);
}

void round_span(const float *x, int64_t count, float scale, const zero_point &z, const qdq_options &options,
                float *rounded) {
    constexpr int64_t cached = 1024;  // elements that stay in L1 between the passes
    for (int64_t begin = 0; begin < count; begin += cached) {
        const int64_t n = std::min(cached, count - begin);
        float *t = rounded + begin;
        scale_span(x + begin, n, scale, options.scale_mode, t);
        if (options.quantize_zp == QDQ_ZP_BEFORE_ROUNDING) {
            const float shift = as_float(z);
            for (int64_t i = 0; i < n; ++i) {
                t[i] += shift;
            }
        }
        with_rounding(options.rounding, [&](auto rounding) {
            for (int64_t i = 0; i < n; ++i) {
                t[i] = round_to_integer<rounding.value>(t[i]);
            }
        });
    }
}

void saturate_span(const float *rounded, int64_t count, int64_t zero_point, qdq_dtype y_type,
                   const qdq_options &options, void *y) {
    const integer_range range = saturation_range(y_type, options);
    switch (y_type) {
    case QDQ_I8: return saturate_integers(rounded, count, zero_point, range, options.nan, static_cast<int8_t *>(y));
    case QDQ_U8: return saturate_integers(rounded, count, zero_point, range, options.nan, static_cast<uint8_t *>(y));
    case QDQ_I16: return saturate_integers(rounded, count, zero_point, range, options.nan, static_cast<int16_t *>(y));
    case QDQ_U16: return saturate_integers(rounded, count, zero_point, range, options.nan, static_cast<uint16_t *>(y));
    case QDQ_I32: return saturate_integers(rounded, count, zero_point, range, options.nan, static_cast<int32_t *>(y));
    case QDQ_I4:
    case QDQ_U4:
    case QDQ_I2:
    case QDQ_U2: return saturate_packed(rounded, count, zero_point, range, options.nan, bits_of(y_type), y);
    default: std::abort();
    }
}

namespace {

void quantize_span_by_chance(const float *x, int64_t count, float scale, const zero_point &z, qdq_dtype y_type,
                             const qdq_options &options, void *y) {
    const int64_t bytes = bits_of(y_type) / 8;
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t code = quantize_element(x[i], scale, z, y_type, options, static_cast<uint64_t>(i));
        if (is_packed(y_type)) {
            store_packed(bits_of(y_type), i, code, y);
        } else {
            std::memcpy(static_cast<char *>(y) + i * bytes, &code, static_cast<size_t>(bytes));
        }
    }
}

}  // namespace

void quantize_span(const float *x, int64_t count, float scale, const zero_point &z, qdq_dtype y_type,
                   const qdq_options &options, void *y) {
    if (options.rounding == QDQ_STOCHASTIC) {
        return quantize_span_by_chance(x, count, scale, z, y_type, options, y);
    }
    if (is_integer(y_type)) {
        const bool before = options.quantize_zp == QDQ_ZP_BEFORE_ROUNDING;
        std::vector<float> rounded(static_cast<size_t>(count));
        round_span(x, count, scale, z, options, rounded.data());
        return saturate_span(rounded.data(), count, before ? 0 : as_integer(z), y_type, options, y);
    }
    uint8_t *codes = static_cast<uint8_t *>(y);
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t code = quantize_to_float(x[i], scale, y_type, options);
        if (is_packed(y_type)) {
            store_packed(bits_of(y_type), i, code, y);
        } else {
            codes[i] = static_cast<uint8_t>(code);
        }
    }
}

void quantize(const qdq_tensor &x, const qdq_tensor &scale, const qdq_tensor *zero_points, const qdq_tensor &y,
              const qdq_options *options_or_null) {
    const qdq_options options = options_or_null != nullptr ? *options_or_null : qdq_options{};
    const parameters per_element(x, scale, zero_points, options);
    uint64_t number = 0;
    for_each_index(x, [&](const int64_t *index) {
        const uint32_t code = quantize_element(load_float(x, index), per_element.scale_at(index),
                                               per_element.zero_point_at(index), y.dtype, options, number++);
        store_code(y, index, code, options.packing);
    });
    clear_padding(y, options.packing);
}

}  // namespace reference
