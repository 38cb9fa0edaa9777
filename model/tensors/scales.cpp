#include "tensors/scales.h"

#include "support/error.h"
#include "tensors/float_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace qdq::model {

namespace {

// The bits of a float as an integer that sorts as the float does, NaNs beyond the infinities. Integer minimum and
// maximum vectorize where those of floats, for the sake of NaN, do not.
int32_t to_key(float value) {
    auto bits = std::bit_cast<int32_t>(value);
    return bits < 0 ? bits ^ 0x7fffffff : bits;
}

float from_key(int32_t key) { return std::bit_cast<float>(key < 0 ? key ^ 0x7fffffff : key); }

struct extremes {
    std::vector<int32_t> low, high;  // keys; 0 is the key of 0.0f
};

void reduce(const float *values, int64_t count, int32_t &low, int32_t &high) {
    int32_t least = low, most = high;
    for (int64_t i = 0; i < count; ++i) {
        int32_t key = to_key(values[i]);
        least = std::min(least, key);
        most = std::max(most, key);
    }
    low = least;
    high = most;
}

void reduce_each(const float *values, int64_t count, int32_t *low, int32_t *high) {
    for (int64_t i = 0; i < count; ++i) {
        int32_t key = to_key(values[i]);
        low[i] = std::min(low[i], key);
        high[i] = std::max(high[i], key);
    }
}

extremes find_extremes(qdq_dtype source, std::span<const std::byte> bytes, const scale_map &map) {
    auto count = static_cast<size_t>(map.scale_count());
    extremes found = {std::vector<int32_t>(count, 0), std::vector<int32_t>(count, 0)};
    constexpr int64_t piece = 2048;
    float values[piece];
    map.for_each_run([&](const run &r) {
        for (int64_t done = 0; done < r.count; done += piece) {
            int64_t length = std::min(piece, r.count - done);
            widen(source, bytes.data(), r.first_element + done, length, values);
            auto at = static_cast<size_t>(r.first_scale + done * r.step);
            if (r.step == 0) {
                reduce(values, length, found.low[at], found.high[at]);
            } else {
                reduce_each(values, length, &found.low[at], &found.high[at]);
            }
        }
    });
    return found;
}

float nonzero(float scale) { return scale == 0 ? std::numeric_limits<float>::epsilon() : scale; }

float largest(float min, float max) { return std::max(max, -min); }  // +0, not -0, where both are 0

float symmetric_scale(float amax, const dtype &code) {
    return amax / static_cast<float>((code.highest - code.lowest) / 2);
}

// The exponents are those of the largest power of two in the type, 4, 16 or 256. Adding a quarter of the mantissa
// carries into the exponent from 1.75 on: 7 / 4 is what e2m1 still rounds to 6, 448 / 256 the largest e4m3fn. Of f6
// other thresholds gain less than 0.1 dB.
float power_of_two_scale(float amax, const dtype &code) {
    constexpr int32_t quarter = 1 << 21;
    int exponent = ((std::bit_cast<int32_t>(amax) + quarter) >> 23) - 127 - std::ilogb(code.highest);
    return std::ldexp(1.0f, std::clamp(exponent, -127, 127));
}

float asymmetric_scale(float min, float max, const dtype &code) {
    double codes = code.highest - code.lowest;
    if (std::isinf(max - min)) {  // the difference of two floats may not be one
        return static_cast<float>((static_cast<double>(max) - min) / codes);
    }
    return nonzero((max - min) / static_cast<float>(codes));
}

int64_t asymmetric_zero_point(float min, float scale, const dtype &code) {
    double zero_point = std::nearbyint(static_cast<float>(code.lowest) - min / scale);
    return static_cast<int64_t>(std::clamp(zero_point, code.lowest, code.highest));
}

// 0 for signed codes, the middle for unsigned ones.
int64_t symmetric_zero_point(const dtype &code) { return static_cast<int64_t>((code.lowest + code.highest + 1) / 2); }

float scale_of(float min, float max, const quantized_type &type, bool asymmetric) {
    const dtype &code = type.code_dtype();
    switch (type.scales) {
    case scale_form::power_of_two: return power_of_two_scale(largest(min, max), code);
    case scale_form::two_level: return symmetric_scale(largest(min, max), code);
    default: return asymmetric ? asymmetric_scale(min, max, code) : nonzero(symmetric_scale(largest(min, max), code));
    }
}

// Fills `stored`; the scales of a two-level type become those that the file tells.
void store_scales(const quantized_type &type, float amax, const dtype &stored, const scale_encoder &encode,
                  scale_set &set) {
    if (stored.is_float() && &stored != &f32_dtype()) {
        // Half of it, and what is smaller, would become 0, as the scale of a row of bf16 up to 0x1p-133 did.
        const float least = stored.core == QDQ_F16 ? 0x1p-24f : 0x1p-133f;
        for (float &scale : set.scales) {
            scale = std::max(scale, least);
        }
        set.stored = encode(set.scales, stored);
        widen(*stored.core, set.stored.data(), 0, std::ssize(set.scales), set.scales.data());
        return;
    }
    if (stored.is_float()) {
        std::span bytes = std::as_bytes(std::span(set.scales));
        set.stored.assign(bytes.begin(), bytes.end());
        return;
    }
    if (type.scales == scale_form::power_of_two) {
        for (float scale : set.scales) {
            set.stored.push_back(static_cast<std::byte>(std::bit_cast<uint32_t>(scale) >> 23));
        }
        return;
    }
    constexpr float codes_times_scales = 6 * 448;
    float global = codes_times_scales / std::max(amax, std::numeric_limits<float>::min());
    set.global = std::isfinite(global) ? global : 1;
    for (float &scale : set.scales) {
        scale *= set.global;
    }
    set.stored = encode(set.scales, stored);
    constexpr std::byte eighth{0x20};
    std::ranges::replace(set.stored, std::byte{0}, eighth);
    for (size_t i = 0; i < set.scales.size(); ++i) {
        set.scales[i] = float_value<QDQ_F8E4M3>(std::to_integer<uint8_t>(set.stored[i])) / set.global;
    }
}

void store_code(const dtype &code, int64_t value, std::vector<std::byte> &codes) {
    for (int bit = 0; bit < code.bits; bit += 8) {
        codes.push_back(static_cast<std::byte>(value >> bit));
    }
}

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

scale_set compute_scales(const dtype &source, std::span<const std::byte> bytes, const scale_map &map,
                         const quantized_type &type, bool asymmetric, const dtype &stored,
                         const scale_encoder &encode) {
    extremes found = find_extremes(*source.core, bytes, map);
    const dtype &code = type.code_dtype();
    scale_set result;
    float amax = 0;
    for (size_t i = 0; i < found.low.size(); ++i) {
        float min = from_key(found.low[i]), max = from_key(found.high[i]);
        if (!std::isfinite(min) || !std::isfinite(max)) {
            throw failure("it holds NaN or infinite values");
        }
        amax = std::max(amax, largest(min, max));
        result.scales.push_back(scale_of(min, max, type, asymmetric));
    }
    store_scales(type, amax, stored, encode, result);
    for (size_t i = 0; has_zero_points(code, asymmetric) && i < result.scales.size(); ++i) {
        int64_t zero_point = asymmetric ? asymmetric_zero_point(from_key(found.low[i]), result.scales[i], code)
                                        : symmetric_zero_point(code);
        store_code(code, zero_point, result.zero_points);
    }
    return result;
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
