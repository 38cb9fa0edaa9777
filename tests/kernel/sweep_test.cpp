// Every f32, one kernel after another. QDQ_SWEEP=full sweeps all 2^32 inputs in every configuration, QDQ_SWEEP=<n>
// every n-th; where it is not set, every 1021st.
#include "operand.h"

#include "conformance/supported.h"
#include "reference/quantize.h"
#include "support/compare.h"
#include "support/inputs.h"
#include "support/parallel.h"
#include "support/targets.h"
#include "support/view.h"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace kernel_test {
namespace {

using test_support::same_codes;
using test_support::view;

constexpr uint64_t all_inputs = uint64_t{1} << 32;
constexpr int64_t chunk = 1 << 18;
constexpr float infinity = std::numeric_limits<float>::infinity();

struct configuration {
    const char *name;
    float scale;
    qdq_scale_mode scale_mode = QDQ_DIVIDE;
    qdq_rounding rounding = QDQ_NEAREST_EVEN;
    qdq_quantize_zp order = QDQ_ZP_AFTER_ROUNDING;
    bool has_zero_point = false;
    qdq_dtype zero_point_type = QDQ_I32;
    double zero_point = 0;
};

void PrintTo(const configuration &c, std::ostream *out) { *out << c.name; }

const configuration configurations[] = {
    {.name = "divide_0p1", .scale = 0.1f},
    {.name = "divide_1", .scale = 1.0f},
    {.name = "divide_1_127th", .scale = 1.0f / 127.0f},
    {.name = "divide_0p00214854861", .scale = 0.00214854861f},
    {.name = "divide_2pow60", .scale = 0x1p60f},
    {.name = "divide_2pow61", .scale = 0x1p61f},
    {.name = "divide_almost_2pow60", .scale = 0x1.fffffep59f},
    {.name = "divide_2pow_minus60", .scale = 0x1p-60f},
    {.name = "divide_2pow_minus61", .scale = 0x1.fffffep-61f},
    {.name = "divide_2pow_minus126", .scale = 0x1p-126f},
    {.name = "divide_2pow_minus130", .scale = 0x1p-130f},
    {.name = "divide_smallest_subnormal", .scale = 0x1p-149f},
    {.name = "divide_3e38", .scale = 3e38f},
    {.name = "divide_minus_0p3", .scale = -0.3f},
    {.name = "divide_infinity", .scale = infinity},
    {.name = "divide_nan", .scale = std::numeric_limits<float>::quiet_NaN()},
    {.name = "divide_0", .scale = 0.0f},
    {.name = "multiply_0p1", .scale = 0.1f, .scale_mode = QDQ_MULTIPLY},
    {.name = "multiply_1", .scale = 1.0f, .scale_mode = QDQ_MULTIPLY},
    {.name = "multiply_127", .scale = 127.0f, .scale_mode = QDQ_MULTIPLY},
    {.name = "multiply_2pow_minus130", .scale = 0x1p-130f, .scale_mode = QDQ_MULTIPLY},
    {.name = "multiply_3e38", .scale = 3e38f, .scale_mode = QDQ_MULTIPLY},
    {.name = "multiply_minus_0p3", .scale = -0.3f, .scale_mode = QDQ_MULTIPLY},
    {.name = "multiply_infinity", .scale = infinity, .scale_mode = QDQ_MULTIPLY},
    {.name = "multiply_nan", .scale = std::numeric_limits<float>::quiet_NaN(), .scale_mode = QDQ_MULTIPLY},
    {.name = "multiply_0", .scale = 0.0f, .scale_mode = QDQ_MULTIPLY},
    {.name = "divide_0p1_nearest_away", .scale = 0.1f, .rounding = QDQ_NEAREST_AWAY},
    {.name = "divide_0p1_toward_zero", .scale = 0.1f, .rounding = QDQ_TOWARD_ZERO},
    {.name = "divide_0p1_down", .scale = 0.1f, .rounding = QDQ_DOWN},
    {.name = "divide_0p1_up", .scale = 0.1f, .rounding = QDQ_UP},
    {.name = "divide_2pow_minus130_down", .scale = 0x1p-130f, .rounding = QDQ_DOWN},
    {.name = "multiply_0p1_nearest_away", .scale = 0.1f, .scale_mode = QDQ_MULTIPLY, .rounding = QDQ_NEAREST_AWAY},
    {.name = "multiply_0p1_toward_zero", .scale = 0.1f, .scale_mode = QDQ_MULTIPLY, .rounding = QDQ_TOWARD_ZERO},
    {.name = "multiply_0p1_down", .scale = 0.1f, .scale_mode = QDQ_MULTIPLY, .rounding = QDQ_DOWN},
    {.name = "multiply_0p1_up", .scale = 0.1f, .scale_mode = QDQ_MULTIPLY, .rounding = QDQ_UP},
    // Scales at the ends of those with which subnormal numbers become zeros, and past them, each way in which a tiny
    // quotient might still be seen.
    {.name = "divide_2pow_minus60_nearest_away", .scale = 0x1p-60f, .rounding = QDQ_NEAREST_AWAY},
    {.name = "divide_2pow60_toward_zero", .scale = 0x1p60f, .rounding = QDQ_TOWARD_ZERO},
    {.name = "divide_minus_2pow_minus60_toward_zero", .scale = -0x1p-60f, .rounding = QDQ_TOWARD_ZERO},
    {.name = "divide_2pow_minus60_down", .scale = 0x1p-60f, .rounding = QDQ_DOWN},
    {.name = "divide_2pow60_up", .scale = 0x1p60f, .rounding = QDQ_UP},
    {.name = "multiply_2pow60", .scale = 0x1p60f, .scale_mode = QDQ_MULTIPLY},
    {.name = "multiply_2pow_minus60", .scale = 0x1p-60f, .scale_mode = QDQ_MULTIPLY},
    {.name = "multiply_2pow127", .scale = 0x1p127f, .scale_mode = QDQ_MULTIPLY},
    {.name = "divide_2pow_minus60_plus_2pow_minus14_then_round",
     .scale = 0x1p-60f,
     .order = QDQ_ZP_BEFORE_ROUNDING,
     .has_zero_point = true,
     .zero_point_type = QDQ_F32,
     .zero_point = 0x1p-14},
    {.name = "divide_0p1_plus_subnormal_then_round_toward_zero",
     .scale = 0.1f,
     .rounding = QDQ_TOWARD_ZERO,
     .order = QDQ_ZP_BEFORE_ROUNDING,
     .has_zero_point = true,
     .zero_point_type = QDQ_F32,
     .zero_point = 0x1p-140},
    {.name = "divide_0p1_then_plus_3", .scale = 0.1f, .has_zero_point = true, .zero_point = 3},
    {.name = "divide_1_127th_then_minus_77", .scale = 1.0f / 127.0f, .has_zero_point = true, .zero_point = -77},
    {.name = "divide_0p1_then_plus_2pow14", .scale = 0.1f, .has_zero_point = true, .zero_point = 16384},
    {.name = "divide_0p1_then_plus_2pow20", .scale = 0.1f, .has_zero_point = true, .zero_point = 1048576},
    {.name = "divide_0p1_then_minus_2pow31", .scale = 0.1f, .has_zero_point = true, .zero_point = -2147483648.0},
    {.name = "multiply_0p1_then_plus_3",
     .scale = 0.1f,
     .scale_mode = QDQ_MULTIPLY,
     .has_zero_point = true,
     .zero_point = 3},
    {.name = "divide_0p1_plus_3_then_round",
     .scale = 0.1f,
     .order = QDQ_ZP_BEFORE_ROUNDING,
     .has_zero_point = true,
     .zero_point = 3},
    {.name = "divide_0p1_plus_half_then_round",
     .scale = 0.1f,
     .order = QDQ_ZP_BEFORE_ROUNDING,
     .has_zero_point = true,
     .zero_point_type = QDQ_F32,
     .zero_point = 0.5},
    {.name = "divide_1_plus_1_then_round",
     .scale = 1.0f,
     .order = QDQ_ZP_BEFORE_ROUNDING,
     .has_zero_point = true,
     .zero_point = 1},
    {.name = "multiply_0p1_plus_128_then_round",
     .scale = 0.1f,
     .scale_mode = QDQ_MULTIPLY,
     .order = QDQ_ZP_BEFORE_ROUNDING,
     .has_zero_point = true,
     .zero_point = 128},
    {.name = "divide_minus_0p3_plus_3_then_round_up",
     .scale = -0.3f,
     .rounding = QDQ_UP,
     .order = QDQ_ZP_BEFORE_ROUNDING,
     .has_zero_point = true,
     .zero_point = 3},
};

// From one input to the next.
uint64_t step() {
    const char *const wanted = std::getenv("QDQ_SWEEP");
    if (wanted == nullptr) {
        return 1021;  // a prime
    }
    return wanted == std::string("full") ? 1 : std::strtoull(wanted, nullptr, 10);
}

struct planned_kernel {
    std::string target;
    qdq_dtype stored;
    qdq_plan plan;
};

// What one thread works in.
struct workspace {
    std::vector<float> x = std::vector<float>(chunk);
    std::vector<float> rounded = std::vector<float>(chunk);
    std::vector<uint32_t> expected = std::vector<uint32_t>(chunk);
    std::vector<uint32_t> actual = std::vector<uint32_t>(chunk);
};

// Float types have no zero point and one rounding. All 2^32 inputs of every type take minutes a configuration: all
// types have them in the first one, i8 and u8 in every one.
std::vector<qdq_dtype> swept_types(const configuration &c) {
    const bool every_type = step() != 1 || c.name == configurations[0].name;
    std::vector<qdq_dtype> types;
    for (qdq_dtype stored : supported::stored_types) {
        const bool takes_options =
            reference::is_integer(stored) || (!c.has_zero_point && c.rounding == QDQ_NEAREST_EVEN);
        if ((every_type || stored == QDQ_I8 || stored == QDQ_U8) && takes_options) {
            types.push_back(stored);
        }
    }
    return types;
}

class Sweep : public testing::TestWithParam<configuration> {
protected:
    void SetUp() override {
        const configuration &c = GetParam();
        options_.scale_mode = c.scale_mode;
        options_.rounding = c.rounding;
        options_.quantize_zp = c.order;
        scale_ = c.scale;
        if (c.has_zero_point) {
            zero_point_ = std::make_unique<operand>(c.zero_point_type, std::vector<double>{c.zero_point});
            z_ = c.zero_point_type == QDQ_F32 ? reference::zero_point::of_float(static_cast<float>(c.zero_point))
                                              : reference::zero_point::of_integer(static_cast<int64_t>(c.zero_point));
        }
        qdq_set_num_threads(1);
        test_support::for_each_target([&](const std::string &target) {
            for (qdq_dtype stored : swept_types(c)) {
                plan_kernel(target, stored);
            }
        });
    }
    void TearDown() override { test_support::restore_defaults(); }

    // A plan keeps its target, so that threads may run the kernels of several targets side by side.
    void plan_kernel(const std::string &target, qdq_dtype stored) {
        planned_kernel kernel{target, stored, {}};
        const view x(nullptr, QDQ_F32, {chunk});
        const view y(nullptr, stored, {chunk});
        const view scale(&scale_, QDQ_F32);
        const qdq_tensor x_tensor = x.tensor();
        const qdq_tensor y_tensor = y.tensor();
        const qdq_tensor scale_tensor = scale.tensor();
        const qdq_tensor zero_point_tensor = zero_point_ ? zero_point_->tensor() : qdq_tensor{};
        ASSERT_EQ(qdq_plan_quantize(&kernel.plan, &x_tensor, &scale_tensor, zero_point_ ? &zero_point_tensor : nullptr,
                                    &y_tensor, &options_),
                  QDQ_OK)
            << qdq_last_error();
        kernels_.push_back(kernel);
    }

    // Input i of the sweep is the float whose bits are (begin + i) * step().
    void compare_chunk(uint64_t begin, workspace &w) {
        for (int64_t i = 0; i < chunk; ++i) {
            const uint64_t bits = (begin + static_cast<uint64_t>(i)) * step();
            w.x[static_cast<size_t>(i)] = std::bit_cast<float>(static_cast<uint32_t>(bits));
        }
        const bool before = options_.quantize_zp == QDQ_ZP_BEFORE_ROUNDING;
        reference::round_span(w.x.data(), chunk, scale_, z_, options_, w.rounded.data());
        for (qdq_dtype stored : swept_types(GetParam())) {
            if (reference::is_integer(stored)) {
                reference::saturate_span(w.rounded.data(), chunk, before ? 0 : reference::as_integer(z_), stored,
                                         options_, w.expected.data());
            } else {
                reference::quantize_span(w.x.data(), chunk, scale_, z_, stored, options_, w.expected.data());
            }
            for (const planned_kernel &kernel : kernels_) {
                if (kernel.stored == stored) {
                    compare_kernel(kernel, w);
                }
            }
        }
    }

    void compare_kernel(const planned_kernel &kernel, workspace &w) {
        EXPECT_EQ(qdq_run(&kernel.plan, w.x.data(), w.actual.data(), nullptr), QDQ_OK);
        const auto describe_input = [&](int64_t i) {
            return "x " + test_support::describe(w.x[static_cast<size_t>(i)]) + " scale " +
                   test_support::describe(scale_);
        };
        EXPECT_TRUE(same_codes(kernel.stored, w.expected.data(), w.actual.data(), chunk, describe_input))
            << kernel.target << " " << reference::name_of(kernel.stored) << ", " << test_support::describe(options_);
        compared_ += chunk;
    }

    qdq_options options_{};
    float scale_ = 0;
    std::unique_ptr<operand> zero_point_;
    reference::zero_point z_;
    std::vector<planned_kernel> kernels_;
    std::atomic<int64_t> compared_ = 0;
};

TEST_P(Sweep, equals_the_oracle) {
    const int64_t chunks = static_cast<int64_t>((all_inputs / step() + chunk - 1) / chunk);
    std::vector<workspace> workspaces(static_cast<size_t>(test_support::sweep_threads()));
    test_support::parallel_for(chunks, [&](int64_t i, int thread) {
        if (HasFailure()) {
            return;  // one chunk says enough
        }
        compare_chunk(static_cast<uint64_t>(i) * chunk, workspaces[static_cast<size_t>(thread)]);
    });
    const int64_t inputs = chunks * chunk;
    std::printf("[   NOTE   ] %" PRId64 " inputs, %" PRId64 " results compared on %zu kernels\n", inputs,
                compared_.load(), kernels_.size());
    RecordProperty("compared", std::to_string(compared_.load()));
}

INSTANTIATE_TEST_SUITE_P(F32, Sweep, testing::ValuesIn(configurations),
                         [](const auto &param) { return param.param.name; });

}  // namespace
}  // namespace kernel_test
