#include "reference/dequantize.h"
#include "reference/quantize.h"

#include <gtest/gtest.h>

#include <vector>

namespace reference {
namespace {

using shape = std::vector<int64_t>;

template<typename T>
qdq_tensor view(std::vector<T> &data, qdq_dtype dtype, const shape &dimensions, const shape *strides = nullptr) {
    return {data.data(),
            dtype,
            static_cast<int32_t>(dimensions.size()),
            dimensions.data(),
            strides != nullptr ? strides->data() : nullptr,
            {}};
}

std::vector<int8_t> quantized_i8(std::vector<float> x, const shape &x_shape, std::vector<float> scale,
                                 const shape &scale_shape, qdq_options options = {}) {
    std::vector<int8_t> y(x.size());
    quantize(view(x, QDQ_F32, x_shape), view(scale, QDQ_F32, scale_shape), nullptr, view(y, QDQ_I8, x_shape), &options);
    return y;
}

TEST(Tensor, a_one_element_scale_is_per_tensor) {
    const std::vector<int8_t> expected{1, 2, 3, 4};
    EXPECT_EQ(quantized_i8({2, 4, 6, 8}, {2, 2}, {2}, {}), expected);
    EXPECT_EQ(quantized_i8({2, 4, 6, 8}, {2, 2}, {2}, {1}), expected);
    EXPECT_EQ(quantized_i8({2, 4, 6, 8}, {2, 2}, {2}, {1, 1}), expected);
}

TEST(Tensor, a_one_dimensional_scale_is_per_channel_along_axis) {
    qdq_options options{};
    EXPECT_EQ(quantized_i8({4, 4, 4, 4}, {2, 2}, {1, 2}, {2}, options), (std::vector<int8_t>{4, 4, 2, 2}));
    options.axis = 1;
    EXPECT_EQ(quantized_i8({4, 4, 4, 4}, {2, 2}, {1, 2}, {2}, options), (std::vector<int8_t>{4, 2, 4, 2}));
    options.axis = -2;
    EXPECT_EQ(quantized_i8({4, 4, 4, 4}, {2, 2}, {1, 2}, {2}, options), (std::vector<int8_t>{4, 4, 2, 2}));
}

TEST(Tensor, blocks_come_from_the_shapes_and_the_last_may_be_ragged) {
    EXPECT_EQ(quantized_i8({4, 4, 4, 4, 4}, {5}, {1, 2}, {2}), (std::vector<int8_t>{4, 4, 4, 2, 2}));
    EXPECT_EQ(quantized_i8({4, 4, 4, 4}, {2, 2}, {1, 2}, {2, 1}), (std::vector<int8_t>{4, 4, 2, 2}));
}

TEST(Tensor, a_given_block_size_counts_along_axis) {
    qdq_options options{};
    options.axis = 1;
    options.block_size = 2;
    EXPECT_EQ(quantized_i8({8, 8, 8, 8, 8, 8}, {2, 3}, {1, 2, 4, 8}, {2, 2}, options),
              (std::vector<int8_t>{8, 8, 4, 2, 2, 1}));
}

TEST(Tensor, the_zero_point_is_shared_or_shaped_like_the_scale) {
    std::vector<uint8_t> x{10, 10, 10, 10};
    std::vector<float> scale{1, 2};
    std::vector<uint8_t> zero_points{1, 2};
    std::vector<float> y(4);
    const shape x_shape{2, 2};
    const shape channel{2};
    const shape one{};
    const qdq_tensor per_channel = view(zero_points, QDQ_U8, channel);
    const qdq_tensor shared = view(zero_points, QDQ_U8, one);
    dequantize(view(x, QDQ_U8, x_shape), view(scale, QDQ_F32, channel), &per_channel, view(y, QDQ_F32, x_shape),
               nullptr);
    EXPECT_EQ(y, (std::vector<float>{9, 9, 16, 16}));
    dequantize(view(x, QDQ_U8, x_shape), view(scale, QDQ_F32, channel), &shared, view(y, QDQ_F32, x_shape), nullptr);
    EXPECT_EQ(y, (std::vector<float>{9, 9, 18, 18}));
}

TEST(Tensor, strides_may_transpose_reverse_and_repeat) {
    std::vector<float> x{1, 2, 3, 4, 5, 6};
    std::vector<float> scale{1};
    std::vector<int8_t> y(6);
    const shape x_shape{3, 2};
    const shape one{};
    const shape transposed{1, 3};
    quantize(view(x, QDQ_F32, x_shape, &transposed), view(scale, QDQ_F32, one), nullptr, view(y, QDQ_I8, x_shape),
             nullptr);
    EXPECT_EQ(y, (std::vector<int8_t>{1, 4, 2, 5, 3, 6}));

    const shape reversed{-2, 0};
    qdq_tensor from_the_end = view(x, QDQ_F32, x_shape, &reversed);
    from_the_end.data = x.data() + 4;
    quantize(from_the_end, view(scale, QDQ_F32, one), nullptr, view(y, QDQ_I8, x_shape), nullptr);
    EXPECT_EQ(y, (std::vector<int8_t>{5, 5, 3, 3, 1, 1}));
}

TEST(Tensor, packed_elements_fill_the_low_nibble_first_and_pad_with_zero) {
    std::vector<float> x{0, 1, -1};
    std::vector<float> scale{1};
    std::vector<uint8_t> y{0xff, 0xff};
    const shape x_shape{3};
    const shape one{};
    quantize(view(x, QDQ_F32, x_shape), view(scale, QDQ_F32, one), nullptr, view(y, QDQ_I4, x_shape), nullptr);
    EXPECT_EQ(y, (std::vector<uint8_t>{0x10, 0x0f}));

    std::vector<float> back(3);
    dequantize(view(y, QDQ_I4, x_shape), view(scale, QDQ_F32, one), nullptr, view(back, QDQ_F32, x_shape), nullptr);
    EXPECT_EQ(back, x);
}

TEST(Tensor, packed_elements_stand_in_the_order_that_is_asked_for) {
    std::vector<float> x(32);
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<float>(i % 16);
    }
    std::vector<float> scale{1};
    const shape x_shape{32};
    const shape one{};
    const auto packed = [&](qdq_packing packing) {
        std::vector<uint8_t> y(16);
        qdq_options options{};
        options.packing = packing;
        quantize(view(x, QDQ_F32, x_shape), view(scale, QDQ_F32, one), nullptr, view(y, QDQ_U4, x_shape), &options);
        std::vector<float> back(32);
        dequantize(view(y, QDQ_U4, x_shape), view(scale, QDQ_F32, one), nullptr, view(back, QDQ_F32, x_shape),
                   &options);
        EXPECT_EQ(back, x);
        return y;
    };
    EXPECT_EQ(packed(QDQ_LOW_FIRST)[1], 0x32);
    EXPECT_EQ(packed(QDQ_HIGH_FIRST)[1], 0x23);
    EXPECT_EQ(packed(QDQ_SPLIT_HALVES)[1], 0x11);  // elements 1 and 17
}

TEST(Tensor, an_empty_tensor_touches_nothing) {
    std::vector<float> scale{1};
    const shape empty{3, 0};
    const shape one{};
    const qdq_tensor x{nullptr, QDQ_F32, 2, empty.data(), nullptr, {}};
    const qdq_tensor y{nullptr, QDQ_I8, 2, empty.data(), nullptr, {}};
    quantize(x, view(scale, QDQ_F32, one), nullptr, y, nullptr);
}

}  // namespace
}  // namespace reference
