// The functions by the names that the first qdq.h gave them: what was compiled with it left `nan` unset.
#include <qdq/qdq.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#undef qdq_quantize
#undef qdq_dequantize
#undef qdq_plan_quantize
#undef qdq_plan_dequantize
#undef qdq_compute_scales
#undef qdq_quantize_dynamic
#undef qdq_plan_quantize_dynamic
#undef qdq_profile_options
#undef qdq_dynamic_profile

extern "C" {
decltype(qdq_quantize_3) qdq_quantize, qdq_quantize_2;
decltype(qdq_dequantize_3) qdq_dequantize, qdq_dequantize_2;
decltype(qdq_plan_quantize_3) qdq_plan_quantize, qdq_plan_quantize_2;
decltype(qdq_plan_dequantize_3) qdq_plan_dequantize, qdq_plan_dequantize_2;
decltype(qdq_compute_scales_2) qdq_compute_scales;
decltype(qdq_quantize_dynamic_2) qdq_quantize_dynamic;
decltype(qdq_plan_quantize_dynamic_2) qdq_plan_quantize_dynamic;
decltype(qdq_profile_options_3) qdq_profile_options, qdq_profile_options_2;
decltype(qdq_dynamic_profile_3) qdq_dynamic_profile, qdq_dynamic_profile_2;
}

namespace {

struct call {
    float floats[2] = {std::numeric_limits<float>::quiet_NaN(), 3};
    int8_t codes[2] = {99, 99};
    float scale = 0.5f;
    int64_t shape[1] = {2};
    qdq_tensor f = {floats, QDQ_F32, 1, shape, nullptr, {}};
    qdq_tensor q = {codes, QDQ_I8, 1, shape, nullptr, {}};
    qdq_tensor s = {&scale, QDQ_F32, 0, nullptr, nullptr, {}};
    qdq_options options{};

    explicit call(int nan) {
        options.scale_mode = QDQ_MULTIPLY;
        std::memcpy(&options.nan, &nan, sizeof(nan));
    }
};

TEST(FirstHeader, nan_is_not_looked_at) {
    for (int nan : {0, 1, 2, -1, 0x55555555}) {
        call c(nan);
        ASSERT_EQ(qdq_quantize(&c.f, &c.s, nullptr, &c.q, &c.options), QDQ_OK) << qdq_last_error();
        EXPECT_EQ(c.codes[0], -128);
        EXPECT_EQ(c.codes[1], 2) << "the other options count";
        ASSERT_EQ(qdq_dequantize(&c.q, &c.s, nullptr, &c.f, &c.options), QDQ_OK) << qdq_last_error();
        EXPECT_EQ(c.floats[1], 1);
        qdq_plan plan;
        ASSERT_EQ(qdq_plan_dequantize(&plan, &c.q, &c.s, nullptr, &c.f, &c.options), QDQ_OK) << qdq_last_error();
        ASSERT_EQ(qdq_plan_quantize(&plan, &c.f, &c.s, nullptr, &c.q, &c.options), QDQ_OK) << qdq_last_error();
        const float x[2] = {std::numeric_limits<float>::quiet_NaN(), 4};
        ASSERT_EQ(qdq_run(&plan, x, c.codes, nullptr), QDQ_OK) << qdq_last_error();
        EXPECT_EQ(c.codes[0], -128);
        EXPECT_EQ(c.codes[1], 2);
    }
}

TEST(FirstHeader, no_options_are_the_defaults) {
    call c(1);
    ASSERT_EQ(qdq_quantize(&c.f, &c.s, nullptr, &c.q, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(c.codes[1], 6);
}

TEST(FirstHeader, the_functions_of_this_one_look_at_nan) {
    call c(1);
    ASSERT_EQ(qdq_quantize_2(&c.f, &c.s, nullptr, &c.q, &c.options), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(c.codes[0], 0);
    const call odd(2);
    EXPECT_EQ(qdq_quantize_2(&c.f, &c.s, nullptr, &c.q, &odd.options), QDQ_INVALID_ARGUMENT);
}

// The first options of scales ended after `least_scale`.
TEST(FirstHeader, options_of_scales_that_it_did_not_have_are_not_looked_at) {
    qdq_scale_options how;
    std::memset(&how, 0x55, sizeof(how));
    how.rule = QDQ_SCALE_ABSMAX;
    how.clip_ratio = 1;
    how.least_scale = 2;
    call c(0);
    c.floats[0] = 1;
    ASSERT_EQ(qdq_compute_scales(&c.f, QDQ_I8, &c.s, nullptr, &how, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(c.scale, 2);
    ASSERT_EQ(qdq_quantize_dynamic(&c.f, &c.s, nullptr, &c.q, &how, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(c.codes[1], 2);  // 1.5
    qdq_plan plan;
    ASSERT_EQ(qdq_plan_quantize_dynamic(&plan, &c.f, &c.s, nullptr, &c.q, &how, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_NE(qdq_quantize_dynamic_2(&c.f, &c.s, nullptr, &c.q, &how, nullptr), QDQ_OK);
    ASSERT_EQ(qdq_compute_scales(&c.f, QDQ_I8, &c.s, nullptr, nullptr, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(c.scale, 3.0f / 127);
}

// Options ended before `random_seed`. On the heap, as sanitizers see what is beyond.
struct earlier_options {
    static constexpr size_t size = offsetof(qdq_options, random_seed);
    std::vector<unsigned char> bytes = std::vector<unsigned char>(size);

    qdq_options *options() { return reinterpret_cast<qdq_options *>(bytes.data()); }
};

TEST(FirstHeader, nothing_is_read_behind_its_options) {
    earlier_options earlier;
    call c(0);
    for (int times = 0; times < 2; times++) {  // the second one may have been kept
        ASSERT_EQ(qdq_quantize_2(&c.f, &c.s, nullptr, &c.q, earlier.options()), QDQ_OK) << qdq_last_error();
        EXPECT_EQ(c.codes[1], 6);
    }
}

// Those of the second header ended before `scale_is_arranged`.
TEST(FirstHeader, how_scales_are_stored_is_not_looked_at_by_the_functions_of_the_second) {
    call c(0);
    float global = 2;
    c.options.scale_is_arranged = 0x55;
    c.options.global_scale = &global;
    for (int times = 0; times < 2; times++) {  // the second one may have been kept
        ASSERT_EQ(qdq_quantize_2(&c.f, &c.s, nullptr, &c.q, &c.options), QDQ_OK) << qdq_last_error();
        EXPECT_EQ(c.codes[1], 2);
        ASSERT_EQ(qdq_dequantize_2(&c.q, &c.s, nullptr, &c.f, &c.options), QDQ_OK) << qdq_last_error();
        EXPECT_EQ(c.floats[1], 1);
        c.floats[1] = 3;
    }
    qdq_plan plan;
    ASSERT_EQ(qdq_plan_quantize_2(&plan, &c.f, &c.s, nullptr, &c.q, &c.options), QDQ_OK) << qdq_last_error();
    ASSERT_EQ(qdq_plan_dequantize_2(&plan, &c.q, &c.s, nullptr, &c.f, &c.options), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(qdq_quantize_3(&c.f, &c.s, nullptr, &c.q, &c.options), QDQ_INVALID_ARGUMENT);
    c.options.scale_is_arranged = 0;
    c.options.global_sense = QDQ_GLOBAL_SCALE;
    ASSERT_EQ(qdq_quantize_3(&c.f, &c.s, nullptr, &c.q, &c.options), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(c.codes[1], 3);
}

TEST(FirstHeader, profiles_write_nothing_behind_its_options) {
    earlier_options earlier;
    qdq_scale_options how;
    ASSERT_EQ(qdq_profile_options("acl", QDQ_I8, earlier.options()), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(earlier.options()->nan, QDQ_NAN_ZERO);
    ASSERT_EQ(qdq_dynamic_profile("acl", QDQ_I8, &how, earlier.options()), QDQ_OK) << qdq_last_error();
    qdq_options whole;
    std::memset(&whole, 0x55, sizeof(whole));
    ASSERT_EQ(qdq_profile_options("acl", QDQ_I8, &whole), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(whole.random_seed, 0x5555555555555555u);
    ASSERT_EQ(qdq_dynamic_profile("acl", QDQ_I8, &how, &whole), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(whole.random_seed, 0x5555555555555555u);
    ASSERT_EQ(qdq_profile_options_2("acl", QDQ_I8, &whole), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(whole.random_seed, 0u);
    ASSERT_EQ(qdq_dynamic_profile_2("acl", QDQ_I8, &how, &whole), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(whole.scale_is_arranged, 0x55555555);
    ASSERT_EQ(qdq_profile_options_3("acl", QDQ_I8, &whole), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(whole.scale_is_arranged, 0);
    EXPECT_EQ(whole.global_scale, nullptr);
    EXPECT_EQ(qdq_profile_options("acl", QDQ_I8, nullptr), QDQ_INVALID_ARGUMENT);
    EXPECT_EQ(qdq_dynamic_profile("acl", QDQ_I8, &how, nullptr), QDQ_INVALID_ARGUMENT);
}

}  // namespace
