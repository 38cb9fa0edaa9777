// qdq_profile_options. That the results are the named systems' own is for tests/peers to show.
#include "call.h"

#include <cstring>

namespace api_test {
namespace {

qdq_options profile(const char *name, qdq_dtype stored) {
    qdq_options options;
    std::memset(&options, 0x7f, sizeof options);
    EXPECT_EQ(qdq_profile_options(name, stored, &options), QDQ_OK) << qdq_last_error();
    return options;
}

TEST(Profile, onnx_is_the_default) {
    const qdq_options options = profile("onnx", QDQ_I8);
    const qdq_options zero{};
    EXPECT_EQ(std::memcmp(&options, &zero, sizeof options), 0);
}

TEST(Profile, torch_and_torchao_multiply_by_the_reciprocal_but_for_f8) {
    for (const char *name : {"torch", "torchao"}) {
        for (qdq_dtype dtype : {QDQ_I8, QDQ_I4, QDQ_U2, QDQ_F4E2M1}) {
            EXPECT_EQ(profile(name, dtype).scale_mode, QDQ_RECIPROCAL) << name << " " << dtype;
        }
        for (qdq_dtype dtype : {QDQ_F8E4M3, QDQ_F8E5M2, QDQ_F8E4M3FNUZ, QDQ_F8E5M2FNUZ}) {
            EXPECT_EQ(profile(name, dtype).scale_mode, QDQ_DIVIDE) << name << " " << dtype;
        }
    }
}

TEST(Profile, torch_saturates_e4m3fn_alone) {
    EXPECT_EQ(profile("torch", QDQ_F8E4M3).no_saturate, 0);
    for (qdq_dtype dtype : {QDQ_F8E5M2, QDQ_F8E4M3FNUZ, QDQ_F8E5M2FNUZ}) {
        EXPECT_EQ(profile("torch", dtype).no_saturate, 1) << dtype;
        EXPECT_EQ(profile("torchao", dtype).no_saturate, 0) << dtype;
    }
}

TEST(Profile, acl_adds_the_zero_point_before_rounding) {
    EXPECT_EQ(profile("acl", QDQ_I8).quantize_zp, QDQ_ZP_BEFORE_ROUNDING);
    EXPECT_EQ(profile("acl", QDQ_I8).scale_mode, QDQ_DIVIDE);
}

TEST(Profile, acl_alone_makes_0_of_nan) {
    EXPECT_EQ(profile("acl", QDQ_I8).nan, QDQ_NAN_ZERO);
    for (const char *name : {"onnx", "torch", "torchao", "tensorrt", "tripy", "pypto"}) {
        EXPECT_EQ(profile(name, QDQ_I8).nan, QDQ_NAN_LOWEST) << name;
    }
}

TEST(Profile, tensorrt_and_tripy_divide) {
    EXPECT_EQ(profile("tensorrt", QDQ_I8).scale_mode, QDQ_DIVIDE);
    EXPECT_EQ(profile("tripy", QDQ_F8E4M3).scale_mode, QDQ_DIVIDE);
}

TEST(Profile, tensorrt_and_tripy_add_the_zero_point_before_rounding) {
    EXPECT_EQ(profile("tensorrt", QDQ_I8).quantize_zp, QDQ_ZP_BEFORE_ROUNDING);
    EXPECT_EQ(profile("tripy", QDQ_I8).quantize_zp, QDQ_ZP_BEFORE_ROUNDING);
}

TEST(Profile, pypto_adds_the_zero_point_when_dequantizing) {
    EXPECT_EQ(profile("pypto", QDQ_I16).dequantize_zp, QDQ_ZP_ADD);
}

TEST(Profile, names_what_is_wrong) {
    qdq_options options{};
    EXPECT_EQ(qdq_profile_options("caffe", QDQ_I8, &options), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(qdq_last_error(), "\"caffe\""), nullptr) << qdq_last_error();
    EXPECT_EQ(qdq_profile_options(nullptr, QDQ_I8, &options), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(qdq_last_error(), "profile: NULL"), nullptr) << qdq_last_error();
    EXPECT_EQ(qdq_profile_options("onnx", QDQ_I8, nullptr), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(qdq_last_error(), "options: NULL"), nullptr) << qdq_last_error();
    for (qdq_dtype dtype : {QDQ_F32, QDQ_E8M0}) {
        EXPECT_EQ(qdq_profile_options("onnx", dtype, &options), QDQ_INVALID_ARGUMENT);
        EXPECT_NE(std::strstr(qdq_last_error(), "stored"), nullptr) << qdq_last_error();
    }
}

}  // namespace
}  // namespace api_test
