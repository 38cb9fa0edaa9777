#include "cpu/scale_rules.h"

#include "cpu/avx2.h"
#include "cpu/stored_scales.h"
#include "support/types.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace qdq::runtime {

namespace {

constexpr uint32_t sign = 0x80000000, infinity = 0x7f800000, quiet_nan = 0x7fc00000;
constexpr uint32_t nan_e8m0 = 0xff;
constexpr int32_t largest_e8m0 = 0xfe;

// The numbers that extremes stand for, of so many groups; what is not below 0 is 0. Loops without branches become
// vectors.
struct ranges {
    static constexpr int64_t most = 256;

    float lowest[most], highest[most];

    // The larger magnitude, NaN where one is: by bits, which order them so.
    float amax(int64_t i) const {
        return std::bit_cast<float>(
            std::max(std::bit_cast<uint32_t>(lowest[i]) & ~sign, std::bit_cast<uint32_t>(highest[i])));
    }
};

// By masks, as compilers put what only one side of a choice needs into a branch, and make no vectors of that.
uint32_t select(bool is_first, uint32_t first, uint32_t second) {
    const uint32_t mask = 0 - uint32_t{is_first};
    return (first & mask) | (second & ~mask);
}

uint32_t if_set(uint32_t bit, uint32_t bits) { return select((bits & bit) != 0, bits, 0); }

void set_ranges(qdq_dtype x, const extremes &found, int64_t count, float *lowest, float *highest) {
    const auto set = [&](uint32_t sign_bit, auto value_of) {
        for (int64_t i = 0; i < count; i++) {
            lowest[i] = value_of(if_set(sign_bit, found.below[i]));
            highest[i] = value_of(static_cast<uint32_t>(found.above[i]));
        }
    };
    switch (x) {
    case QDQ_F32: set(sign, [](uint32_t bits) { return std::bit_cast<float>(bits); }); break;
    case QDQ_BF16: set(0x8000, [](uint32_t bits) { return std::bit_cast<float>(bits << 16); }); break;
    default: set(0x8000, value_of_f16);
    }
}

// f16, bf16 or f8e4m3 as what rounds to it.
struct narrow_format {
    int32_t dropped;        // bits of an f32's mantissa
    uint32_t rebias;        // between the exponents, as bits of an f32
    uint32_t least_normal;  // the type's, likewise
    uint32_t unit;          // whose last place is the type's least number
    uint32_t most, nan;     // codes: what overflow gives, and NaN
    uint32_t infinite;      // a code, or one that there is not
    float factor;           // of a number whose bits are those of a code

    explicit narrow_format(const float_layout &layout)
        : dropped(23 - layout.mantissa_bits),
          rebias(static_cast<uint32_t>(127 - layout.bias) << 23),
          least_normal(rebias + (1u << 23)),
          unit(least_normal + (static_cast<uint32_t>(dropped) << 23)),
          most(layout.has_infinity() ? layout.overflow() : layout.largest()),
          nan(layout.nan()),
          infinite(layout.has_infinity() ? most : UINT32_MAX),
          factor(std::bit_cast<float>(static_cast<uint32_t>(254 - layout.bias) << 23)) {}

    // The code nearest to a number that is not below 0, ties to even, or of NaN. A sum rounds what is below the type's
    // normal numbers.
    uint32_t code_of(float value) const {
        const uint32_t bits = std::bit_cast<uint32_t>(value) & ~sign, significand = bits - rebias;
        const uint32_t half = 1u << (dropped - 1), is_odd = significand >> dropped & 1;
        const uint32_t normal = (significand + half - 1 + is_odd) >> dropped;
        const uint32_t subnormal = std::bit_cast<uint32_t>(value + std::bit_cast<float>(unit)) - unit;
        const uint32_t code = std::min(select(bits < least_normal, subnormal, normal), uint32_t{most});
        return select(bits > infinity, nan, code);
    }

    // That of a code without a sign.
    float value_of(uint32_t code) const {
        const float finite = std::bit_cast<float>(code << dropped) * factor;
        const uint32_t number = select(code == infinite, infinity, std::bit_cast<uint32_t>(finite));
        return std::bit_cast<float>(select(code > most, quiet_nan, number));
    }
};

uint32_t bits_of_f32(float scale) {
    const uint32_t bits = std::bit_cast<uint32_t>(scale);
    return (bits & ~sign) > infinity ? quiet_nan : bits;
}

// The f32 of a power of two's code in e8m0.
uint32_t bits_of_power(uint32_t code) {
    const uint32_t bits = code == 0 ? 0x400000 : code << 23;
    return code == nan_e8m0 ? quiet_nan : bits;
}

[[gnu::always_inline]] inline void set_values(qdq_dtype type, const uint32_t *scales, int64_t count, float *values) {
    const auto set = [&](auto value_of) {
        for (int64_t i = 0; i < count; i++) {
            values[i] = value_of(scales[i]);
        }
    };
    switch (type) {
    case QDQ_F32: set([](uint32_t bits) { return std::bit_cast<float>(bits); }); break;
    case QDQ_E8M0: set([](uint32_t code) { return std::bit_cast<float>(bits_of_power(code)); }); break;
    default: {
        const narrow_format format(type_of(type).layout);
        set([format](uint32_t code) { return format.value_of(code); });
    }
    }
}

void set_values_portably(qdq_dtype type, const uint32_t *scales, int64_t count, float *values) {
    set_values(type, scales, count, values);
}

[[gnu::flatten]] QDQ_AVX2 void set_values_avx2(qdq_dtype type, const uint32_t *scales, int64_t count, float *values) {
    set_values(type, scales, count, values);
}

// Scales in their type, and none of them 0: exact(i) for each i.
template<typename Exact>
void set_scales(const scale_computation &how, int64_t count, uint32_t *scales, const Exact &exact) {
    const auto set = [&](uint32_t one, auto bits_of) {
        for (int64_t i = 0; i < count; i++) {
            const float scale = exact(i);
            const uint32_t bits = bits_of(scale < how.least_scale ? how.least_scale : scale);
            scales[i] = bits == 0 ? one : bits;
        }
    };
    if (how.scale_type == QDQ_F32) {
        set(std::bit_cast<uint32_t>(1.0f), bits_of_f32);
    } else {
        const narrow_format format(type_of(how.scale_type).layout);
        set(format.code_of(1), [format](float scale) { return format.code_of(scale); });
    }
}

// amax / L, in the sense of the tensor's own scale.
void set_absmax(const scale_computation &how, const ranges &r, int64_t count, uint32_t *scales) {
    const auto exact = [&](int64_t i) { return r.amax(i) * how.clip_ratio / how.largest; };
    switch (how.global_sense) {
    case QDQ_GLOBAL_NONE: set_scales(how, count, scales, exact); break;
    case QDQ_GLOBAL_SCALE: set_scales(how, count, scales, [&](int64_t i) { return exact(i) / how.global; }); break;
    case QDQ_GLOBAL_INVERSE: set_scales(how, count, scales, [&](int64_t i) { return exact(i) * how.global; }); break;
    }
}

int32_t zero_point_of(const scale_computation &how, float lowest, float scale) {
    constexpr float past_int32 = 0x1p31f;  // as the highest code may be past 2^24, and no f32
    const float least = static_cast<float>(how.lowest);
    const float rounded = std::nearbyint(least - lowest / scale);
    return !(rounded >= least)     ? how.lowest  // NaN, too
           : rounded >= past_int32 ? how.highest
                                   : std::clamp(int32_t(rounded), how.lowest, how.highest);
}

void set_minmax(const scale_computation &how, const ranges &r, int64_t count, uint32_t *scales, int32_t *zero_points) {
    const float steps = static_cast<float>(int64_t{how.highest} - how.lowest);
    set_scales(how, count, scales,
               [&](int64_t i) { return (r.highest[i] * how.clip_ratio - r.lowest[i] * how.clip_ratio) / steps; });
    float values[ranges::most];
    set_values(how.scale_type, scales, count, values);
    for (int64_t i = 0; i < count; i++) {
        zero_points[i] = zero_point_of(how, r.lowest[i] * how.clip_ratio, values[i]);
    }
}

// A power of two by its code in e8m0. `amax`: without a sign.
template<qdq_scale_rule rule> uint32_t code_of_power(const scale_computation &how, float amax) {
    constexpr bool of_quotient = rule == QDQ_SCALE_POWER_ROUND_UP;
    const uint32_t exact = std::bit_cast<uint32_t>(of_quotient ? amax / how.largest : amax);
    uint32_t bits = exact;
    if constexpr (rule == QDQ_SCALE_POWER_EVEN) {
        bits = std::min(bits + (how.mantissa_bits < 23 ? 0x400000u >> how.mantissa_bits : 0), infinity);
    }
    int32_t exponent = int32_t(bits >> 23);
    if constexpr (rule == QDQ_SCALE_POWER_CEIL || of_quotient) {
        const uint32_t power = exponent == 0 ? 0x400000 : 0;  // 2^-127 is a subnormal number
        exponent += (bits & 0x7fffff) > power ? 1 : 0;
    }
    exponent -= of_quotient ? 0 : how.largest_exponent;
    const int32_t code = std::min(std::max(exponent, 0), largest_e8m0);
    return exact > infinity ? nan_e8m0 : static_cast<uint32_t>(code);
}

template<qdq_scale_rule rule>
void set_powers(const scale_computation &how, const ranges &r, int64_t count, uint32_t *scales) {
    for (int64_t i = 0; i < count; i++) {
        scales[i] = code_of_power<rule>(how, r.amax(i) * how.clip_ratio);
    }
    if (how.scale_type != QDQ_E8M0) {
        const int unused = how.scale_type == QDQ_F32 ? 0 : 16;
        for (int64_t i = 0; i < count; i++) {
            scales[i] = bits_of_power(scales[i]) >> unused;
        }
    }
}

[[gnu::always_inline]] inline void compute_few(const scale_computation &how, const extremes &found, int64_t count,
                                               uint32_t *scales, int32_t *zero_points) {
    ranges r;
    set_ranges(how.x_type, found, count, r.lowest, r.highest);
    switch (how.rule) {
    case QDQ_SCALE_ABSMAX: set_absmax(how, r, count, scales); break;
    case QDQ_SCALE_MINMAX: set_minmax(how, r, count, scales, zero_points); break;
    case QDQ_SCALE_POWER_FLOOR: set_powers<QDQ_SCALE_POWER_FLOOR>(how, r, count, scales); break;
    case QDQ_SCALE_POWER_CEIL: set_powers<QDQ_SCALE_POWER_CEIL>(how, r, count, scales); break;
    case QDQ_SCALE_POWER_EVEN: set_powers<QDQ_SCALE_POWER_EVEN>(how, r, count, scales); break;
    case QDQ_SCALE_POWER_ROUND_UP: set_powers<QDQ_SCALE_POWER_ROUND_UP>(how, r, count, scales); break;
    }
}

void compute_portably(const scale_computation &how, const extremes &found, int64_t count, uint32_t *scales,
                      int32_t *zero_points) {
    compute_few(how, found, count, scales, zero_points);
}

[[gnu::flatten]] QDQ_AVX2 void compute_avx2(const scale_computation &how, const extremes &found, int64_t count,
                                            uint32_t *scales, int32_t *zero_points) {
    compute_few(how, found, count, scales, zero_points);
}

}  // namespace

void values_of_extremes(qdq_dtype x, const extremes &found, int64_t count, float *lowest, float *highest) {
    set_ranges(x, found, count, lowest, highest);
}

float global_of_amax(qdq_global_sense sense, float amax, float largest) {
    constexpr float most = std::numeric_limits<float>::max();
    const float global = sense == QDQ_GLOBAL_SCALE ? amax / largest : largest / amax;
    return global == 0 ? 1 : sense == QDQ_GLOBAL_INVERSE && global > most ? most : global;
}

void values_of_scales(const target &on, const scale_computation &how, const uint32_t *scales, int64_t count,
                      float *values) {
    (runs_avx2(on) ? set_values_avx2 : set_values_portably)(how.scale_type, scales, count, values);
    apply_global(how.global_sense, how.global, values, count);
}

void compute_scales(const target &on, const scale_computation &how, const extremes &found, int64_t count,
                    uint32_t *scales, int32_t *zero_points) {
    auto *const by = runs_avx2(on) ? compute_avx2 : compute_portably;
    for (int64_t i = 0; i < count; i += ranges::most) {
        by(how, {found.above + i, found.below + i}, std::min(ranges::most, count - i), scales + i, zero_points + i);
    }
}

}  // namespace qdq::runtime
