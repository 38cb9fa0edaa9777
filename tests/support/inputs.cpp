#include "inputs.h"

#include <bit>
#include <cmath>
#include <limits>

namespace test_support {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

void add_with_neighbours(std::vector<float> &values, float value) {
    float below = value;
    float above = value;
    values.push_back(value);
    for (int step = 0; step < 2; ++step) {
        below = std::nextafter(below, -infinity);
        above = std::nextafter(above, infinity);
        values.push_back(below);
        values.push_back(above);
    }
}

// The x that a scale maps onto t, to within an ulp or so.
float preimage(double t, float scale, qdq_scale_mode mode) {
    return static_cast<float>(mode == QDQ_MULTIPLY ? t / scale : t * scale);
}

}  // namespace

std::vector<float> around(const std::vector<double> &ts, float scale, qdq_scale_mode mode) {
    std::vector<float> values;
    for (double t : ts) {
        add_with_neighbours(values, preimage(t, scale, mode));
    }
    return values;
}

std::vector<float> special_floats() {
    std::vector<float> values;
    const uint32_t magnitudes[] = {
        0x00000000, 0x00000001, 0x00000002, 0x007fffff, 0x00800000, 0x00800001, 0x33800000, 0x3effffff, 0x3f000000,
        0x3f000001, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x4affffff, 0x4b000000, 0x4b000001, 0x4b7fffff, 0x4b800000,
        0x4effffff, 0x4f000000, 0x4f000001, 0x4f7fffff, 0x4f800000, 0x5effffff, 0x5f000000, 0x5f800000, 0x7f000000,
        0x7f7ffffe, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fa00000, 0x7fbfffff, 0x7fc00000, 0x7fc00001, 0x7fffffff,
    };
    for (uint32_t magnitude : magnitudes) {
        values.push_back(std::bit_cast<float>(magnitude));
        values.push_back(std::bit_cast<float>(magnitude | 0x80000000u));
    }
    return values;
}

std::vector<float> random_patterns(int64_t count, uint64_t seed) {
    random_bits random(seed);
    std::vector<float> values(static_cast<size_t>(count));
    for (float &value : values) {
        value = std::bit_cast<float>(random.next32());
    }
    return values;
}

std::vector<float> random_in_range(int64_t count, float scale, float lowest, float highest, uint64_t seed) {
    random_bits random(seed);
    std::vector<float> values(static_cast<size_t>(count));
    const double margin = 0.1 * (static_cast<double>(highest) - lowest);
    for (float &value : values) {
        const double fraction = std::ldexp(random.next32(), -32);
        value = static_cast<float>(scale * (lowest - margin + fraction * (highest - lowest + 2 * margin)));
    }
    return values;
}

std::vector<float> tricky_floats(float scale, qdq_scale_mode mode, int64_t count, uint64_t seed) {
    std::vector<float> values = special_floats();
    for (int halves = -1100; halves <= 1100; ++halves) {
        add_with_neighbours(values, preimage(halves / 2.0, scale, mode));
    }
    for (int exponent = 11; exponent <= 33; ++exponent) {
        for (double near : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
            const double t = std::ldexp(1.0, exponent) + near;
            add_with_neighbours(values, preimage(t, scale, mode));
            add_with_neighbours(values, preimage(-t, scale, mode));
        }
    }
    const int64_t random_count = count - static_cast<int64_t>(values.size());
    if (random_count <= 0) {
        return values;
    }
    const std::vector<float> patterns = random_patterns(random_count / 2, seed);
    const std::vector<float> spread =
        random_in_range(random_count - random_count / 2, mode == QDQ_MULTIPLY ? 1 / scale : scale, -300, 300, seed + 1);
    values.insert(values.end(), patterns.begin(), patterns.end());
    values.insert(values.end(), spread.begin(), spread.end());
    return values;
}

std::vector<float> corner_scales() {
    return {1.0f,
            0.1f,
            1.0f / 127.0f,
            0.00214854861f,  // division and multiplication by the reciprocal differ
            -0.3f,
            0.75f,
            0x1.fffffep0f,  // 2^-149 divided by it is 2^-149, and its product with the reciprocal 0
            255.0f,
            1e-3f,
            1e30f,
            3e38f,
            -1.0f,
            0x1p-120f,
            0x1p-126f,
            0x1p-127f,
            0x1p-130f,
            0x1p-149f,
            -0x1p-149f,
            0x1p120f,
            0x1p127f,
            0.0f,
            -0.0f,
            infinity,
            -infinity,
            std::numeric_limits<float>::quiet_NaN(),
            std::bit_cast<float>(0x7f800001u)};
}

}  // namespace test_support
