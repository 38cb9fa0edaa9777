// torch_npu.npu_quantize: its argument rules and agreement with the oracle. docs/frontends.md names these
// tests.
#include "allocations.h"
#include "cases.h"

#include <qdq/compat/torch_npu.hpp>

#include <bit>
#include <limits>

namespace compat_test {
namespace {

using namespace qdq::torch_npu;
using qdq::dtype;
using qdq::none;

constexpr ScalarType every_type[] = {ScalarType::Byte,           ScalarType::Char,        ScalarType::Int,
                                     ScalarType::Half,           ScalarType::Float,       ScalarType::QInt8,
                                     ScalarType::QUInt8,         ScalarType::QInt32,      ScalarType::BFloat16,
                                     ScalarType::QUInt4x2,       ScalarType::Float8_e5m2, ScalarType::Float8_e4m3fn,
                                     static_cast<ScalarType>(99)};

constexpr bool is_float8(ScalarType type) { return type == float8_e5m2 || type == float8_e4m3fn; }

dimensions shape_of(const qdq::compat::expected<qdq::compat::owned_tensor> &y) {
    return y ? dimensions(y->shape().begin(), y->shape().end()) : dimensions{-1};
}

class TorchNpu : public testing::Test {
protected:
    // Memory that any view of up to 64 elements may have.
    const std::vector<float> memory = std::vector<float>(64, 1.0f);
    std::vector<int8_t> y = std::vector<int8_t>(256, 77);

    Tensor tensor(const dimensions &shape, dtype type = dtype::f32) const { return {memory.data(), type, shape}; }

    // Refused by both forms, and nothing is written.
    void expect_refused(const std::vector<std::string> &words, const Tensor &self, const Tensor &scales,
                        const optional_tensor &zero_points = none, type_number type = qint8, int64_t axis = 1,
                        bool div_mode = true) {
        EXPECT_TRUE(refused(npu_quantize(self, scales, zero_points, type, axis, div_mode).error(), words));
        const std::vector<int8_t> before = y;
        EXPECT_TRUE(refused(npu_quantize_out({y, {2, 3}}, self, scales, zero_points, type, axis, div_mode), words));
        EXPECT_EQ(y, before);
    }
    static void expect_accepted(const Tensor &self, const Tensor &scales, const Tensor &zero_points = none,
                                type_number type = qint8, int64_t axis = 1, bool div_mode = true) {
        const auto y = npu_quantize(self, scales, zero_points, type, axis, div_mode);
        EXPECT_TRUE(y) << y.message();
    }
};

TEST_F(TorchNpu, divides_in_div_mode_and_multiplies_otherwise) {
    const std::vector<float> x{1, 2, 3, 4}, scales{2, 0.5f};
    EXPECT_EQ(of<int8_t>(npu_quantize({x, {2, 2}}, scales, none, qint8)), (std::vector<int8_t>{0, 4, 2, 8}));
    EXPECT_EQ(of<int8_t>(npu_quantize({x, {2, 2}}, scales, none, qint8, -1, false)), (std::vector<int8_t>{2, 1, 6, 2}));
}

// 0.5 + 1 rounds to 2, where round(0.5) + 1 would be 1.
TEST_F(TorchNpu, adds_the_zero_point_before_rounding) {
    const std::vector<float> x{0.5f, 1.5f}, one{1}, half{0.5f};
    const std::vector<int8_t> zero_point{1};
    EXPECT_EQ(of<int8_t>(npu_quantize(x, one, zero_point, qint8, 0)), (std::vector<int8_t>{2, 2}));
    EXPECT_EQ(of<int8_t>(npu_quantize(x, one, half, qint8, 0, false)), (std::vector<int8_t>{1, 2}));
}

TEST_F(TorchNpu, makes_0_of_nan_whatever_the_zero_point) {
    const std::vector<float> x{std::numeric_limits<float>::quiet_NaN(), 1}, one{1}, five{5};
    const std::vector<int8_t> zero_point{5};
    EXPECT_EQ(of<int8_t>(npu_quantize(x, one, zero_point, qint8, 0)), (std::vector<int8_t>{0, 6}));
    EXPECT_EQ(of<int8_t>(npu_quantize(x, one, five, qint8, 0, false)), (std::vector<int8_t>{0, 6}));
    EXPECT_EQ(of<int32_t>(npu_quantize(x, one, none, qint32, 0)), (std::vector<int32_t>{0, 1}));
}

TEST_F(TorchNpu, axis_is_1_and_div_mode_true_unless_given) {
    const std::vector<float> x{1, 2, 3, 4, 5, 6}, scales{1, 2, 3};
    EXPECT_EQ(of<int8_t>(npu_quantize({x, {2, 3}}, scales, none, qint8)), (std::vector<int8_t>{1, 1, 1, 4, 2, 2}));
    expect_refused({"scales", "[2]"}, tensor({2, 3}), tensor({2}));
}

TEST_F(TorchNpu, refuses_a_self_or_scales_that_is_missing) {
    expect_refused({"self", "none"}, none, tensor({1}));
    expect_refused({"scales", "none"}, tensor({2, 3}), none);
    expect_refused({"self", "NULL"}, {static_cast<const float *>(nullptr), {2, 3}}, tensor({1}));
}

TEST_F(TorchNpu, takes_a_self_of_f32_f16_bf16) {
    for (dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
        expect_accepted(tensor({2, 3}, type), tensor({3}));
    }
    for (dtype type : {dtype::i8, dtype::i32, dtype::u8, dtype::f8e4m3}) {
        expect_refused({"self", "f32, f16, bf16"}, tensor({2, 3}, type), tensor({3}));
    }
}

TEST_F(TorchNpu, takes_scales_of_f32_or_bf16_in_div_mode) {
    expect_accepted(tensor({2, 3}), tensor({3}));
    expect_accepted(tensor({2, 3}, dtype::bf16), tensor({3}, dtype::bf16));
    for (dtype type : {dtype::f16, dtype::i8, dtype::i32}) {
        expect_refused({"scales", "f32, bf16"}, tensor({2, 3}, dtype::f16), tensor({3}, type));
    }
}

TEST_F(TorchNpu, takes_scales_of_f32_f16_bf16_without_div_mode) {
    for (dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
        expect_accepted(tensor({2, 3}), tensor({3}, type), none, qint8, 1, false);
    }
    for (dtype type : {dtype::i8, dtype::u8, dtype::i32}) {
        expect_refused({"scales", "f32, f16, bf16"}, tensor({2, 3}), tensor({3}, type), none, qint8, 1, false);
    }
}

TEST_F(TorchNpu, takes_zero_points_of_i8_u8_i32_or_bf16_in_div_mode) {
    for (dtype type : {dtype::i8, dtype::u8, dtype::i32}) {
        expect_accepted(tensor({2, 3}), tensor({3}), tensor({3}, type));
    }
    expect_accepted(tensor({2, 3}, dtype::bf16), tensor({3}, dtype::bf16), tensor({3}, dtype::bf16));
    for (dtype type : {dtype::f32, dtype::f16, dtype::i16}) {
        expect_refused({"zero_points", "i8, u8, i32, bf16"}, tensor({2, 3}), tensor({3}), tensor({3}, type));
    }
}

TEST_F(TorchNpu, takes_zero_points_of_the_type_of_scales_without_div_mode) {
    for (dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
        expect_accepted(tensor({2, 3}), tensor({3}, type), tensor({3}, type), qint8, 1, false);
    }
    for (dtype type : {dtype::f16, dtype::bf16, dtype::i8, dtype::i32}) {
        expect_refused({"zero_points", "scales'"}, tensor({2, 3}), tensor({3}), tensor({3}, type), qint8, 1, false);
    }
}

TEST_F(TorchNpu, takes_every_combination_of_those_types) {
    const std::vector<dtype> zero_point_types{dtype::i8, dtype::u8, dtype::i32, dtype::bf16};
    for (dtype self : {dtype::f32, dtype::f16, dtype::bf16}) {
        for (dtype scales : {dtype::f32, dtype::f16, dtype::bf16}) {
            expect_accepted(tensor({2, 3}, self), tensor({3}, scales), tensor({3}, scales), qint8, 1, false);
            if (scales == dtype::f16) {
                continue;
            }
            for (dtype type : zero_point_types) {
                expect_accepted(tensor({2, 3}, self), tensor({3}, scales), tensor({3}, type));
            }
        }
    }
}

TEST_F(TorchNpu, takes_qint8_quint8_and_int32_in_div_mode) {
    const std::vector<float> x{-1, 300};
    EXPECT_EQ(of<int8_t>(npu_quantize(x, tensor({1}), none, qint8)), (std::vector<int8_t>{-1, 127}));
    EXPECT_EQ(of<uint8_t>(npu_quantize(x, tensor({1}), none, quint8)), (std::vector<uint8_t>{0, 255}));
    for (ScalarType type : {int32, qint32}) {
        EXPECT_EQ(of<int32_t>(npu_quantize(x, tensor({1}), none, type)), (std::vector<int32_t>{-1, 300}));
    }
    for (ScalarType type : every_type) {
        if (type == qint8 || type == quint8 || type == int32 || type == qint32 || is_float8(type)) {
            continue;
        }
        expect_refused({"dtype", "qint8, quint8, int32"}, tensor({2, 3}), tensor({3}), none, type);
    }
}

template<typename Code> std::vector<uint8_t> bits_of(const std::vector<Code> &codes) {
    std::vector<uint8_t> bits;
    std::ranges::transform(codes, std::back_inserter(bits), [](const Code &code) { return code.bits; });
    return bits;
}

// 1, 2, the largest and -0 of either type; an offset other than 0 has no meaning for float8.
TEST_F(TorchNpu, takes_float8_in_either_mode) {
    const std::vector<float> x{0.5f, 1, 1e9f, -0.0f}, half{0.5f}, two{2}, zero{0}, one{1};
    for (const bool div_mode : {true, false}) {
        const auto &scale = div_mode ? half : two;
        EXPECT_EQ(bits_of(of<qdq::f8e4m3>(npu_quantize(x, scale, none, float8_e4m3fn, 0, div_mode))),
                  (std::vector<uint8_t>{0x38, 0x40, 0x7e, 0x80}));
        EXPECT_EQ(bits_of(of<qdq::f8e5m2>(npu_quantize(x, scale, none, float8_e5m2, 0, div_mode))),
                  (std::vector<uint8_t>{0x3c, 0x40, 0x7b, 0x80}));
    }
    EXPECT_TRUE(npu_quantize(x, two, zero, float8_e5m2, 0, false));
    EXPECT_TRUE(
        refused(npu_quantize(x, two, one, float8_e5m2, 0, false).error(), {"torch_npu.npu_quantize: zero_points: "}));
}

// 1, the tie of 1 and 1.125, 2, the largest and 0, which has no sign; by HiFloat8's prefixes of 0001, 001 and 11.
TEST_F(TorchNpu, takes_hifloat8_in_either_mode_as_bytes) {
    const std::vector<float> x{0.5f, -0.53125f, 1, 1e9f, -0.0f}, half{0.5f}, two{2}, zero{0}, one{1};
    const std::vector<uint8_t> expected{0x08, 0x89, 0x10, 0x6e, 0x00};
    for (const bool div_mode : {true, false}) {
        const auto &scale = div_mode ? half : two;
        EXPECT_EQ(of<uint8_t>(npu_quantize(x, scale, none, hifloat8, 0, div_mode)), expected);
        std::vector<uint8_t> bytes(5);
        EXPECT_TRUE(npu_quantize_out(bytes, x, scale, none, 290, 0, div_mode));
        EXPECT_EQ(bytes, expected);
        EXPECT_TRUE(refused(npu_quantize_out({y.data(), {5}}, x, scale, none, hifloat8, 0, div_mode).error(),
                            {"torch_npu.npu_quantize: out: dtype i8 is not u8"}));
    }
    EXPECT_TRUE(npu_quantize(x, two, zero, hifloat8, 0, false));
    EXPECT_TRUE(
        refused(npu_quantize(x, two, one, hifloat8, 0, false).error(), {"torch_npu.npu_quantize: zero_points: "}));
}

// 268 is qint8 and 256.
TEST_F(TorchNpu, takes_no_other_number) {
    const std::vector<int64_t> in_div_mode{3, 12, 13, 14, 23, 24, 290}, otherwise{12, 16, 23, 24, 290};
    for (const bool div_mode : {true, false}) {
        const auto &taken = div_mode ? in_div_mode : otherwise;
        for (int64_t number = -1; number <= 600; number++) {
            if (std::ranges::find(taken, number) != taken.end()) {
                expect_accepted(tensor({2, 8}), tensor({8}), none, number, 1, div_mode);
            } else {
                expect_refused({"dtype: ", "float8_e5m2, float8_e4m3fn, hifloat8"}, tensor({2, 8}), tensor({8}), none,
                               number, 1, div_mode);
            }
        }
    }
    expect_refused({"dtype: ScalarType 268 is not one of qint8, quint8, int32, float8_e5m2, float8_e4m3fn, hifloat8"},
                   tensor({2, 3}), tensor({3}), none, 268);
    expect_refused({"dtype: float4_e1m2fn_x2 is not one of qint8, quint4x2, float8_e5m2, float8_e4m3fn, hifloat8"},
                   tensor({2, 3}), tensor({3}), none, float4_e1m2fn_x2, 1, false);
}

TEST_F(TorchNpu, takes_qint8_and_quint4x2_without_div_mode) {
    for (ScalarType type : every_type) {
        if (type == qint8 || type == quint4x2 || is_float8(type)) {
            continue;
        }
        expect_refused({"dtype", "qint8, quint4x2"}, tensor({2, 3}), tensor({3}), none, type, 1, false);
    }
}

TEST_F(TorchNpu, puts_eight_int4_in_an_int32_the_first_in_the_lowest_bits) {
    const std::vector<float> x{0, 1, 2, 3, 4, 5, 6, 99, -1, -2, -3, -4, -5, -6, -7, -99};
    const auto q = npu_quantize({x, {1, 16}}, tensor({1}), none, quint4x2, -1, false);
    EXPECT_EQ(shape_of(q), (dimensions{1, 2}));
    EXPECT_EQ(of<int32_t>(q), (std::vector<int32_t>{0x76543210, std::bit_cast<int32_t>(0x89abcdefu)}));
}

TEST_F(TorchNpu, wants_a_last_dimension_that_8_divides_for_quint4x2) {
    expect_refused({"self", "12", "8"}, tensor({2, 12}), tensor({1}), none, quint4x2, -1, false);
    expect_accepted(tensor({2, 0}), tensor({1}), none, quint4x2, -1, false);
}

TEST_F(TorchNpu, takes_scales_in_one_dimension_or_those_of_self) {
    for (const bool div_mode : {true, false}) {
        for (const dimensions &shape : {dimensions{1}, {3}, {1, 3}, {1, 1}}) {
            expect_accepted(tensor({2, 3}), tensor(shape), none, qint8, -1, div_mode);
        }
        for (const dimensions &shape : {dimensions{1}, {2}, {2, 1}, {1, 1}}) {
            expect_accepted(tensor({2, 3}), tensor(shape), none, qint8, -2, div_mode);
        }
        for (const dimensions &shape : {dimensions{}, {2}, {2, 1}, {2, 3}, {1, 1, 3}, {3, 1}}) {
            expect_refused({"scales", "[2, 3]"}, tensor({2, 3}), tensor(shape), none, qint8, -1, div_mode);
        }
        expect_refused({"scales", "[1, 3]"}, tensor({2, 3}), tensor({1, 3}), none, qint8, -2, div_mode);
    }
}

TEST_F(TorchNpu, wants_zero_points_of_the_shape_of_scales) {
    for (const dimensions &shape : {dimensions{}, {1}, {2}, {1, 3}}) {
        expect_refused({"zero_points", "[3]"}, tensor({2, 3}), tensor({3}), tensor(shape, dtype::i8));
    }
    expect_refused({"zero_points", "[3]", "[1, 3]"}, tensor({2, 3}), tensor({1, 3}), tensor({3}), qint8, -1, false);
}

TEST_F(TorchNpu, takes_any_axis_of_self_in_div_mode) {
    for (int64_t axis : {-2, 0}) {
        expect_accepted(tensor({2, 3}), tensor({2}), none, qint8, axis);
    }
    for (int64_t axis : {-1, 1}) {
        expect_accepted(tensor({2, 3}), tensor({3}), none, qint8, axis);
    }
    for (int64_t axis : {int64_t{-3}, int64_t{2}, INT64_MIN, INT64_MAX}) {
        expect_refused({"axis", std::to_string(axis)}, tensor({2, 3}), tensor({3}), none, qint8, axis);
    }
}

TEST_F(TorchNpu, does_not_look_at_axis_for_one_scale_in_div_mode) {
    for (int64_t axis : {-99, 99}) {
        expect_accepted(tensor({2, 3}), tensor({1}), none, qint8, axis);
    }
}

TEST_F(TorchNpu, takes_axis_minus_2_for_the_last_but_one_and_any_other_for_the_last_without_div_mode) {
    expect_accepted(tensor({4, 2, 3}), tensor({2}), none, qint8, -2, false);
    for (int64_t axis : {int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{2}, int64_t{3}, INT64_MAX}) {
        expect_accepted(tensor({4, 2, 3}), tensor({3}), none, qint8, axis, false);
        expect_refused({"scales", "[2]"}, tensor({4, 2, 3}), tensor({2}), none, qint8, axis, false);
    }
    for (int64_t axis : {int64_t{-3}, INT64_MIN}) {
        expect_refused({"axis", std::to_string(axis)}, tensor({4, 2, 3}), tensor({3}), none, qint8, axis, false);
        expect_refused({"axis", std::to_string(axis)}, tensor({4, 2, 3}), tensor({1}), none, qint8, axis, false);
    }
    expect_refused({"axis", "-2 is below -1"}, tensor({3}), tensor({3}), none, qint8, -2, false);
    const std::vector<float> x{1, 2, 3}, scales{1, 10, 20};
    EXPECT_EQ(of<int8_t>(npu_quantize({x, {3}}, {scales, {3}}, None, qint8, {.div_mode = false})),
              (std::vector<int8_t>{1, 20, 60}));
}

template<typename Axis>
concept is_an_axis = requires(const Tensor &x, Axis axis) { npu_quantize(x, x, None, qint8, axis); };

TEST_F(TorchNpu, does_not_compile_with_a_bool_as_the_axis) {
    static_assert(is_an_axis<int> && is_an_axis<int64_t> && is_an_axis<short>);
    static_assert(!is_an_axis<bool> && !std::is_constructible_v<axis_number, bool>);
}

TEST_F(TorchNpu, takes_axis_and_div_mode_by_name) {
    const std::vector<float> x{1, 2, 3, 4}, scales{2, 0.5f};
    EXPECT_EQ(of<int8_t>(npu_quantize({x, {2, 2}}, scales, None, qint8, {.axis = 0})),
              (std::vector<int8_t>{0, 1, 6, 8}));
    EXPECT_EQ(of<int8_t>(npu_quantize({x, {2, 2}}, scales, None, qint8, {.div_mode = false})),
              (std::vector<int8_t>{2, 1, 6, 2}));
    EXPECT_EQ(of<int8_t>(npu_quantize({x, {2, 2}}, scales, None, qint8, {.axis = -2, .div_mode = false})),
              (std::vector<int8_t>{2, 4, 2, 2}));
    EXPECT_TRUE(npu_quantize_out({y, {2, 2}}, {x, {2, 2}}, scales, None, qint8, {.axis = 0}));
}

TEST_F(TorchNpu, takes_none_nullopt_and_nullptr_for_no_zero_points) {
    expect_accepted(tensor({2, 3}), tensor({3}), None);
    EXPECT_TRUE(npu_quantize(tensor({2, 3}), tensor({3}), nullptr, qint8));
    EXPECT_TRUE(npu_quantize(tensor({2, 3}), tensor({3}), std::nullopt, qint8));
    const auto zero_points = qdq::torch_npu::tensor({1, 1, 1}).bfloat16();
    EXPECT_TRUE(npu_quantize(tensor({2, 3}), tensor({3}), zero_points, qint8));
}

TEST_F(TorchNpu, names_the_types_of_pytorch) {
    expect_refused({"dtype: quint4x2 is not"}, tensor({2, 3}), tensor({3}), none, quint4x2);
    expect_refused({"dtype: bfloat16 is not"}, tensor({2, 3}), tensor({3}), none, ScalarType::BFloat16);
    expect_refused({"dtype: ScalarType 99 is not"}, tensor({2, 3}), tensor({3}), none, static_cast<ScalarType>(99));
}

TEST_F(TorchNpu, names_its_own_arguments_where_memory_overlaps) {
    std::vector<float> x(6, 1.0f);
    auto *out = reinterpret_cast<int8_t *>(x.data());
    EXPECT_TRUE(refused(npu_quantize_out({out, {2, 3}}, {x, {2, 3}}, tensor({3}), none, qint8),
                        {"torch_npu.npu_quantize: out: it overlaps self"}));
    EXPECT_TRUE(refused(npu_quantize_out({out, {2, 3}}, tensor({2, 3}), {x.data(), {3}}, none, qint8),
                        {"torch_npu.npu_quantize: out: it overlaps scales"}));
    EXPECT_TRUE(refused(npu_quantize_out({out, {2, 3}}, tensor({2, 3}), tensor({3}), {out, {3}}, qint8),
                        {"torch_npu.npu_quantize: out: it overlaps zero_points"}));
    EXPECT_TRUE(refused(npu_quantize_out({y.data(), {2, 3}, {1, 1}}, tensor({2, 3}), tensor({3}), none, qint8),
                        {"torch_npu.npu_quantize: out: its strides"}));
    EXPECT_EQ(x, std::vector<float>(6, 1.0f));
}

TEST_F(TorchNpu, refuses_a_self_without_dimensions) {
    expect_refused({"self", "no dimensions"}, tensor({}), tensor({1}));
    expect_refused({"self", "no dimensions"}, tensor({}), tensor({1}), none, qint8, -1, false);
}

TEST_F(TorchNpu, takes_an_empty_self) {
    for (bool div_mode : {true, false}) {
        const auto q = npu_quantize(tensor({0, 3}), tensor({3}), none, qint8, 1, div_mode);
        EXPECT_EQ(shape_of(q), (dimensions{0, 3}));
    }
}

TEST_F(TorchNpu, refuses_an_out_of_another_type_shape_or_layout) {
    std::vector<int32_t> packed(16, 77);
    EXPECT_TRUE(refused(npu_quantize_out({y, {3, 2}}, tensor({2, 3}), tensor({3}), none, qint8), {"out", "[3, 2]"}));
    EXPECT_TRUE(refused(npu_quantize_out({y, {2, 3}}, tensor({2, 3}), tensor({3}), none, quint8), {"out", "u8"}));
    EXPECT_TRUE(refused(npu_quantize_out({packed, {2, 8}}, tensor({2, 8}), tensor({1}), none, quint4x2, -1, false),
                        {"out", "[2, 1]"}));
    EXPECT_TRUE(refused(
        npu_quantize_out({packed.data(), {2, 1}, {2, 1}}, tensor({2, 8}), tensor({1}), none, quint4x2, -1, false),
        {"out", "dense"}));
    EXPECT_EQ(packed, std::vector<int32_t>(16, 77));
    EXPECT_EQ(y, std::vector<int8_t>(256, 77));
}

TEST_F(TorchNpu, says_when_memory_for_the_result_is_short) {
    const memory_shortage shortage;
    EXPECT_TRUE(ran_out_of_memory(npu_quantize(tensor({2, 3}), tensor({3}), none, qint8).error()));
}

// What one call of either mode computes, element by element.
struct randomized {
    bool div_mode;
    qdq_dtype self, scales, stored;
    type_number type;
    const qdq_dtype *zero_points;  // or none
    int64_t axis;
    size_t dimension;  // that it stands for
    bool one_scale, full_rank;
    dimensions shape;
};

class TorchNpuOracle : public testing::Test {
protected:
    random_bits random{20240502};
    rotation<layout, 5> x_layouts{every_layout}, scale_layouts{every_layout}, zero_point_layouts{every_layout};
    rotation<layout, 4> y_layouts{distinct_layouts};

    void expect_oracle_result(const randomized &what) {
        dimensions scale_shape(what.full_rank ? what.shape.size() : 1, 1);
        if (!what.one_scale) {
            scale_shape[what.full_rank ? what.dimension : 0] = what.shape[what.dimension];
        }
        const tensor_memory x = random_floats(random, what.self, what.shape, x_layouts.next());
        const tensor_memory scales = random_scales(random, what.scales, scale_shape, scale_layouts.next());
        const layout z_layout = zero_point_layouts.next();
        const qdq_dtype z_type = what.zero_points != nullptr ? *what.zero_points : QDQ_F32;
        const tensor_memory z = reference::is_integer(z_type) ? random_codes(random, z_type, scale_shape, z_layout)
                                                              : random_floats(random, z_type, scale_shape, z_layout);
        qdq_options options{};
        options.scale_mode = what.div_mode ? QDQ_DIVIDE : QDQ_MULTIPLY;
        options.quantize_zp = QDQ_ZP_BEFORE_ROUNDING;
        options.nan = QDQ_NAN_ZERO;
        const bool packed = what.stored == QDQ_I4;
        const dimensions y_strides = packed ? dimensions{} : strides_of(y_layouts.next(), what.shape);
        tensor_memory y(what.stored, what.shape, y_strides);
        const tensor_memory expected = filled(y, [&](const int64_t *i) {
            dimensions at(scale_shape.size(), 0);
            if (!what.one_scale) {
                at[what.full_rank ? what.dimension : 0] = i[what.dimension];
            }
            return reference::quantize_element(float_at(x, i), float_at(scales, at.data()),
                                               zero_point_at(what.zero_points != nullptr ? &z : nullptr, at.data()),
                                               what.stored, options);
        });
        const Tensor zero_points = what.zero_points != nullptr ? view(z) : none;
        const auto made = npu_quantize(view(x), view(scales), zero_points, what.type, what.axis, what.div_mode);
        ASSERT_TRUE(made) << made.message();
        dimensions y_shape = what.shape;
        y_shape.back() /= packed ? 8 : 1;
        const auto stored = static_cast<dtype>(what.stored), returned = packed                  ? dtype::i32
                                                                        : stored == dtype::hif8 ? dtype::u8
                                                                                                : stored;
        ASSERT_EQ(shape_of(made), y_shape);
        ASSERT_EQ(made->dtype(), returned);
        ASSERT_TRUE(same_bytes(expected, Tensor(made->data(), stored, what.shape)));
        const qdq::output to(y.view().data, returned, y_shape, y_strides);
        const qdq::result done =
            npu_quantize_out(to, view(x), view(scales), zero_points, what.type, what.axis, what.div_mode);
        ASSERT_TRUE(done) << done.message();
        ASSERT_TRUE(same_bytes(expected, y));
    }

    // Every rank and axis with one scale and many, in every shape they may have.
    void expect_for_types(randomized what) {
        for (int rank = 1; rank <= 8; rank++) {
            const int64_t lowest = what.div_mode ? -rank : std::max(-rank, -2);
            for (what.axis = lowest; what.axis < rank; what.axis++) {
                const int64_t from_the_end = what.axis == -2 ? -2 : -1;
                what.dimension = static_cast<size_t>(
                    what.div_mode && what.axis >= 0 ? what.axis : rank + (what.div_mode ? what.axis : from_the_end));
                for (int form = 0; form < 4; form++) {
                    what.one_scale = form % 2 == 0;
                    what.full_rank = form >= 2;
                    what.shape = random_shape(random, rank);
                    if (what.stored == QDQ_I4) {
                        what.shape.back() = 8 * (1 + random.below(2));
                    }
                    SCOPED_TRACE("self " + std::to_string(what.self) + ", scales " + std::to_string(what.scales) +
                                 ", axis " + std::to_string(what.axis) + ", form " + std::to_string(form) + ", shape " +
                                 testing::PrintToString(what.shape));
                    expect_oracle_result(what);
                    if (HasFatalFailure()) {
                        return;
                    }
                }
            }
        }
    }
};

TEST_F(TorchNpuOracle, agrees_in_div_mode) {
    const qdq_dtype zero_point_types[] = {QDQ_I8, QDQ_U8, QDQ_I32, QDQ_BF16};
    int combinations = 0;
    for (qdq_dtype self : {QDQ_F32, QDQ_F16, QDQ_BF16}) {
        for (qdq_dtype scales : {QDQ_F32, QDQ_BF16}) {
            for (int z = -1; z < 4; z++) {
                const qdq_dtype *zero_points = z < 0 ? nullptr : &zero_point_types[z];
                for (auto [type, stored] : {std::pair<type_number, qdq_dtype>{qint8, QDQ_I8},
                                            {quint8, QDQ_U8},
                                            {int32, QDQ_I32},
                                            {hifloat8, QDQ_HIF8}}) {
                    if (stored == QDQ_HIF8 && zero_points != nullptr) {
                        continue;
                    }
                    expect_for_types({true, self, scales, stored, type, zero_points, 0, 0, false, false, {}});
                    if (HasFatalFailure()) {
                        return;
                    }
                    combinations++;
                }
            }
        }
    }
    EXPECT_EQ(combinations, 3 * 2 * (5 * 3 + 1));
    EXPECT_TRUE(x_layouts.came_round() && scale_layouts.came_round() && zero_point_layouts.came_round());
}

TEST_F(TorchNpuOracle, agrees_without_div_mode) {
    int combinations = 0;
    for (qdq_dtype self : {QDQ_F32, QDQ_F16, QDQ_BF16}) {
        for (qdq_dtype scales : {QDQ_F32, QDQ_F16, QDQ_BF16}) {
            for (const bool has_zero_points : {false, true}) {
                const qdq_dtype *zero_points = has_zero_points ? &scales : nullptr;
                for (auto [type, stored] :
                     {std::pair<type_number, qdq_dtype>{qint8, QDQ_I8}, {quint4x2, QDQ_I4}, {hifloat8, QDQ_HIF8}}) {
                    if (stored == QDQ_HIF8 && has_zero_points) {
                        continue;
                    }
                    expect_for_types({false, self, scales, stored, type, zero_points, 0, 0, false, false, {}});
                    if (HasFatalFailure()) {
                        return;
                    }
                    combinations++;
                }
            }
        }
    }
    EXPECT_EQ(combinations, 3 * 3 * (2 * 2 + 1));
    EXPECT_TRUE(x_layouts.came_round() && scale_layouts.came_round() && zero_point_layouts.came_round());
}

}  // namespace
}  // namespace compat_test
