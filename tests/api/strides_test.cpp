// Layouts of x and y: any stride on an input, any that keeps elements apart on an output.
#include "call.h"

#include <cstring>

#include <algorithm>

namespace api_test {
namespace {

class Strides : public Api {};

// Extents around the vector widths and tile edges of the targets.
const std::vector<dimensions> matrices{{1, 1}, {2, 3}, {7, 5}, {16, 16}, {17, 33}, {64, 40}, {65, 129}, {200, 3}};

const dimensions dense{};

dimensions transposed(const dimensions &shape) { return {1, shape[0]}; }
dimensions reversed(const dimensions &shape) { return {-shape[1], -1}; }
dimensions every_other(const dimensions &shape) { return {2 * shape[1], 2}; }
dimensions padded_rows(const dimensions &shape) { return {shape[1] + 3, 1}; }

// Scales per tensor, per row, per column and per 2-D block of an m x n tensor.
std::vector<tensor_memory> every_granularity(const dimensions &shape) {
    const int64_t row_blocks = (shape[0] + 1) / 2, column_blocks = (shape[1] + 1) / 2;  // blocks of 2 x 2 at most
    return {scales({}), scales({shape[0], 1}), scales({1, shape[1]}), scales({row_blocks, column_blocks})};
}

template<typename StridesOf> void expect_for_x_layout(StridesOf &&strides_of) {
    for (const dimensions &shape : matrices) {
        for (const tensor_memory &scale : every_granularity(shape)) {
            expect_both_ways(shape, strides_of(shape), dense, scale);
        }
    }
}

template<typename StridesOf> void expect_for_y_layout(StridesOf &&strides_of) {
    for (const dimensions &shape : matrices) {
        for (const tensor_memory &scale : every_granularity(shape)) {
            expect_both_ways(shape, dense, strides_of(shape), scale);
        }
    }
}

TEST_F(Strides, a_dense_x_and_y) {
    expect_for_x_layout([](const dimensions &) { return dense; });
}
TEST_F(Strides, a_transposed_x) { expect_for_x_layout(transposed); }
TEST_F(Strides, a_transposed_y) { expect_for_y_layout(transposed); }
TEST_F(Strides, a_reversed_x) { expect_for_x_layout(reversed); }
TEST_F(Strides, a_reversed_y) { expect_for_y_layout(reversed); }
TEST_F(Strides, every_other_element_of_x) { expect_for_x_layout(every_other); }
TEST_F(Strides, every_other_element_of_y) { expect_for_y_layout(every_other); }
TEST_F(Strides, padded_rows_of_x) { expect_for_x_layout(padded_rows); }
TEST_F(Strides, padded_rows_of_y) { expect_for_y_layout(padded_rows); }
TEST_F(Strides, one_row_of_x_repeated) {
    expect_for_x_layout([](const dimensions &) { return dimensions{0, 1}; });
}
TEST_F(Strides, one_column_of_x_repeated) {
    expect_for_x_layout([](const dimensions &) { return dimensions{1, 0}; });
}
TEST_F(Strides, one_element_of_x_for_all) {
    expect_for_x_layout([](const dimensions &) { return dimensions{0, 0}; });
}
TEST_F(Strides, a_window_of_x_whose_rows_overlap) {
    expect_for_x_layout([](const dimensions &) { return dimensions{1, 1}; });
}

TEST_F(Strides, every_layout_of_x_with_every_layout_of_y) {
    const dimensions shape{17, 33};
    const std::vector<dimensions> layouts{
        dense, transposed(shape), reversed(shape), every_other(shape), padded_rows(shape), {-1, 17}, {1, -17}, {2, 40}};
    for (const dimensions &of_x : layouts) {
        for (const dimensions &of_y : layouts) {
            for (const tensor_memory &scale : every_granularity(shape)) {
                expect_both_ways(shape, of_x, of_y, scale);
            }
        }
    }
}

TEST_F(Strides, every_permutation_of_four_dimensions) {
    const dimensions shape{3, 4, 5, 6};
    const tensor_memory scale = scales({3, 2, 1, 3});
    std::vector<size_t> order{0, 1, 2, 3};
    do {
        dimensions strides(4);
        int64_t step = 1;
        for (size_t i = 4; i-- > 0;) {
            strides[order[i]] = step;
            step *= shape[order[i]];
        }
        expect_both_ways(shape, strides, dense, scale);
        expect_both_ways(shape, dense, strides, scale);
        expect_both_ways(shape, strides, strides, scale);
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(Strides, of_dimensions_with_one_element_do_not_count) {
    const dimensions anything{1000000, 7, -1000000, 1};
    expect_both_ways({1, 3, 1, 7}, anything, anything, scales({}));
}

TEST_F(Strides, of_a_y_without_overlap_whatever_their_order) {
    expect_both_ways({2, 6}, dense, {1, 2}, scales({}));
    expect_both_ways({2, 6}, dense, {-6, 1}, scales({}));
    expect_both_ways({2, 6}, dense, {7, -1}, scales({}));
}

TEST_F(Strides, of_the_scale_and_zero_point) {
    const dimensions shape{8, 12};
    qdq_options options{};
    options.axis = 1;
    for (int64_t stride : {1, 2, 5, -1, -3, 0}) {
        const tensor_memory scale = scales({12}, {stride}), zero_point = zero_points(QDQ_I8, {12}, {stride});
        SCOPED_TRACE("stride " + std::to_string(stride));
        expect_both_ways(shape, dense, dense, scale, &zero_point, options);
        const tensor_memory other = zero_points(QDQ_I8, {12}, {-stride});
        expect_both_ways(shape, dense, dense, scale, &other, options);
    }
    const tensor_memory scale = scales({4, 6}, {1, 4}), zero_point = zero_points(QDQ_I8, {4, 6}, {0, 1});
    expect_both_ways(shape, dense, dense, scale, &zero_point);
    expect_both_ways(shape, transposed(shape), dense, scale, &zero_point);
}

// Every other one of what lies there, in a call that could be one of a kernel's.
TEST_F(Strides, of_a_few_scales_among_others) {
    const tensor_memory x = floats(QDQ_F32, {4, 64}), all = scales({8});
    const int64_t count = 4, stride = 2;
    qdq_tensor scale = all.view();
    scale.shape = &count;
    scale.strides = &stride;
    const tensor_memory expected(QDQ_I8, {4, 64}), actual(QDQ_I8, {4, 64});
    const qdq_tensor c_x = x.view(), c_expected = expected.view(), c_actual = actual.view();
    call_reference({direction::quantize, &c_x, &scale, nullptr, &c_expected, nullptr});
    ASSERT_EQ(call({direction::quantize, &c_x, &scale, nullptr, &c_actual, nullptr}), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(std::memcmp(c_actual.data, c_expected.data, 4 * 64), 0);
}

TEST_F(Strides, of_packed_types_are_ignored) {
    const tensor_memory scale = scales({});
    const dimensions shape{3, 5}, nonsense{-1000000, 0};
    tensor_memory x = floats(QDQ_F32, shape), y(QDQ_I4, shape), expected = y;
    const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_expected = expected.view();
    qdq_tensor c_y = y.view();
    const qdq_status status = qdq_quantize(&c_x, &c_scale, nullptr, &c_y, nullptr);
    if (status == QDQ_UNSUPPORTED) {
        GTEST_SKIP() << qdq_last_error();
    }
    ASSERT_EQ(status, QDQ_OK) << qdq_last_error();
    call_reference({direction::quantize, &c_x, &c_scale, nullptr, &c_expected, nullptr});
    c_y.strides = nonsense.data();
    ASSERT_EQ(qdq_quantize(&c_x, &c_scale, nullptr, &c_y, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_TRUE(expected == y);
}

}  // namespace
}  // namespace api_test
