#include "cpu/scale_rules.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace qdq::runtime {

namespace {

constexpr uint32_t sign = 0x80000000, infinity = 0x7f800000, quiet_nan = 0x7fc00000;
constexpr uint32_t nan_e8m0 = 0xff, largest_e8m0 = 0xfe;

// The numbers that extremes stand for; without one below 0 that is 0.
struct range {
    float lowest, highest;
};

range range_of(qdq_dtype x, int32_t above, uint32_t below) {
    const uint32_t high = static_cast<uint32_t>(above);
    switch (x) {
    case QDQ_F32: return {std::bit_cast<float>(below & sign ? below : 0), std::bit_cast<float>(high)};
    case QDQ_BF16: return {std::bit_cast<float>(below & 0x8000 ? below << 16 : 0), std::bit_cast<float>(high << 16)};
    default: {
        const float_layout &f16 = type_of(QDQ_F16).layout;
        return {value_of(f16, below & 0x8000 ? below : 0), value_of(f16, high)};
    }
    }
}

// The larger magnitude, NaN where one is: by bits, which order them so.
float amax_of(const range &r) {
    return std::bit_cast<float>(
        std::max(std::bit_cast<uint32_t>(r.lowest) & ~sign, std::bit_cast<uint32_t>(r.highest)));
}

uint32_t nearest_shifted(uint32_t significand, int32_t dropped) {
    const uint32_t half = uint32_t{1} << (dropped - 1), is_odd = significand >> dropped & 1;
    return (significand + half - 1 + is_odd) >> dropped;
}

// A float's code in f16, bf16 or f8e4m3, rounded once to nearest even. Of numbers that are not below 0, and NaN.
uint32_t nearest_code(const float_layout &layout, float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value) & ~sign;
    if (bits > infinity) {
        return layout.nan();
    }
    const int32_t dropped = 23 - layout.mantissa_bits, rebias = 127 - layout.bias;
    const int32_t exponent = int32_t(bits >> 23) - rebias;
    uint32_t code = 0;
    if (rebias == 0 || exponent > 0) {
        code = nearest_shifted(bits - (static_cast<uint32_t>(rebias) << 23), dropped);
    } else if (dropped + 1 - exponent <= 25) {  // else less than half of the least number
        code = nearest_shifted((bits & 0x7fffff) | 0x800000, dropped + 1 - exponent);
    }
    return std::min(code, layout.has_infinity() ? layout.overflow() : layout.largest());
}

uint32_t bits_of_scale(qdq_dtype type, float scale) {
    if (type == QDQ_F32) {
        const uint32_t bits = std::bit_cast<uint32_t>(scale);
        return (bits & ~sign) > infinity ? quiet_nan : bits;
    }
    return nearest_code(type_of(type).layout, scale);
}

float value_of_scale(qdq_dtype type, uint32_t bits) {
    return type == QDQ_F32 ? std::bit_cast<float>(bits) : value_of(type_of(type).layout, bits);
}

// In its type, and not 0.
uint32_t finish(const scale_computation &how, float scale) {
    const uint32_t bits = bits_of_scale(how.scale_type, scale < how.least_scale ? how.least_scale : scale);
    return bits == 0 ? bits_of_scale(how.scale_type, 1) : bits;
}

uint32_t absmax(const scale_computation &how, const range &r) {
    return finish(how, amax_of(r) * how.clip_ratio / how.largest);
}

uint32_t minmax(const scale_computation &how, const range &r, int32_t &zero_point) {
    const float lowest = r.lowest * how.clip_ratio, highest = r.highest * how.clip_ratio;
    const float steps = static_cast<float>(int64_t{how.highest} - how.lowest);
    const uint32_t scale = finish(how, (highest - lowest) / steps);
    const float exact = static_cast<float>(how.lowest) - lowest / value_of_scale(how.scale_type, scale);
    const float rounded = std::nearbyint(exact), least = static_cast<float>(how.lowest);
    const float most = static_cast<float>(how.highest);
    zero_point = !(rounded >= least) ? how.lowest  // NaN, too
                 : rounded >= most   ? how.highest
                                     : std::clamp(int32_t(rounded), how.lowest, how.highest);
    return scale;
}

// A power of two by its code in e8m0.
uint32_t power(const scale_computation &how, const range &r) {
    const float amax = amax_of(r) * how.clip_ratio;
    const bool of_quotient = how.rule == QDQ_SCALE_POWER_ROUND_UP;
    uint32_t bits = std::bit_cast<uint32_t>(of_quotient ? amax / how.largest : amax);
    if (bits > infinity) {
        return nan_e8m0;
    }
    if (how.rule == QDQ_SCALE_POWER_EVEN && how.mantissa_bits < 23) {
        bits = std::min(bits + (0x400000u >> how.mantissa_bits), infinity);
    }
    int32_t exponent = int32_t(bits >> 23);
    if (how.rule == QDQ_SCALE_POWER_CEIL || of_quotient) {
        const uint32_t power = exponent == 0 ? 0x400000 : 0;  // 2^-127 is a subnormal number
        exponent += (bits & 0x7fffff) > power;
    }
    return static_cast<uint32_t>(
        std::clamp<int32_t>(exponent - (of_quotient ? 0 : how.largest_exponent), 0, largest_e8m0));
}

uint32_t bits_of_power(qdq_dtype type, uint32_t code) {
    if (type == QDQ_E8M0) {
        return code;
    }
    const uint32_t bits = code == nan_e8m0 ? quiet_nan : code == 0 ? 0x400000 : code << 23;
    return type == QDQ_F32 ? bits : bits >> 16;
}

}  // namespace

void compute_scales(const scale_computation &how, const extremes &found, int64_t count, uint32_t *scales,
                    int32_t *zero_points) {
    for (int64_t i = 0; i < count; i++) {
        const range r = range_of(how.x_type, found.above[i], found.below[i]);
        switch (how.rule) {
        case QDQ_SCALE_ABSMAX: scales[i] = absmax(how, r); break;
        case QDQ_SCALE_MINMAX: scales[i] = minmax(how, r, zero_points[i]); break;
        default: scales[i] = bits_of_power(how.scale_type, power(how, r));
        }
    }
}

}  // namespace qdq::runtime
