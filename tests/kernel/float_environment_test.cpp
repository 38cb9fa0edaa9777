// The caller's floating-point environment changes no bit, and comes back as it was.
#include "operand.h"
#include "storage.h"
#include "supported.h"

#include "reference/dequantize.h"
#include "reference/quantize.h"
#include "support/compare.h"
#include "support/fp_environment.h"
#include "support/inputs.h"
#include "support/targets.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <vector>

namespace kernel_test {
namespace {

using test_support::fp_environment;
using test_support::KernelTest;

// A call prepared, and its expected result computed, in the default environment.
struct prepared_call {
    bool quantizes;
    storage x;
    storage scale;
    storage zero_point;
    bool has_zero_point;
    qdq_options options;
    storage expected;
    storage actual;
    int32_t threads;
    qdq_plan plan;
};

struct call_shape {
    dimensions shape;
    dimensions scale_shape;
    int64_t block_size;
    int32_t threads;
};

const call_shape call_shapes[] = {
    {{1001}, {}, 0, 1},
    {{5, 201}, {5, 1}, 0, 1},
    {{5, 201}, {1, 201}, 0, 1},
    {{5, 192}, {5, 6}, 32, 1},
    {{5, 201}, {5, 13}, 16, 1},
    {{300007}, {}, 0, 4},
};

// Ordinary, subnormal and extreme, so that each kind of kernel meets each environment.
const std::vector<std::vector<float>> palettes{
    {0.1f, 0.3f, 0.7f},
    {0x1p-130f, 0x1p-127f, 0x1p-149f},
    {1e30f, 3e38f, 1e-37f},
    {0.1f, -0.3f, 0.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()},
};

prepared_call prepare(const call_shape &shape, const std::vector<float> &palette, qdq_dtype stored, bool quantizes,
                      bool has_zero_point, qdq_rounding rounding) {
    const qdq_dtype x_type = quantizes ? QDQ_F32 : stored;
    const qdq_dtype y_type = quantizes ? stored : QDQ_F32;
    prepared_call call{quantizes,
                       storage(x_type, shape.shape),
                       storage(QDQ_F32, shape.scale_shape),
                       storage(QDQ_F32, shape.scale_shape),
                       has_zero_point,
                       {},
                       storage(y_type, shape.shape),
                       storage(y_type, shape.shape),
                       shape.threads,
                       {}};
    call.options.axis = -1;
    call.options.block_size = shape.block_size;
    call.options.rounding = rounding;
    call.options.quantize_zp = QDQ_ZP_BEFORE_ROUNDING;
    const std::vector<float> floats = test_support::tricky_floats(palette[0], QDQ_DIVIDE, 15000, 31);
    for (int64_t i = 0; i < call.x.elements(); ++i) {
        const float value = floats[static_cast<size_t>(i * 7919) % floats.size()];
        call.x.set_code(i, quantizes ? std::bit_cast<uint32_t>(value) : static_cast<uint32_t>(i * 101));
    }
    for (int64_t i = 0; i < call.scale.elements(); ++i) {
        call.scale.set_code(i, std::bit_cast<uint32_t>(palette[static_cast<size_t>(i) % palette.size()]));
        call.zero_point.set_code(i, std::bit_cast<uint32_t>(i % 3 == 0 ? 0.5f : 1e-40f));
    }
    const qdq_tensor zero_point = call.zero_point.tensor();
    (quantizes ? reference::quantize : reference::dequantize)(
        call.x.tensor(), call.scale.tensor(), has_zero_point ? &zero_point : nullptr, call.expected.tensor(),
        &call.options);
    return call;
}

struct outcome {
    qdq_status status;
    uint64_t control_after;
};

// No arithmetic but the library's happens in the hostile environment.
outcome call_in(const fp_environment &environment, prepared_call &call) {
    const qdq_tensor x = call.x.tensor();
    const qdq_tensor scale = call.scale.tensor();
    const qdq_tensor zero_point = call.zero_point.tensor();
    const qdq_tensor y = call.actual.tensor();
    const qdq_tensor *zero_point_or_null = call.has_zero_point ? &zero_point : nullptr;
    const uint64_t before = test_support::fp_control();
    test_support::set_fp_control(environment.control);
    const qdq_status status = (call.quantizes ? qdq_quantize : qdq_dequantize)(&x, &scale, zero_point_or_null, &y,
                                                                               &call.options);
    const uint64_t control_after = test_support::fp_control();
    test_support::set_fp_control(before);
    return {status, control_after};
}

outcome run_plan_in(const fp_environment &environment, prepared_call &call) {
    const uint64_t before = test_support::fp_control();
    test_support::set_fp_control(environment.control);
    const qdq_status status = qdq_run(&call.plan, call.x.bytes(), call.actual.bytes(), nullptr);
    const uint64_t control_after = test_support::fp_control();
    test_support::set_fp_control(before);
    return {status, control_after};
}

class HostileFpEnvironment : public KernelTest {
protected:
    void expect_unharmed(const outcome &result, const fp_environment &environment, const prepared_call &call) {
        EXPECT_EQ(result.status, QDQ_OK) << qdq_last_error();
        EXPECT_EQ(result.control_after, environment.control) << environment.name << ": not restored";
        EXPECT_TRUE(test_support::same_codes(call.expected.tensor().dtype, call.expected.bytes(), call.actual.bytes(),
                                             call.expected.elements(),
                                             [](int64_t i) { return "element " + std::to_string(i); }))
            << environment.name << (call.quantizes ? ", quantize, " : ", dequantize, ") << call.threads << " threads, "
            << test_support::describe(call.options);
    }

    void compare_in_every_environment(prepared_call call) {
        qdq_set_num_threads(call.threads);
        for (const fp_environment &environment : test_support::hostile_environments()) {
            expect_unharmed(call_in(environment, call), environment, call);
        }
    }
};

// First in this file: these calls start the library's threads, which inherit the environment of the call that did.
TEST_P(HostileFpEnvironment, threads_started_in_it_compute_the_same_bits) {
    const fp_environment hostile = test_support::hostile_environments().front();
    prepared_call call = prepare({{3000017}, {}, 0, 4}, {0x1p-130f}, stored(), true, false, QDQ_NEAREST_EVEN);
    qdq_set_num_threads(4);
    expect_unharmed(call_in(hostile, call), hostile, call);
}

TEST_P(HostileFpEnvironment, quantize_gives_the_same_bits_and_restores_it) {
    const bool integer = reference::is_integer(stored());
    for (const call_shape &shape : call_shapes) {
        for (const std::vector<float> &palette : palettes) {
            for (bool has_zero_point : {false, true}) {
                if (has_zero_point && !integer) continue;
                for (qdq_rounding rounding : {QDQ_NEAREST_EVEN, QDQ_NEAREST_AWAY, QDQ_UP}) {
                    if (rounding != QDQ_NEAREST_EVEN && (!integer || shape.threads > 1)) continue;
                    compare_in_every_environment(
                        prepare(shape, palette, stored(), true, has_zero_point, rounding));
                }
            }
        }
    }
}

TEST_P(HostileFpEnvironment, dequantize_gives_the_same_bits_and_restores_it) {
    for (const call_shape &shape : call_shapes) {
        for (const std::vector<float> &palette : palettes) {
            for (bool has_zero_point : {false, true}) {
                if (has_zero_point && !reference::is_integer(stored())) continue;
                compare_in_every_environment(
                    prepare(shape, palette, stored(), false, has_zero_point, QDQ_NEAREST_EVEN));
            }
        }
    }
}

TEST_P(HostileFpEnvironment, a_plan_made_before_it_gives_the_same_bits_and_restores_it) {
    for (int64_t length : {1024, 1001}) {
        for (bool quantizes : {true, false}) {
            for (const std::vector<float> &palette : palettes) {
                const call_shape shape{{length}, {}, 0, 1};
                prepared_call call = prepare(shape, palette, stored(), quantizes, false, QDQ_NEAREST_EVEN);
                const qdq_tensor x = call.x.tensor();
                const qdq_tensor scale = call.scale.tensor();
                const qdq_tensor y = call.actual.tensor();
                ASSERT_EQ((quantizes ? qdq_plan_quantize : qdq_plan_dequantize)(&call.plan, &x, &scale, nullptr, &y,
                                                                                &call.options),
                          QDQ_OK)
                    << qdq_last_error();
                for (const fp_environment &environment : test_support::hostile_environments()) {
                    expect_unharmed(run_plan_in(environment, call), environment, call);
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, HostileFpEnvironment,
                         testing::ValuesIn(test_support::every_kernel(supported::stored_types)),
                         test_support::name_of_case);

} // namespace
} // namespace kernel_test
