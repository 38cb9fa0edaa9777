// Dynamic calls on a device's tensors, byte by byte against the oracle; what is refused there; and that they do not
// wait. The rules' results for every input of 16 bits are `qdq verify --target`.
#include "api/drawn_dynamic.h"
#include "conformance/supported.h"
#include "device_call.h"
#include "reference/quantize.h"
#include "reference/scales.h"
#include "support/inputs.h"
#include "support/targets.h"
#include "support/thinning.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace device_test {
namespace {

using api_test::tensor_memory;

class DeviceDynamic : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (!test_support::usable(GetParam())) {
            GTEST_SKIP() << GetParam() << ": compiled, not executed";
        }
        ASSERT_EQ(qdq_force_target(GetParam().c_str()), QDQ_OK) << qdq_last_error();
        const qdq_device_kind kind = test_support::current_device();
        ASSERT_EQ(qdq_force_target(nullptr), QDQ_OK);
        on = &test_support::shared_device(kind);
    }
    void TearDown() override { test_support::restore_defaults(); }

    device *on = nullptr;
};

void expect_outputs(const api_test::dynamic_outputs &expected, const api_test::dynamic_outputs &actual,
                    const char *by) {
    EXPECT_TRUE(api_test::same_bytes(expected.scale, actual.scale)) << by << ": scale";
    if (expected.zero_point) {
        EXPECT_TRUE(api_test::same_bytes(*expected.zero_point, *actual.zero_point)) << by << ": zero point";
    }
    EXPECT_TRUE(api_test::same_bytes(expected.y, actual.y)) << by << ": y";
}

// At once, by a plan, and scales alone.
void expect_oracle_result(device &on, const api_test::dynamic_call &call, int64_t x_bytes = 0) {
    const qdq_tensor x = call.x->view();
    const api_test::dynamic_outputs expected = api_test::expected_outputs(call);
    for (const char *by : {"at once", "by a plan", "scales"}) {
        api_test::dynamic_outputs actual(call);
        const bool is_alone = by == std::string("scales");
        actual.with_views([&](const qdq_tensor &scale, const qdq_tensor *zero_point, const qdq_tensor &y) {
            const test_support::dynamic_call_on_device there{&x,      &scale,    zero_point,   is_alone ? nullptr : &y,
                                                             y.dtype, &call.how, &call.options};
            EXPECT_EQ(call_on_device(on, there, {by == std::string("by a plan"), x_bytes, 0}), QDQ_OK)
                << qdq_last_error();
        });
        if (is_alone) {
            actual.y = expected.y;
        }
        expect_outputs(expected, actual, by);
    }
}

// What devices do not do.
void drop_what_is_of_the_host(api_test::dynamic_call &call) {
    call.how.last_clip_ratio = 0;
    call.how.clip_ratio_count = 0;
    call.how.global_sense = QDQ_GLOBAL_NONE;
    call.how.computes_global = 0;
    call.how.global_largest = 0;
    call.diagnoses = false;
}

TEST_P(DeviceDynamic, drawn_calls_equal_the_oracle) {
    const char *wanted = std::getenv("QDQ_TEST_SEED");
    const unsigned seed = wanted != nullptr ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) : 1;
    constexpr unsigned calls = 600;
    for (unsigned i = 0; i < calls && !HasFailure(); i++) {
        test_support::random_choices random(seed * 1000003 + i);
        api_test::drawn_call drawn(random, 100000);
        drawn.draw_stochastic();
        if (drawn.way != api_test::direction::quantize || !test_support::is_taken(i) ||
            !supported::on_devices(drawn.y->view().dtype)) {
            continue;
        }
        api_test::dynamic_call call(drawn, random);
        drop_what_is_of_the_host(call);
        SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(i) + ": " + call.description());
        expect_oracle_result(*on, call);
    }
}

// As on the host: the f32 next to 555482784 is a code 32 below it.
TEST_P(DeviceDynamic, zero_points_below_a_highest_code_that_is_no_f32) {
    const tensor_memory x = tensor_memory::of<float>(QDQ_F32, {1, 2}, {-1, -3}), scale(QDQ_F32, {1, 1}),
                        zero_point(QDQ_I32, {1, 1});
    const qdq_tensor of_x = x.view(), of_scale = scale.view(), of_zero_point = zero_point.view();
    const qdq_scale_options how{.rule = QDQ_SCALE_MINMAX};
    qdq_options options{};
    options.quant_min = -1245494911;
    options.quant_max = 555482784;
    const test_support::dynamic_call_on_device there{&of_x,   &of_scale, &of_zero_point, nullptr,
                                                     QDQ_I32, &how,      &options};
    ASSERT_EQ(call_on_device(*on, there, {}), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(zero_point.codes(), std::vector<uint32_t>{555482752});
}

// Layouts for each form of the kernels, and on both sides of what decides between them.
struct layout {
    const char *name;
    dimensions shape, scale_shape;
    std::vector<int64_t> block = {};
    dimensions x_strides = {};
    int64_t x_bytes = 0;
};

const layout layouts[] = {
    {"rows of as many units as a few threads take", {65, 256}, {65, 1}},
    {"rows of one unit more", {3, 264}, {3, 1}},
    {"long rows", {2, 8192}, {2, 1}},
    {"a tensor", {64, 513}, {1, 1}},
    {"a tensor of one element", {1}, {1}},
    {"blocks of 32", {5, 96}, {5, 3}, {1, 32}},
    {"groups of 128", {70, 256}, {70, 2}, {1, 128}},
    {"blocks of 32, the last of which has one unit", {3, 72}, {3, 3}, {1, 32}},
    {"blocks of 32, the last of which has an element", {3, 65}, {3, 3}, {1, 32}},
    {"blocks of two dimensions", {40, 48}, {3, 3}, {16, 16}},
    {"blocks of two dimensions, three deep", {2, 24, 32}, {2, 3, 2}, {1, 8, 16}},
    {"blocks of two dimensions, shorter ones last in both", {20, 40}, {2, 2}, {16, 32}},
    {"columns", {37, 45}, {1, 45}},
    {"blocks of columns", {64, 33}, {2, 33}, {32, 1}},
    {"channels between", {3, 5, 16}, {1, 5, 1}},
    {"rows of odd length", {9, 67}, {9, 1}},
    {"rows that begin between units", {9, 64}, {9, 1}, {}, {}, 4},
    {"rows further apart than they are long", {9, 64}, {9, 1}, {}, {72, 1}},
    {"rows backwards", {9, 64}, {9, 1}, {}, {-64, 1}},
    {"elements backwards", {9, 64}, {9, 1}, {}, {64, -1}},
    {"columns of memory as rows", {64, 9}, {64, 1}, {}, {1, 64}},
    {"one row again and again", {6, 64}, {6, 1}, {}, {0, 1}},
};

// As i8, by some rules.
void expect_oracle_result(device &on, const layout &l, qdq_dtype floats, qdq_scale_rule rule) {
    tensor_memory x(floats, l.shape, l.x_strides);
    test_support::random_bits random(7);
    x.fill([&](int64_t) {  // few of them are large
        const uint32_t bits = random.next32();
        return floats == QDQ_F32 ? (bits & 0x83ffffff) | 0x3c000000 : (bits & 0x83ff) | 0x3c00;
    });
    const bool shifts = rule == QDQ_SCALE_MINMAX;
    const tensor_memory y(QDQ_I8, l.shape), zero_point(QDQ_I32, l.scale_shape);
    const tensor_memory scale(rule == QDQ_SCALE_POWER_EVEN ? QDQ_E8M0 : QDQ_F32, l.scale_shape);
    const qdq_scale_options how{.rule = rule};
    qdq_options options{};
    options.block_shape = l.block.empty() ? nullptr : l.block.data();

    const tensor_memory expected_scale = scale, expected_zero_point = zero_point, expected_y = y;
    const qdq_tensor of_x = x.view(), of_y = expected_y.view(), of_scale = expected_scale.view(),
                     of_zero_point = expected_zero_point.view();
    reference::compute_scales(of_x, QDQ_I8, of_scale, shifts ? &of_zero_point : nullptr, &how, &options);
    reference::quantize(of_x, of_scale, shifts ? &of_zero_point : nullptr, of_y, &options);

    const qdq_tensor to_scale = scale.view(), to_zero_point = zero_point.view(), to_y = y.view();
    const test_support::dynamic_call_on_device there{&of_x, &to_scale, shifts ? &to_zero_point : nullptr, &to_y, QDQ_I8,
                                                     &how,  &options};
    EXPECT_EQ(call_on_device(on, there, {false, l.x_bytes, 0}), QDQ_OK) << qdq_last_error();
    EXPECT_TRUE(api_test::same_bytes(expected_scale, scale)) << "scale";
    EXPECT_TRUE(api_test::same_bytes(expected_zero_point, zero_point)) << "zero point";
    EXPECT_TRUE(api_test::same_bytes(expected_y, y)) << "y";
}

template<size_t Count> void expect_oracle_results(device &on, const layout (&all)[Count]) {
    int64_t number = 0;
    for (const layout &l : all) {
        for (const qdq_dtype floats : {QDQ_F32, QDQ_F16, QDQ_BF16}) {
            for (const qdq_scale_rule rule : {QDQ_SCALE_ABSMAX, QDQ_SCALE_MINMAX, QDQ_SCALE_POWER_EVEN}) {
                if (test_support::is_taken(number++)) {
                    SCOPED_TRACE(std::string(l.name) + ", x " + std::to_string(floats) + ", rule " +
                                 std::to_string(rule));
                    expect_oracle_result(on, l, floats, rule);
                }
            }
        }
    }
}

TEST_P(DeviceDynamic, layouts_equal_the_oracle) { expect_oracle_results(*on, layouts); }

// Of 32 KiB a part, at least 8 parts.
const layout tensors[] = {
    {"as many parts as are worth it", {8, 16384}, {}},
    {"an odd number of parts, the last of which is shorter", {14 * 16384 + 24}, {}},
    {"no whole units", {14 * 16384 + 1}, {}},
};

TEST_P(DeviceDynamic, a_scale_of_many_elements_equals_the_oracle) { expect_oracle_results(*on, tensors); }

// Row i's is in column 4 i, or near it: in each thread's elements, and at each place of a unit.
TEST_P(DeviceDynamic, the_largest_element_is_found_wherever_it_is) {
    struct rows {
        qdq_dtype floats;
        int64_t count, columns;
    };
    for (const rows &r : {rows{QDQ_F32, 256, 1024}, rows{QDQ_BF16, 512, 2048}, rows{QDQ_F32, 64, 256}}) {
        tensor_memory x(r.floats, {r.count, r.columns});
        x.fill([&](int64_t i) -> uint32_t {
            const int64_t row = i / r.columns, column = 4 * row + row % 4;
            const uint32_t largest = 0xbf80 + static_cast<uint32_t>(row);  // -1 and beyond, of bf16
            return i % r.columns != column ? 0 : r.floats == QDQ_F32 ? largest << 16 : largest;
        });
        const qdq_tensor of_x = x.view();
        const tensor_memory expected(QDQ_F32, {r.count, 1}), scale = expected;
        const qdq_tensor of_expected = expected.view(), of_scale = scale.view();
        ASSERT_EQ(qdq_compute_scales(&of_x, QDQ_I8, &of_expected, nullptr, nullptr, nullptr), QDQ_OK)
            << qdq_last_error();
        EXPECT_EQ(call_on_device(*on, {&of_x, &of_scale, nullptr, nullptr, QDQ_I8, nullptr, nullptr}, {}), QDQ_OK)
            << qdq_last_error();
        EXPECT_TRUE(api_test::same_bytes(expected, scale)) << r.columns << " columns";
    }
}

// f32 to i8 in 10 rows of 100, a scale for each.
struct rows_call {
    explicit rows_call(device &on)
        : x_array(on, QDQ_F32, {10, 100}, some_floats().data(), length * 4),
          scale_array(on, QDQ_F32, {10, 1}, std::vector<float>(10, 99).data(), 40),
          y_array(on, QDQ_I8, {10, 100}, std::vector<int8_t>(length, 99).data(), length) {
        options.stream = on.stream();
    }
    qdq_status run() { return qdq_quantize_dynamic(&x, &scale, nullptr, &y, &how, &options); }

    array x_array, scale_array, y_array;
    qdq_tensor x = x_array.tensor(), scale = scale_array.tensor(), y = y_array.tensor();
    qdq_scale_options how{};
    qdq_options options{};
};

template<typename Change> void expect_refused(device &on, qdq_status status, const char *message, Change change) {
    rows_call call(on);
    change(call);
    EXPECT_EQ(call.run(), status) << message;
    EXPECT_NE(std::string(qdq_last_error()).find(message), std::string::npos) << qdq_last_error();
    EXPECT_EQ(call.scale_array.values<float>(), std::vector<float>(10, 99)) << message;
    EXPECT_EQ(call.y_array.values<int8_t>(), std::vector<int8_t>(length, 99)) << message;
}

TEST_P(DeviceDynamic, what_devices_do_not_do_is_refused_by_name) {
    expect_refused(*on, QDQ_UNSUPPORTED, "how: clip_ratio_count: it is for tensors on the host", [](rows_call &c) {
        c.how.clip_ratio_count = 2;
        c.how.last_clip_ratio = 0.5f;
    });
    float global = 1;
    expect_refused(*on, QDQ_UNSUPPORTED, "how: global_scale: it is for tensors on the host", [&](rows_call &c) {
        c.scale.dtype = QDQ_F8E4M3;
        c.how.global_sense = QDQ_GLOBAL_SCALE;
        c.how.global_scale = &global;
    });
    qdq_diagnostics diagnostics{};
    expect_refused(*on, QDQ_UNSUPPORTED, "how: diagnostics: it is for tensors on the host",
                   [&](rows_call &c) { c.how.diagnostics = &diagnostics; });
    expect_refused(*on, QDQ_UNSUPPORTED, "x: it has no elements, and on a device no scales of such are computed",
                   [](rows_call &c) {
                       static constexpr int64_t none[] = {10, 0};
                       c.x.shape = c.y.shape = none;
                   });
}

TEST_P(DeviceDynamic, memory_and_placement_are_checked_before_anything_is_written) {
    expect_refused(*on, QDQ_INVALID_ARGUMENT, "x, scale: they live on two devices",
                   [](rows_call &c) { c.scale.device = {}; });
    expect_refused(*on, QDQ_INVALID_ARGUMENT, "scale: it overlaps y",
                   [&](rows_call &c) { c.y = part_of(c.scale_array, 0, c.y); });
    expect_refused(*on, QDQ_INVALID_ARGUMENT, "scale: it overlaps x",
                   [&](rows_call &c) { c.scale = part_of(c.x_array, 400, c.scale); });
    expect_refused(*on, QDQ_INVALID_ARGUMENT, "y: data is NULL", [](rows_call &c) { c.y.data = nullptr; });
    expect_refused(*on, QDQ_INVALID_ARGUMENT, "scale: data is NULL", [](rows_call &c) { c.scale.data = nullptr; });
    if (on->kind() == QDQ_DEVICE_CUDA) {
        float host[10];
        expect_refused(*on, QDQ_DEVICE_ERROR, "is not in CUDA's memory", [&](rows_call &c) { c.scale.data = host; });
        expect_refused(*on, QDQ_DEVICE_ERROR, "is not in CUDA's memory", [&](rows_call &c) { c.y.data = host + 1; });
        expect_refused(*on, QDQ_INVALID_ARGUMENT, "x: its elements do not lie at multiples of their size",
                       [&](rows_call &c) { c.x.data = static_cast<char *>(c.x.data) + 2; });
    } else {
        expect_refused(*on, QDQ_INVALID_ARGUMENT, "stream: NULL", [](rows_call &c) { c.options.stream = nullptr; });
        expect_refused(*on, QDQ_DEVICE_ERROR, "a memory object has", [](rows_call &c) { c.scale.device.offset = 4; });
    }
}

// x may begin where none of the codes that are not written could.
TEST_P(DeviceDynamic, scales_alone_need_no_place_for_codes) {
    const std::vector<uint16_t> halves(101, 0x4000);
    const array x_array(*on, QDQ_BF16, {101}, halves.data(), 202), scale_array(*on, QDQ_F32, {}, halves.data(), 4);
    qdq_tensor x = x_array.tensor();
    const int64_t shape[] = {100};
    x.shape = shape;
    x = part_of(x_array, 2, x);
    const qdq_tensor scale = scale_array.tensor();
    qdq_options options{};
    options.stream = on->stream();
    EXPECT_EQ(qdq_compute_scales(&x, QDQ_I32, &scale, nullptr, nullptr, &options), QDQ_OK) << qdq_last_error();
}

TEST_P(DeviceDynamic, nothing_needs_no_memory) {
    rows_call call(*on);
    static constexpr int64_t none[] = {0, 100}, no_scales[] = {0, 1};
    call.x.shape = call.y.shape = none;
    call.scale.shape = no_scales;
    call.x.data = call.y.data = call.scale.data = nullptr;
    EXPECT_EQ(call.run(), QDQ_OK) << qdq_last_error();
}

// By rows, and by one scale of as many elements as are reduced by parts.
TEST_P(DeviceDynamic, codes_may_take_the_place_of_x) {
    constexpr int64_t rows = 64, columns = 1024, bytes = 4 * rows * columns;
    std::vector<float> floats(rows * columns);
    for (size_t i = 0; i < floats.size(); ++i) {
        floats[i] = static_cast<float>(i % 1001) - 400;
    }
    for (const dimensions &scale_shape : {dimensions{rows, 1}, dimensions{}}) {
        array x(*on, QDQ_F32, {rows, columns}, floats.data(), bytes),
            apart(*on, QDQ_I32, {rows, columns}, floats.data(), bytes);
        const array scale_array(*on, QDQ_F32, scale_shape, floats.data(), scale_shape.empty() ? 4 : 4 * rows);
        const qdq_tensor of_x = x.tensor(), to_apart = apart.tensor(), scale = scale_array.tensor();
        qdq_tensor in_place = of_x;
        in_place.dtype = QDQ_I32;
        qdq_options options{};
        options.stream = on->stream();
        ASSERT_EQ(qdq_quantize_dynamic(&of_x, &scale, nullptr, &to_apart, nullptr, &options), QDQ_OK)
            << qdq_last_error();
        ASSERT_EQ(qdq_quantize_dynamic(&of_x, &scale, nullptr, &in_place, nullptr, &options), QDQ_OK)
            << qdq_last_error();
        EXPECT_EQ(x.values<int32_t>(), apart.values<int32_t>()) << scale_shape.size() << " dimensions";
    }
}

TEST_P(DeviceDynamic, a_plan_runs_on_other_memory_and_waits_for_nothing) {
    rows_call call(*on), expected(*on);
    ASSERT_EQ(expected.run(), QDQ_OK) << qdq_last_error();  // compiles the kernels
    qdq_plan plan;
    ASSERT_EQ(qdq_plan_quantize_dynamic(&plan, &expected.x, &expected.scale, nullptr, &expected.y, nullptr, nullptr),
              QDQ_OK);
    on->hold();
    EXPECT_EQ(qdq_run_dynamic(&plan, call.x.data, call.scale.data, nullptr, call.y.data, on->stream()), QDQ_OK)
        << qdq_last_error();
    on->let_go();  // had the call waited for its work, it would be waiting still
    EXPECT_EQ(call.scale_array.values<float>(), expected.scale_array.values<float>());
    EXPECT_EQ(call.y_array.values<int8_t>(), expected.y_array.values<int8_t>());
}

INSTANTIATE_TEST_SUITE_P(Targets, DeviceDynamic, testing::ValuesIn(test_support::device_targets()),
                         [](const auto &param) { return param.param; });

}  // namespace
}  // namespace device_test
