// The copies that bypass the caches, by themselves: every byte of every length at every alignment, against guard pages.
#include "targets/nontemporal.h"

#include "support/fenced_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

namespace {

using qdq::runtime::nontemporal_stores;
using test_support::fenced_memory;
using test_support::flush;

struct variant {
    const char *name;
    const nontemporal_stores *functions;
    bool usable;
};

const variant variants[] = {
    {"sse2", &qdq::runtime::qdq_nontemporal_sse2, true},
    {"avx2", &qdq::runtime::qdq_nontemporal_avx2, __builtin_cpu_supports("avx2") != 0},
    {"avx512", &qdq::runtime::qdq_nontemporal_avx512, __builtin_cpu_supports("avx512f") != 0},
};

class StreamCopies : public testing::TestWithParam<variant> {
protected:
    void SetUp() override {
        if (!GetParam().usable) {
            GTEST_SKIP() << "compiled, not executed";
        }
    }
};

INSTANTIATE_TEST_SUITE_P(, StreamCopies, testing::ValuesIn(variants), [](const auto &info) { return info.param.name; });

TEST_P(StreamCopies, move_every_byte_and_no_other) {
    constexpr int64_t line = 64, longest = 5 * line + 1;
    std::vector<uint8_t> expected(longest);
    std::iota(expected.begin(), expected.end(), uint8_t{1});
    fenced_memory from(longest + line), to(longest + line);
    for (flush side : {flush::leading, flush::trailing}) {
        for (int64_t length = 0; length <= longest; length++) {
            for (int64_t gap = 0; gap < line; gap++) {
                void *const source = from.place(length, side, gap * 5 % line), *const target =
                                                                                   to.place(length, side, gap);
                std::memcpy(source, expected.data(), static_cast<size_t>(length));
                GetParam().functions->copy(target, source, length);
                GetParam().functions->fence();
                ASSERT_EQ(std::memcmp(target, expected.data(), static_cast<size_t>(length)), 0)
                    << length << " bytes, " << gap << " from the guard";
                ASSERT_TRUE(to.surroundings_intact()) << length << " bytes, " << gap << " from the guard";
            }
        }
    }
}

// What a missing one does shows in other threads, now and then. So the code is looked at.
TEST_P(StreamCopies, are_ordered_by_an_sfence) {
    constexpr uint8_t sfence[] = {0x0f, 0xae, 0xf8}, ret = 0xc3;
    const auto *const code = reinterpret_cast<const uint8_t *>(GetParam().functions->fence);
    const uint8_t *const end = std::find(code, code + 64, ret);
    EXPECT_NE(std::search(code, end, std::begin(sfence), std::end(sfence)), end);
}

}  // namespace
