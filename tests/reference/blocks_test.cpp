// The oracle of ggml's blocks by values worked out by hand.
#include "reference/blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

// The first elements of a block, whose others are `rest`.
std::vector<int> quantized(qdq_block_format format, std::vector<float> x, float rest = 0) {
    reference::block_values values{};
    values.fill(rest);
    std::copy(x.begin(), x.end(), values.begin());
    std::vector<uint8_t> block(static_cast<size_t>(reference::bytes_of(format)));
    reference::quantize_block(format, values, block.data());
    return {block.begin(), block.end()};
}

int word(const std::vector<int> &block, size_t at) { return block[at] + 256 * block[at + 1]; }

TEST(Blocks, of_q8_0) {
    const std::vector<int> block = quantized(QDQ_Q8_0, {254, -254, 1, -1, 5, 0.99f});
    EXPECT_EQ(word(block, 0), 0x4000);  // 2
    EXPECT_EQ((std::vector<int>{block.begin() + 2, block.begin() + 9}),
              (std::vector<int>{127, 256 - 127, 1, 256 - 1, 3, 0, 0}));  // halves away from 0
}

TEST(Blocks, of_q4_0) {
    const std::vector<int> block = quantized(QDQ_Q4_0, {8, -8, 1, -0.5f});
    EXPECT_EQ(word(block, 0), 0xbc00);  // -1
    EXPECT_EQ(block[2], 0x80);          // 8 is the lowest; element 16 is 0
    EXPECT_EQ(block[3], 0x8f);          // -8 would be 16
    EXPECT_EQ(block[4], 0x87);
    EXPECT_EQ(block[5], 0x89);                                        // 8.5 + 0.5
    EXPECT_EQ(word(quantized(QDQ_Q4_0, {-8, 8}), 0), 0x3c00);         // the first of two
    EXPECT_EQ(word(quantized(QDQ_Q4_0, {-0.0f}, -0.0f), 0), 0x8000);  // 0 / -8
    EXPECT_EQ(word(quantized(QDQ_Q4_0, {1e-44f}), 2), 0x8888);        // without an inverse
    EXPECT_EQ(word(quantized(QDQ_Q4_0, {infinity, -infinity}), 0), 0xfc00);
    EXPECT_EQ(word(quantized(QDQ_Q4_0, {infinity, 1}), 2), 0x8888);
}

TEST(Blocks, of_q4_1) {
    const std::vector<int> block = quantized(QDQ_Q4_1, {-1, 14, 0.5f});
    EXPECT_EQ(word(block, 0), 0x3c00);
    EXPECT_EQ(word(block, 2), 0xbc00);
    EXPECT_EQ(block[4], 0x10);
    EXPECT_EQ(block[5], 0x1f);
    EXPECT_EQ(block[6], 0x12);
    EXPECT_EQ(word(quantized(QDQ_Q4_1, {-0.0f, 0.0f, 1}), 2), 0x8000);  // the first zero
    EXPECT_EQ(word(quantized(QDQ_Q4_1, {0.0f, -0.0f, 1}), 2), 0);
    EXPECT_EQ(word(quantized(QDQ_Q4_1, {nan, 1}), 0), 0x7e00);
    EXPECT_EQ(word(quantized(QDQ_Q4_1, {nan, 1}), 2), 0x7e00);
    EXPECT_EQ(word(quantized(QDQ_Q4_1, {3e38f, -3e38f}), 0), 0x7c00);
    EXPECT_EQ(word(quantized(QDQ_Q4_1, {3e38f, -3e38f}), 2), 0xfc00);
    EXPECT_EQ(word(quantized(QDQ_Q4_1, {3e38f, -3e38f}), 4), 0);
    const std::vector<int> least = quantized(QDQ_Q4_1, std::vector<float>(32, -infinity));
    EXPECT_EQ(word(least, 0), 0x7c00);  // though -infinity less -infinity is no number
    EXPECT_EQ(word(least, 2), 0xfc00);
    EXPECT_EQ(word(least, 4), 0);
}

TEST(Blocks, of_q5) {
    const std::vector<int> q5_0 = quantized(QDQ_Q5_0, {-16, 15, 1});
    EXPECT_EQ(word(q5_0, 0), 0x3c00);
    EXPECT_EQ(word(q5_0, 2), 0xfffe);  // all but the first
    EXPECT_EQ(q5_0[6], 0x00);
    EXPECT_EQ(q5_0[7], 0x0f);
    EXPECT_EQ(q5_0[8], 0x01);
    const std::vector<int> q5_1 = quantized(QDQ_Q5_1, {31, 16, 15});
    EXPECT_EQ(word(q5_1, 4), 0x0003);
    EXPECT_EQ(q5_1[8], 0x0f);
    EXPECT_EQ(q5_1[9], 0x00);
    EXPECT_EQ(q5_1[10], 0x0f);
}

TEST(Blocks, of_mxfp4) {
    const std::vector<int> block = quantized(QDQ_MXFP4, {6, -6, 0.25f, 0.75f, 5, -0.25f, 7.9f});
    EXPECT_EQ(block[0], 127);
    EXPECT_EQ((std::vector<int>{block.begin() + 1, block.begin() + 8}), (std::vector<int>{7, 15, 0, 1, 6, 0, 7}));
    EXPECT_EQ(quantized(QDQ_MXFP4, {0x1.fffffep15f})[0], 16 + 125);  // its logarithm is 16, as f32
    EXPECT_EQ(quantized(QDQ_MXFP4, {0x1.fffp15f})[0], 15 + 125);
    EXPECT_EQ(quantized(QDQ_MXFP4, {1e-40f})[0], 0);
    EXPECT_EQ(quantized(QDQ_MXFP4, {infinity, nan})[0], 253);
    EXPECT_EQ(quantized(QDQ_MXFP4, {-infinity, nan})[1], 15);
    EXPECT_EQ(quantized(QDQ_MXFP4, {-infinity, nan})[2], 7);
}

// The scale is that of the least weighted error: of one number that is its code's value the number's own.
TEST(Blocks, of_iq4_nl) {
    const std::vector<int> block = quantized(QDQ_IQ4_NL, {-127, 113, 1, 7, -4.5f, -115.5f, 0});
    EXPECT_EQ((std::vector<int>{block.begin() + 2, block.begin() + 9}),
              (std::vector<int>{0x80, 0x8f, 0x88, 0x89, 0x88, 0x81, 0x88}));
    EXPECT_EQ(quantized(QDQ_IQ4_NL, {2, -2})[2] % 16, 0) << "the first of the farthest takes the least value";
    EXPECT_EQ(quantized(QDQ_IQ4_NL, {2, -2})[3] % 16, 15);
    EXPECT_EQ(word(quantized(QDQ_IQ4_NL, {-254}), 0), 0x4000);
    EXPECT_EQ(word(quantized(QDQ_IQ4_NL, {254}), 0), 0xc000);
    EXPECT_EQ(word(quantized(QDQ_IQ4_NL, {-127, 100}), 0), 0x3c1e);  // (127^4 + 100^3 89) / (127^4 + 100^2 89^2)
    EXPECT_EQ(word(quantized(QDQ_IQ4_NL, {1e-16f}), 0), 0);
    EXPECT_EQ(quantized(QDQ_IQ4_NL, {1e-16f})[2], 0x88);
    EXPECT_EQ(word(quantized(QDQ_IQ4_NL, {-infinity, 1}), 0), 0x7c00);
    EXPECT_EQ(word(quantized(QDQ_IQ4_NL, {nan, 1}), 0), 0x7e00);
}

TEST(Blocks, have_values) {
    const auto first = [](qdq_block_format format, std::vector<uint8_t> block) {
        block.resize(static_cast<size_t>(reference::bytes_of(format)));
        return reference::dequantize_block(format, block.data());
    };
    EXPECT_EQ(first(QDQ_Q8_0, {0, 0x40, 0xff})[0], -2);
    EXPECT_EQ(first(QDQ_Q4_0, {0, 0x40, 0x19})[0], 2);
    EXPECT_EQ(first(QDQ_Q4_0, {0, 0x40, 0x19})[16], -14);
    EXPECT_EQ(first(QDQ_Q4_1, {0, 0x40, 0, 0x3c, 0x19})[0], 19);
    EXPECT_EQ(first(QDQ_Q5_0, {0, 0x40, 2, 0, 0, 0, 0, 0x01})[1], 2);
    EXPECT_EQ(first(QDQ_Q5_1, {0, 0x40, 0, 0x3c, 0, 0, 0, 0x80})[31], 33);
    EXPECT_EQ(first(QDQ_IQ4_NL, {0, 0x40, 0xf0})[0], -254);
    EXPECT_EQ(first(QDQ_IQ4_NL, {0, 0x40, 0xf0})[16], 226);
    EXPECT_EQ(first(QDQ_MXFP4, {127, 0x97})[0], 6);
    EXPECT_EQ(first(QDQ_MXFP4, {127, 0x97})[16], -0.5f);
    EXPECT_EQ(first(QDQ_MXFP4, {255, 1})[0], 0x1p127f);
    EXPECT_EQ(first(QDQ_MXFP4, {0, 1})[0], 0x1p-128f);
    EXPECT_FALSE(std::signbit(first(QDQ_MXFP4, {127, 8})[0]));
}

}  // namespace
