// pypto's quantize and dequantize: their argument rules and agreement with the oracle. docs/frontends.md names these
// tests.
#include "allocations.h"
#include "cases.h"

#include <qdq/compat/pypto.hpp>

#include <limits>

namespace compat_test {
namespace {

using namespace qdq::pypto;
using qdq::none;

using values = std::vector<float>;

class Pypto : public testing::Test {
protected:
    void TearDown() override { set_vec_tile_shapes(); }

    // A valid call on a 3 x 4 input that each test spoils in one place.
    const std::vector<int8_t> x = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4};
    const values ones = values(12, 1.0f), minus_two = values(12, -2.0f);
    const values shifted{-1, 0, 1, 2, -1, 0, 1, 2, -1, 0, 1, 2};

    Tensor input(qdq::dimensions shape = {3, 4}, DataType type = DT_INT8) const { return {x.data(), type, shape}; }
    Tensor scale(qdq::dimensions shape = {3}, DataType type = DT_FP32) const { return {ones.data(), type, shape}; }
    Tensor zero_points(qdq::dimensions shape = {3}, DataType type = DT_FP32) const {
        return {minus_two.data(), type, shape};
    }

    // Refused by both forms, and nothing is written.
    static void expect_refused(const std::vector<std::string> &words, const Tensor &input, const Tensor &scale,
                               DataType otype = DT_FP32, int axis = -1, const Tensor &zero_points = none) {
        EXPECT_TRUE(refused(dequantize(input, scale, otype, axis, zero_points).error(), words));
        values y(12, 77.0f);
        EXPECT_TRUE(refused(dequantize_out({y, {3, 4}}, input, scale, otype, axis, zero_points), words));
        EXPECT_EQ(y, values(12, 77.0f));
    }
};

TEST_F(Pypto, takes_i8_and_i16) {
    const std::vector<int16_t> wide{-32768, 32767, 0, -1};
    EXPECT_EQ(of<float>(dequantize({wide, {2, 2}}, {ones, {2}}, DT_FP32, -1)), (values{-32768, 32767, 0, -1}));
}

TEST_F(Pypto, refuses_other_input_types) {
    for (DataType type : {DT_UINT8, DT_UINT16, DT_INT32, DT_FP16, DT_FP32, DT_BF16}) {
        expect_refused({"input", "DT_INT8"}, input({3, 4}, type), scale());
    }
}

TEST_F(Pypto, refuses_a_missing_input_and_one_without_data) {
    expect_refused({"input", "none"}, none, scale());
    expect_refused({"input", "NULL"}, {static_cast<const int8_t *>(nullptr), {3, 4}}, scale());
}

TEST_F(Pypto, refuses_an_empty_input) {
    expect_refused({"input", "[3, 0]"}, input({3, 0}), scale());
    expect_refused({"input", "[0, 4]"}, input({0, 4}), scale({0}));
}

TEST_F(Pypto, takes_an_input_of_one_to_four_dimensions) {
    expect_refused({"input", "0 dimensions"}, input({}), scale({}));
    EXPECT_EQ(of<float>(dequantize(input({12}), scale({1}), DT_FP32, -1)).size(), 12u);
    EXPECT_EQ(of<float>(dequantize(input({3, 4}), scale({3}), DT_FP32, -1)).size(), 12u);
    EXPECT_EQ(of<float>(dequantize(input({1, 3, 4}), scale({1, 3}), DT_FP32, -1)).size(), 12u);
    EXPECT_EQ(of<float>(dequantize(input({1, 1, 3, 4}), scale({1, 1, 3}), DT_FP32, -1)).size(), 12u);
    expect_refused({"input", "5 dimensions"}, input({1, 1, 1, 3, 4}), scale({1, 1, 1, 3}));
}

TEST_F(Pypto, refuses_more_than_2147483647_elements) {
    expect_refused({"input", "2147483647"}, input({2, int64_t{1} << 30}), scale({2}));
    expect_refused({"input", "2147483647"}, input({int64_t{1} << 62, int64_t{1} << 62}), scale({int64_t{1} << 62}));
}

TEST_F(Pypto, refuses_negative_dimensions) { expect_refused({"input", "[3, -4]"}, input({3, -4}), scale()); }

TEST_F(Pypto, refuses_an_otype_other_than_fp32) {
    for (DataType type : {DT_FP16, DT_BF16, DT_INT8, DT_INT32}) {
        expect_refused({"otype", "DT_FP32"}, input(), scale(), type);
    }
}

TEST_F(Pypto, takes_the_last_two_axes_by_either_number) {
    const values rows{1, 2, 3}, columns{1, 2, 3, 4};
    const values by_row{1, 2, 3, 4, 2, 4, 6, 8, 3, 6, 9, 12}, by_column{1, 4, 9, 16, 1, 4, 9, 16, 1, 4, 9, 16};
    for (int axis : {-1, 1}) {
        EXPECT_EQ(of<float>(dequantize(input(), rows, DT_FP32, axis)), by_row);
    }
    for (int axis : {-2, 0}) {
        EXPECT_EQ(of<float>(dequantize(input(), columns, DT_FP32, axis)), by_column);
    }
    for (int axis : {-1, 2}) {
        EXPECT_EQ(of<float>(dequantize(input({1, 3, 4}), {rows, {1, 3}}, DT_FP32, axis)), by_row);
    }
    for (int axis : {-2, 1}) {
        EXPECT_EQ(of<float>(dequantize(input({1, 3, 4}), {columns, {1, 4}}, DT_FP32, axis)), by_column);
    }
}

TEST_F(Pypto, refuses_other_axes) {
    for (int axis : {-3, 2, 99, INT32_MIN, INT32_MAX}) {
        expect_refused({"axis", std::to_string(axis)}, input(), scale(), DT_FP32, axis);
    }
    expect_refused({"axis", "0"}, input({1, 3, 4}), scale({3, 4}), DT_FP32, 0);
}

TEST_F(Pypto, refuses_a_scale_that_is_missing_or_not_f32) {
    expect_refused({"scale", "none"}, input(), none);
    for (DataType type : {DT_FP16, DT_BF16, DT_INT8}) {
        expect_refused({"scale", "DT_FP32"}, input(), scale({3}, type));
    }
}

TEST_F(Pypto, takes_a_scale_with_a_dimension_of_size_1_where_it_would_be_dropped) {
    const values columns{1, 2, 3, 4};
    const values by_column{1, 4, 9, 16, 1, 4, 9, 16, 1, 4, 9, 16};
    EXPECT_EQ(of<float>(dequantize(input(), {columns, {1, 4}}, DT_FP32, -2)), by_column);
    EXPECT_EQ(of<float>(dequantize(input({1, 3, 4}), {columns, {1, 1, 4}}, DT_FP32, -2)), by_column);
}

TEST_F(Pypto, refuses_a_scale_of_another_shape) {
    for (const dimensions &shape : {dimensions{}, {4}, {1}, {1, 3}, {3, 4}, {1, 1}, {3, 1, 1}}) {
        expect_refused({"scale", "[3, 4]"}, input(), scale(shape));
    }
    expect_refused({"scale", "[3]"}, input(), scale({3}), DT_FP32, -2);
    expect_refused({"scale", "[3, 1]"}, input(), scale({3, 1}), DT_FP32, -2);
    expect_refused({"scale", "[3]"}, input({1, 3, 4}), scale({3}));
}

TEST_F(Pypto, takes_no_zero_points_or_empty_ones) {
    const values expected(x.begin(), x.end());
    EXPECT_EQ(of<float>(dequantize(input(), scale(), DT_FP32, -1)), expected);
    EXPECT_EQ(of<float>(dequantize(input(), scale(), DT_FP32, -1, none)), expected);
    const values empty;
    EXPECT_EQ(of<float>(dequantize(input(), scale(), DT_FP32, -1, empty)), expected);
    EXPECT_EQ(of<float>(dequantize(input(), scale(), DT_FP32, -1, None)), expected);
    EXPECT_EQ(of<float>(dequantize(input(), scale(), DT_FP32, -1, nullptr)), expected);
    EXPECT_EQ(of<float>(dequantize(input(), scale(), DT_FP32, -1, std::nullopt)), expected);
    EXPECT_EQ(of<float>(dequantize(input(), scale(), DT_FP32, -1, zero_points({3, 0}))), expected);
}

TEST_F(Pypto, refuses_zero_points_that_are_not_f32_of_a_shape_of_scale) {
    for (DataType type : {DT_INT8, DT_FP16, DT_INT32}) {
        expect_refused({"zero_points", "DT_FP32"}, input(), scale(), DT_FP32, -1, zero_points({3}, type));
    }
    for (const dimensions &shape : {dimensions{}, {1}, {4}, {1, 3}}) {
        expect_refused({"zero_points", "[3, 4]"}, input(), scale(), DT_FP32, -1, zero_points(shape));
    }
    expect_refused({"zero_points", "NULL"}, input(), scale(), DT_FP32, -1, {static_cast<const float *>(nullptr), {3}});
}

// Either form, whichever the other has.
TEST_F(Pypto, takes_zero_points_of_a_form_that_scale_has_not) {
    EXPECT_EQ(of<float>(dequantize(input(), scale({3, 1}), DT_FP32, -1, zero_points({3}))), shifted);
    EXPECT_EQ(of<float>(dequantize(input(), scale({3}), DT_FP32, -1, zero_points({3, 1}))), shifted);
}

TEST_F(Pypto, makes_tensors_that_own_their_elements) {
    auto q = tensor({3, 4}, DT_INT8), s = tensor({3, 1}, DT_FP32), z = tensor({3, 1}, DT_FP32);
    EXPECT_EQ(of<float>(dequantize(q, s, DT_FP32, -1)), values(12, 0.0f));
    q.assign(x);
    s.assign({1, 1, 1});
    z.assign({-2, -2, -2});
    EXPECT_EQ(of<float>(dequantize(q, s, DT_FP32, -1, z)), shifted);
    s.assign({1, 1});
    expect_refused({"scale", "number of elements"}, q, s);
}

TEST_F(Pypto, names_its_own_arguments_where_memory_overlaps) {
    values y(12, 77.0f);
    EXPECT_TRUE(refused(dequantize_out({y, {3, 4}}, input(), {y.data(), {3}}, DT_FP32, -1),
                        {"pypto.dequantize: out: it overlaps scale"}));
    EXPECT_TRUE(refused(dequantize_out({y, {3, 4}}, input(), scale(), DT_FP32, -1, {y.data(), {3}}),
                        {"pypto.dequantize: out: it overlaps zero_points"}));
    EXPECT_TRUE(
        refused(dequantize_out({y, {3, 4}}, {reinterpret_cast<int8_t *>(y.data()), {3, 4}}, scale(), DT_FP32, -1),
                {"pypto.dequantize: out: it overlaps input"}));
    EXPECT_EQ(y, values(12, 77.0f));
}

TEST_F(Pypto, gives_the_same_whatever_the_tile_shape) {
    for (int m : {1, 4, 1000}) {
        set_vec_tile_shapes(m, 16 * m);
        EXPECT_EQ(of<float>(dequantize(input(), scale(), DT_FP32, -1, zero_points())), shifted);
    }
}

TEST_F(Pypto, refuses_a_tile_shape_with_too_few_or_too_many_dimensions) {
    set_vec_tile_shapes(4);
    expect_refused({"set_vec_tile_shapes", "1 dimensions", "2"}, input(), scale());
    set_vec_tile_shapes(1, 4, 16);
    expect_refused({"set_vec_tile_shapes", "3 dimensions", "2"}, input(), scale());
    set_vec_tile_shapes(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    expect_refused({"set_vec_tile_shapes", "10 dimensions"}, input(), scale());
    set_vec_tile_shapes(1, 4, 16);
    EXPECT_EQ(of<float>(dequantize(input({1, 3, 4}), scale({1, 3}), DT_FP32, -1)).size(), 12u);
}

TEST_F(Pypto, refuses_a_tile_dimension_that_is_not_above_0) {
    set_vec_tile_shapes(4, 0);
    expect_refused({"set_vec_tile_shapes", "[4, 0]"}, input(), scale());
    set_vec_tile_shapes(-4, 16);
    expect_refused({"set_vec_tile_shapes", "[-4, 16]"}, input(), scale());
}

TEST_F(Pypto, refuses_an_out_of_another_type_or_shape) {
    values y(12, 77.0f);
    std::vector<qdq::f16> half(12);
    EXPECT_TRUE(refused(dequantize_out({y, {4, 3}}, input(), scale(), DT_FP32, -1), {"out", "[4, 3]", "[3, 4]"}));
    EXPECT_TRUE(refused(dequantize_out({half, {3, 4}}, input(), scale(), DT_FP32, -1), {"out", "f16"}));
    EXPECT_TRUE(refused(dequantize_out({y, {2, 12}}, input(), scale(), DT_FP32, -1), {"out", "shorter"}));
    EXPECT_EQ(y, values(12, 77.0f));
}

TEST_F(Pypto, says_when_memory_for_the_result_is_short) {
    const memory_shortage shortage;
    EXPECT_TRUE(ran_out_of_memory(dequantize(input(), scale(), DT_FP32, -1).error()));
}

TEST_F(Pypto, takes_an_input_of_one_dimension_as_a_row) {
    const values two{2}, one{1}, row{1, 2, 200};
    for (const dimensions &shape : {dimensions{1}, dimensions{}}) {
        const Tensor scale{two.data(), DT_FP32, shape}, zero_points{one.data(), DT_FP32, shape};
        EXPECT_EQ(of<float>(dequantize(input({3}), scale, DT_FP32, -1, zero_points)), (values{4, 6, 8}));
        EXPECT_EQ(of<uint8_t>(quantize(row, scale, DT_UINT8, -1, zero_points)), (std::vector<uint8_t>{3, 5, 255}));
    }
    expect_refused({"scale", "[3]"}, input({3}), scale({3}));
    for (int axis : {0, 1, -2}) {
        expect_refused({"axis: " + std::to_string(axis) + " is not -1"}, input({3}), scale({1}), DT_FP32, axis);
    }
}

// The document's numbers; its second result is that of a subtraction.
TEST_F(Pypto, quantizes_to_i8_and_with_zero_points_to_u8) {
    const values rows{1.1f, -2.2f, 3.3f, -4.4f, 1.1f, -2.2f, 3.3f, -4.4f, 1.1f, -2.2f, 3.3f, -4.4f};
    const values fives(3, 5.0f);
    const Tensor given{rows, {3, 4}};
    EXPECT_EQ(of<int8_t>(quantize(given, scale(), DT_INT8, -1, None)),
              (std::vector<int8_t>{1, -2, 3, -4, 1, -2, 3, -4, 1, -2, 3, -4}));
    EXPECT_EQ(of<uint8_t>(quantize(given, scale(), DT_UINT8, -1, {fives, {3}})),
              (std::vector<uint8_t>{6, 3, 8, 1, 6, 3, 8, 1, 6, 3, 8, 1}));
    const values special{0.5f, std::numeric_limits<float>::quiet_NaN(), 1e9f, -1e9f}, one{1};
    EXPECT_EQ(of<uint8_t>(quantize({special, {1, 4}}, {one, {1}}, DT_UINT8, -1, {one, {1}})),
              (std::vector<uint8_t>{2, 0, 255, 0}));
}

TEST_F(Pypto, refuses_what_quantize_does_not_take) {
    const Tensor given{ones.data(), DT_FP32, {3, 4}};
    std::vector<uint8_t> y(12, 77);
    const auto expect = [&](const std::vector<std::string> &words, const Tensor &x, const Tensor &s, DataType otype,
                            const Tensor &z, int axis = -1) {
        EXPECT_TRUE(refused(quantize(x, s, otype, axis, z).error(), words));
        EXPECT_TRUE(refused(quantize_out({y.data(), otype, {3, 4}}, x, s, otype, axis, z), words));
    };
    for (DataType type : {DT_INT8, DT_INT16, DT_FP16, DT_BF16}) {
        expect({"pypto.quantize: input: dtype", "DT_FP32"}, input({3, 4}, type), scale(), DT_INT8, none);
    }
    for (DataType type : {DT_UINT8, DT_INT16, DT_FP32}) {
        expect({"otype", "DT_INT8, as without zero_points"}, given, scale(), type, none);
    }
    for (DataType type : {DT_INT8, DT_INT16, DT_FP32}) {
        expect({"otype", "DT_UINT8, as with zero_points"}, given, scale(), type, zero_points());
    }
    expect({"scale: shape [4]", "[3, 4]"}, given, scale({4}), DT_INT8, none);
    expect({"zero_points: shape [4]"}, given, scale(), DT_UINT8, zero_points({4}));
    expect({"zero_points: dtype i8"}, given, scale(), DT_UINT8, zero_points({3}, DT_INT8));
    expect({"axis: 2"}, given, scale(), DT_INT8, none, 2);
    EXPECT_EQ(y, std::vector<uint8_t>(12, 77));
    EXPECT_TRUE(refused(quantize_out({y, {3, 4}}, given, scale(), DT_INT8, -1, none), {"out: dtype u8 is not i8"}));
}

// A call of either function with random operands, without its axis, or with 1 there.
struct random_call {
    bool quantizes;
    qdq_dtype type;  // of codes
    dimensions shape;
    int axis;
    bool keeps_dimension, has_zero_points;
};

class PyptoOracle : public testing::Test {
protected:
    random_bits random{20240501};
    rotation<layout, 5> x_layouts{every_layout}, scale_layouts{every_layout}, zero_point_layouts{every_layout};
    rotation<layout, 4> y_layouts{distinct_layouts};

    void expect_oracle_result(const random_call &call) {
        const auto &[quantizes, type, shape, axis, keeps_dimension, has_zero_points] = call;
        const auto rank = static_cast<int>(shape.size());
        const auto dropped = static_cast<size_t>(axis < 0 ? axis + rank : axis);
        const auto without_axis = [&, keeps = keeps_dimension](dimensions at, int64_t instead) {
            if (keeps) {
                at[dropped] = instead;
            } else {
                at.erase(at.begin() + static_cast<long>(dropped));
            }
            return at;
        };
        const dimensions scale_shape = without_axis(shape, 1);
        const tensor_memory x = quantizes ? random_floats(random, QDQ_F32, shape, x_layouts.next())
                                          : random_codes(random, type, shape, x_layouts.next());
        const tensor_memory scale = random_scales(random, QDQ_F32, scale_shape, scale_layouts.next());
        const tensor_memory z = random_floats(random, QDQ_F32, scale_shape, zero_point_layouts.next());
        const qdq_dtype to = quantizes ? type : QDQ_F32;
        tensor_memory y(to, shape, strides_of(y_layouts.next(), shape));
        qdq_options options{};
        options.scale_mode = QDQ_MULTIPLY;
        options.quantize_zp = QDQ_ZP_BEFORE_ROUNDING;
        options.nan = QDQ_NAN_ZERO;
        const tensor_memory expected = filled(y, [&](const int64_t *i) {
            const dimensions at = without_axis(dimensions(i, i + shape.size()), 0);
            const float s = float_at(scale, at.data());
            const reference::zero_point shift = zero_point_at(has_zero_points ? &z : nullptr, at.data());
            return quantizes ? reference::quantize_element(float_at(x, i), s, shift, type, options)
                             : reference::dequantize_element(type, code_at(x, i), s, shift, QDQ_F32, QDQ_ZP_ADD);
        });
        SCOPED_TRACE("type " + std::to_string(type) + ", axis " + std::to_string(axis) + ", shape " +
                     testing::PrintToString(shape));
        const Tensor zero_points = has_zero_points ? view(z) : none;
        const auto otype = static_cast<DataType>(to);
        const auto made = quantizes ? quantize(view(x), view(scale), otype, axis, zero_points)
                                    : dequantize(view(x), view(scale), otype, axis, zero_points);
        ASSERT_TRUE(made) << made.message();
        ASSERT_TRUE(same_bytes(expected, *made));
        const qdq::result done = quantizes ? quantize_out(out(y), view(x), view(scale), otype, axis, zero_points)
                                           : dequantize_out(out(y), view(x), view(scale), otype, axis, zero_points);
        ASSERT_TRUE(done) << done.message();
        ASSERT_TRUE(same_bytes(expected, y));
    }

    // Types x rank x axis x scale's form x zero point x layouts.
    void expect_oracle_results(bool quantizes, std::initializer_list<qdq_dtype> types) {
        for (qdq_dtype type : types) {
            for (int rank = 1; rank <= 4; rank++) {
                for (int axis : rank == 1 ? std::vector{-1} : std::vector{-1, -2, rank - 1, rank - 2}) {
                    for (int round = 0; round < 120 && !HasFatalFailure(); round++) {
                        expect_oracle_result({quantizes, type, random_shape(random, rank, rank <= 2 ? 40 : 6), axis,
                                              round % 2 == 0, quantizes ? type == QDQ_U8 : round % 3 != 0});
                    }
                }
            }
        }
        EXPECT_TRUE(x_layouts.came_round() && scale_layouts.came_round() && zero_point_layouts.came_round());
    }
};

TEST_F(PyptoOracle, agrees_with_the_oracle) { expect_oracle_results(false, {QDQ_I8, QDQ_I16}); }

TEST_F(PyptoOracle, quantizes_as_the_oracle) { expect_oracle_results(true, {QDQ_I8, QDQ_U8}); }

}  // namespace
}  // namespace compat_test
