#include "reference/quantize.h"
#include "reference/philox.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

namespace reference {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

int64_t quantized(qdq_dtype y, float x, float scale, zero_point z = {}, qdq_options options = {}) {
    return decode_integer(y, quantize_element(x, scale, z, y, options));
}

int64_t quantized_i8(float x, float scale, int64_t z = 0, qdq_options options = {}) {
    return quantized(QDQ_I8, x, scale, zero_point::of_integer(z), options);
}

qdq_options with_rounding(qdq_rounding rounding) {
    qdq_options options{};
    options.rounding = rounding;
    return options;
}

qdq_options with_order(qdq_quantize_zp order) {
    qdq_options options{};
    options.quantize_zp = order;
    return options;
}

TEST(Quantize, rounds_each_way) {
    struct row {
        float x;
        int64_t nearest_even, nearest_away, toward_zero, down, up;
    };
    const row rows[] = {
        {0.5f, 0, 1, 0, 0, 1},        {1.5f, 2, 2, 1, 1, 2},          {2.5f, 2, 3, 2, 2, 3},
        {-0.5f, 0, -1, 0, -1, 0},     {-1.5f, -2, -2, -1, -2, -1},    {-2.5f, -2, -3, -2, -3, -2},
        {0.49999997f, 0, 0, 0, 0, 1}, {-0.49999997f, 0, 0, 0, -1, 0}, {0.50000006f, 1, 1, 0, 0, 1},
        {1e-45f, 0, 0, 0, 0, 1},      {-1e-45f, 0, 0, 0, -1, 0},      {7.0f, 7, 7, 7, 7, 7},
        {-7.0f, -7, -7, -7, -7, -7},  {-0.0f, 0, 0, 0, 0, 0},
    };
    for (const row &r : rows) {
        EXPECT_EQ(quantized_i8(r.x, 1, 0, with_rounding(QDQ_NEAREST_EVEN)), r.nearest_even) << r.x;
        EXPECT_EQ(quantized_i8(r.x, 1, 0, with_rounding(QDQ_NEAREST_AWAY)), r.nearest_away) << r.x;
        EXPECT_EQ(quantized_i8(r.x, 1, 0, with_rounding(QDQ_TOWARD_ZERO)), r.toward_zero) << r.x;
        EXPECT_EQ(quantized_i8(r.x, 1, 0, with_rounding(QDQ_DOWN)), r.down) << r.x;
        EXPECT_EQ(quantized_i8(r.x, 1, 0, with_rounding(QDQ_UP)), r.up) << r.x;
    }
}

// Of Random123's kat_vectors, philox4x32 10: the published known answers.
TEST(Quantize, random_words_are_the_published_ones) {
    EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (philox_counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
              (philox_counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (philox_counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Quantize, elements_have_halves_of_words_in_order_and_share_them) {
    EXPECT_EQ(random_bits(0, 0), 0xe8d5u);  // of 6627e8d5
    EXPECT_EQ(random_bits(0, 1), 0x6627u);
    EXPECT_EQ(random_bits(0, 2), 0xc58du);
    EXPECT_EQ(random_bits(0, 7), 0x9b00u);
    EXPECT_EQ(random_bits(0, 16), 0xd5e8u);  // of element 0, its bytes swapped
    EXPECT_EQ(random_bits(0, 23), 0x009bu);
    const philox_counter second = philox4x32({1, 0, 0, 0}, {0, 0}), third = philox4x32({2, 0, 0, 0}, {0, 0});
    EXPECT_EQ(random_bits(0, 8), second[0] & 0xffff);
    EXPECT_EQ(random_bits(0, 32), third[0] & 0xffff);
    const philox_counter far = philox4x32({5, 3, 0, 0}, {7, 9});
    EXPECT_EQ(random_bits(uint64_t{9} << 32 | 7, ((uint64_t{3} << 32) + 4) * 16 + 8 + 3), far[1] >> 16);
}

TEST(Quantize, rounds_by_chance) {
    struct row {
        qdq_dtype type;
        float t;
        uint32_t least;  // of the bits that round it up; 65536: none do
        float low, high;
    };
    const row rows[] = {
        {QDQ_I8, 0.25f, 49152, 0, 1},
        {QDQ_I8, -0.25f, 49152, -0.0f, -1},
        {QDQ_I8, 1000.5f, 32768, 1000, 1001},
        {QDQ_I8, 0x1p-16f, 65535, 0, 1},
        {QDQ_I8, 0x1p-17f, 65536, 0, 1},    // a tie of chances, to the even 0
        {QDQ_I8, 0x1.8p-16f, 65534, 0, 1},  // one to 2
        {QDQ_I8, 1 - 0x1p-17f, 0, 0, 1},    // and one to 65536: always
        {QDQ_I8, 3, 65536, 3, 4},           // an integer
        {QDQ_I32, 8388607.5f, 32768, 8388607, 8388608},
        {QDQ_I32, 3e9f, 65536, 3e9f, 3e9f},
        {QDQ_F8E4M3, 1.0625f, 32768, 1, 1.125f},
        {QDQ_F8E4M3, -1.96875f, 16384, -1.875f, -2},  // of the next binade
        {QDQ_F8E4M3, 0x1p-11f, 49152, 0, 0x1p-9f},    // a subnormal number
        {QDQ_F8E4M3, 460, 40960, 448, 480},           // beyond the largest
        {QDQ_F8E5M2, 0x1.8p-17f, 16384, 0, 0x1p-16f},
        {QDQ_F4E2M1, 5, 32768, 4, 6},
        {QDQ_F6E2M3, 0.0625f, 32768, 0, 0.125f},
        {QDQ_F4E1M2, 1.3125f, 49152, 1.25f, 1.5f},
        {QDQ_HIF8, 1.03125f, 49152, 1, 1.125f},
        {QDQ_HIF8, -18, 32768, -16, -20},  // of mantissas of 2 bits
        {QDQ_HIF8, 0x1.4p-17f, 49152, 0x1p-17f, 0x1p-16f},
        {QDQ_HIF8, 0x1p-24f, 49152, 0, 0x1p-22f},
        {QDQ_F8E5M2FNUZ, 0x1p-18f, 32768, 0, 0x1p-17f},
    };
    for (const row &r : rows) {
        for (const uint32_t bits : {0u, r.least - 1, r.least, 65535u}) {
            if (bits < 65536) {
                const float expected = bits >= r.least ? r.high : r.low, got = round_by_chance(r.t, r.type, bits);
                EXPECT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(expected))
                    << name_of(r.type) << " " << r.t << ", bits " << bits << ": " << got;
            }
        }
    }
    EXPECT_EQ(round_by_chance(infinity, QDQ_I8, 65535), infinity);
    EXPECT_NE(round_by_chance(nan_value, QDQ_F8E4M3, 0), round_by_chance(nan_value, QDQ_F8E4M3, 0));
}

TEST(Quantize, rounds_elements_by_the_bits_of_their_numbers) {
    qdq_options options = with_rounding(QDQ_STOCHASTIC);
    options.random_offset = 1;  // 6627: a chance of 0.4
    EXPECT_EQ(quantized_i8(0.6f, 1, 0, options), 0);
    EXPECT_EQ(quantized_i8(0.61f, 1, 0, options), 1);
    EXPECT_EQ(quantized_i8(0.61f, 1, 50, options), 51);
    EXPECT_EQ(quantize_element(0.6f, 1, {}, QDQ_U8, options, 1), 1u);  // c58d
    options.quantize_zp = QDQ_ZP_BEFORE_ROUNDING;
    EXPECT_EQ(quantized(QDQ_I8, 0.5f, 1, zero_point::of_float(0.11f), options), 1);
    EXPECT_EQ(quantized(QDQ_I8, 0.5f, 1, zero_point::of_float(0.09f), options), 0);
}

TEST(Quantize, rounds_large_halves_for_wide_types) {
    EXPECT_EQ(quantized(QDQ_I32, 4194304.5f, 1), 4194304);
    EXPECT_EQ(quantized(QDQ_I32, 4194305.5f, 1), 4194306);
    EXPECT_EQ(quantized(QDQ_I32, 8388607.5f, 1), 8388608);
    EXPECT_EQ(quantized(QDQ_I32, -8388607.5f, 1), -8388608);
    EXPECT_EQ(quantized(QDQ_I32, 8388609.0f, 1), 8388609);
    EXPECT_EQ(quantized(QDQ_I32, 8388607.5f, 1, {}, with_rounding(QDQ_DOWN)), 8388607);
}

TEST(Quantize, an_odd_zero_point_before_rounding_flips_ties) {
    EXPECT_EQ(quantized_i8(0.5f, 1, 1, with_order(QDQ_ZP_AFTER_ROUNDING)), 1);
    EXPECT_EQ(quantized_i8(0.5f, 1, 1, with_order(QDQ_ZP_BEFORE_ROUNDING)), 2);
    EXPECT_EQ(quantized_i8(0.49999997f, 1, 1, with_order(QDQ_ZP_AFTER_ROUNDING)), 1);
    EXPECT_EQ(quantized_i8(0.49999997f, 1, 1, with_order(QDQ_ZP_BEFORE_ROUNDING)), 2);
}

TEST(Quantize, a_fractional_zero_point_counts_before_rounding) {
    const zero_point half = zero_point::of_float(0.5f);
    EXPECT_EQ(quantized(QDQ_I8, 1.25f, 1, half, with_order(QDQ_ZP_BEFORE_ROUNDING)), 2);
    EXPECT_EQ(quantized(QDQ_I8, 1.0f, 1, half, with_order(QDQ_ZP_BEFORE_ROUNDING)), 2);
}

TEST(Quantize, a_float_zero_point_after_rounding_becomes_the_nearest_integer) {
    EXPECT_EQ(quantized(QDQ_I8, 1.25f, 1, zero_point::of_float(3.0f)), 4);
    EXPECT_EQ(quantized(QDQ_I8, 1.25f, 1, zero_point::of_float(2.5f)), 3);
    EXPECT_EQ(quantized(QDQ_I8, 1.25f, 1, zero_point::of_float(-3.5f)), -3);
    EXPECT_EQ(quantized(QDQ_I8, 1.25f, 1, zero_point::of_float(nan_value)), 1);
    EXPECT_EQ(quantized(QDQ_I32, 1.25f, 1, zero_point::of_float(1e30f)), 2147483647);
    EXPECT_EQ(quantized(QDQ_I32, 1.25f, 1, zero_point::of_float(-infinity)), -2147483647);
}

TEST(Quantize, division_is_not_multiplication_by_the_reciprocal) {
    const float scale = 0.00214854861f;
    const float x = 0.273939937f;
    qdq_options multiply{};
    multiply.scale_mode = QDQ_MULTIPLY;
    EXPECT_EQ(quantized(QDQ_U8, x, scale), 127);
    EXPECT_EQ(quantized(QDQ_U8, x, 1.0f / scale, {}, multiply), 128);
    EXPECT_EQ(quantized_i8(0.0f, 1e-39f), 0);  // 1 / 1e-39 overflows
}

TEST(Quantize, nan_gives_the_lowest_code_whatever_the_zero_point) {
    EXPECT_EQ(quantized_i8(nan_value, 0.1f, 5), -128);
    EXPECT_EQ(quantized_i8(-nan_value, 0.1f, 5), -128);
    EXPECT_EQ(quantized(QDQ_U8, nan_value, 0.1f, zero_point::of_integer(200)), 0);
    EXPECT_EQ(quantized(QDQ_I32, nan_value, 0.1f), -2147483648LL);
    qdq_options narrowed = with_order(QDQ_ZP_BEFORE_ROUNDING);
    narrowed.quant_min = -127;
    narrowed.quant_max = 127;
    EXPECT_EQ(quantized_i8(nan_value, 0.1f, 5, narrowed), -127);
}

TEST(Quantize, infinite_and_huge_values_saturate) {
    for (float x : {infinity, 3e9f, 1e30f}) {
        EXPECT_EQ(quantized_i8(x, 0.1f), 127);
        EXPECT_EQ(quantized_i8(-x, 0.1f), -128);
        EXPECT_EQ(quantized(QDQ_U8, x, 1, zero_point::of_integer(200)), 255);
        EXPECT_EQ(quantized(QDQ_U8, -x, 1, zero_point::of_integer(200)), 0);
    }
}

TEST(Quantize, int32_saturates_at_its_own_limits) {
    EXPECT_EQ(quantized(QDQ_I32, 2147483648.0f, 1), 2147483647);
    EXPECT_EQ(quantized(QDQ_I32, 2147483520.0f, 1), 2147483520);
    EXPECT_EQ(quantized(QDQ_I32, 3e9f, 1), 2147483647);
    EXPECT_EQ(quantized(QDQ_I32, -2147483648.0f, 1), -2147483648LL);
    EXPECT_EQ(quantized(QDQ_I32, 2147483520.0f, 1, zero_point::of_integer(127)), 2147483647);
    EXPECT_EQ(quantized(QDQ_I32, 2147483648.0f, 1, zero_point::of_integer(-1)), 2147483647);
    EXPECT_EQ(quantized(QDQ_I32, 2147483904.0f, 1, zero_point::of_integer(-2147483648LL)), 256);
    EXPECT_EQ(quantized(QDQ_I32, 16777216.0f, 1, zero_point::of_integer(1)), 16777217);
}

TEST(Quantize, before_rounding_converts_an_integer_zero_point_once) {
    const zero_point z = zero_point::of_integer(16777217);  // to f32: 16777216
    EXPECT_EQ(quantized(QDQ_I32, 0.0f, 1, z, with_order(QDQ_ZP_BEFORE_ROUNDING)), 16777216);
    EXPECT_EQ(quantized(QDQ_I32, 0.0f, 1, z, with_order(QDQ_ZP_AFTER_ROUNDING)), 16777217);
}

TEST(Quantize, extreme_scales_follow_the_formula) {
    EXPECT_EQ(quantized_i8(0.0f, 0.0f, 3), -128);  // 0 / 0
    EXPECT_EQ(quantized_i8(1.0f, 0.0f, 3), 127);
    EXPECT_EQ(quantized_i8(-1.0f, 0.0f, 3), -128);
    EXPECT_EQ(quantized_i8(1.0f, -0.0f), -128);
    EXPECT_EQ(quantized_i8(1e30f, infinity, 3), 3);
    EXPECT_EQ(quantized_i8(infinity, infinity, 3), -128);
    EXPECT_EQ(quantized_i8(1.0f, nan_value, 3), -128);
    EXPECT_EQ(quantized_i8(0.9f, -0.3f), -3);
    EXPECT_EQ(quantized_i8(3e-45f, 1e-45f), 2);
}

TEST(Quantize, narrowed_ranges_saturate_after_the_zero_point) {
    qdq_options narrowed{};
    narrowed.quant_min = -127;
    narrowed.quant_max = 100;
    EXPECT_EQ(quantized_i8(-1000.0f, 1, 0, narrowed), -127);
    EXPECT_EQ(quantized_i8(-128.0f, 1, 1, narrowed), -127);
    EXPECT_EQ(quantized_i8(99.0f, 1, 5, narrowed), 100);
    EXPECT_EQ(quantized_i8(infinity, 1, -5, narrowed), 100);
}

TEST(Quantize, four_bit_integers_saturate_and_keep_four_bits) {
    EXPECT_EQ(quantized(QDQ_I4, 8.0f, 1), 7);
    EXPECT_EQ(quantized(QDQ_I4, 1e10f, 1), 7);
    EXPECT_EQ(quantized(QDQ_I4, -200.0f, 1), -8);
    EXPECT_EQ(quantized(QDQ_U4, 15.5f, 1), 15);
    EXPECT_EQ(quantize_element(-1.0f, 1, {}, QDQ_I4, {}), 0xfu);
}

TEST(Quantize, float_codes_take_the_sign_of_a_nan_from_x) {
    const float negative_nan = std::bit_cast<float>(0xffc00000u);
    EXPECT_EQ(quantize_element(nan_value, 1, {}, QDQ_F8E4M3, {}), 0x7fu);
    EXPECT_EQ(quantize_element(negative_nan, 1, {}, QDQ_F8E4M3, {}), 0xffu);
    EXPECT_EQ(quantize_element(-0.0f, 0, {}, QDQ_F8E5M2, {}), 0xfeu);
    EXPECT_EQ(quantize_element(1.0f, nan_value, {}, QDQ_F8E5M2, {}), 0x7eu);
    EXPECT_EQ(quantize_element(negative_nan, 1, {}, QDQ_F4E2M1, {}), 0x7u);
}

TEST(Quantize, float_codes_round_the_f32_quotient_once) {
    EXPECT_EQ(quantize_element(46.4f, 0.1f, {}, QDQ_F8E4M3, {}), 0x7eu);
    EXPECT_EQ(quantize_element(-1.0f, 2.0f, {}, QDQ_F4E2M1, {}), 0x9u);
    EXPECT_EQ(quantize_element(1.0f, -infinity, {}, QDQ_F8E4M3, {}), 0x80u);
}

std::vector<float> quarters_and_specials() {
    std::vector<float> x;
    for (int i = -2600; i <= 2600; ++i) {
        x.push_back(static_cast<float>(i) / 4);
    }
    x.insert(x.end(), {nan_value, infinity, -infinity, 3e38f, -3e38f, 8388609.0f, -0.0f, 1e-45f, -1e-45f});
    return x;
}

class Rounding : public testing::TestWithParam<qdq_rounding> {};

TEST_P(Rounding, spans_agree_with_elements) {
    const std::vector<float> x = quarters_and_specials();
    for (qdq_dtype type : {QDQ_I8, QDQ_U8, QDQ_I16, QDQ_U16, QDQ_I32, QDQ_F8E4M3, QDQ_F8E5M2}) {
        for (const zero_point &z : {zero_point::of_integer(3), zero_point::of_float(2.5f)}) {
            for (int variant = 0; variant < 4; ++variant) {
                qdq_options options = with_rounding(GetParam());
                options.scale_mode = variant % 2 == 0 ? QDQ_DIVIDE : QDQ_MULTIPLY;
                options.quantize_zp = variant / 2 == 0 ? QDQ_ZP_AFTER_ROUNDING : QDQ_ZP_BEFORE_ROUNDING;
                const size_t bytes = static_cast<size_t>(bits_of(type) / 8);
                std::vector<uint8_t> y(x.size() * bytes);
                quantize_span(x.data(), static_cast<int64_t>(x.size()), 0.7f, z, type, options, y.data());
                for (size_t i = 0; i < x.size(); ++i) {
                    const uint32_t expected = quantize_element(x[i], 0.7f, z, type, options);
                    ASSERT_EQ(std::memcmp(&y[i * bytes], &expected, bytes), 0) << x[i];
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, Rounding,
                         testing::Values(QDQ_NEAREST_EVEN, QDQ_NEAREST_AWAY, QDQ_TOWARD_ZERO, QDQ_DOWN, QDQ_UP));

}  // namespace
}  // namespace reference
