#include "tensors/scales.h"

#include "support/error.h"
#include "tensors/float_values.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

namespace qdq::model {

namespace {

constexpr float epsilon = std::numeric_limits<float>::epsilon();
constexpr float least_f32 = std::numeric_limits<float>::denorm_min();

qdq_scale_options options_of(qdq_scale_rule rule, float clip_ratio, float least) {
    qdq_scale_options options = {};
    options.rule = rule;
    options.clip_ratio = clip_ratio;
    options.least_scale = least;
    return options;
}

float least_of(const dtype &stored) {
    return stored.core == QDQ_F16 ? 0x1p-24f : stored.core == QDQ_BF16 ? 0x1p-133f : least_f32;
}

std::span<std::byte> bytes_of(std::vector<float> &values) { return std::as_writable_bytes(std::span(values)); }

// 0 for signed codes, the middle for unsigned ones.
int64_t symmetric_zero_point(const dtype &code) { return static_cast<int64_t>((code.lowest + code.highest + 1) / 2); }

std::vector<std::byte> symmetric_zero_points(const dtype &code, size_t count) {
    const int64_t value = symmetric_zero_point(code);
    std::vector<std::byte> codes;
    for (size_t i = 0; i < count && value != 0; ++i) {
        for (int bit = 0; bit < code.bits; bit += 8) {
            codes.push_back(static_cast<std::byte>(value >> bit));
        }
    }
    return codes;
}

// Computes the scales of one tensor.
class scale_computer {
public:
    scale_computer(const tensor_data &x, const blocking &granularity, const quantized_type &type,
                   const scale_method &how, const dtype &stored, kernel_caller &kernels)
        : x_(x), granularity_(granularity), type_(type), how_(how), stored_(stored), kernels_(kernels) {}

    scale_set compute() {
        const std::vector<float> amax = magnitudes();
        if (!std::ranges::all_of(amax, [](float value) { return std::isfinite(value); })) {
            throw failure("it holds NaN or infinite values");
        }
        scale_set set = by_rule_or_type(amax);
        if (!std::ranges::all_of(set.scales, [](float value) { return std::isfinite(value); })) {
            throw failure("its range, from the least value to the greatest, is wider than the largest f32");
        }
        if (!how_.asymmetric) {
            set.zero_points = symmetric_zero_points(code(), set.scales.size());
        }
        return set;
    }

private:
    const dtype &code() const { return type_.code_dtype(); }

    // The largest magnitude of each block, which is its scale where the largest code is 1. That of zeros is least_f32.
    std::vector<float> magnitudes() {
        std::vector<float> amax(static_cast<size_t>(element_count(granularity_.scale_shape)));
        kernels_.compute_scales({x_,
                                 {&f32_dtype(), granularity_.scale_shape, bytes_of(amax).data()},
                                 {},
                                 {&dtype_of(QDQ_I8), x_.shape, nullptr},
                                 granularity_},
                                options_of(QDQ_SCALE_ABSMAX, how_.clip_ratio, least_f32), -1, 1);
        return amax;
    }

    scale_set by_rule_or_type(const std::vector<float> &amax) {
        if (how_.rule && type_.scales != scale_form::two_level) {
            return by_rule(*how_.rule, code(), 0);
        }
        switch (type_.scales) {
        case scale_form::power_of_two: return rounded_powers_of_two();
        case scale_form::two_level: return two_levels(amax);
        default: return how_.asymmetric ? asymmetric(amax) : symmetric(amax);
        }
    }

    scale_set by_rule(qdq_scale_rule rule, const dtype &codes, float least) {
        const std::vector<int64_t> &shape = granularity_.scale_shape;
        const dtype &type = stored_.core == QDQ_U8 ? dtype_of(QDQ_E8M0) : stored_;
        scale_set set;
        set.stored.resize(byte_size({"", &type, shape}));
        if (rule == QDQ_SCALE_MINMAX) {
            set.zero_points.resize(byte_size({"", &zero_point_dtype(codes), shape}));
        }
        std::byte *zero_points = set.zero_points.empty() ? nullptr : set.zero_points.data();
        kernels_.compute_scales({x_,
                                 {&type, shape, set.stored.data()},
                                 {&zero_point_dtype(codes), shape, zero_points},
                                 {&codes, x_.shape, nullptr},
                                 granularity_},
                                options_of(rule, how_.clip_ratio, least));
        set.scales = values_of(type, set.stored);
        return set;
    }

    static std::vector<float> values_of(const dtype &type, const std::vector<std::byte> &stored) {
        std::vector<float> values;
        if (type.core == QDQ_E8M0) {
            std::ranges::transform(stored, std::back_inserter(values), [](std::byte code) {
                return float_value<QDQ_E8M0>(std::to_integer<uint32_t>(code));
            });
            return values;
        }
        values.resize(stored.size() * 8 / static_cast<size_t>(type.bits));
        widen(*type.core, stored.data(), 0, std::ssize(values), values.data());
        return values;
    }

    // compressed-tensors rounds amax to the one mantissa bit of e2m1, of which 7 / 4 becomes 2, whatever the codes are:
    // 448 / 256 is the largest e4m3fn. Of f6 other thresholds gain less than 0.1 dB.
    scale_set rounded_powers_of_two() {
        const dtype &e2m1 = dtype_of(QDQ_F4E2M1);
        scale_set set = by_rule(QDQ_SCALE_POWER_EVEN, e2m1, 0);
        const int more = std::ilogb(code().highest) - std::ilogb(e2m1.highest);
        for (std::byte &exponent : set.stored) {
            exponent = static_cast<std::byte>(std::max(0, std::to_integer<int>(exponent) - more));
        }
        set.scales = values_of(dtype_of(QDQ_E8M0), set.stored);
        return set;
    }

    scale_set asymmetric(const std::vector<float> &amax) {
        scale_set set = by_rule(QDQ_SCALE_MINMAX, code(), least_of(stored_));
        for (size_t i = 0; i < amax.size(); ++i) {
            set.scales[i] = amax[i] == least_f32 ? epsilon : set.scales[i];
        }
        set.stored = rounded(set.scales);
        return set;
    }

    std::vector<float> symmetric_scales(const std::vector<float> &amax) const {
        const auto half_range = static_cast<float>((code().highest - code().lowest) / 2);
        std::vector<float> scales;
        std::ranges::transform(amax, std::back_inserter(scales), [&](float value) { return value / half_range; });
        return scales;
    }

    scale_set symmetric(const std::vector<float> &amax) {
        scale_set set;
        set.scales = symmetric_scales(amax);
        for (float &scale : set.scales) {
            scale = scale == 0 ? epsilon : std::max(scale, least_of(stored_));
        }
        set.stored = rounded(set.scales);
        set.scales = values_of(stored_, set.stored);
        return set;
    }

    scale_set two_levels(const std::vector<float> &amax) {
        constexpr float codes_times_scales = 6 * 448;
        constexpr std::byte eighth{0x20};
        const float global = codes_times_scales / std::max(std::ranges::max(amax), std::numeric_limits<float>::min());
        scale_set set;
        set.global = std::isfinite(global) ? global : 1;
        set.scales = symmetric_scales(amax);
        for (float &scale : set.scales) {
            scale *= set.global;
        }
        set.stored = encoded(set.scales);
        std::ranges::replace(set.stored, std::byte{0}, eighth);
        for (size_t i = 0; i < set.scales.size(); ++i) {
            set.scales[i] = float_value<QDQ_F8E4M3>(std::to_integer<uint8_t>(set.stored[i])) / set.global;
        }
        return set;
    }

    std::vector<std::byte> rounded(std::vector<float> &values) {
        std::vector<std::byte> result(byte_size({"", &stored_, {std::ssize(values)}}));
        kernels_.round(bytes_of(values), stored_, result.data());
        return result;
    }

    // Values in the f8 that the file keeps.
    std::vector<std::byte> encoded(std::vector<float> &values) {
        std::vector<std::byte> codes(values.size());
        std::vector<int64_t> shape = {std::ssize(values)};
        std::vector<float> one = {1};
        kernels_.quantize({{&f32_dtype(), shape, bytes_of(values).data()},
                           {&f32_dtype(), {}, bytes_of(one).data()},
                           {},
                           {&stored_, shape, codes.data()},
                           {}});
        return codes;
    }

    const tensor_data &x_;
    const blocking &granularity_;
    const quantized_type &type_;
    const scale_method &how_;
    const dtype &stored_;
    kernel_caller &kernels_;
};

}  // namespace

// compressed-tensors has exponents as U8, and no f6.
const dtype &stored_scale_dtype(const quantized_type &of) {
    switch (of.scales) {
    case scale_form::power_of_two: return dtype_of(is_dense(of.code_dtype()) ? QDQ_E8M0 : QDQ_U8);
    case scale_form::two_level: return dtype_of(QDQ_F8E4M3);
    default: return f32_dtype();
    }
}

bool has_zero_points(const dtype &code, bool asymmetric) { return asymmetric || symmetric_zero_point(code) != 0; }

scale_set compute_scales(const tensor_data &x, const blocking &granularity, const quantized_type &type,
                         const scale_method &how, const dtype &stored, kernel_caller &kernels) {
    return scale_computer(x, granularity, type, how, stored, kernels).compute();
}

int64_t load_code(const dtype &code, const std::byte *codes, int64_t index) {
    uint64_t value = 0;
    int bytes = code.bits / 8;
    for (int i = 0; i < bytes; ++i) {
        value |= std::to_integer<uint64_t>(codes[index * bytes + i]) << (8 * i);
    }
    int unused = 64 - code.bits;
    auto shifted = static_cast<int64_t>(value << unused);
    return code.lowest < 0 ? shifted >> unused : static_cast<int64_t>(value);
}

}  // namespace qdq::model
