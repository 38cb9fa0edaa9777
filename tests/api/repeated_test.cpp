// Calls that come again, without a plan, between others that differ in one thing.
#include "call.h"

#include <cstring>
#include <functional>
#include <limits>
#include <new>

namespace api_test {
namespace {

constexpr int64_t elements = 512;

// What a call is given, all in one place: one that differs is written over it, so that no address tells them apart.
struct given_call {
    direction way = direction::quantize;
    int64_t x_shape[2]{4, 64}, x_strides[2]{64, 1}, y_shape[2]{4, 64}, y_strides[2]{64, 1};
    int64_t operand_shape[2]{1, 1}, operand_strides[2]{1, 1};
    float scale[8]{0.5f, 0.25f, 2.0f, 1.0f, 4.0f, 3.0f, 0.5f, 0.125f};
    int8_t zero_point[8]{3, -3, 5, 7, -9, 0, 1, 2};
    qdq_tensor x{nullptr, QDQ_F32, 2, x_shape, x_strides}, y{nullptr, QDQ_I8, 2, y_shape, y_strides};
    qdq_tensor scales{scale, QDQ_F32, 2, operand_shape, operand_strides};
    qdq_tensor zero_points{zero_point, QDQ_I8, 2, operand_shape, operand_strides};
    qdq_options options{};
    bool has_zero_point = true, has_options = true;

    given_call() = default;
    given_call(const given_call &) = delete;
    given_call &operator=(const given_call &) = delete;

    arguments as_arguments() const {
        return {way, &x, &scales, has_zero_point ? &zero_points : nullptr, &y, has_options ? &options : nullptr};
    }
};

using change = std::function<void(given_call &)>;

struct named_change {
    const char *name;
    change apply;
};

const named_change changes[] = {
    {"nothing", [](given_call &) {}},
    {"shape", [](given_call &c) { c.x_shape[0] = c.y_shape[0] = 3; }},
    {"rank",
     [](given_call &c) {
         c.x.rank = c.y.rank = c.scales.rank = c.zero_points.rank = 1, c.x_strides[0] = c.y_strides[0] = 1;
     }},
    {"strides of x", [](given_call &c) { c.x_strides[0] = 128; }},
    {"strides of y", [](given_call &c) { c.y_strides[0] = 128; }},
    {"no strides", [](given_call &c) { c.x.strides = nullptr; }},
    {"x", [](given_call &c) { c.x.data = static_cast<float *>(c.x.data) + 8; }},
    {"y", [](given_call &c) { c.y.data = static_cast<int8_t *>(c.y.data) + 8; }},
    {"type of y", [](given_call &c) { c.y.dtype = QDQ_U8; }},
    {"type of x", [](given_call &c) { c.x.dtype = QDQ_BF16; }},
    {"type of scale", [](given_call &c) { c.scales.dtype = QDQ_F16; }},
    {"scale", [](given_call &c) { c.scales.data = c.scale + 2; }},
    {"contents of scale", [](given_call &c) { c.scale[0] = 3.0f; }},
    {"a scale of 0", [](given_call &c) { c.scale[0] = 0.0f; }},
    {"zero point", [](given_call &c) { c.zero_points.data = c.zero_point + 2; }},
    {"contents of zero point", [](given_call &c) { c.zero_point[0] = 11; }},
    {"type of zero point", [](given_call &c) { c.zero_points.dtype = QDQ_U8; }},
    {"no zero point", [](given_call &c) { c.has_zero_point = false; }},
    {"a scale a row", [](given_call &c) { c.operand_shape[0] = 4; }},
    {"no options", [](given_call &c) { c.has_options = false; }},
    {"mode", [](given_call &c) { c.options.scale_mode = QDQ_MULTIPLY; }},
    {"order of rounding", [](given_call &c) { c.options.quantize_zp = QDQ_ZP_BEFORE_ROUNDING; }},
    {"rounding", [](given_call &c) { c.options.rounding = QDQ_UP; }},
    {"range", [](given_call &c) { c.options.quant_min = -5, c.options.quant_max = 5; }},
    {"NaN", [](given_call &c) { c.options.nan = QDQ_NAN_ZERO; }},
    {"direction", [](given_call &c) { c.way = direction::dequantize, std::swap(c.x, c.y); }},
    {"direction's sign",
     [](given_call &c) { c.way = direction::dequantize, std::swap(c.x, c.y), c.options.dequantize_zp = QDQ_ZP_ADD; }},
};

class Repeated : public Api {
protected:
    const tensor_memory values = floats(QDQ_F32, {elements});

    // One call after a change, in the memory of all of them.
    void expect_right(const named_change &changed) {
        SCOPED_TRACE(changed.name);
        alignas(given_call) static unsigned char memory[sizeof(given_call)];
        static float floats_of[elements];
        static int8_t codes[elements];
        given_call &c = *new (memory) given_call;
        std::memcpy(floats_of, values.view().data, sizeof floats_of);
        floats_of[7] = std::numeric_limits<float>::quiet_NaN();
        for (int64_t i = 0; i < elements; i++) {
            codes[i] = static_cast<int8_t>(i * 7);
        }
        c.x.data = floats_of;
        c.y.data = codes;
        changed.apply(c);
        static unsigned char before[sizeof floats_of], actual[sizeof floats_of], expected[sizeof floats_of];
        const bool to_codes = c.way == direction::quantize;
        void *const results = to_codes ? static_cast<void *>(codes) : floats_of;
        const size_t bytes = to_codes ? sizeof codes : sizeof floats_of;
        std::memcpy(before, results, bytes);
        ASSERT_EQ(call(c.as_arguments()), QDQ_OK) << qdq_last_error();
        std::memcpy(actual, results, bytes);
        std::memcpy(results, before, bytes);
        call_reference(c.as_arguments());
        EXPECT_EQ(std::memcmp(actual, results, bytes), 0);
    }
};

TEST_F(Repeated, gives_its_own_result_after_a_call_that_differs_in_one_thing) {
    for (const named_change &first : changes) {
        SCOPED_TRACE(first.name);
        for (const named_change &second : changes) {
            expect_right(first);
            expect_right(first);
            expect_right(second);
            expect_right(first);
        }
    }
}

TEST_F(Repeated, gives_its_own_result_among_more_calls_than_are_kept) {
    for (int round = 0; round < 3; round++) {
        for (const named_change &each : changes) {
            expect_right(each);
        }
    }
}

TEST_F(Repeated, gives_its_own_result_on_another_target) {
    const named_change nothing = changes[0];
    for (int32_t i = 0; i < qdq_target_count(); i++) {
        if (qdq_target_usable(i) != 0 && qdq_target_device(i) == QDQ_DEVICE_HOST) {
            expect_right(nothing);
            ASSERT_EQ(qdq_force_target(qdq_target_name(i)), QDQ_OK);
            expect_right(nothing);
            qdq_force_target(nullptr);
        }
    }
}

TEST_F(Repeated, is_refused_once_the_zero_point_of_a_float_format_is_not_0) {
    const tensor_memory x = floats(QDQ_F32, {64}), scale = scales({}), y(QDQ_F8E4M3, {64});
    tensor_memory zero_point(QDQ_I8, {});
    zero_point.fill([](int64_t) { return 0; });
    const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_zero_point = zero_point.view(), c_y = y.view();
    const arguments given{direction::quantize, &c_x, &c_scale, &c_zero_point, &c_y, nullptr};
    EXPECT_EQ(call(given), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(call(given), QDQ_OK) << qdq_last_error();
    zero_point.fill([](int64_t) { return 1; });
    EXPECT_EQ(call(given), QDQ_INVALID_ARGUMENT);
}

TEST_F(Repeated, is_refused_in_the_other_direction) {
    const tensor_memory x = stored(QDQ_I8, {64}), scale = scales({}), y(QDQ_F32, {64});
    const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_y = y.view();
    EXPECT_EQ(qdq_dequantize(&c_x, &c_scale, nullptr, &c_y, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(qdq_quantize(&c_x, &c_scale, nullptr, &c_y, nullptr), QDQ_INVALID_ARGUMENT);
}

TEST_F(Repeated, is_refused_once_its_options_are_no_longer_valid) {
    const tensor_memory x = floats(QDQ_F32, {64}), scale = scales({}), y(QDQ_I8, {64});
    const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_y = y.view();
    qdq_options options{};
    const arguments given{direction::quantize, &c_x, &c_scale, nullptr, &c_y, &options};
    EXPECT_EQ(call(given), QDQ_OK) << qdq_last_error();
    options.stream = &options;
    EXPECT_EQ(call(given), QDQ_INVALID_ARGUMENT);
    options.stream = nullptr;
    set_raw(options.rounding, 9);
    EXPECT_EQ(call(given), QDQ_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace api_test
