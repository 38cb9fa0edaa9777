// Every header of qdq/direct, linked for one target, gives the results of the dispatcher.
#include "direct_rows.h"  // generated: includes the headers, and lists them as QDQ_DIRECT_ROWS(row)

#include "concurrency/stack_of.h"
#include "conformance/fp_environment.h"
#include "conformance/storage.h"
#include "conformance/supported.h"
#include "kernel/operand.h"
#include "support/inputs.h"
#include "support/targets.h"

#include <qdq/qdq.h>

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <vector>

namespace {

using direct_function = qdq_status(const void *, void *, int64_t, float);

struct direct_row {
    const char *name;
    direct_function *call;
};

template<auto function> struct untyped;
template<typename X, typename Y, qdq_status (*function)(const X *, Y *, int64_t, float)> struct untyped<function> {
    static qdq_status call(const void *x, void *y, int64_t count, float scale) {
        return function(static_cast<const X *>(x), static_cast<Y *>(y), count, scale);
    }
};

#define DIRECT_ROW(row) {#row, untyped<&qdq_direct_##row>::call},
const direct_row direct_rows[] = {QDQ_DIRECT_ROWS(DIRECT_ROW)};

struct types {
    bool quantizes;
    qdq_dtype x, y;
};

types types_of(const std::string &name) {
    for (bool quantizes : {true, false}) {
        for (qdq_dtype x : supported::every_type) {
            for (qdq_dtype y : supported::every_type) {
                if (supported::row_name(quantizes, x, y) == name) {
                    return {quantizes, x, y};
                }
            }
        }
    }
    ADD_FAILURE() << name;
    return {};
}

constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
constexpr float scales[] = {0.1f,      3,     0x1p-59f, 0x1p-61f, 0x1p60f, 0x1p61f, 0x1p100f,
                            0x1p-140f, -0.5f, 0,        -0.0f,    inf,     nan};
constexpr int64_t counts[] = {0, 1, 2, 5, 63, 64, 65, 127, 128, 1000};

// The caller's own environment, and what others may have left in its control register.
std::vector<fp::environment> environments() {
    std::vector<fp::environment> all = fp::hostile_environments();
    all.push_back({"default", fp::control()});
    return all;
}

qdq_status call_in(const fp::environment &environment, direct_function *call, const void *x, void *y, int64_t count,
                   float scale) {
    const uint64_t before = fp::control();
    fp::set_control(environment.control);
    const qdq_status status = call(x, y, count, scale);
    fp::set_control(before);
    return status;
}

class Direct : public testing::TestWithParam<direct_row> {
protected:
    void SetUp() override {
        if (!test_support::usable(QDQ_TEST_TARGET)) {
            GTEST_SKIP() << QDQ_TEST_TARGET << ": compiled, not executed";
        }
        ASSERT_EQ(qdq_force_target(QDQ_TEST_TARGET), QDQ_OK);
    }
    void TearDown() override { test_support::restore_defaults(); }
};

TEST_P(Direct, gives_the_results_of_the_dispatcher_for_every_count_scale_and_float_environment) {
    const types of = types_of(GetParam().name);
    test_support::random_bits random(31);
    for (int64_t count : counts) {
        conformance::storage x(of.x, {count});
        for (int64_t i = 0; i < count; i++) {
            // Patterns of all kinds, and values that a scale of 0.1 brings into the range of most types.
            const uint32_t pattern = random.next32();
            const bool small = of.quantizes && i % 2 == 0 && of.x == QDQ_F32;
            x.set_code(i, small ? std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(pattern)) / 0x1p28f)
                                : pattern);
        }
        for (float scale : scales) {
            const conformance::storage expected(of.y, {count}, {}, 0xa5);
            float one = scale;
            const qdq_tensor scale_tensor{&one, QDQ_F32, 0, nullptr, nullptr, {}};
            const qdq_tensor x_tensor = x.tensor(), y_tensor = expected.tensor();
            ASSERT_EQ(
                (of.quantizes ? qdq_quantize : qdq_dequantize)(&x_tensor, &scale_tensor, nullptr, &y_tensor, nullptr),
                QDQ_OK)
                << qdq_last_error();
            for (const fp::environment &environment : environments()) {
                const conformance::storage actual(of.y, {count}, {}, 0xa5);
                ASSERT_EQ(call_in(environment, GetParam().call, x_tensor.data, actual.tensor().data, count, scale),
                          QDQ_OK)
                    << qdq_last_error();
                ASSERT_EQ(std::memcmp(expected.bytes(), actual.bytes(), size_t(kernel_test::bytes_for(of.y, count))), 0)
                    << count << " elements, scale " << scale << ", " << environment.name;
            }
        }
    }
}

TEST_P(Direct, refuses_a_negative_count_and_null) {
    float some[64] = {}, others[64];
    EXPECT_EQ(GetParam().call(some, others, -1, 1), QDQ_INVALID_ARGUMENT);
    EXPECT_STREQ(qdq_last_error(), types_of(GetParam().name).quantizes ? "qdq_direct_quantize: count: -1 is below 0"
                                                                       : "qdq_direct_dequantize: count: -1 is below 0");
    EXPECT_EQ(GetParam().call(nullptr, others, 1, 1), QDQ_INVALID_ARGUMENT);
    EXPECT_EQ(GetParam().call(some, nullptr, 1, 1), QDQ_INVALID_ARGUMENT);
    EXPECT_EQ(GetParam().call(nullptr, nullptr, 0, 1), QDQ_OK);
}

TEST_P(Direct, takes_no_more_stack_than_the_header_says) {
    if (!concurrency_test::stack_can_be_measured) {
        GTEST_SKIP() << "instrumented code takes more";
    }
    const types of = types_of(GetParam().name);
    const conformance::storage x(of.x, {1000}), y(of.y, {1000});
    qdq_status by_row = QDQ_OUT_OF_MEMORY, by_column = QDQ_OUT_OF_MEMORY;
    concurrency_test::expect_stated_stack([&] {
        by_row = GetParam().call(x.tensor().data, y.tensor().data, 1000, 0.1f);
        by_column = GetParam().call(x.tensor().data, y.tensor().data, 1000, nan);
    });
    EXPECT_EQ(by_row, QDQ_OK);
    EXPECT_EQ(by_column, QDQ_OK);
}

TEST(DirectTargets, need_a_processor_with_all_their_features) {
    EXPECT_TRUE(qdq_direct_can_run(0));
    EXPECT_FALSE(qdq_direct_can_run(qdq_cpu_avx2_fma_f16c | qdq_cpu_neon | qdq_cpu_rvv128));
}

INSTANTIATE_TEST_SUITE_P(Rows, Direct, testing::ValuesIn(direct_rows),
                         [](const auto &param) { return std::string(param.param.name); });

}  // namespace
