// Codes that become others in one call: drawn calls, byte by byte against the oracle's two, and what is refused.
#include "drawn_transcoding.h"

#include "support/targets.h"
#include "support/thinning.h"

#include <gmock/gmock.h>

namespace api_test {
namespace {

constexpr int calls = 3000;
constexpr int64_t largest = 3000000;

class Transcode : public Api {};

TEST_F(Transcode, gives_the_codes_of_dequantize_and_quantize) {
    const unsigned seed = test_support::drawn_seed();
    test_support::for_each_target([=](const std::string &) {
        for (unsigned i = 0; i < calls && !testing::Test::HasFailure(); i++) {
            test_support::random_choices random(seed * 1000003 + i);
            const drawn_call to(random, largest);
            if (to.way != direction::quantize || !test_support::is_taken(i)) {
                continue;
            }
            const drawn_call from(random, direction::dequantize, to.shape);
            SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(i) + ": " + from.description() +
                         "; " + to.description());
            qdq_set_num_threads(i % 2 == 0 ? 1 : 3);
            const tensor_memory actual = *to.y;
            ASSERT_EQ(transcode(from, to, actual), QDQ_OK) << qdq_last_error();
            EXPECT_TRUE(same_bytes(expected_codes(from, to), actual));
        }
    });
}

TEST_F(Transcode, rounds_stochastically_as_quantize_does) {
    test_support::for_each_target([=](const std::string &) {
        int stochastic = 0;
        for (unsigned i = 0; i < calls / 4 && !testing::Test::HasFailure(); i++) {
            test_support::random_choices random(3000017 + i);
            drawn_call to(random, largest);
            to.draw_stochastic();
            if (to.options.rounding != QDQ_STOCHASTIC || !test_support::is_taken(i)) {
                continue;
            }
            stochastic++;
            const drawn_call from(random, direction::dequantize, to.shape);
            SCOPED_TRACE("call " + std::to_string(i) + ": " + from.description() + "; " + to.description());
            qdq_set_num_threads(i % 2 == 0 ? 1 : 3);
            const tensor_memory actual = *to.y;
            ASSERT_EQ(transcode(from, to, actual), QDQ_OK) << qdq_last_error();
            EXPECT_TRUE(same_bytes(expected_codes(from, to), actual));
        }
        EXPECT_GT(stochastic, 0);
    });
}

TEST_F(Transcode, takes_blocks_that_end_within_bytes) {
    const tensor_memory x = stored(QDQ_U2, {57, 46}), x_scale = scales({19, 1}), y_scale = scales({}),
                        values(QDQ_F32, {57, 46}), expected(QDQ_I8, {57, 46}), y = expected;
    const qdq_tensor c_x = x.view(), c_x_scale = x_scale.view(), c_y_scale = y_scale.view(), c_values = values.view(),
                     c_expected = expected.view(), c_y = y.view();
    call_reference({direction::dequantize, &c_x, &c_x_scale, nullptr, &c_values, nullptr});
    call_reference({direction::quantize, &c_values, &c_y_scale, nullptr, &c_expected, nullptr});
    ASSERT_EQ(qdq_transcode(&c_x, &c_x_scale, nullptr, nullptr, &c_y, &c_y_scale, nullptr, nullptr), QDQ_OK);
    EXPECT_TRUE(same_bytes(expected, y));
}

// A run of elements is within a row.
TEST_F(Transcode, takes_a_zero_point_for_each_long_row) {
    const dimensions shape = {3, 4160}, each_row = {3, 1};
    const tensor_memory x = stored(QDQ_U8, shape), x_scale = scales(each_row), y_scale = floats(QDQ_F32, each_row),
                        x_zero = zero_points(QDQ_U8, each_row), y_zero = zero_points(QDQ_I32, each_row),
                        values(QDQ_F32, shape), expected(QDQ_I8, shape), y = expected;
    const qdq_tensor c_x = x.view(), c_x_scale = x_scale.view(), c_x_zero = x_zero.view(), c_y_scale = y_scale.view(),
                     c_y_zero = y_zero.view(), c_values = values.view(), c_expected = expected.view(), c_y = y.view();
    call_reference({direction::dequantize, &c_x, &c_x_scale, &c_x_zero, &c_values, nullptr});
    call_reference({direction::quantize, &c_values, &c_y_scale, &c_y_zero, &c_expected, nullptr});
    test_support::for_each_target([&](const std::string &) {
        ASSERT_EQ(qdq_transcode(&c_x, &c_x_scale, &c_x_zero, nullptr, &c_y, &c_y_scale, &c_y_zero, nullptr), QDQ_OK);
        EXPECT_TRUE(same_bytes(expected, y));
    });
}

// By some columns at a time: 256, 128, or 64 of 192; blocks of 16 columns and of 32 rows.
TEST_F(Transcode, takes_operands_of_columns) {
    for (const dimensions &shape : {dimensions{64, 512}, {9, 128}, {40, 192}, {3, 32, 256}}) {
        dimensions each_column = shape, blocks = shape;
        each_column[shape.size() - 2] = 1;
        blocks[shape.size() - 2] = (shape[shape.size() - 2] + 31) / 32;
        blocks.back() /= 16;
        SCOPED_TRACE(testing::PrintToString(shape));
        for (const bool from_columns : {false, true}) {
            const dimensions &of_x = from_columns ? each_column : blocks, &of_y = from_columns ? blocks : each_column;
            const tensor_memory x = stored(QDQ_I4, shape), x_scale = scales(of_x), y_scale = floats(QDQ_BF16, of_y),
                                x_zero = zero_points(QDQ_I8, of_x), y_zero = zero_points(QDQ_U8, of_y),
                                values(QDQ_F32, shape), expected(QDQ_U8, shape), y = expected;
            const qdq_tensor c_x = x.view(), c_x_scale = x_scale.view(), c_x_zero = x_zero.view(),
                             c_y_scale = y_scale.view(), c_y_zero = y_zero.view(), c_values = values.view(),
                             c_expected = expected.view(), c_y = y.view();
            call_reference({direction::dequantize, &c_x, &c_x_scale, &c_x_zero, &c_values, nullptr});
            call_reference({direction::quantize, &c_values, &c_y_scale, &c_y_zero, &c_expected, nullptr});
            test_support::for_each_target([&](const std::string &) {
                ASSERT_EQ(qdq_transcode(&c_x, &c_x_scale, &c_x_zero, nullptr, &c_y, &c_y_scale, &c_y_zero, nullptr),
                          QDQ_OK)
                    << qdq_last_error();
                EXPECT_TRUE(same_bytes(expected, y));
            });
        }
    }
}

// Blocks of 32 in i4 as a scale a row in i8.
class Refused : public Api {
protected:
    tensor_memory x_codes = stored(QDQ_I4, {4, 64}), y_codes{QDQ_I8, {4, 64}}, of_x = scales({4, 2}),
                  of_y = scales({4, 1});
    qdq_tensor x = x_codes.view(), y = y_codes.view(), x_scale = of_x.view(), y_scale = of_y.view();
    const tensor_memory before = y_codes;

    void expect_refused(qdq_status status, const char *message) {
        EXPECT_EQ(qdq_transcode(&x, &x_scale, nullptr, nullptr, &y, &y_scale, nullptr, nullptr), status);
        EXPECT_THAT(qdq_last_error(), testing::HasSubstr(message));
        EXPECT_EQ(y_codes, before);
    }
};

TEST_F(Refused, tensors_that_are_not_codes) {
    x.dtype = QDQ_F32;
    expect_refused(QDQ_INVALID_ARGUMENT, "qdq_transcode, dequantizing x: x: ");
    x.dtype = QDQ_I4;
    y.dtype = QDQ_F32;
    expect_refused(QDQ_INVALID_ARGUMENT, "qdq_transcode, quantizing y: y: ");
}

TEST_F(Refused, scales_of_another_shape) {
    const int64_t wrong[] = {3, 2};
    x_scale.shape = wrong;
    expect_refused(QDQ_INVALID_ARGUMENT, "qdq_transcode, dequantizing x: scale: ");
    x_scale = of_x.view();
    y_scale.shape = wrong;
    expect_refused(QDQ_INVALID_ARGUMENT, "qdq_transcode, quantizing y: scale: ");
}

TEST_F(Refused, a_y_of_another_shape) {
    const int64_t wrong[] = {64, 4};
    y.shape = wrong;
    expect_refused(QDQ_INVALID_ARGUMENT, "qdq_transcode, quantizing y: ");
}

TEST_F(Refused, a_y_that_overlaps_an_input) {
    y.data = x.data;
    expect_refused(QDQ_INVALID_ARGUMENT, "qdq_transcode: y: it overlaps x");
    std::vector<float> own(256);  // y is longer than a scale, and would reach what lies behind
    y.data = x_scale.data = own.data();
    expect_refused(QDQ_INVALID_ARGUMENT, "qdq_transcode: y: it overlaps x's scale");
    x_scale = of_x.view();
    y_scale.data = own.data();
    expect_refused(QDQ_INVALID_ARGUMENT, "qdq_transcode, quantizing y: y: it overlaps scale");
}

TEST_F(Refused, missing_tensors_and_data) {
    y.data = nullptr;
    expect_refused(QDQ_INVALID_ARGUMENT, "qdq_transcode: y: data is NULL");
    EXPECT_EQ(qdq_transcode(nullptr, &x_scale, nullptr, nullptr, &y, &y_scale, nullptr, nullptr), QDQ_INVALID_ARGUMENT);
    EXPECT_STREQ(qdq_last_error(), "qdq_transcode: x: NULL");
}

}  // namespace
}  // namespace api_test
