// Values that are put several times over, by each set of instructions: all places, and how far past them.
#include "cpu/spread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace {

using qdq::runtime::spare_operands;
using qdq::runtime::spread;
using qdq::runtime::spread_dimension;
using qdq::runtime::spread_past;
using qdq::runtime::spread_values;

std::vector<uint32_t> features_of_targets() {
    std::vector<uint32_t> all{0};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        all.push_back(qdq_cpu_avx2_fma_f16c);
    }
    if (__builtin_cpu_supports("avx512f")) {
        all.insert(all.end(), {qdq_cpu_avx512, qdq_cpu_avx512_bf16});
    }
#endif
    return all;
}

TEST(Spread, puts_each_value_so_many_times) {
    constexpr int32_t untouched = -1;
    for (const uint32_t features : features_of_targets()) {
        qdq_target on{};
        on.features = features;
        for (int64_t times = 1; times <= 40; times++) {
            for (int64_t count = 1; count <= 35; count++) {
                std::vector<int32_t> from(count + spread_past), to(count * times + spread_past + 1, untouched);
                std::iota(from.begin(), from.end(), 100);
                spread(on, from.data(), count, times, to.data());
                for (int64_t i = 0; i < count * times; i++) {
                    ASSERT_EQ(to[i], 100 + i / times) << features << ": " << count << " values, " << times << " times";
                }
                ASSERT_EQ(to.back(), untouched) << features << ": " << count << " values, " << times << " times";
            }
        }
    }
}

// A dimension of places as drawn: how many share a value, and where the first of them lies in its block.
spread_dimension drawn_dimension(std::mt19937 &random, int64_t longest, int64_t step) {
    const auto below = [&](int64_t most) { return static_cast<int64_t>(random() % most); };
    const int64_t block = 1 + below(20), phase = below(block), extent = 1 + below(longest);
    const int64_t padding = random() % 4 == 0 ? below(30) : 0;  // which the last value fills, too
    return {extent + padding, step, block, phase, (phase + extent - 1) / block + 1, 0};
}

TEST(Spread, puts_the_values_of_blocks_that_a_box_cuts) {
    // What lies past the last place is read and moved with it, whatever it is.
    constexpr int32_t untouched = std::numeric_limits<int32_t>::min();
    std::mt19937 random(1);
    for (const uint32_t features : features_of_targets()) {
        qdq_target on{};
        on.features = features;
        for (int draw = 0; draw < 1000; draw++) {
            const int count = 1 + static_cast<int>(random() % 3);
            spread_dimension dimensions[3];
            int64_t places = 1 + static_cast<int64_t>(random() % 3), values = 1;
            for (int d = 0; d < count; d++) {
                dimensions[d] = drawn_dimension(random, d == 0 && draw % 4 == 0 ? 300 : 9, places);
                places *= dimensions[d].extent;
            }
            for (int k = 0, last = static_cast<int>(random() % count); k < count; k++) {  // stored in another order
                spread_dimension &d = dimensions[(last + k) % count];
                d.from = values;
                values *= d.blocks;
            }
            std::vector<int32_t> from(values + spread_past), to(places + spare_operands + 1, untouched), also = to;
            constexpr int32_t first = 100;
            std::iota(from.begin(), from.end(), first);
            const spread_values arrays[] = {{from.data(), also.data()}, {from.data(), to.data()}};
            spread(on, std::span(arrays), std::span(dimensions, count));
            for (int64_t place = 0; place < places; place++) {
                int64_t expected = first;
                for (const spread_dimension &d : std::span(dimensions, count)) {
                    const int64_t block = (place / d.step % d.extent + d.phase) / d.block;
                    expected += std::min(block, d.blocks - 1) * d.from;
                }
                ASSERT_EQ(to[place], expected) << features << ": draw " << draw << ", place " << place;
                ASSERT_EQ(also[place], expected) << features << ": draw " << draw << ", place " << place;
            }
            ASSERT_EQ(to.back(), untouched) << features << ": draw " << draw;
            ASSERT_EQ(also.back(), untouched) << features << ": draw " << draw;
        }
    }
}

}  // namespace
