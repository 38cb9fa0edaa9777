// The oracle of qdq_scale_rule by values worked out by hand.
#include "reference/scales.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

reference::computed_scale computed(std::initializer_list<float> x, qdq_dtype codes, qdq_dtype scale,
                                   const qdq_scale_options &how, const qdq_options &options = {}) {
    reference::group_range group;
    for (const float each : x) {
        group.add(each);
    }
    return reference::scale_of(group, reference::facts_of(codes, options), scale, how);
}

float absmax(std::initializer_list<float> x, qdq_dtype codes, const qdq_scale_options &how = {}) {
    return std::bit_cast<float>(computed(x, codes, QDQ_F32, how).scale);
}

// The exponent of an e8m0 scale.
int power(std::initializer_list<float> x, qdq_dtype codes, qdq_scale_rule rule) {
    return static_cast<int>(computed(x, codes, QDQ_E8M0, {rule, 0, 0}).scale) - 127;
}

TEST(Scales, of_the_largest_magnitude) {
    EXPECT_EQ(absmax({1, -127, 3}, QDQ_I8), 1);
    EXPECT_EQ(absmax({-128}, QDQ_I8), 128.0f / 127);
    EXPECT_EQ(absmax({-896, 5}, QDQ_F8E4M3), 2);
    EXPECT_EQ(absmax({6}, QDQ_F4E2M1), 1);
    EXPECT_EQ(absmax({3.5f}, QDQ_F4E1M2), 2);
    EXPECT_EQ(absmax({-65536}, QDQ_HIF8), 2);
    EXPECT_EQ(absmax({254}, QDQ_I8, {QDQ_SCALE_ABSMAX, 0.5f, 0}), 1);
    EXPECT_EQ(absmax({254}, QDQ_I8, {QDQ_SCALE_ABSMAX, 0, 4}), 4);
    EXPECT_EQ(absmax({-infinity, 1}, QDQ_I8), infinity);
    EXPECT_TRUE(std::isnan(absmax({1, nan, infinity}, QDQ_I8)));
}

TEST(Scales, are_never_0) {
    EXPECT_EQ(absmax({0, -0.0f}, QDQ_I8), 1);
    EXPECT_EQ(absmax({0x1p-149f}, QDQ_I8), 1);
    EXPECT_EQ(computed({0x1p-20f}, QDQ_I8, QDQ_F16, {}).scale, 0x3c00u);  // 2^-27 is no f16
    EXPECT_EQ(absmax({0}, QDQ_I8, {QDQ_SCALE_ABSMAX, 0, 0.25f}), 0.25f);
}

TEST(Scales, overflow_as_their_type_does) {
    EXPECT_EQ(computed({0x1p100f}, QDQ_I8, QDQ_F16, {}).scale, 0x7c00u);
    EXPECT_EQ(computed({0x1p100f}, QDQ_I8, QDQ_F8E4M3, {}).scale, 0x7eu);
    EXPECT_EQ(computed({nan}, QDQ_I8, QDQ_F8E4M3, {}).scale, 0x7fu);
}

// onnx/reference/ops/op_dynamic_quantize_linear.py, and the examples of the operator's page.
TEST(Scales, of_the_lowest_and_highest) {
    const auto of = [](std::initializer_list<float> x, qdq_dtype codes) {
        return computed(x, codes, QDQ_F32, {QDQ_SCALE_MINMAX, 0, 0});
    };
    EXPECT_EQ(std::bit_cast<float>(of({0, 2, -3, -2.5f, 1.34f, 0.5f}, QDQ_U8).scale), 5.0f / 255);
    EXPECT_EQ(of({0, 2, -3, -2.5f, 1.34f, 0.5f}, QDQ_U8).zero_point, 153);
    EXPECT_EQ(of({-1, -2.1f, -1.3f, -2.5f, -3.34f, -4}, QDQ_U8).zero_point, 255);
    EXPECT_EQ(of({1, 2.1f, 1.3f}, QDQ_U8).zero_point, 0);
    EXPECT_EQ(of({0}, QDQ_I8).zero_point, -128);
    EXPECT_EQ(of({nan}, QDQ_I8).zero_point, -128);
}

TEST(Scales, powers_of_two) {
    EXPECT_EQ(power({6}, QDQ_F4E2M1, QDQ_SCALE_POWER_FLOOR), 0);
    EXPECT_EQ(power({7.9f}, QDQ_F4E2M1, QDQ_SCALE_POWER_FLOOR), 0);
    EXPECT_EQ(power({8}, QDQ_F4E2M1, QDQ_SCALE_POWER_FLOOR), 1);
    EXPECT_EQ(power({4}, QDQ_F4E2M1, QDQ_SCALE_POWER_CEIL), 0);
    EXPECT_EQ(power({4.1f}, QDQ_F4E2M1, QDQ_SCALE_POWER_CEIL), 1);
    EXPECT_EQ(power({6.9f}, QDQ_F4E2M1, QDQ_SCALE_POWER_EVEN), 0);
    EXPECT_EQ(power({7}, QDQ_F4E2M1, QDQ_SCALE_POWER_EVEN), 1);
    EXPECT_EQ(power({479}, QDQ_F8E4M3, QDQ_SCALE_POWER_EVEN), 0);
    EXPECT_EQ(power({496}, QDQ_F8E4M3, QDQ_SCALE_POWER_EVEN), 1);
    EXPECT_EQ(power({6}, QDQ_F4E2M1, QDQ_SCALE_POWER_ROUND_UP), 0);
    EXPECT_EQ(power({6.1f}, QDQ_F4E2M1, QDQ_SCALE_POWER_ROUND_UP), 1);
    EXPECT_EQ(power({448}, QDQ_F8E4M3, QDQ_SCALE_POWER_ROUND_UP), 0);
    EXPECT_EQ(power({100}, QDQ_I8, QDQ_SCALE_POWER_FLOOR), 0);
}

TEST(Scales, powers_of_two_at_the_ends) {
    for (const qdq_scale_rule rule :
         {QDQ_SCALE_POWER_FLOOR, QDQ_SCALE_POWER_CEIL, QDQ_SCALE_POWER_EVEN, QDQ_SCALE_POWER_ROUND_UP}) {
        EXPECT_EQ(power({0}, QDQ_F4E2M1, rule), -127);
        EXPECT_EQ(power({0x1p-140f}, QDQ_F4E2M1, rule), -127);
        EXPECT_EQ(power({nan, 1}, QDQ_F4E2M1, rule), 128);
        EXPECT_EQ(power({infinity}, QDQ_F4E2M1, rule), rule == QDQ_SCALE_POWER_ROUND_UP ? 127 : 126);
    }
    EXPECT_EQ(computed({nan}, QDQ_I8, QDQ_BF16, {QDQ_SCALE_POWER_FLOOR, 0, 0}).scale, 0x7fc0u);
    EXPECT_EQ(computed({0}, QDQ_I8, QDQ_BF16, {QDQ_SCALE_POWER_FLOOR, 0, 0}).scale, 0x0040u);
    EXPECT_EQ(computed({0}, QDQ_I8, QDQ_F32, {QDQ_SCALE_POWER_FLOOR, 0, 0}).scale, 0x00400000u);
}

}  // namespace
