// Values that are put several times over, by each set of instructions: all places, and how far past them.
#include "cpu/spread.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace {

using qdq::runtime::spread;
using qdq::runtime::spread_past;

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

}  // namespace
