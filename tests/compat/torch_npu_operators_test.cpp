// torch_npu's npu_anti_quant, npu_dynamic_quant and npu_dynamic_mx_quant: their rules, their documents' samples, and
// agreement with the functions of CANN that op-plugin calls, which are tested against the oracle.
#include "acl_tensor.h"
#include "allocations.h"
#include "cases.h"

#include <qdq/compat/torch_npu.hpp>

#include <cmath>

namespace compat_test {
namespace {

using namespace qdq::torch_npu;
using qdq::dtype;
using qdq::none;

template<typename Results> dimensions shape_of(const Results &y) {
    return dimensions(y.shape().begin(), y.shape().end());
}

template<typename T> std::vector<T> elements(const qdq::compat::owned_tensor &y) {
    const auto all = y.values<T>();
    EXPECT_TRUE(all) << all.message();
    return all ? std::vector<T>(all->begin(), all->end()) : std::vector<T>{};
}

std::vector<float> as_floats(const qdq::compat::owned_tensor &y) {
    const auto wide = y.to(dtype::f32);
    return elements<float>(wide);
}

class NpuOperators : public testing::Test {
protected:
    const std::vector<float> memory = std::vector<float>(4096, 1.0f);
    Tensor of(const dimensions &shape, dtype type = dtype::f16) const { return {memory.data(), type, shape}; }
};

// npu_anti_quant.

TEST_F(NpuOperators, add_an_offset_and_multiply_as_documented) {
    const std::vector<int8_t> x{1, 2, 3, 4};
    const auto scale = tensor({2}), offset = tensor({2});
    const auto y = npu_anti_quant(x, scale, {.offset = offset, .dst_dtype = float16});
    ASSERT_TRUE(y) << y.message();
    EXPECT_EQ(y->dtype(), dtype::f16);
    EXPECT_EQ(as_floats(*y), (std::vector<float>{6, 8, 10, 12}));
    const auto plain = npu_anti_quant(x, scale);
    EXPECT_EQ(plain->dtype(), dtype::f16);
    EXPECT_EQ(npu_anti_quant(x, scale, {.dst_dtype = bfloat16})->dtype(), dtype::bf16);
}

TEST_F(NpuOperators, take_eight_int4_out_of_an_int32) {
    const std::vector<int32_t> x{0x76543210, std::bit_cast<int32_t>(0xfedcba98u)};
    const auto y = npu_anti_quant({x, {2, 1}}, tensor({1}), {.src_dtype = quint4x2});
    ASSERT_TRUE(y) << y.message();
    EXPECT_EQ(shape_of(*y), (dimensions{2, 8}));
    EXPECT_EQ(as_floats(*y), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1}));
    EXPECT_TRUE(refused(npu_anti_quant({x, {2, 1}, {2, 1}}, tensor({1})).error(), {"x: its strides are not dense"}));
}

// 1, 2, -1.125, the largest, the least, infinity and NaN, by HiFloat8's document.
TEST_F(NpuOperators, read_hifloat8_from_bytes) {
    const std::vector<uint8_t> x{0x08, 0x10, 0x89, 0x6e, 0x01, 0x00, 0x6f, 0x80};
    for (const auto &how : {anti_quant_keywords{}, {.src_dtype = hifloat8}, {.src_dtype = 290}}) {
        const auto y = npu_anti_quant(x, tensor({0.5f}), how);
        ASSERT_TRUE(y) << y.message();
        EXPECT_EQ(y->dtype(), dtype::f16);
        auto values = as_floats(*y);
        EXPECT_TRUE(std::isnan(values.back()));
        values.pop_back();
        EXPECT_EQ(values, (std::vector<float>{0.5f, 1, -0.5625f, 16384, 0x1p-23f, 0, INFINITY}));
    }
    EXPECT_TRUE(npu_anti_quant(x, tensor({0.5f}), {.offset = tensor({0})}));
    EXPECT_TRUE(refused(npu_anti_quant(x, tensor({0.5f}), {.offset = tensor({1})}).error(), {"offset: "}));
    EXPECT_TRUE(refused(npu_anti_quant(x, of({1}, dtype::bf16)).error(), {"scale: dtype bf16 is not f32"}));
    EXPECT_TRUE(refused(npu_anti_quant(x, tensor({1}), {.src_dtype = ScalarType::Byte}).error(),
                        {"torch_npu.npu_anti_quant: src_dtype: uint8 is not x's, hifloat8"}));
    EXPECT_TRUE(refused(npu_anti_quant(of({8}, dtype::f8e4m3), tensor({1}), {.src_dtype = hifloat8}).error(),
                        {"src_dtype: hifloat8 is not x's, float8_e4m3fn"}));
    EXPECT_TRUE(refused(npu_anti_quant(x, tensor({1}), {.dst_dtype = hifloat8}).error(),
                        {"dst_dtype: hifloat8 is not one of float16, bfloat16"}));
}

TEST_F(NpuOperators, dequantize_a_scalar) {
    for (const auto dtype : {dtype::i8, dtype::u8}) {
        const std::vector<uint8_t> codes{0x08};  // 1 of HiFloat8
        const auto y = npu_anti_quant({codes.data(), dtype, {}}, tensor({0.5f}), {.dst_dtype = bfloat16});
        ASSERT_TRUE(y) << y.message();
        EXPECT_TRUE(y->shape().empty());
        EXPECT_EQ(as_floats(*y), std::vector<float>{dtype == dtype::i8 ? 4.0f : 0.5f});
    }
}

TEST_F(NpuOperators, refuse_what_anti_quant_does_not_take) {
    const auto f32 = [&](const dimensions &shape) { return of(shape, dtype::f32); };
    const auto i8 = of({2, 4}, dtype::i8);
    EXPECT_TRUE(refused(npu_anti_quant(none, f32({1})).error(), {"torch_npu.npu_anti_quant: x: none"}));
    EXPECT_TRUE(refused(npu_anti_quant(i8, none).error(), {"scale: none"}));
    EXPECT_TRUE(refused(npu_anti_quant(i8, f32({})).error(), {"scale: 0 dimensions are fewer than 1"}));
    EXPECT_TRUE(refused(npu_anti_quant(of({}, dtype::i8), f32({8})).error(), {"scale: shape [8]"}));
    EXPECT_TRUE(refused(npu_anti_quant(of({}, dtype::i32), f32({1})).error(),
                        {"x: a scalar, where int32 has a last dimension"}));
    EXPECT_TRUE(refused(npu_anti_quant(of({2, 4}, dtype::u16), f32({1})).error(),
                        {"x: dtype u16 is not one of i8, i32, f8e5m2, f8e4m3, u8 (hifloat8)"}));
    EXPECT_TRUE(refused(npu_anti_quant(i8, of({1}, dtype::f16)).error(), {"scale: dtype f16 is not one of f32, bf16"}));
    EXPECT_TRUE(refused(npu_anti_quant(of({2, 4}, dtype::f8e5m2), of({1}, dtype::bf16)).error(),
                        {"scale: dtype bf16 is not f32, as for float8"}));
    EXPECT_TRUE(
        refused(npu_anti_quant(i8, f32({1}), {.offset = of({1}, dtype::bf16)}).error(), {"offset: dtype bf16"}));
    EXPECT_TRUE(refused(npu_anti_quant(i8, f32({1}), {.offset = f32({4})}).error(), {"offset: ", "[4]", "[1]"}));
    EXPECT_TRUE(refused(npu_anti_quant(i8, f32({1}), {.dst_dtype = ScalarType::Float}).error(),
                        {"dst_dtype: float32 is not one of float16, bfloat16"}));
    EXPECT_TRUE(refused(npu_anti_quant(i8, f32({1}), {.dst_dtype = -10}).error(), {"dst_dtype: ScalarType -10"}));
    EXPECT_TRUE(refused(npu_anti_quant(i8, f32({1}), {.src_dtype = quint4x2}).error(),
                        {"src_dtype: quint4x2 is not x's, int8"}));
    EXPECT_TRUE(refused(npu_anti_quant(of({2, 1}, dtype::i32), f32({1}), {.src_dtype = int8}).error(),
                        {"src_dtype: int8 is not x's, quint4x2"}));
    for (const dimensions &shape : {dimensions{3}, {2, 4}, {4, 1}, {1, 1, 4}}) {
        EXPECT_TRUE(refused(npu_anti_quant(i8, f32(shape)).error(), {"scale: shape", "[2, 4]"}));
    }
    for (const dimensions &shape : {dimensions{1}, {4}, {2}, {1, 4}, {2, 1}, {1, 1}}) {
        EXPECT_TRUE(npu_anti_quant(i8, f32(shape)));
    }
    for (const int64_t number : {256 + 27, 15}) {
        EXPECT_EQ(npu_anti_quant(i8, f32({1}), {.dst_dtype = number, .src_dtype = 256 + 2})->dtype(), dtype::bf16);
    }
}

// npu_dynamic_quant.

TEST_F(NpuOperators, scale_rows_as_documented) {
    const auto x =
        tensor(std::vector<float>{0.7261f, 0.3726f, 0.9126f, 0.9023f, 0.9990f, 0.1279f, 0.8628f, 0.6240f, 0.9028f},
               {3, 3})
            .half();
    const auto results = npu_dynamic_quant(x);
    ASSERT_TRUE(results) << results.message();
    const auto &[y, scale] = *results;
    EXPECT_EQ(elements<int8_t>(y), (std::vector<int8_t>{101, 52, 127, 115, 127, 16, 121, 88, 127}));
    EXPECT_EQ(shape_of(y), (dimensions{3, 3}));
    EXPECT_EQ(shape_of(scale), (dimensions{3}));
    EXPECT_NEAR(elements<float>(scale)[1], 0.0079, 5e-5);
    const auto smooth = tensor({0.8042f, 0.0884f, 0.8901f}).half();
    const auto other =
        tensor(std::vector<float>{0.6680f, 0.9492f, 0.0845f, 0.1924f, 0.5278f, 0.1484f, 0.6631f, 0.9497f, 0.0957f},
               {3, 3})
            .half();
    const auto smoothed = npu_dynamic_quant(other, {.smooth_scales = smooth});
    ASSERT_TRUE(smoothed) << smoothed.message();
    EXPECT_EQ(elements<int8_t>(std::get<0>(*smoothed)), (std::vector<int8_t>{127, 20, 18, 127, 38, 108, 127, 20, 20}));
}

TEST_F(NpuOperators, give_codes_of_dst_type) {
    const auto shapes = [&](type_number type) {
        const auto results = npu_dynamic_quant(of({2, 8}), {.dst_type = type});
        EXPECT_TRUE(results) << results.message();
        const auto &y = std::get<0>(*results);
        return std::pair(y.dtype(), shape_of(y));
    };
    for (const int64_t number : {int64_t{1}, int64_t{256 + 2}}) {
        EXPECT_EQ(shapes(number), std::pair(dtype::i8, dimensions{2, 8}));
    }
    EXPECT_EQ(shapes(quint4x2), std::pair(dtype::i32, dimensions{2, 1}));
    EXPECT_EQ(shapes(float8_e5m2), std::pair(dtype::f8e5m2, dimensions{2, 8}));
    EXPECT_EQ(shapes(256 + 36), std::pair(dtype::f8e4m3, dimensions{2, 8}));
    EXPECT_EQ(shapes(hifloat8), std::pair(dtype::u8, dimensions{2, 8}));
    for (const type_number type : {type_number(qint8), type_number(ScalarType::Float), type_number(256 + 37)}) {
        EXPECT_TRUE(refused(npu_dynamic_quant(of({2, 8}), {.dst_type = type}).error(),
                            {"dst_type: ", "is not one of int8, quint4x2, float8_e5m2, float8_e4m3fn, hifloat8"}));
    }
    EXPECT_TRUE(refused(npu_dynamic_quant(of({2, 12}), {.dst_type = quint4x2}).error(), {"last dimension, 12", "8"}));
}

// Numbers of types that op-plugin's document lists: PyTorch's, and 256 and CANN's.
TEST_F(NpuOperators, take_no_other_numbers_of_types) {
    const auto x = of({2, 64});
    const std::vector<int64_t> integers{1, 16, 258, 285}, floats{23, 24, 291, 292}, float4{296, 297};
    const auto is_in = [](const std::vector<int64_t> &list, int64_t number) {
        return std::ranges::find(list, number) != list.end();
    };
    for (int64_t number = -1; number <= 600; number++) {
        EXPECT_EQ(bool(npu_dynamic_quant(x, {.dst_type = number})),
                  is_in(integers, number) || is_in(floats, number) || number == 290)
            << number;
        EXPECT_EQ(bool(npu_dynamic_quant_asymmetric(x, {.dst_type = number})), is_in(integers, number)) << number;
        EXPECT_EQ(bool(npu_dynamic_mx_quant(x, {.dst_type = number})), is_in(floats, number) || is_in(float4, number))
            << number;
    }
}

// 32768 is the largest: the scales are 1 and 2^-10. 1.0625 is a tie.
TEST_F(NpuOperators, scale_rows_by_the_largest_of_hifloat8) {
    const auto x = tensor(std::vector<float>{32768, 1, -1.0625f, 0, 2, -32, 0.5f, -0.0009765625f}, {2, 4}).half();
    for (const char *const mode : {"pertoken", "pertensor", "perchannel"}) {
        EXPECT_TRUE(npu_dynamic_quant(x, {.dst_type = hifloat8, .quant_mode = mode}));
    }
    const auto results = npu_dynamic_quant(x, {.dst_type = hifloat8});
    ASSERT_TRUE(results) << results.message();
    const auto &[y, scale] = *results;
    EXPECT_EQ(elements<float>(scale), (std::vector<float>{1, 0x1p-10f}));
    EXPECT_EQ(elements<uint8_t>(y), (std::vector<uint8_t>{0x6e, 0x08, 0x89, 0, 0x66, 0xee, 0x62, 0x88}));
}

// 30 / 15 and 4 / 15 * 3.75.
TEST_F(NpuOperators, scale_rows_of_hifloat8_by_dst_type_max) {
    const std::vector<float> numbers{30, -15, 0, 1, 4, 2, -1, 0.5f, 0, 0, 0, 0};
    const auto x = tensor(numbers, {3, 4}).half();
    const auto results = npu_dynamic_quant(x, {.dst_type = hifloat8, .dst_type_max = 15});
    ASSERT_TRUE(results) << results.message();
    EXPECT_EQ(elements<float>(std::get<1>(*results)), (std::vector<float>{2, 4.0f / 15, 1}));
    const auto restored = npu_anti_quant(std::get<0>(*results), tensor(std::vector<float>{2}), {.dst_dtype = float16});
    ASSERT_TRUE(restored) << restored.message();
    const std::vector<float> back = as_floats(*restored);
    EXPECT_EQ(std::vector<float>(back.begin(), back.begin() + 4), (std::vector<float>{30, -15, 0, 1}));
    const auto smoothed = npu_dynamic_quant(
        x,
        {.smooth_scales = tensor(std::vector<float>{0.5f, 1, 1, 1}).half(), .dst_type = hifloat8, .dst_type_max = 15});
    ASSERT_TRUE(smoothed) << smoothed.message();
    EXPECT_EQ(elements<float>(std::get<1>(*smoothed)), (std::vector<float>{1, 2.0f / 15, 1}));
    const auto columns = npu_dynamic_quant(x, {.dst_type = hifloat8, .quant_mode = "perchannel", .dst_type_max = 0.5});
    ASSERT_TRUE(columns) << columns.message();
    EXPECT_EQ(elements<float>(std::get<1>(*columns)), (std::vector<float>{60, 30, 2, 2}));
    for (const double none : {-1.0, 32769.0, std::nan("")}) {
        EXPECT_TRUE(refused(npu_dynamic_quant(x, {.dst_type = hifloat8, .dst_type_max = none}).error(),
                            {"torch_npu.npu_dynamic_quant: dst_type_max: ", "is not in 0..32768"}));
        EXPECT_FALSE(npu_dynamic_quant_asymmetric(x, {.dst_type_max = none}));
    }
}

TEST_F(NpuOperators, do_without_dst_type_max_as_by_the_default) {
    random_bits random{6};
    for (int i = 0; i < 200 && !HasFailure(); i++) {
        const tensor_memory x = random_floats(random, QDQ_BF16, {3, 8}, layout::dense);
        const char *const mode = std::vector<const char *>{"pertoken", "pertensor", "perchannel"}[size_t(i % 3)];
        const auto [expected, scales] = *npu_dynamic_quant(view(x), {.dst_type = hifloat8, .quant_mode = mode});
        for (const double largest : {32768.0, 1e-7}) {  // the second counts as 0
            const auto [y, s] =
                *npu_dynamic_quant(view(x), {.dst_type = hifloat8, .quant_mode = mode, .dst_type_max = largest});
            EXPECT_EQ(elements<uint8_t>(y), elements<uint8_t>(expected));
            EXPECT_EQ(0, std::memcmp(s.data(), scales.data(), elements<float>(scales).size() * sizeof(float)));
        }
        const auto of_others = *npu_dynamic_quant(view(x), {.quant_mode = mode, .dst_type_max = 3});
        EXPECT_EQ(elements<int8_t>(std::get<0>(of_others)),
                  elements<int8_t>(std::get<0>(*npu_dynamic_quant(view(x), {.quant_mode = mode}))));
    }
}

TEST_F(NpuOperators, refuse_what_dynamic_quant_does_not_take) {
    const std::vector<int32_t> ends{1, 6}, falls{4, 1}, early{1, 5}, late{1, 7};
    const auto x = of({2, 3, 4});
    const auto groups = [&](const std::vector<int32_t> &at) {
        return npu_dynamic_quant(x, {.smooth_scales = of({2, 4}), .group_index = at});
    };
    EXPECT_TRUE(groups(ends)) << groups(ends).message();
    for (const auto &wrong : {falls, early, late}) {
        EXPECT_TRUE(refused(groups(wrong).error(), {"torch_npu.npu_dynamic_quant: group_index: element 1"}));
    }
    EXPECT_TRUE(refused(groups({6}).error(), {"group_index: ", "[1]", "[2]"}));
    EXPECT_TRUE(refused(npu_dynamic_quant(none).error(), {"x: none"}));
    EXPECT_TRUE(refused(npu_dynamic_quant(of({4})).error(), {"x: 1 dimensions are fewer than 2"}));
    EXPECT_TRUE(refused(npu_dynamic_quant(of({2, 4}, dtype::f32)).error(), {"x: dtype f32 is not one of f16, bf16"}));
    EXPECT_TRUE(refused(npu_dynamic_quant(x, {.smooth_scales = of({4}, dtype::bf16)}).error(),
                        {"smooth_scales: dtype bf16 is not x's, f16"}));
    EXPECT_TRUE(
        refused(npu_dynamic_quant(x, {.smooth_scales = of({3})}).error(), {"smooth_scales: shape [3] is not [4]"}));
    EXPECT_TRUE(refused(npu_dynamic_quant(x, {.smooth_scales = of({4}), .quant_mode = "perchannel"}).error(),
                        {"smooth_scales: shape [4] is not [3]"}));
    EXPECT_TRUE(refused(npu_dynamic_quant(x, {.group_index = ends}).error(), {"smooth_scales: none are given"}));
    EXPECT_TRUE(refused(npu_dynamic_quant(x, {.smooth_scales = of({2, 4}), .group_index = of({2})}).error(),
                        {"group_index: dtype f16"}));
    EXPECT_TRUE(refused(
        npu_dynamic_quant(x, {.smooth_scales = of({2, 3}), .group_index = ends, .quant_mode = "perchannel"}).error(),
        {"group_index: it is given, and quant_mode is perchannel"}));
    EXPECT_TRUE(refused(npu_dynamic_quant(x, {.quant_mode = "pertokens"}).error(),
                        {"quant_mode: \"pertokens\" is not one of pertoken, pertensor, perchannel"}));
}

TEST_F(NpuOperators, give_scales_of_1_for_what_has_no_elements) {
    const auto rows = npu_dynamic_quant(of({2, 0})), all = npu_dynamic_quant(of({0, 3}), {.quant_mode = "pertensor"});
    ASSERT_TRUE(rows && all) << rows.message() << all.message();
    EXPECT_EQ(elements<float>(std::get<1>(*rows)), (std::vector<float>{1, 1}));
    EXPECT_EQ(elements<float>(std::get<1>(*all)), (std::vector<float>{1}));
    const auto shifted = npu_dynamic_quant_asymmetric(of({2, 0}));
    ASSERT_TRUE(shifted) << shifted.message();
    EXPECT_EQ(elements<float>(std::get<1>(*shifted)), (std::vector<float>{1, 1}));
    EXPECT_EQ(elements<float>(std::get<2>(*shifted)), (std::vector<float>{127, 127}));
    const auto blocks = npu_dynamic_mx_quant(of({0, 64}));
    ASSERT_TRUE(blocks) << blocks.message();
    EXPECT_EQ(shape_of(std::get<1>(*blocks)), (dimensions{0, 1, 2}));
}

// npu_dynamic_quant_asymmetric.

TEST_F(NpuOperators, give_offsets_of_rows_as_documented) {
    const auto x = tensor(std::vector<float>{0, 255, 51, -102, 408, 0}, {2, 3}).half();
    const auto results = npu_dynamic_quant_asymmetric(x);
    ASSERT_TRUE(results) << results.message();
    const auto &[y, scale, offset] = *results;
    EXPECT_EQ(elements<float>(scale), (std::vector<float>{1, 2}));
    EXPECT_EQ(elements<float>(offset), (std::vector<float>{-128, -77}));
    EXPECT_EQ(elements<int8_t>(y), (std::vector<int8_t>{-128, 127, -77, -128, 127, -77}));
    const auto packed = npu_dynamic_quant_asymmetric(tensor(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 15}, {1, 8}).half(),
                                                     {.dst_type = quint4x2});
    ASSERT_TRUE(packed) << packed.message();
    EXPECT_EQ(elements<float>(std::get<2>(*packed)), (std::vector<float>{-8}));
    EXPECT_EQ(elements<int32_t>(std::get<0>(*packed)), (std::vector<int32_t>{0x7edcba98}));
}

TEST_F(NpuOperators, refuse_what_dynamic_quant_asymmetric_does_not_take) {
    const auto x = of({2, 8});
    const char *const function = "torch_npu.npu_dynamic_quant_asymmetric: ";
    for (const type_number type :
         {type_number(float8_e5m2), type_number(256 + 36), type_number(qint8), type_number(hifloat8)}) {
        EXPECT_TRUE(refused(npu_dynamic_quant_asymmetric(x, {.dst_type = type}).error(),
                            {function, "dst_type: ", "is not one of int8, quint4x2"}));
    }
    EXPECT_TRUE(refused(npu_dynamic_quant_asymmetric(none).error(), {function, "x: none"}));
    EXPECT_TRUE(refused(npu_dynamic_quant_asymmetric(x, {.quant_mode = "rows"}).error(), {function, "quant_mode: "}));
    EXPECT_TRUE(
        refused(npu_dynamic_quant_asymmetric(x, {.smooth_scales = of({3})}).error(), {function, "smooth_scales: "}));
}

// npu_dynamic_mx_quant.

TEST_F(NpuOperators, pair_scales_of_blocks_and_pack_float4) {
    const auto x = tensor(std::vector<float>{0, 8, 64, 512}, {1, 4}).bfloat16();
    const auto results = npu_dynamic_mx_quant(x, {.dst_type = float8_e4m3fn});
    ASSERT_TRUE(results) << results.message();
    const auto &[y, scale] = *results;
    const auto codes = elements<qdq::f8e4m3>(y);
    ASSERT_EQ(codes.size(), 4u);
    EXPECT_TRUE(codes[0].bits == 0 && codes[1].bits == 72 && codes[2].bits == 96 && codes[3].bits == 120);
    EXPECT_EQ(elements<uint8_t>(scale), (std::vector<uint8_t>{128, 0}));
    EXPECT_EQ(shape_of(scale), (dimensions{1, 1, 2}));
    const auto packed = npu_dynamic_mx_quant(tensor(std::vector<float>{0.5f, 1, -6, 4}, {2, 2}).half());
    ASSERT_TRUE(packed) << packed.message();
    EXPECT_EQ(shape_of(std::get<0>(*packed)), (dimensions{2, 1}));  // 2^-2 and 2^0 are the scales
    EXPECT_EQ(elements<uint8_t>(std::get<0>(*packed)), (std::vector<uint8_t>{0x64, 0x6f}));
    EXPECT_EQ(elements<uint8_t>(std::get<1>(*packed)), (std::vector<uint8_t>{125, 0, 127, 0}));
}

// Quarters up to 7, of 2^0 and 2^2. 0.375 is a tie, of 1 and 2 quarters.
TEST_F(NpuOperators, pack_two_e1m2_in_a_byte) {
    const auto x = tensor(std::vector<float>{1.75f, -0.25f, 0.5f, 0.375f, 7, -1, 0.4f, -6.5f}, {2, 4}).bfloat16();
    const auto results = npu_dynamic_mx_quant(x, {.dst_type = float4_e1m2fn_x2});
    ASSERT_TRUE(results) << results.message();
    const auto &[y, scale] = *results;
    EXPECT_EQ(shape_of(y), (dimensions{2, 2}));
    EXPECT_EQ(elements<uint8_t>(y), (std::vector<uint8_t>{0x97, 0x22, 0x97, 0xe0}));
    EXPECT_EQ(elements<uint8_t>(scale), (std::vector<uint8_t>{127, 0, 129, 0}));
    EXPECT_TRUE(refused(npu_dynamic_mx_quant(of({2, 33}), {.dst_type = float4_e1m2fn_x2}).error(),
                        {"the last dimension, 33, is not even (float4_e1m2fn_x2)"}));
    EXPECT_TRUE(refused(npu_dynamic_mx_quant(x, {.dst_type = float4_e1m2fn_x2, .scale_alg = 1}).error(),
                        {"scale_alg: 1 is not 0"}));
}

// Rows of one block, by what is largest in them.
TEST_F(NpuOperators, hold_the_largest_below_dst_type_max_by_scale_alg_2) {
    const struct {
        double dst_type_max;
        std::vector<float> largest;
        std::vector<uint8_t> scales;
    } cases[] = {{0, {6, 6.0625f, 3, 0.75f, 0}, {127, 128, 126, 124, 0}},
                 {6, {6, 6.0625f, 3, 0.75f, 0}, {127, 128, 126, 124, 0}},
                 {7, {7, 7.125f, 6.0625f, 3.5f, 0}, {127, 128, 127, 126, 0}},
                 {9.5, {9.5f, 9.625f, 8, 4.75f, 0}, {127, 128, 127, 126, 0}},
                 {12, {12, 12.5f, 6.5f, 6, 0}, {127, 128, 127, 126, 0}}};
    for (const auto &[dst_type_max, largest, scales] : cases) {
        for (size_t i = 0; i < largest.size(); i++) {
            const auto pair = tensor(std::vector<float>{-largest[i], 0}).half();
            const auto results = npu_dynamic_mx_quant(pair, {.scale_alg = 2, .dst_type_max = dst_type_max});
            ASSERT_TRUE(results) << results.message();
            EXPECT_EQ(elements<uint8_t>(std::get<1>(*results)), (std::vector<uint8_t>{scales[i], 0}))
                << largest[i] << " below " << dst_type_max;
        }
    }
}

TEST_F(NpuOperators, take_magnitudes_to_reach_max_low_bound_by_scale_alg_1) {
    const auto x = tensor(std::vector<float>{448, 1, 0.5f, 0}, {4, 1}).half();
    const auto results =
        npu_dynamic_mx_quant(x, {.axis = 1, .dst_type = float8_e4m3fn, .scale_alg = 1, .max_low_bound = 224.5});
    ASSERT_TRUE(results) << results.message();
    EXPECT_EQ(elements<uint8_t>(std::get<1>(*results)), (std::vector<uint8_t>{127, 0, 127, 0, 127, 0, 127, 0}));
    const auto codes = elements<qdq::f8e4m3>(std::get<0>(*results));
    EXPECT_TRUE(codes[0].bits == 0x7e && codes[1].bits == 0x38 && codes[2].bits == 0x30 && codes[3].bits == 0);
    const auto lower =
        npu_dynamic_mx_quant(x, {.axis = 1, .dst_type = float8_e5m2, .scale_alg = 1, .max_low_bound = 0.875});
    ASSERT_TRUE(lower) << lower.message();
    EXPECT_EQ(elements<uint8_t>(std::get<1>(*lower)),
              (std::vector<uint8_t>{127 - 7, 0, 127 - 15, 0, 127 - 16, 0, 127 - 16, 0}));
}

// By what is computed here, of the values by which qdq computes the same.
TEST_F(NpuOperators, compute_scales_as_qdq_does) {
    random_bits random{7};
    rotation<layout, 5> layouts{every_layout};
    for (int i = 0; i < 500 && !HasFailure(); i++) {
        dimensions shape = random_shape(random, 1 + static_cast<int>(random.below(4)), 4);
        const int64_t axis = random.below(static_cast<int64_t>(shape.size()));
        shape[static_cast<size_t>(axis)] = 32 + random.below(90);
        shape.back() += shape.back() % 2;
        const auto type = std::vector<qdq_dtype>{QDQ_F16, QDQ_BF16, QDQ_F32}[static_cast<size_t>(random.below(3))];
        const tensor_memory x = random_floats(random, type, shape, layouts.next());
        const type_number eighth = random.below(2) == 0 ? float8_e4m3fn : float8_e5m2;
        const auto expect_same = [&](const auto &expected, const auto &results) {
            ASSERT_TRUE(expected && results) << expected.message() << results.message();
            EXPECT_EQ(elements<uint8_t>(std::get<1>(*results)), elements<uint8_t>(std::get<1>(*expected)));
            const auto &y = std::get<0>(*results);
            const auto bytes = static_cast<size_t>(qdq::compat::element_count(y.shape()));  // of any of these types
            EXPECT_EQ(0, std::memcmp(y.data(), std::get<0>(*expected).data(), bytes)) << i;
        };
        for (const char *const mode : {"rint", "floor", "round"}) {
            expect_same(
                npu_dynamic_mx_quant(view(x), {.axis = axis, .round_mode = mode, .scale_alg = 2}),
                npu_dynamic_mx_quant(view(x), {.axis = axis, .round_mode = mode, .scale_alg = 2, .dst_type_max = 6}));
        }
        expect_same(npu_dynamic_mx_quant(view(x), {.axis = axis, .dst_type = eighth, .scale_alg = 1}),
                    npu_dynamic_mx_quant(
                        view(x), {.axis = axis, .dst_type = eighth, .scale_alg = 1, .max_low_bound = 0x1p-126}));
    }
}

TEST_F(NpuOperators, refuse_what_mx_quant_does_not_take) {
    const auto x = of({2, 64});
    EXPECT_TRUE(refused(npu_dynamic_mx_quant(none).error(), {"torch_npu.npu_dynamic_mx_quant: input: none"}));
    EXPECT_TRUE(refused(npu_dynamic_mx_quant(of({})).error(), {"input: 0 dimensions are fewer than 1"}));
    EXPECT_TRUE(refused(npu_dynamic_mx_quant(of({2, 64}, dtype::i8)).error(), {"input: dtype i8"}));
    EXPECT_TRUE(refused(npu_dynamic_mx_quant(of(dimensions(8, 2))).error(), {"8 dimensions", "at most 7"}));
    EXPECT_TRUE(refused(npu_dynamic_mx_quant(of({2, 33})).error(), {"the last dimension, 33, is not even"}));
    for (const int64_t axis : {-3, 2}) {
        EXPECT_TRUE(refused(npu_dynamic_mx_quant(x, {.axis = axis}).error(), {"axis: " + std::to_string(axis)}));
    }
    for (const int64_t block : {0, -32, 33, 1056}) {
        EXPECT_TRUE(refused(npu_dynamic_mx_quant(x, {.block_size = block}).error(),
                            {"block_size: " + std::to_string(block) + " is not a multiple of 32"}));
    }
    EXPECT_TRUE(
        refused(npu_dynamic_mx_quant(of({2, 64}, dtype::f32), {.block_size = 64}).error(), {"block_size: 64;"}));
    EXPECT_TRUE(refused(npu_dynamic_mx_quant(x, {.round_mode = "ceil"}).error(),
                        {"round_mode: \"ceil\" is not one of rint, floor, round"}));
    EXPECT_TRUE(refused(npu_dynamic_mx_quant(x, {.round_mode = "floor", .dst_type = float8_e5m2}).error(),
                        {"round_mode: \"floor\" is not rint, the one for float8"}));
    EXPECT_TRUE(refused(npu_dynamic_mx_quant(x, {.block_size = 64, .scale_alg = 2}).error(),
                        {"block_size: 64 is not 32, that of scale_alg 2"}));
    for (const double wrong : {5.9, 12.1, -6.0, std::nan("")}) {
        EXPECT_TRUE(refused(npu_dynamic_mx_quant(x, {.scale_alg = 2, .dst_type_max = wrong}).error(),
                            {"dst_type_max: ", "is not 0, nor in 6..12"}));
    }
    EXPECT_TRUE(refused(npu_dynamic_mx_quant(x, {.dst_type_max = 7}).error(),
                        {"dst_type_max: 7 is not 0, as without scale_alg 2"}));
    for (const double wrong : {-1.0, 1e39, std::nan("")}) {
        EXPECT_TRUE(
            refused(npu_dynamic_mx_quant(x, {.dst_type = float8_e5m2, .scale_alg = 1, .max_low_bound = wrong}).error(),
                    {"max_low_bound: ", "is not 0, nor above it and an f32"}));
    }
    EXPECT_TRUE(refused(npu_dynamic_mx_quant(x, {.max_low_bound = 1}).error(),
                        {"max_low_bound: 1 is not 0, as without scale_alg 1"}));
    EXPECT_TRUE(
        refused(npu_dynamic_mx_quant(x, {.dst_type = hifloat8}).error(),
                {"dst_type: hifloat8 is not one of float4_e2m1fn_x2 (296), float4_e1m2fn_x2 (297), float8_e5m2, "
                 "float8_e4m3fn"}));
    EXPECT_TRUE(refused(npu_dynamic_mx_quant(x, {.dst_type = 298}).error(), {"dst_type: ScalarType 298 is not"}));
    EXPECT_TRUE(refused(npu_dynamic_mx_quant(x, {.scale_alg = 1}).error(), {"scale_alg: 1 is not 0 or 2"}));
    EXPECT_TRUE(refused(npu_dynamic_mx_quant(x, {.dst_type = float8_e5m2, .scale_alg = 2}).error(),
                        {"scale_alg: 2 is not 0 or 1"}));
    EXPECT_TRUE(npu_dynamic_mx_quant(x, {.dst_type = float8_e5m2, .scale_alg = std::nullopt}));
}

TEST_F(NpuOperators, say_when_memory_is_short) {
    const auto x = of({2, 64});
    const memory_shortage shortage;
    EXPECT_TRUE(ran_out_of_memory(npu_anti_quant(of({2, 64}, dtype::i8), of({1}, dtype::f32)).error()));
    EXPECT_TRUE(ran_out_of_memory(npu_dynamic_quant(x).error()));
    EXPECT_TRUE(ran_out_of_memory(npu_dynamic_quant_asymmetric(x).error()));
    EXPECT_TRUE(ran_out_of_memory(npu_dynamic_mx_quant(x).error()));
    EXPECT_TRUE(ran_out_of_memory(npu_dynamic_mx_quant(x, {.round_mode = "floor"}).error()));
}

// What CANN's function writes to tensors of the results' types and shapes.
template<typename First>
void expect_same_of_cann(const qdq::compat::owned_tensor &y, const qdq::compat::owned_tensor &s, First first,
                         aclnnStatus second(void *, uint64_t, aclOpExecutor *, aclrtStream), int codes, int scales,
                         const dimensions &codes_shape) {
    const auto bytes_of = [](const qdq::compat::owned_tensor &t) {
        const auto *const begin = static_cast<const uint8_t *>(t.data());
        return std::vector<uint8_t>(begin, begin + qdq::compat::element_count(t.shape()) *
                                                       qdq_dtype_bits(static_cast<qdq_dtype>(t.dtype())) / 8);
    };
    std::vector<uint8_t> of_y = bytes_of(y), of_s = bytes_of(s);
    const std::vector<uint8_t> expected_y = of_y, expected_s = of_s;
    std::ranges::fill(of_y, 0);
    std::ranges::fill(of_s, 0);
    const tensor_ptr ay = make(codes_shape, codes, of_y.data()), as = make(shape_of(s), scales, of_s.data());
    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    ASSERT_EQ(first(ay.get(), as.get(), &size, &executor), ACLNN_SUCCESS) << aclGetRecentErrMsg();
    std::vector<std::byte> workspace(size);
    ASSERT_EQ(second(workspace.data(), size, executor, nullptr), ACLNN_SUCCESS) << aclGetRecentErrMsg();
    EXPECT_EQ(of_y, expected_y);
    EXPECT_EQ(of_s, expected_s);
}

template<typename First>
void expect_same_of_cann(const qdq::compat::expected<codes_and_scales> &results, First first,
                         aclnnStatus second(void *, uint64_t, aclOpExecutor *, aclrtStream), int codes, int scales,
                         const dimensions &codes_shape) {
    ASSERT_TRUE(results) << results.message();
    expect_same_of_cann(std::get<0>(*results), std::get<1>(*results), first, second, codes, scales, codes_shape);
}

TEST_F(NpuOperators, do_as_the_functions_of_cann) {
    random_bits random{5};
    rotation<layout, 5> layouts{every_layout};
    const char *const modes[] = {"pertoken", "pertensor", "perchannel"}, *const rounding_modes[] = {"rint", "floor",
                                                                                                    "round"};
    const struct {
        type_number number;
        int acl, in_one;
    } types[] = {{int8, ACL_INT8, 1},
                 {quint4x2, ACL_INT32, 8},
                 {hifloat8, ACL_HIFLOAT8, 1},
                 {float8_e5m2, ACL_FLOAT8_E5M2, 1},
                 {float8_e4m3fn, ACL_FLOAT8_E4M3FN, 1},
                 {float4_e2m1fn_x2, ACL_FLOAT4_E2M1, 1},
                 {float4_e1m2fn_x2, ACL_FLOAT4_E1M2, 1}};
    for (int i = 0; i < 1000 && !HasFailure(); i++) {
        dimensions shape = random_shape(random, 2 + static_cast<int>(random.below(5)));
        shape.back() *= 8;
        const auto floats = random.below(2) == 0 ? QDQ_F16 : QDQ_BF16;
        const tensor_memory x = random_floats(random, floats, shape, layouts.next());
        const tensor_ptr ax = make(x);
        const char *const mode = modes[random.below(3)];
        const bool by_channel = std::string(mode) == "perchannel", smooths = random.below(2) == 0;
        const bool has_groups = smooths && !by_channel && random.below(2) == 0;
        const int64_t length = shape[shape.size() - (by_channel ? 2 : 1)];
        const int64_t rows = reference::element_count(x.view()) / shape.back();
        const std::vector<int32_t> ends{static_cast<int32_t>(random.below(rows + 1)), static_cast<int32_t>(rows)};
        const tensor_memory factors =
            random_floats(random, floats, has_groups ? dimensions{2, length} : dimensions{length}, layouts.next());
        const tensor_ptr af = make(factors), ag = make({2}, ACL_INT32, ends.data());
        const auto &type = types[random.below(5)];
        dimensions codes = shape;
        codes.back() /= type.in_one;
        const auto view_of_factors = view(factors);
        expect_same_of_cann(
            npu_dynamic_quant(view(x), {.smooth_scales = smooths ? optional_tensor(view_of_factors) : None,
                                        .group_index = has_groups ? optional_tensor(Tensor(ends)) : None,
                                        .dst_type = type.number,
                                        .quant_mode = mode}),
            [&](const aclTensor *y, const aclTensor *s, uint64_t *size, aclOpExecutor **executor) {
                return aclnnDynamicQuantV3GetWorkspaceSize(ax.get(), smooths ? af.get() : nullptr,
                                                           has_groups ? ag.get() : nullptr, type.acl, true, mode, y, s,
                                                           nullptr, size, executor);
            },
            aclnnDynamicQuantV3, type.acl, ACL_FLOAT, codes);
        const auto &shifted_type = types[random.below(2)];
        dimensions shifted_codes = shape;
        shifted_codes.back() /= shifted_type.in_one;
        const auto shifted =
            npu_dynamic_quant_asymmetric(view(x), {.smooth_scales = smooths ? optional_tensor(view_of_factors) : None,
                                                   .group_index = has_groups ? optional_tensor(Tensor(ends)) : None,
                                                   .dst_type = shifted_type.number,
                                                   .quant_mode = mode});
        ASSERT_TRUE(shifted) << shifted.message();
        const auto &[shifted_y, steps, shifts] = *shifted;
        std::vector<float> offsets(elements<float>(shifts).size());
        const tensor_ptr ao_out = make(shape_of(shifts), ACL_FLOAT, offsets.data());
        expect_same_of_cann(
            shifted_y, steps,
            [&](const aclTensor *y, const aclTensor *s, uint64_t *size, aclOpExecutor **executor) {
                return aclnnDynamicQuantV3GetWorkspaceSize(ax.get(), smooths ? af.get() : nullptr,
                                                           has_groups ? ag.get() : nullptr, shifted_type.acl, false,
                                                           mode, y, s, ao_out.get(), size, executor);
            },
            aclnnDynamicQuantV3, shifted_type.acl, ACL_FLOAT, shifted_codes);
        EXPECT_EQ(0, std::memcmp(offsets.data(), shifts.data(), offsets.size() * sizeof(float)));
        const auto &mx_type = types[3 + random.below(4)];
        const int64_t axis = random.below(static_cast<int64_t>(shape.size()));
        const bool is_float4 = mx_type.acl == ACL_FLOAT4_E2M1 || mx_type.acl == ACL_FLOAT4_E1M2;
        const int64_t alg = is_float4 ? 0 : random.below(2);
        const char *const round_mode = is_float4 ? rounding_modes[random.below(3)] : "rint";
        expect_same_of_cann(
            npu_dynamic_mx_quant(
                view(x), {.axis = axis, .round_mode = round_mode, .dst_type = mx_type.number, .scale_alg = alg}),
            [&](const aclTensor *y, const aclTensor *s, uint64_t *size, aclOpExecutor **executor) {
                return aclnnDynamicMxQuantGetWorkspaceSize(ax.get(), axis, const_cast<char *>(round_mode), mx_type.acl,
                                                           32, alg, y, s, size, executor);
            },
            aclnnDynamicMxQuant, mx_type.acl, ACL_FLOAT8_E8M0, shape);
        const tensor_memory q = random_codes(random, QDQ_I8, shape, layouts.next()),
                            s = random_scales(random, QDQ_F32, {shape.back()}, layout::dense),
                            o = random_floats(random, QDQ_F32, {shape.back()}, layout::dense);
        const tensor_ptr aq = make(q), as = make(s), ao = make(o);
        tensor_memory y(QDQ_BF16, shape);
        const tensor_ptr ay = make(y);
        uint64_t size = 0;
        aclOpExecutor *executor = nullptr;
        ASSERT_EQ(aclnnAscendAntiQuantGetWorkspaceSize(aq.get(), as.get(), ao.get(), ACL_BF16, false, ay.get(), &size,
                                                       &executor),
                  ACLNN_SUCCESS);
        ASSERT_EQ(aclnnAscendAntiQuant(nullptr, 0, executor, nullptr), ACLNN_SUCCESS);
        const auto view_of_offset = view(o);
        const auto values = npu_anti_quant(view(q), view(s), {.offset = view_of_offset, .dst_dtype = bfloat16});
        ASSERT_TRUE(values) << values.message();
        EXPECT_TRUE(same_bytes(y, *values));
    }
}

}  // namespace
}  // namespace compat_test
