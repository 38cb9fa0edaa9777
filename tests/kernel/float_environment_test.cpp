// The caller's floating-point environment changes no bit, and comes back as it was.
#include "operand.h"

#include "conformance/fp_environment.h"
#include "conformance/storage.h"
#include "conformance/supported.h"
#include "reference/dequantize.h"
#include "reference/quantize.h"
#include "support/compare.h"
#include "support/inputs.h"
#include "support/targets.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <vector>

namespace kernel_test {
namespace {

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
    {{1001}, {}, 0, 1},        {{5, 201}, {5, 1}, 0, 1},   {{5, 201}, {1, 201}, 0, 1},
    {{5, 192}, {5, 6}, 32, 1}, {{5, 201}, {5, 13}, 16, 1}, {{300007}, {}, 0, 4},
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
    (quantizes ? reference::quantize : reference::dequantize)(call.x.tensor(), call.scale.tensor(),
                                                              has_zero_point ? &zero_point : nullptr,
                                                              call.expected.tensor(), &call.options);
    return call;
}

struct outcome {
    qdq_status status;
    uint64_t control_after;
};

// No arithmetic but the library's happens in the hostile environment.
outcome call_in(const fp::environment &environment, prepared_call &call) {
    const qdq_tensor x = call.x.tensor();
    const qdq_tensor scale = call.scale.tensor();
    const qdq_tensor zero_point = call.zero_point.tensor();
    const qdq_tensor y = call.actual.tensor();
    const qdq_tensor *zero_point_or_null = call.has_zero_point ? &zero_point : nullptr;
    const uint64_t before = fp::control();
    fp::set_control(environment.control);
    const qdq_status status =
        (call.quantizes ? qdq_quantize : qdq_dequantize)(&x, &scale, zero_point_or_null, &y, &call.options);
    const uint64_t control_after = fp::control();
    fp::set_control(before);
    return {status, control_after};
}

outcome run_plan_in(const fp::environment &environment, prepared_call &call) {
    const uint64_t before = fp::control();
    fp::set_control(environment.control);
    const qdq_status status = qdq_run(&call.plan, call.x.bytes(), call.actual.bytes(), nullptr);
    const uint64_t control_after = fp::control();
    fp::set_control(before);
    return {status, control_after};
}

// Bits that arithmetic under denormals-are-zero, or with exceptions unmasked, must not meet: quiet and signalling NaNs,
// subnormals, -0, integers that are no f32.
std::vector<uint32_t> awkward_codes(qdq_dtype type) {
    switch (type) {
    case QDQ_F32: return {0, 0x80000000, 1, 0x807fffff, 0x7fc00000, 0x7f800001, 0xffa00000, 0x7f7fffff, 0x3f800000};
    case QDQ_F16: return {0, 0x8000, 1, 0x83ff, 0x7e00, 0x7c01, 0xfd00, 0x7bff, 0x3c00};
    case QDQ_BF16: return {0, 0x8000, 1, 0x807f, 0x7fc0, 0x7f81, 0xffa0, 0x7f7f, 0x3f80};
    case QDQ_E8M0: return {0, 1, 127, 254, 255};
    case QDQ_F8E4M3: return {0, 0x80, 1, 0x87, 0x7f, 0xff, 0x7e, 0x38};
    case QDQ_I32: return {0, 1, (1u << 24) + 1, 0x7fffffff, 0x80000000};
    default: return {0, 1, 0x7f};
    }
}

uint32_t awkward_code(qdq_dtype type, size_t i) {
    const std::vector<uint32_t> codes = awkward_codes(type);
    return codes[i % codes.size()];
}

void fill(storage &operand, qdq_dtype type, size_t first) {
    for (int64_t i = 0; i < operand.elements(); ++i) {
        operand.set_code(i, awkward_code(type, first + static_cast<size_t>(i)));
    }
}

// Calls function() in the environment, its exception flags clear. No arithmetic but the library's happens in it.
template<typename Function> outcome run_in(const fp::environment &environment, Function &&function) {
    const uint64_t before = fp::control();
    fp::set_flags(0);
    fp::set_control(environment.control);
    const qdq_status status = function();
    const uint64_t control_after = fp::control();
    fp::set_control(before);
    return {status, control_after};
}

class HostileFpEnvironment : public KernelTest {
protected:
    void expect_unharmed(const outcome &result, const fp::environment &environment, const prepared_call &call) {
        EXPECT_EQ(result.status, QDQ_OK) << qdq_last_error();
        EXPECT_EQ(result.control_after, environment.control) << environment.name << ": not restored";
        EXPECT_TRUE(test_support::same_codes(call.expected.tensor().dtype, call.expected.bytes(), call.actual.bytes(),
                                             call.expected.elements(),
                                             [](int64_t i) { return "element " + std::to_string(i); }))
            << environment.name << (call.quantizes ? ", quantize, " : ", dequantize, ") << call.threads << " threads, "
            << test_support::describe(call.options);
    }

    // Both ways, at once and by a plan that is made in the environment.
    void expect_oracle_result(const dimensions &shape, const qdq_tensor &scale, const qdq_tensor *zero_point) {
        for (bool quantizes : {true, false}) {
            const qdq_dtype x_type = quantizes ? QDQ_F32 : stored(), y_type = quantizes ? stored() : QDQ_F32;
            storage x(x_type, shape), expected(y_type, shape), actual(y_type, shape);
            for (int64_t i = 0; i < x.elements(); ++i) {
                x.set_code(i,
                           quantizes ? awkward_code(QDQ_F32, static_cast<size_t>(i)) : static_cast<uint32_t>(i * 101));
            }
            const qdq_tensor c_x = x.tensor(), c_expected = expected.tensor(), c_actual = actual.tensor();
            const qdq_options options{};
            (quantizes ? reference::quantize : reference::dequantize)(c_x, scale, zero_point, c_expected, &options);
            auto *const at_once = quantizes ? qdq_quantize : qdq_dequantize;
            auto *const planned = quantizes ? qdq_plan_quantize : qdq_plan_dequantize;
            for (const fp::environment &environment : fp::hostile_environments()) {
                for (bool by_plan : {false, true}) {
                    std::memset(actual.bytes(), 0x55, static_cast<size_t>(bytes_for(y_type, actual.elements())));
                    const outcome result = run_in(environment, [&] {
                        qdq_plan plan;
                        if (!by_plan) {
                            return at_once(&c_x, &scale, zero_point, &c_actual, &options);
                        }
                        const qdq_status status = planned(&plan, &c_x, &scale, zero_point, &c_actual, &options);
                        return status == QDQ_OK ? qdq_run(&plan, x.bytes(), actual.bytes(), nullptr) : status;
                    });
                    ASSERT_EQ(result.status, QDQ_OK) << qdq_last_error();
                    EXPECT_EQ(result.control_after, environment.control) << environment.name << ": not restored";
                    EXPECT_TRUE(test_support::same_codes(y_type, expected.bytes(), actual.bytes(), actual.elements(),
                                                         [](int64_t i) { return "element " + std::to_string(i); }))
                        << environment.name << (quantizes ? ", quantize" : ", dequantize") << ", scale "
                        << reference::name_of(scale.dtype);
                }
            }
        }
    }

    void expect_no_subnormal_operand(const call_shape &shape, qdq_dtype x_type, qdq_scale_mode mode,
                                     qdq_rounding rounding) {
        constexpr uint32_t tiny_bits = (127 - 101) << 23;
        storage x(x_type, shape.shape), y(stored(), shape.shape), scale(QDQ_F32, shape.scale_shape);
        for (int64_t i = 0; i < x.elements(); ++i) {
            const uint32_t bits = static_cast<uint32_t>(i * 1000003) % tiny_bits;
            x.set_code(i, x_type == QDQ_F32 ? bits : bits >> 16);
        }
        for (int64_t i = 0; i < scale.elements(); ++i) {
            scale.set_code(i, std::bit_cast<uint32_t>(i % 3 == 0 ? -0.1f : 0.3f));
        }
        const qdq_tensor c_x = x.tensor(), c_scale = scale.tensor(), c_y = y.tensor();
        qdq_options options{};
        options.scale_mode = mode;
        options.rounding = rounding;
        options.axis = -1;
        options.block_size = shape.block_size;
        const uint64_t control = fp::control();
        fp::set_flags(0);
        EXPECT_EQ(qdq_quantize(&c_x, &c_scale, nullptr, &c_y, &options), QDQ_OK) << qdq_last_error();
        EXPECT_EQ(fp::control(), control) << "not restored";
        EXPECT_EQ(fp::flags() & fp::subnormal_operand_flag, 0u)
            << reference::name_of(x_type) << " " << test_support::describe(options);
    }

    void compare_in_every_environment(prepared_call call) {
        qdq_set_num_threads(call.threads);
        for (const fp::environment &environment : fp::hostile_environments()) {
            expect_unharmed(call_in(environment, call), environment, call);
        }
    }
};

// First in this file: these calls start the library's threads, which inherit the environment of the call that did.
TEST_P(HostileFpEnvironment, threads_started_in_it_compute_the_same_bits) {
    const fp::environment hostile = fp::hostile_environments().front();
    prepared_call call = prepare({{3000017}, {}, 0, 4}, {0x1p-130f}, stored(), true, false, QDQ_NEAREST_EVEN);
    qdq_set_num_threads(4);
    expect_unharmed(call_in(hostile, call), hostile, call);
}

TEST_P(HostileFpEnvironment, quantize_gives_the_same_bits_and_restores_it) {
    const bool integer = reference::is_integer(stored());
    for (const call_shape &shape : call_shapes) {
        for (const std::vector<float> &palette : palettes) {
            for (bool has_zero_point : {false, true}) {
                if (has_zero_point && !integer) {
                    continue;
                }
                for (qdq_rounding rounding : {QDQ_NEAREST_EVEN, QDQ_STOCHASTIC, QDQ_NEAREST_AWAY, QDQ_UP}) {
                    const bool is_of_integers = rounding != QDQ_NEAREST_EVEN && rounding != QDQ_STOCHASTIC;
                    if (is_of_integers && (!integer || shape.threads > 1)) {
                        continue;
                    }
                    compare_in_every_environment(prepare(shape, palette, stored(), true, has_zero_point, rounding));
                }
            }
        }
    }
}

TEST_P(HostileFpEnvironment, dequantize_gives_the_same_bits_and_restores_it) {
    for (const call_shape &shape : call_shapes) {
        for (const std::vector<float> &palette : palettes) {
            for (bool has_zero_point : {false, true}) {
                if (has_zero_point && !reference::is_integer(stored())) {
                    continue;
                }
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
                for (const fp::environment &environment : fp::hostile_environments()) {
                    expect_unharmed(run_plan_in(environment, call), environment, call);
                }
            }
        }
    }
}

TEST_P(HostileFpEnvironment, zero_points_of_float_formats_are_judged_by_their_bits) {
    if (reference::is_integer(stored())) {
        GTEST_SKIP() << "integer formats have zero points";
    }
    const storage x(QDQ_F32, {64}), y(stored(), {64}), scale(QDQ_F32, {}, {}, 0x3f);
    const qdq_tensor c_x = x.tensor(), c_y = y.tensor(), c_scale = scale.tensor();
    for (qdq_dtype type : supported::zero_point_types) {
        for (uint32_t code : awkward_codes(type)) {
            storage zero_point(type, {});
            zero_point.set_code(0, code);
            const qdq_tensor c_zero_point = zero_point.tensor();
            const bool is_zero =
                code == 0 || (!reference::is_integer(type) && code == 1u << (reference::bits_of(type) - 1));
            for (const fp::environment &environment : fp::hostile_environments()) {
                const outcome result =
                    run_in(environment, [&] { return qdq_quantize(&c_x, &c_scale, &c_zero_point, &c_y, nullptr); });
                EXPECT_EQ(result.status, is_zero ? QDQ_OK : QDQ_INVALID_ARGUMENT)
                    << environment.name << ", " << reference::name_of(type) << " 0x" << std::hex << code;
                EXPECT_EQ(result.control_after, environment.control) << environment.name << ": not restored";
            }
        }
    }
}

// By each way that a call may take: one kernel call, rows, columns, blocks, tiles.
TEST_P(HostileFpEnvironment, operands_of_any_bits_give_the_same_bits_and_no_trap) {
    const struct {
        dimensions shape, scale_shape;
    } spreads[] = {{{64}, {}}, {{3, 65}, {3, 1}}, {{3, 65}, {1, 65}}, {{3, 64}, {3, 2}}};
    const std::vector<qdq_dtype> no_zero_point{QDQ_I8};
    for (const auto &[shape, scale_shape] : spreads) {
        for (qdq_dtype scale_type : supported::scale_types) {
            const bool integer = reference::is_integer(stored());
            for (qdq_dtype zero_point_type : integer ? supported::zero_point_types : no_zero_point) {
                storage scale(scale_type, scale_shape), zero_point(zero_point_type, scale_shape);
                for (size_t first = 0; first < awkward_codes(scale_type).size(); ++first) {
                    fill(scale, scale_type, first);
                    fill(zero_point, zero_point_type, first);
                    const qdq_tensor c_zero_point = zero_point.tensor();
                    expect_oracle_result(shape, scale.tensor(), integer ? &c_zero_point : nullptr);
                    if (scale.elements() > 1) {
                        break;
                    }
                }
            }
        }
    }
}

TEST_P(HostileFpEnvironment, no_exception_flag_is_cleared) {
    for (bool quantizes : {true, false}) {
        prepared_call call = prepare({{1001}, {}, 0, 1}, {0.1f}, stored(), quantizes, false, QDQ_NEAREST_EVEN);
        std::vector<fp::environment> environments = fp::hostile_environments();
        environments.push_back({"default", fp::control()});
        for (const fp::environment &environment : environments) {
            const qdq_tensor x = call.x.tensor(), scale = call.scale.tensor(), y = call.actual.tensor();
            const uint64_t before = fp::control();
            fp::set_control(environment.control);
            fp::set_flags(fp::every_flag);
            const qdq_status status =
                (quantizes ? qdq_quantize : qdq_dequantize)(&x, &scale, nullptr, &y, &call.options);
            const uint64_t flags_after = fp::flags();
            fp::set_control(before);
            fp::set_flags(0);
            EXPECT_EQ(status, QDQ_OK);
            EXPECT_EQ(flags_after, fp::every_flag) << environment.name;
        }
    }
}

// Processors take a hundred cycles for an operation on one. An x below 2^-101 leaves such remainders. By each way that
// a call may take.
TEST_P(HostileFpEnvironment, tiny_x_leaves_no_operation_on_subnormal_numbers) {
    for (const call_shape &shape : call_shapes) {
        for (qdq_dtype x_type : {QDQ_F32, QDQ_BF16, QDQ_F16}) {
            for (qdq_scale_mode mode : {QDQ_DIVIDE, QDQ_MULTIPLY, QDQ_RECIPROCAL}) {
                for (qdq_rounding rounding : {QDQ_NEAREST_EVEN, QDQ_NEAREST_AWAY, QDQ_TOWARD_ZERO}) {
                    if (shape.threads == 1 && (rounding == QDQ_NEAREST_EVEN || reference::is_integer(stored()))) {
                        expect_no_subnormal_operand(shape, x_type, mode, rounding);
                    }
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, HostileFpEnvironment,
                         testing::ValuesIn(test_support::every_kernel(supported::stored_types)),
                         test_support::name_of_case);

}  // namespace
}  // namespace kernel_test
