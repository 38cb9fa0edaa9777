#include "scales.h"

#include "dequantize.h"
#include "formats.h"
#include "quantize.h"
#include "tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace reference {

void group_range::add(float x) {
    has_nan = has_nan || x != x;
    lowest = x < lowest ? x : lowest;
    highest = x > highest ? x : highest;
}

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr int least_exponent = -127, largest_exponent = 127;  // of e8m0

float largest_float(qdq_dtype codes) {
    float largest = 0;
    for (uint32_t code = 0; code < uint32_t{1} << bits_of(codes); ++code) {
        const float value = decode_float(codes, code);
        largest = std::isfinite(value) ? std::max(largest, value) : largest;
    }
    return largest;
}

// Of the largest numbers.
int mantissa_bits(qdq_dtype codes) {
    switch (codes) {
    case QDQ_F4E2M1:
    case QDQ_HIF8: return 1;
    case QDQ_F8E5M2:
    case QDQ_F8E5M2FNUZ:
    case QDQ_F6E3M2:
    case QDQ_F4E1M2: return 2;
    default: return 3;
    }
}

uint32_t encode_scale(qdq_dtype type, float scale) {
    switch (type) {
    case QDQ_F32: return encode_f32(scale);
    case QDQ_F16: return encode_ieee(f16_format, scale);
    case QDQ_BF16: return encode_ieee(bf16_format, scale);
    default: return encode_quantized_float(type, scale, false, false);
    }
}

float decode_scale(qdq_dtype type, uint32_t code) {
    return type == QDQ_F32 ? std::bit_cast<float>(code) : decode_float(type, code);
}

// A power of two, or NaN.
uint32_t encode_power(qdq_dtype type, bool is_nan, int exponent) {
    const int clamped = std::clamp(exponent, least_exponent, largest_exponent);
    if (type != QDQ_E8M0) {
        return encode_scale(type, is_nan ? not_a_number : std::ldexp(1.0f, clamped));
    }
    return is_nan ? 0xff : static_cast<uint32_t>(clamped - least_exponent);
}

// A magnitude above 0 as mantissa * 2^exponent, mantissa in [1, 2); infinity is 2^128.
struct decomposed {
    double mantissa;
    int exponent;
};

decomposed decompose(double value) {
    if (std::isinf(value)) {
        return {1, 128};
    }
    const int exponent = std::ilogb(value);
    return {std::ldexp(value, -exponent), exponent};
}

uint32_t power_of_two(const group_range &group, float amax, const code_facts &codes, qdq_dtype scale_type,
                      qdq_scale_rule rule) {
    if (group.has_nan) {
        return encode_power(scale_type, true, 0);
    }
    if (rule == QDQ_SCALE_POWER_ROUND_UP) {
        const float quotient = amax / codes.largest;
        if (quotient == 0) {
            return encode_power(scale_type, false, least_exponent);
        }
        const decomposed q = decompose(quotient);
        return encode_power(scale_type, false, q.mantissa > 1 ? q.exponent + 1 : q.exponent);
    }
    if (amax == 0) {
        return encode_power(scale_type, false, least_exponent);
    }
    decomposed a = decompose(amax);
    if (rule == QDQ_SCALE_POWER_CEIL && a.mantissa > 1) {
        a.exponent++;
    }
    // Half a unit of the last mantissa bit that is kept carries into the exponent. Numbers below 2^-126 are rounded as
    // those of its binade.
    if (rule == QDQ_SCALE_POWER_EVEN && codes.mantissa_bits < 23 && !std::isinf(amax)) {
        const int binade = std::max(a.exponent, -126);
        const double half = std::ldexp(0.5, binade - codes.mantissa_bits);
        a = decompose(static_cast<double>(amax) + half);
    }
    return encode_power(scale_type, false, a.exponent - codes.exponent);
}

// In its type, and never 0.
uint32_t finish(qdq_dtype type, float scale, float least) {
    const uint32_t code = encode_scale(type, scale < least ? least : scale);
    return code == 0 ? encode_scale(type, 1) : code;
}

int64_t zero_point_of(float lowest, float scale, integer_range codes) {
    const float exact = static_cast<float>(codes.lowest) - lowest / scale;
    return add_and_saturate(round_to_integer<QDQ_NEAREST_EVEN>(exact), 0, codes, QDQ_NAN_LOWEST);
}

}  // namespace

code_facts facts_of(qdq_dtype codes, const qdq_options &options) {
    if (!is_integer(codes)) {
        const float largest = largest_float(codes);
        return {largest, std::ilogb(largest), mantissa_bits(codes), {}};
    }
    const integer_range range = saturation_range(codes, options);
    const bool has_exponent = range.highest > 0;  // which all rules but QDQ_SCALE_MINMAX require
    const int exponent = has_exponent ? static_cast<int>(std::floor(std::log2(static_cast<double>(range.highest)))) : 0;
    return {static_cast<float>(range.highest), exponent, exponent, range};
}

computed_scale scale_of(const group_range &group, const code_facts &codes, qdq_dtype scale_type,
                        const qdq_scale_options &how, float global) {
    const float clip = how.clip_ratio == 0 ? 1 : how.clip_ratio;
    const float lowest = group.lowest * clip, highest = group.highest * clip;
    const float amax = std::max(std::fabs(group.lowest), group.highest) * clip;
    if (how.rule == QDQ_SCALE_MINMAX) {
        const float steps = static_cast<float>(codes.range.highest - codes.range.lowest);
        const float exact = (highest - lowest) / steps;
        const uint32_t scale = finish(scale_type, group.has_nan ? not_a_number : exact, how.least_scale);
        return {scale, zero_point_of(lowest, decode_scale(scale_type, scale), codes.range)};
    }
    if (how.rule == QDQ_SCALE_ABSMAX) {
        const float own = amax / codes.largest;
        const float exact = how.global_sense == QDQ_GLOBAL_SCALE     ? own / global
                            : how.global_sense == QDQ_GLOBAL_INVERSE ? own * global
                                                                     : own;
        return {finish(scale_type, group.has_nan ? not_a_number : exact, how.least_scale), 0};
    }
    return {power_of_two(group, amax, codes, scale_type, how.rule), 0};
}

float global_scale_of(const group_range &all, const code_facts &codes, const qdq_scale_options &how) {
    const float largest = codes.largest * (how.global_largest == 0 ? 448 : how.global_largest);
    const float found = std::max(std::fabs(all.lowest), all.highest);
    const float amax = all.has_nan ? not_a_number : found == 0 ? 1 : found;
    if (how.global_sense == QDQ_GLOBAL_INVERSE) {
        const float inverse = largest / amax;
        return std::isinf(inverse) ? std::numeric_limits<float>::max() : inverse == 0 ? 1 : inverse;
    }
    const float scale = amax / largest;
    return scale == 0 ? 1 : scale;
}

float effective_scale(qdq_dtype type, uint32_t code, const qdq_scale_options &how, float global) {
    const float scale = decode_scale(type, code);
    switch (how.global_sense) {
    case QDQ_GLOBAL_SCALE: return scale * global;
    case QDQ_GLOBAL_INVERSE: return scale / global;
    default: return scale;
    }
}

squared_error::squared_error(float scale) {
    const int power = std::isfinite(scale) ? (scale == 0 ? -126 : std::max(std::ilogb(scale), -126)) : 128;
    exponent_ = std::max(power - 8, -127);
}

uint64_t squared_error::add(float x, float y) {
    const float error = std::fabs(x - y);
    if (!std::isfinite(error)) {
        return 0;
    }
    const double units = std::min(std::ldexp(static_cast<double>(error), -exponent_), 0x1p27);
    const auto whole = static_cast<uint64_t>(static_cast<float>(units) + 0.5f);
    const uint64_t square = whole * whole, most = std::numeric_limits<uint64_t>::max();
    sum_ = square > most - sum_ ? most : sum_ + square;
    return square;
}

double squared_error::value() const { return std::ldexp(static_cast<double>(sum_), 2 * exponent_); }

namespace {

float candidate(const qdq_scale_options &how, int i) {
    const float first = how.clip_ratio == 0 ? 1 : how.clip_ratio;
    if (how.clip_ratio_count < 2) {
        return first;
    }
    const float part = static_cast<float>(i) / static_cast<float>(how.clip_ratio_count - 1);
    const float way = (how.last_clip_ratio - first) * part;
    return first + way;
}

// What a group is quantized by.
struct group_choice {
    computed_scale operands;
    double error;
};

// The elements of x with the group of each.
class grouped_tensor {
public:
    grouped_tensor(const qdq_tensor &x, const qdq_tensor &scale, const qdq_options &options)
        : x_(x), scale_(scale), places_(x, scale, nullptr, options), groups(static_cast<size_t>(element_count(scale))) {
        for_each([&](float value, size_t group) {
            groups[group].add(value);
            all.add(value);
        });
    }

    template<typename Body> void for_each(Body &&body) const {
        for_each_index(
            x_, [&](const int64_t *index) { body(load_float(x_, index), flat(places_.scale_index(index).data())); });
    }

    size_t flat(const int64_t *index) const {
        int64_t place = 0;
        for (int32_t d = 0; d < scale_.rank; ++d) {
            place = place * scale_.shape[d] + index[d];
        }
        return static_cast<size_t>(place);
    }

private:
    const qdq_tensor &x_, &scale_;
    const parameters places_;

public:
    std::vector<group_range> groups;
    group_range all;
};

// The distance of a float type's largest value from the next one below; 1 of integers.
float last_step(qdq_dtype codes, float largest) {
    if (is_integer(codes)) {
        return 1;
    }
    float next = 0;
    for (uint32_t code = 0; code < uint32_t{1} << bits_of(codes); ++code) {
        const float value = decode_float(codes, code);
        next = value < largest ? std::max(next, value) : next;
    }
    return largest - next;
}

class diagnosis {
public:
    diagnosis(qdq_dtype codes, const code_facts &facts, const qdq_options &options)
        : codes_(codes), options_(options), half_(last_step(codes, facts.largest) / 2.0) {
        const bool integers = is_integer(codes);
        lowest_ = integers ? static_cast<double>(facts.range.lowest) : -double{facts.largest};
        highest_ = integers ? static_cast<double>(facts.range.highest) : double{facts.largest};
    }

    void add(float x, float scale, int64_t exact_zero) {
        const int64_t zero = options_.quantize_zp == QDQ_ZP_BEFORE_ROUNDING ? as_float(exact_zero) : exact_zero;
        const zero_point z = zero_point::of_integer(zero);
        const uint32_t code = quantize_element(x, scale, z, codes_, options_);
        const float y = std::bit_cast<float>(dequantize_element(codes_, code, scale, z, QDQ_F32, QDQ_ZP_SUBTRACT));
        squared_error error(scale);
        const uint64_t square = error.add(x, y);
        auto &[high, low] = squares_[error.exponent()];
        low += square & 0xffffffff;
        high += (square >> 32) + (low >> 32);
        low &= 0xffffffff;
        if (std::isnan(x)) {
            ++found.nan;
            found.amax = not_a_number;
            return;
        }
        found.amax = std::isnan(found.amax) ? found.amax : std::max(found.amax, std::fabs(x));
        if (std::isinf(x)) {
            ++found.infinite;
            return;
        }
        const float above = static_cast<float>(highest_ + half_ - static_cast<double>(zero)) * scale;
        const float below = static_cast<float>(lowest_ - half_ - static_cast<double>(zero)) * scale;
        found.clipped += x >= above || x <= below ? 1 : 0;
        found.flushed += x != 0 && y == 0 ? 1 : 0;
    }

    qdq_diagnostics total() {
        for (const auto &[exponent, sum] : squares_) {
            const double exact = std::ldexp(static_cast<double>(sum.first), 32) + static_cast<double>(sum.second);
            found.squared_error += std::ldexp(exact, 2 * exponent);
        }
        return found;
    }

private:
    // The int32 nearest to the f32 that is added before rounding.
    static int64_t as_float(int64_t zero) {
        return std::min<int64_t>(static_cast<int64_t>(static_cast<float>(zero)), std::numeric_limits<int32_t>::max());
    }

    qdq_diagnostics found{};
    const qdq_dtype codes_;
    const qdq_options &options_;
    const double half_;
    double lowest_, highest_;
    std::map<int, std::pair<uint64_t, uint64_t>> squares_;  // by unit: high, and 32 low bits
};

}  // namespace

int64_t arranged_bytes(qdq_scale_layout layout, int64_t rows, int64_t columns) {
    const int64_t unit = layout == QDQ_SCALES_TILED_128X4 ? 128 : 4;
    return (rows + unit - 1) / unit * unit * ((columns + 3) / 4 * 4);
}

int64_t arranged_place(qdq_scale_layout layout, int64_t rows, int64_t columns, int64_t row, int64_t column) {
    if (layout == QDQ_SCALES_COLUMN_WORDS) {
        const int64_t padded = (rows + 3) / 4 * 4;
        return column / 4 * 4 * padded + row * 4 + column % 4;
    }
    const int64_t tiles = (columns + 3) / 4;
    const int64_t r = row % 128, c = column % 4;
    return (row / 128 * tiles + column / 4) * 512 + r % 32 * 16 + r / 32 * 4 + c;
}

void compute_scales(const qdq_tensor &x, qdq_dtype codes, const qdq_tensor &scale, const qdq_tensor *zero_point,
                    const qdq_scale_options *how, const qdq_options *options) {
    const qdq_options used = options != nullptr ? *options : qdq_options{};
    qdq_scale_options rule = how != nullptr ? *how : qdq_scale_options{};
    const code_facts facts = facts_of(codes, used);
    const grouped_tensor given(x, scale, used);
    if (rule.computes_global != 0) {
        *rule.global_scale = global_scale_of(given.all, facts, rule);
    }
    const float global = rule.global_scale != nullptr ? *rule.global_scale : 1;
    std::vector<group_choice> chosen(given.groups.size(), {{}, std::numeric_limits<double>::infinity()});
    for (int i = 0; i < std::max(rule.clip_ratio_count, 1); ++i) {
        qdq_scale_options tried = rule;
        tried.clip_ratio = candidate(rule, i);
        std::vector<computed_scale> operands;
        std::vector<float> scales;
        std::vector<squared_error> errors;
        for (const group_range &group : given.groups) {
            operands.push_back(scale_of(group, facts, scale.dtype, tried, global));
            scales.push_back(effective_scale(scale.dtype, operands.back().scale, tried, global));
            errors.emplace_back(scales.back());
        }
        if (rule.clip_ratio_count >= 2) {
            qdq_options searched = used;
            searched.rounding = used.rounding == QDQ_STOCHASTIC ? QDQ_NEAREST_EVEN : used.rounding;
            given.for_each([&](float value, size_t group) {
                const reference::zero_point z = reference::zero_point::of_integer(operands[group].zero_point);
                const uint32_t code = quantize_element(value, scales[group], z, codes, searched);
                const uint32_t back = dequantize_element(codes, code, scales[group], z, QDQ_F32, QDQ_ZP_SUBTRACT);
                errors[group].add(value, std::bit_cast<float>(back));
            });
        }
        for (size_t group = 0; group < chosen.size(); ++group) {
            if (errors[group].value() < chosen[group].error) {
                chosen[group] = {operands[group], errors[group].value()};
            }
        }
    }
    if (rule.diagnostics != nullptr) {
        diagnosis found(codes, facts, used);
        given.for_each([&](float value, size_t group) {
            const computed_scale &operands = chosen[group].operands;
            found.add(value, effective_scale(scale.dtype, operands.scale, rule, global), operands.zero_point);
        });
        *rule.diagnostics = found.total();
    }
    for_each_index(scale, [&](const int64_t *index) {
        const computed_scale &computed = chosen[given.flat(index)].operands;
        store_code(scale, index, computed.scale);
        if (zero_point != nullptr) {
            store_code(*zero_point, index, static_cast<uint32_t>(computed.zero_point));
        }
    });
}

}  // namespace reference
