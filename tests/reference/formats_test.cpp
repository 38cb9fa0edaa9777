#include "reference/formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
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
    EXPECT_EQ(encode_quantized_float(QDQ_F4E1M2, 0.375f, false, false), 2u);     // a tie, to the even 0.5
    EXPECT_EQ(encode_quantized_float(QDQ_F4E1M2, -1.125f, false, false), 0xcu);  // and one to -1
    EXPECT_EQ(encode_quantized_float(QDQ_F4E1M2, nan_value, true, true), 0x7u);
    EXPECT_EQ(encode_quantized_float(QDQ_F4E1M2, -infinity, false, true), 0xfu);
}

uint32_t hif8(float value, bool no_saturate = false) {
    return encode_quantized_float(QDQ_HIF8, value, false, no_saturate);
}

// The table of the paper, arXiv 2409.16626: the first and the last code of each exponent.
TEST(Hif8, holds_the_exponents_of_the_paper_with_mantissas_of_3_bits_to_none) {
    struct row {
        uint32_t first, last;
        float least, largest;
    };
    const row rows[] = {
        {0x01, 0x01, 0x1p-22f, 0x1p-22f},
        {0x07, 0x07, 0x1p-16f, 0x1p-16f},
        {0x08, 0x0f, 1, 1.875f},
        {0x10, 0x17, 2, 3.75f},
        {0x18, 0x1f, 0.5f, 0.9375f},
        {0x20, 0x27, 4, 7.5f},
        {0x28, 0x2f, 8, 15},
        {0x30, 0x37, 0.25f, 0.46875f},
        {0x38, 0x3f, 0.125f, 0.234375f},
        {0x40, 0x43, 16, 28},
        {0x4c, 0x4f, 128, 224},
        {0x50, 0x53, 0x1p-4f, 0x1.cp-4f},
        {0x5c, 0x5f, 0x1p-7f, 0x1.cp-7f},
        {0x60, 0x61, 256, 384},
        {0x6c, 0x6d, 16384, 24576},
        {0x70, 0x71, 0x1p-8f, 0x1.8p-8f},
        {0x7e, 0x7f, 0x1p-15f, 0x1.8p-15f},
    };
    for (const row &r : rows) {
        EXPECT_EQ(decode_float(QDQ_HIF8, r.first), r.least) << r.first;
        EXPECT_EQ(decode_float(QDQ_HIF8, r.last), r.largest) << r.last;
        EXPECT_EQ(decode_float(QDQ_HIF8, r.last | 0x80), -r.largest) << r.last;
    }
    EXPECT_EQ(decode_float(QDQ_HIF8, 0x6e), 32768.0f);
    EXPECT_EQ(decode_float(QDQ_HIF8, 0x6f), infinity);
    EXPECT_EQ(decode_float(QDQ_HIF8, 0xef), -infinity);
    EXPECT_EQ(std::bit_cast<uint32_t>(decode_float(QDQ_HIF8, 0)), 0u);
    EXPECT_TRUE(std::isnan(decode_float(QDQ_HIF8, 0x80)));
}

// Codes by the magnitudes they stand for, infinity's as what would follow the largest.
std::vector<std::pair<float, uint32_t>> sorted_hif8() {
    std::vector<std::pair<float, uint32_t>> all;
    for (uint32_t code = 0; code < 0x80; ++code) {
        all.emplace_back(code == 0x6f ? 49152.0f : decode_float(QDQ_HIF8, code), code);
    }
    std::sort(all.begin(), all.end());
    return all;
}

TEST(Hif8, rounds_to_nearest_and_ties_away_from_0) {
    const auto all = sorted_hif8();
    for (size_t i = 0; i + 1 < all.size(); ++i) {
        const float middle = (all[i].first + all[i + 1].first) / 2;  // exact
        for (uint32_t sign : {0u, 0x80u}) {
            const float factor = sign != 0 ? -1.0f : 1.0f;
            const uint32_t below = all[i].second == 0 ? 0 : all[i].second | sign, above = all[i + 1].second | sign;
            EXPECT_EQ(hif8(factor * all[i].first, true), below);
            EXPECT_EQ(hif8(factor * middle, true), above);
            EXPECT_EQ(hif8(factor * std::nextafter(middle, 0.0f), true), below);
        }
    }
}

TEST(Hif8, agrees_with_a_search_over_all_codes) {
    const auto all = sorted_hif8();
    std::mt19937 random(1);
    for (int i = 0; i < 100000; ++i) {
        const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
        if (std::isnan(value)) {
            continue;
        }
        uint32_t nearest = 0;
        double least = infinity;
        for (const auto &[magnitude, code] : all) {
            const double distance = std::fabs(std::min(std::fabs(static_cast<double>(value)), 49152.0) - magnitude);
            if (distance <= least) {  // the larger of two
                nearest = code;
                least = distance;
            }
        }
        ASSERT_EQ(hif8(value, true), nearest == 0 || !std::signbit(value) ? nearest : nearest | 0x80) << value;
    }
}

TEST(Hif8, saturates_or_overflows_from_40960_on) {
    EXPECT_EQ(hif8(std::nextafter(40960.0f, 0.0f), true), 0x6eu);
    EXPECT_EQ(hif8(40960.0f, true), 0x6fu);
    EXPECT_EQ(hif8(40960.0f), 0x6eu);
    EXPECT_EQ(hif8(infinity), 0x6eu);
    EXPECT_EQ(hif8(-infinity), 0xeeu);
    EXPECT_EQ(hif8(-infinity, true), 0xefu);
}

// Values of CANN's own tests of its conversion on the processor (ge, tests/ge/ut, UtestHiF8).
TEST(Hif8, gives_the_codes_of_canns_tests) {
    const std::pair<uint32_t, uint32_t> of_f32[] = {
        {0x3f48849e, 0x1d}, {0x3cfdc7cd, 0x54}, {0x3f112a2c, 0x19}, {0x3f655965, 0x1e}, {0x3e2040ed, 0x3a},
        {0x43411383, 0x4e}, {0x438e0e21, 0x60}, {0x42356389, 0x46}, {0x43b308db, 0x61}, {0x42536b25, 0x47},
        {0x4686c7e7, 0x6c}, {0x46e1ca4a, 0x6e}, {0x453d6d1b, 0x67}, {0x462b0bbf, 0x6b}, {0x4743505e, 0x6f},
        {0x371c2ff8, 0x06}, {0x358b4f67, 0x03},
    };
    for (const auto &[bits, code] : of_f32) {
        EXPECT_EQ(hif8(std::bit_cast<float>(bits), true), code) << std::hex << bits;
    }
}

TEST(Hif8, has_one_nan_and_no_negative_zero) {
    EXPECT_EQ(encode_quantized_float(QDQ_HIF8, nan_value, false, false), 0x80u);
    EXPECT_EQ(encode_quantized_float(QDQ_HIF8, nan_value, true, false), 0x80u);
    EXPECT_EQ(hif8(-0.0f), 0u);
    EXPECT_EQ(hif8(-0x1.fffffep-24f), 0u);
    EXPECT_EQ(hif8(-0x1p-23f), 0x81u);
    EXPECT_EQ(hif8(std::numeric_limits<float>::denorm_min()), 0u);
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
