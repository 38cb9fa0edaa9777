#include "scales.h"

#include "error.h"
#include "float_bits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace qdq_cli {

namespace {

// The bits of a float as an integer that sorts as the float does, NaNs beyond the infinities. Integer minimum and
// maximum vectorize where those of floats, for the sake of NaN, do not.
int32_t to_key(float value) {
    auto bits = std::bit_cast<int32_t>(value);
    return bits ^ ((bits >> 31) & 0x7fffffff);
}

float from_key(int32_t key) { return std::bit_cast<float>(key ^ ((key >> 31) & 0x7fffffff)); }

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

float symmetric_scale(float min, float max, const dtype &code) {
    return nonzero(std::max(-min, max) / static_cast<float>((code.highest - code.lowest) / 2));
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

void store_code(const dtype &code, int64_t value, std::vector<std::byte> &codes) {
    for (int bit = 0; bit < code.bits; bit += 8) {
        codes.push_back(static_cast<std::byte>(value >> bit));
    }
}

}  // namespace

bool has_zero_points(const dtype &code, bool asymmetric) { return asymmetric || symmetric_zero_point(code) != 0; }

scale_set compute_scales(const dtype &source, std::span<const std::byte> bytes, const scale_map &map, const dtype &code,
                         bool asymmetric) {
    extremes found = find_extremes(*source.core, bytes, map);
    scale_set result;
    for (size_t i = 0; i < found.low.size(); ++i) {
        float min = from_key(found.low[i]), max = from_key(found.high[i]);
        if (!std::isfinite(min) || !std::isfinite(max)) {
            throw failure("it holds NaN or infinite values");
        }
        float scale = asymmetric ? asymmetric_scale(min, max, code) : symmetric_scale(min, max, code);
        result.scales.push_back(scale);
        if (has_zero_points(code, asymmetric)) {
            int64_t zero_point = asymmetric ? asymmetric_zero_point(min, scale, code) : symmetric_zero_point(code);
            store_code(code, zero_point, result.zero_points);
        }
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

}  // namespace qdq_cli
