#include "call.h"

#include "reference/dequantize.h"
#include "reference/quantize.h"

namespace api_test {

namespace {

void expect_plan_gives(const tensor_memory &expected, arguments given, tensor_memory y) {
    qdq_tensor x_layout = *given.x, y_layout = y.view();
    const void *x_data = x_layout.data;
    void *y_data = y_layout.data;
    x_layout.data = nullptr;
    y_layout.data = nullptr;
    given.x = &x_layout;
    given.y = &y_layout;
    qdq_plan plan;
    ASSERT_EQ(prepare(&plan, given), QDQ_OK) << qdq_last_error();
    ASSERT_EQ(qdq_run(&plan, x_data, y_data, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_TRUE(same_bytes(expected, y)) << "through a plan";
}

}  // namespace

testing::AssertionResult same_bytes(const tensor_memory &expected, const tensor_memory &actual) {
    if (expected == actual) {
        return testing::AssertionSuccess();
    }
    const std::vector<uint32_t> wanted = expected.codes(), got = actual.codes();
    for (size_t i = 0; i < wanted.size(); i++) {
        if (wanted[i] != got[i]) {
            return testing::AssertionFailure()
                   << std::hex << "element 0x" << i << " is 0x" << got[i] << ", not 0x" << wanted[i];
        }
    }
    return testing::AssertionFailure() << "bytes outside the elements have changed";
}

std::string name_of(direction way) { return way == direction::quantize ? "quantize" : "dequantize"; }

qdq_status call(const arguments &given) {
    const auto function = given.way == direction::quantize ? qdq_quantize : qdq_dequantize;
    return function(given.x, given.scale, given.zero_point, given.y, given.options);
}

qdq_status prepare(qdq_plan *plan, const arguments &given) {
    const auto function = given.way == direction::quantize ? qdq_plan_quantize : qdq_plan_dequantize;
    return function(plan, given.x, given.scale, given.zero_point, given.y, given.options);
}

void call_reference(const arguments &given) {
    const auto function = given.way == direction::quantize ? reference::quantize : reference::dequantize;
    const qdq_options defaults{};
    function(*given.x, *given.scale, given.zero_point, *given.y, given.options != nullptr ? given.options : &defaults);
}

void expect_reference_result(direction way, const tensor_memory &x, const tensor_memory &scale,
                             const tensor_memory *zero_point, const tensor_memory &y, const qdq_options &options) {
    SCOPED_TRACE(name_of(way));
    tensor_memory expected = y, actual = y;
    const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_expected = expected.view(), c_actual = actual.view();
    const qdq_tensor c_zero_point = zero_point != nullptr ? zero_point->view() : qdq_tensor{};
    arguments given{way, &c_x, &c_scale, zero_point != nullptr ? &c_zero_point : nullptr, &c_expected, &options};
    call_reference(given);

    given.y = &c_actual;
    ASSERT_EQ(call(given), QDQ_OK) << qdq_last_error();
    EXPECT_TRUE(same_bytes(expected, actual));
    expect_plan_gives(expected, given, y);
}

void expect_both_ways(const dimensions &shape, const dimensions &x_strides, const dimensions &y_strides,
                      const tensor_memory &scale, const tensor_memory *zero_point, const qdq_options &options) {
    SCOPED_TRACE("shape " + testing::PrintToString(shape) + ", strides of x " + testing::PrintToString(x_strides) +
                 ", of y " + testing::PrintToString(y_strides));
    expect_reference_result(direction::quantize, floats(QDQ_F32, shape, x_strides), scale, zero_point,
                            tensor_memory(QDQ_I8, shape, y_strides), options);
    expect_reference_result(direction::dequantize, stored(QDQ_I8, shape, x_strides), scale, zero_point,
                            tensor_memory(QDQ_F32, shape, y_strides), options);
}

void Api::TearDown() {
    qdq_force_target(nullptr);
    qdq_set_num_threads(0);
    qdq_set_parallel_for(nullptr, nullptr);
}

}  // namespace api_test
