// What supported.h does not list is refused, and nothing is written; what it lists is accepted.
#include "operand.h"

#include "conformance/storage.h"
#include "conformance/supported.h"
#include "support/device.h"
#include "support/targets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace kernel_test {
namespace {

using supported::every_type;

bool contains(const std::vector<qdq_dtype> &types, qdq_dtype type) {
    return std::find(types.begin(), types.end(), type) != types.end();
}

using status_function = qdq_status(const qdq_tensor *, const qdq_tensor *, const qdq_tensor *, const qdq_tensor *,
                                   const qdq_options *);

class UnsupportedTypes : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (!test_support::usable(GetParam())) {
            GTEST_SKIP() << GetParam() << ": compiled, not executed";
        }
        ASSERT_EQ(qdq_force_target(GetParam().c_str()), QDQ_OK);
    }
    void TearDown() override { test_support::restore_defaults(); }

    static bool is_device() { return test_support::current_device() != QDQ_DEVICE_HOST; }
    static bool is_host_type(qdq_dtype type) { return !supported::on_devices(type); }

    void expect_support(status_function *function, bool supported, qdq_dtype x_type, qdq_dtype y_type,
                        qdq_dtype scale_type, const qdq_dtype *zero_point_type) {
        constexpr int64_t count = 70;
        const storage x(x_type, {count});
        const storage y(y_type, {count}, {}, 0xa5);
        const storage untouched(y_type, {count}, {}, 0xa5);
        storage scale(scale_type, {});
        scale.set_code(0, operand::encode(scale_type, 1.0));
        const storage zero_point(zero_point_type != nullptr ? *zero_point_type : QDQ_I32, {});
        const qdq_tensor x_tensor = x.tensor();
        const qdq_tensor y_tensor = y.tensor();
        const qdq_tensor scale_tensor = scale.tensor();
        const qdq_tensor zero_point_tensor = zero_point.tensor();
        const qdq_tensor *zero_point_or_null = zero_point_type != nullptr ? &zero_point_tensor : nullptr;
        const qdq_status status = function(&x_tensor, &scale_tensor, zero_point_or_null, &y_tensor, nullptr);
        const std::string types = std::string("x ") + reference::name_of(x_type) + ", y " + reference::name_of(y_type) +
                                  ", scale " + reference::name_of(scale_type) + ", zero point " +
                                  (zero_point_type != nullptr ? reference::name_of(*zero_point_type) : "none");
        const bool is_of_the_host = is_device() && (is_host_type(x_type) || is_host_type(y_type));
        EXPECT_EQ(status == QDQ_OK, supported && !is_of_the_host) << types;
        if (status == QDQ_OK) {
            return;
        }
        EXPECT_TRUE(status == QDQ_UNSUPPORTED || status == QDQ_INVALID_ARGUMENT) << types << ": " << status;
        if (status == QDQ_UNSUPPORTED) {
            const char *const why = is_of_the_host ? ": devices have no kernels of " : "was not picked; QDQ_";
            EXPECT_NE(std::strstr(qdq_last_error(), why), nullptr) << types << qdq_last_error();
        }
        EXPECT_EQ(std::memcmp(y.bytes(), untouched.bytes(), static_cast<size_t>(bytes_for(y_type, count))), 0) << types;
    }
};

TEST_P(UnsupportedTypes, quantize_accepts_exactly_the_listed_pairs) {
    for (qdq_dtype x : every_type) {
        for (qdq_dtype y : every_type) {
            expect_support(test_support::quantize, supported::has_row(true, x, y), x, y, QDQ_F32, nullptr);
        }
    }
}

TEST_P(UnsupportedTypes, dequantize_accepts_exactly_the_listed_pairs) {
    for (qdq_dtype x : every_type) {
        for (qdq_dtype y : every_type) {
            expect_support(test_support::dequantize, supported::has_row(false, x, y), x, y, QDQ_F32, nullptr);
        }
    }
}

TEST_P(UnsupportedTypes, scales_and_zero_points_are_accepted_in_exactly_the_listed_types) {
    for (qdq_dtype type : every_type) {
        const bool scale_listed = contains(supported::scale_types, type);
        const bool zero_point_listed = contains(supported::zero_point_types, type);
        const bool quantizes = supported::has_row(true, QDQ_F32, QDQ_I8);
        const bool dequantizes = supported::has_row(false, QDQ_I8, QDQ_F32);
        expect_support(test_support::quantize, quantizes && scale_listed, QDQ_F32, QDQ_I8, type, nullptr);
        expect_support(test_support::dequantize, dequantizes && scale_listed, QDQ_I8, QDQ_F32, type, nullptr);
        expect_support(test_support::quantize, quantizes && zero_point_listed, QDQ_F32, QDQ_I8, QDQ_F32, &type);
        expect_support(test_support::dequantize, dequantizes && zero_point_listed, QDQ_I8, QDQ_F32, QDQ_F32, &type);
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, UnsupportedTypes, testing::ValuesIn(test_support::built_targets()),
                         [](const auto &param) { return param.param; });

}  // namespace
}  // namespace kernel_test
