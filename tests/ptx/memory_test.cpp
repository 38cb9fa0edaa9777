#include "memory.h"

#include <gtest/gtest.h>

#include <string>

namespace ptx_test {
namespace {

constexpr ptx::thread_stamp stamp(uint64_t launch, uint64_t thread) { return launch << 32 | thread; }

TEST(PtxMemory, finds_the_bytes_of_an_allocation_and_no_others) {
    ptx::memory all;
    const uint64_t begin = all.allocate(100, this)->begin(), version = all.version();
    EXPECT_EQ(begin % 256, 0u);
    ASSERT_NE(all.find(begin, 100), nullptr);
    EXPECT_EQ(all.find(begin, 100)->owner(), this);
    EXPECT_NE(all.find(begin + 99, 1), nullptr);
    EXPECT_EQ(all.find(begin + 99, 2), nullptr);
    EXPECT_EQ(all.find(begin + 100, 1), nullptr);
    EXPECT_EQ(all.find(begin - 1, 1), nullptr);
    EXPECT_EQ(all.find(begin, ~uint64_t{0}), nullptr);
    EXPECT_NE(all.find_block(begin + 100), nullptr) << "a driver's blocks are longer";
    EXPECT_EQ(all.find_block(begin + (2 << 20)), nullptr);
    EXPECT_FALSE(all.free(begin + 1));
    EXPECT_TRUE(all.free(begin));
    EXPECT_FALSE(all.free(begin));
    EXPECT_EQ(all.find(begin, 1), nullptr);
    EXPECT_NE(all.version(), version);
}

TEST(PtxMemory, has_an_end) {
    ptx::memory all;
    EXPECT_EQ(all.allocate(0, this), nullptr);
    EXPECT_EQ(all.allocate(ptx::memory::capacity + 1, this), nullptr);
    const ptx::allocation *const one = all.allocate(4096, this);
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(all.allocate(ptx::memory::capacity, this), nullptr);
    EXPECT_TRUE(all.free(one->begin()));
}

TEST(PtxMemory, knows_which_bytes_were_written) {
    ptx::memory all;
    ptx::allocation *const a = all.find(all.allocate(64, this)->begin(), 1);
    const uint64_t at = a->begin();
    EXPECT_NE(std::string(a->read(at, 1, stamp(1, 1))), "");
    a->written(at + 4, 4);
    EXPECT_STREQ(a->read(at + 4, 4, stamp(1, 1)), "");
    EXPECT_NE(std::string(a->read(at + 4, 5, stamp(1, 1))), "");
    EXPECT_STREQ(a->write(at + 8, 1, stamp(1, 1)), "");
    EXPECT_STREQ(a->read(at + 4, 5, stamp(1, 1)), "");
    ptx::allocation *const b = all.find(all.allocate(64, this)->begin(), 1);
    b->written_as(b->begin(), 16, *a, at);
    EXPECT_STREQ(b->read(b->begin() + 4, 5, stamp(1, 1)), "");
    EXPECT_NE(std::string(b->read(b->begin() + 9, 1, stamp(1, 1))), "");
    EXPECT_TRUE(all.free(at));
    const ptx::allocation *const again = all.allocate(64, this);
    EXPECT_NE(std::string(all.find(again->begin(), 1)->read(again->begin() + 4, 1, stamp(2, 1))), "");
}

TEST(PtxMemory, two_threads_of_a_launch_share_no_byte_that_one_writes) {
    ptx::memory all;
    ptx::allocation *const a = all.find(all.allocate(64, this)->begin(), 1);
    const uint64_t at = a->begin();
    a->written(at, 64);
    EXPECT_STREQ(a->write(at, 4, stamp(11, 1)), "");
    EXPECT_STREQ(a->write(at, 4, stamp(11, 1)), "") << "its own";
    EXPECT_STREQ(a->read(at, 4, stamp(11, 1)), "");
    EXPECT_STREQ(a->write(at + 4, 4, stamp(11, 2)), "") << "beside it";
    EXPECT_NE(std::string(a->write(at + 3, 4, stamp(11, 3))), "");
    EXPECT_STREQ(a->write(at, 4, stamp(12, 9)), "") << "another launch";
    EXPECT_NE(std::string(a->read(at, 1, stamp(12, 8))), "") << "written before it is read";
    for (uint64_t thread : {1, 2, 1, 3}) {
        EXPECT_STREQ(a->read(at + 8, 4, stamp(13, thread)), "");
    }
    EXPECT_NE(std::string(a->write(at + 8, 4, stamp(13, 3))), "") << "read by others before it is written";
    EXPECT_STREQ(a->read(at + 16, 4, stamp(13, 5)), "");
    EXPECT_STREQ(a->write(at + 16, 4, stamp(13, 5)), "") << "in place";
    EXPECT_STREQ(a->read(at + 20, 4, stamp(13, 5)), "");
    EXPECT_NE(std::string(a->write(at + 20, 4, stamp(13, 6))), "");
}

}  // namespace
}  // namespace ptx_test
