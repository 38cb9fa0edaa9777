// Ranks 0 to 8 and tensors without elements.
#include "call.h"

#include "conformance/supported.h"

namespace api_test {
namespace {

class Ranks : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(, Ranks, testing::Range(0, 9));

dimensions shape_of_rank(int rank) {
    const dimensions all{2, 3, 2, 1, 3, 2, 2, 5};
    return {all.end() - rank, all.end()};
}

TEST_P(Ranks, per_tensor) { expect_both_ways(shape_of_rank(GetParam()), {}, {}, scales({})); }

TEST_P(Ranks, one_scale_for_each_element) {
    const dimensions shape = shape_of_rank(GetParam());
    const tensor_memory zero_point = zero_points(QDQ_I8, shape);
    expect_both_ways(shape, {}, {}, scales(shape), &zero_point);
}

TEST_P(Ranks, alternating_shared_and_own_dimensions) {
    const dimensions shape = shape_of_rank(GetParam());
    for (size_t parity : {0u, 1u}) {
        dimensions scale = shape;
        for (size_t d = parity; d < scale.size(); d += 2) {
            scale[d] = 1;
        }
        expect_both_ways(shape, {}, {}, scales(scale));
    }
}

TEST_P(Ranks, ragged_blocks_everywhere) {
    const dimensions shape(static_cast<size_t>(GetParam()), 3), blocks(static_cast<size_t>(GetParam()), 2);
    expect_both_ways(shape, {}, {}, scales(blocks));
}

TEST_P(Ranks, every_axis) {
    const dimensions shape = shape_of_rank(GetParam());
    for (int axis = -GetParam(); axis < GetParam(); axis++) {
        const size_t d = static_cast<size_t>(axis < 0 ? axis + GetParam() : axis);
        qdq_options options{};
        options.axis = axis;
        expect_both_ways(shape, {}, {}, scales({shape[d]}), nullptr, options);
    }
}

TEST_P(Ranks, every_stride_negative) {
    const dimensions shape = shape_of_rank(GetParam());
    dimensions strides(shape.size());
    int64_t step = -1;
    for (size_t d = shape.size(); d-- > 0;) {
        strides[d] = step;
        step *= shape[d];
    }
    expect_both_ways(shape, strides, {}, scales({}));
    expect_both_ways(shape, {}, strides, scales({}));
}

TEST(Scalar, needs_no_shape) {
    float x = 3.0f, scale = 0.5f;
    int8_t y = 0;
    const qdq_tensor c_x{&x, QDQ_F32, 0, nullptr, nullptr, {}}, c_scale{&scale, QDQ_F32, 0, nullptr, nullptr, {}};
    const qdq_tensor c_y{&y, QDQ_I8, 0, nullptr, nullptr, {}};
    ASSERT_EQ(qdq_quantize(&c_x, &c_scale, nullptr, &c_y, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(y, 6);
}

TEST(Lengths, around_every_vector_width) {
    for (int64_t n = 1; n <= 300; n++) {
        expect_both_ways({n}, {}, {}, scales({}));
    }
}

TEST(Lengths, at_every_offset_from_an_aligned_address) {
    const tensor_memory scale = scales({}), x = floats(QDQ_F32, {200});
    const qdq_tensor c_scale = scale.view();
    for (int64_t offset = 0; offset < 64; offset++) {
        tensor_memory y(QDQ_I8, {200}), expected = y;
        const dimensions shape{100};
        qdq_tensor c_x = x.view(), c_y = y.view(), c_expected = expected.view();
        for (qdq_tensor *view : {&c_x, &c_y, &c_expected}) {
            view->shape = shape.data();
        }
        c_x.data = static_cast<float *>(c_x.data) + offset;
        c_y.data = static_cast<int8_t *>(c_y.data) + offset;
        c_expected.data = static_cast<int8_t *>(c_expected.data) + offset;
        call_reference({direction::quantize, &c_x, &c_scale, nullptr, &c_expected, nullptr});
        ASSERT_EQ(call({direction::quantize, &c_x, &c_scale, nullptr, &c_y, nullptr}), QDQ_OK) << qdq_last_error();
        EXPECT_TRUE(expected == y) << offset;
    }
}

// Short rows with an operand each are computed as one long row, a part at a time, as many as there is room for. In
// split halves no part may end within 32 codes, as one of 204 rows of 10 would.
TEST(Lengths, of_rows_in_split_halves) {
    if (!supported::has_row(true, QDQ_F32, QDQ_I4) || !supported::has_row(false, QDQ_I4, QDQ_F32)) {
        GTEST_SKIP() << "this build has no i4";
    }
    qdq_options options{};
    options.packing = QDQ_SPLIT_HALVES;
    const int64_t rows = 1600;
    const tensor_memory scale = scales({rows, 1});
    for (int64_t columns = 1; columns <= 40; columns++) {
        const dimensions shape{rows, columns};
        SCOPED_TRACE(columns);
        const tensor_memory x = floats(QDQ_F32, shape), codes = stored(QDQ_I4, shape);
        expect_reference_result(direction::quantize, x, scale, nullptr, tensor_memory(QDQ_I4, shape), options);
        expect_reference_result(direction::dequantize, codes, scale, nullptr, tensor_memory(QDQ_F32, shape), options);
    }
}

class Empty : public testing::TestWithParam<direction> {
protected:
    // An x and y of `shape`, without data when `data` is false.
    static void expect_success(const dimensions &shape, const tensor_memory &scale, bool data,
                               const qdq_options &options = {}) {
        SCOPED_TRACE(testing::PrintToString(shape));
        const bool quantizes = GetParam() == direction::quantize;
        const tensor_memory x(quantizes ? QDQ_F32 : QDQ_I8, shape), y(quantizes ? QDQ_I8 : QDQ_F32, shape), before = y;
        qdq_tensor c_x = x.view(), c_y = y.view();
        const qdq_tensor c_scale = scale.view();
        if (!data) {
            c_x.data = c_y.data = nullptr;
        }
        const arguments given{GetParam(), &c_x, &c_scale, nullptr, &c_y, &options};
        EXPECT_EQ(call(given), QDQ_OK) << qdq_last_error();
        qdq_plan plan;
        ASSERT_EQ(prepare(&plan, given), QDQ_OK) << qdq_last_error();
        EXPECT_EQ(qdq_run(&plan, c_x.data, c_y.data, nullptr), QDQ_OK) << qdq_last_error();
        EXPECT_TRUE(before == y);
    }
};

INSTANTIATE_TEST_SUITE_P(, Empty, testing::Values(direction::quantize, direction::dequantize),
                         [](const auto &info) { return name_of(info.param); });

TEST_P(Empty, succeeds_and_touches_nothing) {
    for (const dimensions &shape : {dimensions{0}, {0, 5}, {5, 0}, {3, 0, 4}, {0, 0}, {1, 1, 1, 1, 1, 1, 1, 0}}) {
        expect_success(shape, scales({}), true);
    }
}

TEST_P(Empty, needs_no_data) {
    for (const dimensions &shape : {dimensions{0}, {0, 5}, {5, 0}}) {
        expect_success(shape, scales({}), false);
    }
}

TEST_P(Empty, with_a_scale_per_channel) {
    qdq_options options{};
    options.axis = 1;
    expect_success({0, 5}, scales({5}), false, options);
    expect_success({5, 0}, scales({0}), false, options);
    expect_success({0, 5}, scales({0, 5}), false);
    expect_success({0, 5}, scales({1, 5}), false);
    expect_success({0, 0}, scales({1, 0}), false);
}

TEST_P(Empty, with_a_scale_per_block) {
    qdq_options options{};
    options.axis = 1;
    options.block_size = 2;
    expect_success({0, 5}, scales({0, 3}), false, options);
    expect_success({0, 5}, scales({1, 3}), false, options);
    expect_success({5, 0}, scales({5, 0}), false, options);
    expect_success({5, 0}, scales({5, 1}), false, options);
    expect_success({0, 6}, scales({0, 2}), false);
}

TEST_P(Empty, of_a_huge_shape) {
    const int64_t huge = int64_t{1} << 62;
    const bool quantizes = GetParam() == direction::quantize;
    const dimensions shape{huge, huge, 0};
    const qdq_tensor x{nullptr, quantizes ? QDQ_F32 : QDQ_I8, 3, shape.data(), nullptr, {}};
    const qdq_tensor y{nullptr, quantizes ? QDQ_I8 : QDQ_F32, 3, shape.data(), nullptr, {}};
    const tensor_memory scale = scales({});
    const qdq_tensor c_scale = scale.view();
    EXPECT_EQ(call({GetParam(), &x, &c_scale, nullptr, &y, nullptr}), QDQ_OK) << qdq_last_error();
}

}  // namespace
}  // namespace api_test
