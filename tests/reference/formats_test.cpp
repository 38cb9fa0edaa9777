#include "reference/formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace reference {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

uint32_t e4m3(float value, bool no_saturate = false) {
    return encode_quantized_float(QDQ_F8E4M3, value, false, no_saturate);
}

uint32_t e5m2(float value, bool no_saturate = false) {
    return encode_quantized_float(QDQ_F8E5M2, value, false, no_saturate);
}

uint32_t e2m1(float value, bool no_saturate = false) {
    return encode_quantized_float(QDQ_F4E2M1, value, false, no_saturate);
}

// The nearest value of the format by search over all of its codes, in double: what the encoder must compute.
uint32_t nearest_code_by_search(qdq_dtype type, uint32_t finite_codes, double magnitude) {
    uint32_t best = 0;
    double best_distance = std::fabs(magnitude - decode_float(type, 0));
    for (uint32_t code = 1; code < finite_codes; ++code) {
        const double distance = std::fabs(magnitude - decode_float(type, code));
        if (distance < best_distance || (distance == best_distance && code % 2 == 0)) {
            best = code;
            best_distance = distance;
        }
    }
    return best;
}

struct small_format {
    qdq_dtype type;
    uint32_t finite_codes;
    uint32_t sign_bit;
};

class SmallFloat : public testing::TestWithParam<small_format> {};

// Of a rounded negative value: AMD's types have no -0.
uint32_t negative(const small_format &format, uint32_t magnitude) {
    const bool fnuz = format.type == QDQ_F8E4M3FNUZ || format.type == QDQ_F8E5M2FNUZ;
    return fnuz && magnitude == 0 ? 0 : magnitude | format.sign_bit;
}

TEST_P(SmallFloat, every_finite_code_encodes_to_itself) {
    const auto [type, finite_codes, sign_bit] = GetParam();
    for (uint32_t code = 0; code < finite_codes; ++code) {
        EXPECT_EQ(encode_quantized_float(type, decode_float(type, code), false, false), code);
        EXPECT_EQ(encode_quantized_float(type, -decode_float(type, code), false, false), negative(GetParam(), code));
    }
}

TEST_P(SmallFloat, midpoints_go_to_the_even_code_and_their_neighbours_to_the_nearer) {
    const auto [type, finite_codes, sign_bit] = GetParam();
    for (uint32_t code = 0; code + 1 < finite_codes; ++code) {
        const float middle = (decode_float(type, code) + decode_float(type, code + 1)) / 2;  // exact
        EXPECT_EQ(encode_quantized_float(type, middle, false, false), code + code % 2);
        EXPECT_EQ(encode_quantized_float(type, -middle, false, false), negative(GetParam(), code + code % 2));
        EXPECT_EQ(encode_quantized_float(type, std::nextafter(middle, 0.0f), false, false), code);
        EXPECT_EQ(encode_quantized_float(type, std::nextafter(middle, infinity), false, false), code + 1);
    }
}

TEST_P(SmallFloat, agrees_with_a_search_over_all_codes) {
    const auto [type, finite_codes, sign_bit] = GetParam();
    std::mt19937 random(1);
    const float largest = decode_float(type, finite_codes - 1);
    for (int i = 0; i < 100000; ++i) {
        const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
        if (!(std::fabs(value) <= largest)) {
            continue;
        }
        const uint32_t magnitude = nearest_code_by_search(type, finite_codes, std::fabs(value));
        const uint32_t expected = std::signbit(value) ? negative(GetParam(), magnitude) : magnitude;
        ASSERT_EQ(encode_quantized_float(type, value, false, false), expected) << value;
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, SmallFloat,
                         testing::Values(small_format{QDQ_F8E4M3, 0x7f, 0x80}, small_format{QDQ_F8E5M2, 0x7c, 0x80},
                                         small_format{QDQ_F8E4M3FNUZ, 0x80, 0x80},
                                         small_format{QDQ_F8E5M2FNUZ, 0x80, 0x80}, small_format{QDQ_F6E2M3, 0x20, 0x20},
                                         small_format{QDQ_F6E3M2, 0x20, 0x20}, small_format{QDQ_F4E2M1, 0x8, 0x8},
                                         small_format{QDQ_F4E1M2, 0x8, 0x8}),
                         [](const auto &param) { return name_of(param.param.type); });

TEST(E4m3fn, decodes_known_codes) {
    EXPECT_EQ(decode_float(QDQ_F8E4M3, 0x7e), 448.0f);
    EXPECT_EQ(decode_float(QDQ_F8E4M3, 0x38), 1.0f);
    EXPECT_EQ(decode_float(QDQ_F8E4M3, 0x01), std::ldexp(1.0f, -9));
    EXPECT_TRUE(std::isnan(decode_float(QDQ_F8E4M3, 0x7f)));
    EXPECT_TRUE(std::isnan(decode_float(QDQ_F8E4M3, 0xff)));
    EXPECT_TRUE(std::signbit(decode_float(QDQ_F8E4M3, 0x80)));
}

TEST(E4m3fn, values_to_464_round_to_448) {
    EXPECT_EQ(e4m3(464.0f), 0x7eu);
    EXPECT_EQ(e4m3(464.0f, true), 0x7eu);
}

TEST(E4m3fn, overflow_saturates_or_gives_nan) {
    const float past = std::nextafter(464.0f, infinity);
    EXPECT_EQ(e4m3(past), 0x7eu);
    EXPECT_EQ(e4m3(infinity), 0x7eu);
    EXPECT_EQ(e4m3(-infinity), 0xfeu);
    EXPECT_EQ(e4m3(past, true), 0x7fu);
    EXPECT_EQ(e4m3(infinity, true), 0x7fu);
    EXPECT_EQ(e4m3(-infinity, true), 0xffu);
}

TEST(E4m3fn, nan_takes_the_callers_sign_and_zero_keeps_its_own) {
    EXPECT_EQ(encode_quantized_float(QDQ_F8E4M3, nan_value, false, false), 0x7fu);
    EXPECT_EQ(encode_quantized_float(QDQ_F8E4M3, nan_value, true, false), 0xffu);
    EXPECT_EQ(e4m3(0.0f), 0x00u);
    EXPECT_EQ(e4m3(-0.0f), 0x80u);
    EXPECT_EQ(e4m3(-std::numeric_limits<float>::denorm_min()), 0x80u);
}

TEST(Fnuz, has_one_nan_and_no_negative_zero) {
    for (qdq_dtype type : {QDQ_F8E4M3FNUZ, QDQ_F8E5M2FNUZ}) {
        EXPECT_TRUE(std::isnan(decode_float(type, 0x80)));
        EXPECT_EQ(encode_quantized_float(type, nan_value, false, false), 0x80u);
        EXPECT_EQ(encode_quantized_float(type, nan_value, true, false), 0x80u);
        EXPECT_EQ(encode_quantized_float(type, -0.0f, false, false), 0u);
        EXPECT_EQ(encode_quantized_float(type, -1e-30f, false, false), 0u);
        EXPECT_EQ(encode_quantized_float(type, infinity, false, false), 0x7fu);
        EXPECT_EQ(encode_quantized_float(type, -infinity, false, false), 0xffu);
        EXPECT_EQ(encode_quantized_float(type, -infinity, false, true), 0x80u);
    }
    EXPECT_EQ(decode_float(QDQ_F8E4M3FNUZ, 0x7f), 240.0f);
    EXPECT_EQ(decode_float(QDQ_F8E5M2FNUZ, 0x7f), 57344.0f);
}

TEST(E5m2, decodes_known_codes) {
    EXPECT_EQ(decode_float(QDQ_F8E5M2, 0x7b), 57344.0f);
    EXPECT_EQ(decode_float(QDQ_F8E5M2, 0x01), std::ldexp(1.0f, -16));
    EXPECT_EQ(decode_float(QDQ_F8E5M2, 0xfc), -infinity);
    for (uint32_t code : {0x7du, 0x7eu, 0x7fu, 0xfdu}) {
        EXPECT_TRUE(std::isnan(decode_float(QDQ_F8E5M2, code)));
    }
}

TEST(E5m2, overflow_begins_at_61440) {
    const float below = std::nextafter(61440.0f, 0.0f);
    EXPECT_EQ(e5m2(below, true), 0x7bu);
    EXPECT_EQ(e5m2(61440.0f, true), 0x7cu);
    EXPECT_EQ(e5m2(61440.0f), 0x7bu);
    EXPECT_EQ(e5m2(infinity), 0x7bu);
    EXPECT_EQ(e5m2(-infinity, true), 0xfcu);
    EXPECT_EQ(e5m2(3e38f, true), 0x7cu);
}

TEST(E5m2, nan_is_the_quiet_one) {
    EXPECT_EQ(encode_quantized_float(QDQ_F8E5M2, nan_value, false, false), 0x7eu);
    EXPECT_EQ(encode_quantized_float(QDQ_F8E5M2, nan_value, true, true), 0xfeu);
}

TEST(E2m1, holds_eight_magnitudes) {
    const float values[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
    for (uint32_t code = 0; code < 8; ++code) {
        EXPECT_EQ(decode_float(QDQ_F4E2M1, code), values[code]);
        EXPECT_EQ(decode_float(QDQ_F4E2M1, code | 8), -values[code]);
    }
}

TEST(E2m1, nan_gives_plus_six_and_overflow_always_saturates) {
    EXPECT_EQ(encode_quantized_float(QDQ_F4E2M1, nan_value, true, true), 0x7u);
    EXPECT_EQ(e2m1(infinity, true), 0x7u);
    EXPECT_EQ(e2m1(-infinity, true), 0xfu);
    EXPECT_EQ(e2m1(1e9f), 0x7u);
}

TEST(E2m1, ties_go_to_the_even_mantissa) {
    EXPECT_EQ(e2m1(3.5f), 0x6u);  // 4, where ggml has 3
    EXPECT_EQ(e2m1(2.5f), 0x4u);  // 2
    EXPECT_EQ(e2m1(0.25f), 0x0u);
    EXPECT_EQ(e2m1(-0.25f), 0x8u);
    EXPECT_EQ(e2m1(5.0f), 0x6u);
}

TEST(E1m2, holds_quarters_up_to_seven_of_them) {
    for (uint32_t code = 0; code < 8; ++code) {
        EXPECT_EQ(decode_float(QDQ_F4E1M2, code), static_cast<float>(code) / 4);
        EXPECT_EQ(decode_float(QDQ_F4E1M2, code | 8), -static_cast<float>(code) / 4);
    }
    EXPECT_EQ(encode_quantized_float(QDQ_F4E1M2, 0.375f, false, false), 2u);    // a tie, to the even 0.5
    EXPECT_EQ(encode_quantized_float(QDQ_F4E1M2, -1.125f, false, false), 0xcu);  // and one to -1
    EXPECT_EQ(encode_quantized_float(QDQ_F4E1M2, nan_value, true, true), 0x7u);
    EXPECT_EQ(encode_quantized_float(QDQ_F4E1M2, -infinity, false, true), 0xfu);
}

TEST(F6, holds_ocp_microscalings_values_and_ignores_the_bytes_high_bits) {
    EXPECT_EQ(decode_float(QDQ_F6E2M3, 0x1f), 7.5f);
    EXPECT_EQ(decode_float(QDQ_F6E2M3, 0x01), 0.125f);
    EXPECT_EQ(decode_float(QDQ_F6E2M3, 0x08), 1.0f);
    EXPECT_EQ(decode_float(QDQ_F6E3M2, 0x1f), 28.0f);
    EXPECT_EQ(decode_float(QDQ_F6E3M2, 0x01), 0.0625f);
    EXPECT_EQ(decode_float(QDQ_F6E3M2, 0x0c), 1.0f);
    for (qdq_dtype type : {QDQ_F6E2M3, QDQ_F6E3M2}) {
        EXPECT_EQ(decode_float(type, 0x3f), -decode_float(type, 0xdf));
        EXPECT_EQ(encode_quantized_float(type, nan_value, true, true), 0x1fu);
        EXPECT_EQ(encode_quantized_float(type, -infinity, false, true), 0x3fu);
    }
}

TEST(E8m0, decodes_powers_of_two_with_a_subnormal_and_a_nan) {
    EXPECT_EQ(decode_float(QDQ_E8M0, 127), 1.0f);
    EXPECT_EQ(decode_float(QDQ_E8M0, 254), std::ldexp(1.0f, 127));
    EXPECT_EQ(decode_float(QDQ_E8M0, 0), std::ldexp(1.0f, -127));
    EXPECT_TRUE(std::isnan(decode_float(QDQ_E8M0, 255)));
}

class HalfFloat : public testing::TestWithParam<qdq_dtype> {
protected:
    const float_format &format() const { return GetParam() == QDQ_F16 ? f16_format : bf16_format; }
};

TEST_P(HalfFloat, every_code_but_nan_survives_a_round_trip) {
    for (uint32_t code = 0; code < 0x10000; ++code) {
        const bool nan = (code & 0x7fff) > format().infinity;
        EXPECT_EQ(encode_ieee(format(), decode_float(GetParam(), code)), nan ? format().nan : code);
    }
}

TEST_P(HalfFloat, midpoints_go_to_the_even_code_and_their_neighbours_to_the_nearer) {
    for (uint32_t code = 0; code < format().largest_finite; ++code) {
        const double low = decode_float(GetParam(), code);
        const double high = decode_float(GetParam(), code + 1);
        const float middle = static_cast<float>((low + high) / 2);
        ASSERT_EQ(encode_ieee(format(), middle), code + code % 2);
        ASSERT_EQ(encode_ieee(format(), std::nextafter(middle, 0.0f)), code);
        ASSERT_EQ(encode_ieee(format(), std::nextafter(middle, infinity)), code + 1);
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, HalfFloat, testing::Values(QDQ_F16, QDQ_BF16),
                         [](const auto &param) { return name_of(param.param); });

TEST(F16, overflow_begins_at_65520) {
    EXPECT_EQ(encode_ieee(f16_format, std::nextafter(65520.0f, 0.0f)), 0x7bffu);
    EXPECT_EQ(encode_ieee(f16_format, 65520.0f), 0x7c00u);
    EXPECT_EQ(encode_ieee(f16_format, -infinity), 0xfc00u);
}

TEST(Bf16, rounds_a_signalling_nan_to_the_canonical_one) {
    EXPECT_EQ(encode_ieee(bf16_format, std::bit_cast<float>(0xff800001u)), 0x7fc0u);
    EXPECT_EQ(encode_ieee(bf16_format, std::bit_cast<float>(0x7f7fffffu)), 0x7f80u);
}

TEST(Integers, decode_by_twos_complement) {
    EXPECT_EQ(decode_integer(QDQ_I8, 0x80), -128);
    EXPECT_EQ(decode_integer(QDQ_U8, 0x80), 128);
    EXPECT_EQ(decode_integer(QDQ_I16, 0xffff), -1);
    EXPECT_EQ(decode_integer(QDQ_U16, 0xffff), 65535);
    EXPECT_EQ(decode_integer(QDQ_I32, 0x80000000u), -2147483648LL);
    EXPECT_EQ(decode_integer(QDQ_I4, 0x8), -8);
    EXPECT_EQ(decode_integer(QDQ_U4, 0xf), 15);
    EXPECT_EQ(decode_integer(QDQ_I2, 0x2), -2);
    EXPECT_EQ(decode_integer(QDQ_U2, 0x3), 3);
}

}  // namespace
}  // namespace reference
