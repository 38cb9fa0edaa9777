#include "support/fenced_memory.h"

#include <gtest/gtest.h>

namespace test_support {
namespace {

volatile uint8_t sink;

TEST(FencedMemoryDeathTest, reading_past_either_guard_crashes) {
    fenced_memory memory(100);
    const uint8_t *last = static_cast<uint8_t *>(memory.place(100, flush::trailing));
    EXPECT_DEATH(sink = last[100], "");
    const uint8_t *first = static_cast<uint8_t *>(memory.place(100, flush::leading));
    EXPECT_DEATH(sink = first[-1], "");
}

TEST(FencedMemoryDeathTest, writing_where_it_is_forbidden_crashes) {
    fenced_memory memory(100);
    uint8_t *data = static_cast<uint8_t *>(memory.place(100, flush::leading));
    data[0] = 1;
    memory.forbid_writing();
    EXPECT_DEATH(data[0] = 2, "");
    EXPECT_EQ(data[0], 1);
}

TEST(FencedMemory, writing_into_the_gap_is_seen) {
    fenced_memory memory(100);
    uint8_t *data = static_cast<uint8_t *>(memory.place(10, flush::trailing, 3));
    data[0] = data[9] = 1;
    EXPECT_TRUE(memory.surroundings_intact());
    data[10] = 1;
    EXPECT_FALSE(memory.surroundings_intact());
    data = static_cast<uint8_t *>(memory.place(10, flush::leading, 3));
    EXPECT_TRUE(memory.surroundings_intact());
    data[-1] = 1;
    EXPECT_FALSE(memory.surroundings_intact());
}

}  // namespace
}  // namespace test_support
