// More than 2^31 elements, in 80 MB: only the pages around multiples of 2^29 elements, where a number could leave its
// range, are y's own. The others are one piece of memory for each 2^29 elements, mapped again and again.
#include "support/thinning.h"

#include <qdq/qdq.h>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace {

constexpr int64_t count = (int64_t{1} << 31) + 100;
constexpr int64_t section = int64_t{1} << 29, piece = int64_t{1} << 23;

class Large : public testing::Test {
protected:
    void SetUp() override {
        if (test_support::thinning() > 1) {
            GTEST_SKIP() << "an emulator takes ten minutes";
        }
        void *memory = mmap(nullptr, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ASSERT_NE(memory, MAP_FAILED);
        y = static_cast<int8_t *>(memory);
        repeated = memfd_create("api.large", 0);
        ASSERT_GE(repeated, 0);
        ASSERT_EQ(ftruncate(repeated, count / section * piece), 0);
        for (int64_t begin = 0; begin + section <= count; begin += section) {
            for (int64_t place = piece; place < section - piece; place += piece) {
                ASSERT_NE(mmap(y + begin + place, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, repeated,
                               begin / section * piece),
                          MAP_FAILED);
            }
        }
    }
    void TearDown() override {
        if (y != nullptr) {
            munmap(y, count);
        }
        if (repeated >= 0) {
            close(repeated);
        }
    }

    // Comparing a range with itself one element on is the fastest way to see that all are equal.
    bool all_equal(int64_t first, int64_t elements, int8_t value) const {
        const int8_t *begin = y + first;
        return *begin == value && std::memcmp(begin, begin + 1, static_cast<size_t>(elements - 1)) == 0;
    }

    int8_t *y = nullptr;
    int repeated = -1;
};

TEST_F(Large, one_dimension) {
    float x = 10.0f, scale = 0.25f;
    const int64_t shape = count, broadcast = 0;
    const qdq_tensor c_x{&x, QDQ_F32, 1, &shape, &broadcast, {}}, c_scale{&scale, QDQ_F32, 0, nullptr, nullptr, {}};
    const qdq_tensor c_y{y, QDQ_I8, 1, &shape, nullptr, {}};
    ASSERT_EQ(qdq_quantize(&c_x, &c_scale, nullptr, &c_y, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_TRUE(all_equal(0, count, 40));
}

TEST_F(Large, rows_of_their_own_scale) {
    float x = 10.0f;
    std::array<float, 4> scale{0.25f, 0.5f, 1.0f, 2.0f};
    const std::array<int8_t, 4> codes{40, 20, 10, 5};
    const int64_t columns = count / 4;
    const std::array<int64_t, 2> shape{4, columns}, broadcast{0, 0}, scale_shape{4, 1};
    const qdq_tensor c_x{&x, QDQ_F32, 2, shape.data(), broadcast.data(), {}};
    const qdq_tensor c_scale{scale.data(), QDQ_F32, 2, scale_shape.data(), nullptr, {}};
    const qdq_tensor c_y{y, QDQ_I8, 2, shape.data(), nullptr, {}};
    ASSERT_EQ(qdq_quantize(&c_x, &c_scale, nullptr, &c_y, nullptr), QDQ_OK) << qdq_last_error();
    for (int64_t row = 0; row < 4; row++) {
        EXPECT_TRUE(all_equal(row * columns, columns, codes[static_cast<size_t>(row)])) << row;
    }
}

// y's own strides reach past 2^31 bytes, and so does the product of an index and a stride.
TEST_F(Large, a_transposed_y) {
    float x[2] = {10.0f, -10.0f}, scale = 0.25f;
    const int64_t columns = count / 2;
    const std::array<int64_t, 2> shape{columns, 2}, of_x{0, 1}, of_y{1, columns};
    const qdq_tensor c_x{x, QDQ_F32, 2, shape.data(), of_x.data(), {}};
    const qdq_tensor c_scale{&scale, QDQ_F32, 0, nullptr, nullptr, {}};
    const qdq_tensor c_y{y, QDQ_I8, 2, shape.data(), of_y.data(), {}};
    ASSERT_EQ(qdq_quantize(&c_x, &c_scale, nullptr, &c_y, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_TRUE(all_equal(0, columns, 40));
    EXPECT_TRUE(all_equal(columns, columns, -40));
}

}  // namespace
