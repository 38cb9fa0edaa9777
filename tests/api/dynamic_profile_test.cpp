// qdq_dynamic_profile. That the results are the named systems' own is for tests/peers to show.
#include "call.h"

#include <cstring>

namespace api_test {
namespace {

struct filled {
    qdq_scale_options how;
    qdq_options options;
};

filled dynamic_profile(const char *name, qdq_dtype codes) {
    filled all;
    std::memset(&all, 0x7f, sizeof all);
    EXPECT_EQ(qdq_dynamic_profile(name, codes, &all.how, &all.options), QDQ_OK) << name << " " << qdq_last_error();
    return all;
}

TEST(DynamicProfile, onnx_is_minmax_of_u8_and_the_defaults) {
    const filled all = dynamic_profile("onnx", QDQ_U8);
    EXPECT_EQ(all.how.rule, QDQ_SCALE_MINMAX);
    const qdq_options zero{};
    EXPECT_EQ(std::memcmp(&all.options, &zero, sizeof zero), 0);
}

TEST(DynamicProfile, torchao_has_a_least_scale_and_a_narrow_range_of_int8_alone) {
    const filled int8 = dynamic_profile("torchao", QDQ_I8), f8 = dynamic_profile("torchao", QDQ_F8E4M3);
    EXPECT_EQ(int8.how.least_scale, 1e-5f);
    EXPECT_EQ(int8.options.quant_min, -127);
    EXPECT_EQ(int8.options.quant_max, 127);
    EXPECT_EQ(int8.options.scale_mode, QDQ_RECIPROCAL);
    EXPECT_EQ(int8.options.nan, QDQ_NAN_ZERO);
    EXPECT_EQ(f8.how.rule, QDQ_SCALE_ABSMAX);
    EXPECT_EQ(f8.how.least_scale, 0);
    EXPECT_EQ(f8.options.scale_mode, QDQ_DIVIDE);
}

TEST(DynamicProfile, mx_floors) {
    for (qdq_dtype codes : {QDQ_F8E4M3, QDQ_F8E5M2, QDQ_F6E2M3, QDQ_F6E3M2, QDQ_F4E2M1}) {
        EXPECT_EQ(dynamic_profile("mx", codes).how.rule, QDQ_SCALE_POWER_FLOOR) << codes;
    }
}

TEST(DynamicProfile, compressed_tensors_adds_the_zero_point_before_rounding) {
    EXPECT_EQ(dynamic_profile("compressed-tensors", QDQ_I8).how.rule, QDQ_SCALE_MINMAX);
    EXPECT_EQ(dynamic_profile("compressed-tensors", QDQ_I8).options.quantize_zp, QDQ_ZP_BEFORE_ROUNDING);
    EXPECT_EQ(dynamic_profile("compressed-tensors", QDQ_F8E4M3).how.rule, QDQ_SCALE_ABSMAX);
}

TEST(DynamicProfile, vllm_has_least_scales_of_f8) {
    EXPECT_EQ(dynamic_profile("vllm", QDQ_F8E4M3).how.least_scale, 1 / (448 * 512.0f));
    EXPECT_EQ(dynamic_profile("vllm-group", QDQ_F8E4M3).how.least_scale, 1e-10f / 448);
    EXPECT_EQ(dynamic_profile("vllm", QDQ_I8).how.least_scale, 0);
}

TEST(DynamicProfile, acl_makes_0_of_nan) {
    EXPECT_EQ(dynamic_profile("acl", QDQ_I8).options.nan, QDQ_NAN_ZERO);
    EXPECT_EQ(dynamic_profile("acl", QDQ_I4).how.rule, QDQ_SCALE_ABSMAX);
    EXPECT_EQ(dynamic_profile("acl", QDQ_HIF8).how.rule, QDQ_SCALE_ABSMAX);
}

TEST(DynamicProfile, a_call_takes_what_it_gives) {
    const float x[] = {0.5f, -254, 3, 100};
    float scale = 0;
    int8_t y[4];
    const int64_t shape[] = {4};
    const qdq_tensor of_x = {const_cast<float *>(x), QDQ_F32, 1, shape, nullptr, {}};
    const qdq_tensor of_scale = {&scale, QDQ_F32, 0, nullptr, nullptr, {}};
    const qdq_tensor of_y = {y, QDQ_I8, 1, shape, nullptr, {}};
    for (const char *name : {"torchao", "vllm", "acl"}) {
        const filled all = dynamic_profile(name, QDQ_I8);
        ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, nullptr, &of_y, &all.how, &all.options), QDQ_OK);
        EXPECT_EQ(scale, 2) << name;
        EXPECT_EQ(y[1], -127) << name;
    }
}

TEST(DynamicProfile, names_what_is_wrong) {
    qdq_scale_options how{};
    qdq_options options{};
    const auto refused = [&](const char *name, qdq_dtype codes, const char *message) {
        EXPECT_EQ(qdq_dynamic_profile(name, codes, &how, &options), QDQ_INVALID_ARGUMENT);
        EXPECT_NE(std::strstr(qdq_last_error(), message), nullptr) << qdq_last_error();
    };
    refused("caffe", QDQ_I8, "\"caffe\" is none of onnx, torchao");
    refused("onnx", QDQ_F8E4M3, "\"onnx\" has no f8e4m3");
    refused("onnx", static_cast<qdq_dtype>(99), "\"onnx\" has no such type");
    refused(nullptr, QDQ_I8, "profile: NULL");
    EXPECT_EQ(qdq_dynamic_profile("onnx", QDQ_U8, nullptr, &options), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(qdq_last_error(), "how: NULL"), nullptr);
    EXPECT_EQ(qdq_dynamic_profile("onnx", QDQ_U8, &how, nullptr), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(qdq_last_error(), "options: NULL"), nullptr);
}

}  // namespace
}  // namespace api_test
