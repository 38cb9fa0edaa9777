#include "reference/dequantize.h"

#include <gtest/gtest.h>

#include <limits>

namespace reference {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

float dequantized(qdq_dtype x, uint32_t code, float scale, zero_point z = {},
                  qdq_dequantize_zp mode = QDQ_ZP_SUBTRACT) {
    return decode_float(QDQ_F32, dequantize_element(x, code, scale, z, QDQ_F32, mode));
}

TEST(Dequantize, subtracts_or_adds_the_zero_point) {
    EXPECT_EQ(dequantized(QDQ_I8, 10, 0.5f, zero_point::of_integer(4)), 3.0f);
    EXPECT_EQ(dequantized(QDQ_I8, 10, 0.5f, zero_point::of_integer(4), QDQ_ZP_ADD), 7.0f);
    EXPECT_EQ(dequantized(QDQ_U8, 255, 2.0f, zero_point::of_integer(128)), 254.0f);
    EXPECT_EQ(dequantized(QDQ_I8, 3, 1.0f, zero_point::of_float(0.25f)), 2.75f);
}

TEST(Dequantize, int32_differences_are_exact_and_never_wrap) {
    const uint32_t int_max = 0x7fffffff;
    EXPECT_EQ(dequantized(QDQ_I32, int_max, 1.0f, zero_point::of_integer(-1)), 2147483648.0f);
    EXPECT_EQ(dequantized(QDQ_I32, int_max, 1.0f, zero_point::of_integer(-2147483648LL)), 4294967296.0f);
    EXPECT_EQ(dequantized(QDQ_I32, 16777217, 1.0f, zero_point::of_integer(1)), 16777216.0f);
    EXPECT_EQ(dequantized(QDQ_I32, 16777217, 1.0f), 16777216.0f);
}

TEST(Dequantize, a_float_zero_point_is_an_f32_operation) {
    EXPECT_EQ(dequantized(QDQ_I32, 16777217, 1.0f, zero_point::of_float(1.0f)), 16777215.0f);
    EXPECT_EQ(dequantized(QDQ_I8, 1, 1.0f, zero_point::of_float(1e30f), QDQ_ZP_ADD), 1e30f);
}

TEST(Dequantize, nan_results_are_canonical) {
    const auto code = [](qdq_dtype y, uint32_t q, float scale) {
        return dequantize_element(QDQ_I8, q, scale, {}, y, QDQ_ZP_SUBTRACT);
    };
    EXPECT_EQ(code(QDQ_F32, 1, nan_value), 0x7fc00000u);
    EXPECT_EQ(code(QDQ_F32, 0, infinity), 0x7fc00000u);
    EXPECT_EQ(code(QDQ_F16, 1, -nan_value), 0x7e00u);
    EXPECT_EQ(code(QDQ_BF16, 0, -infinity), 0x7fc0u);
    EXPECT_EQ(dequantize_element(QDQ_F8E4M3, 0xff, 1, {}, QDQ_F32, QDQ_ZP_SUBTRACT), 0x7fc00000u);
    EXPECT_EQ(dequantize_element(QDQ_F8E5M2, 0xfd, 1, {}, QDQ_F16, QDQ_ZP_SUBTRACT), 0x7e00u);
}

TEST(Dequantize, zero_keeps_the_sign_of_the_product) {
    EXPECT_EQ(dequantize_element(QDQ_I8, 0, -1.0f, {}, QDQ_F32, QDQ_ZP_SUBTRACT), 0x80000000u);
    EXPECT_EQ(dequantize_element(QDQ_I8, 0, 1.0f, {}, QDQ_F32, QDQ_ZP_SUBTRACT), 0u);
    EXPECT_EQ(dequantize_element(QDQ_F8E4M3, 0x80, 1.0f, {}, QDQ_F32, QDQ_ZP_ADD), 0x80000000u);
}

TEST(Dequantize, products_round_to_f32_and_then_once_more_for_narrow_outputs) {
    EXPECT_EQ(dequantize_element(QDQ_I8, 127, 1000.0f, {}, QDQ_F16, QDQ_ZP_SUBTRACT), 0x7c00u);
    EXPECT_EQ(dequantize_element(QDQ_I8, 3, 1e-45f, {}, QDQ_F32, QDQ_ZP_SUBTRACT), 3u);
    EXPECT_EQ(dequantize_element(QDQ_I8, 1, 1.00390625f, {}, QDQ_BF16, QDQ_ZP_SUBTRACT), 0x3f80u);
    EXPECT_EQ(dequantize_element(QDQ_I8, 3, 1.00390625f, {}, QDQ_BF16, QDQ_ZP_SUBTRACT), 0x4041u);
}

}  // namespace
}  // namespace reference
