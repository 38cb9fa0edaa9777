// nvtripy's quantize and dequantize: their argument rules and agreement with the oracle.
// docs/frontends.md names these tests.
#include "allocations.h"
#include "cases.h"

#include <qdq/compat/tripy.hpp>

#include <array>
#include <list>

namespace compat_test {
namespace {

using namespace qdq::tripy;
using qdq::none;

using result_tensor = qdq::compat::expected<qdq::compat::owned_tensor>;

class Tripy : public testing::Test {
protected:
    const std::vector<float> memory = std::vector<float>(64, 1.0f);  // of any view of up to 64 elements
    std::vector<int8_t> codes = std::vector<int8_t>(256, 77);
    std::vector<float> floats = std::vector<float>(64, 77.0f);

    qdq::tensor tensor(const dimensions &shape, dtype type = float32) const { return {memory.data(), type, shape}; }

    static void expect_quantizes(const qdq::tensor &input, const scale_argument &scale, dtype type,
                                 std::optional<int> dim = {}) {
        const result_tensor y = quantize(input, scale, type, dim);
        EXPECT_TRUE(y) << y.message();
    }
    static void expect_dequantizes(const qdq::tensor &input, const scale_argument &scale, dtype type,
                                   std::optional<int> dim = {}) {
        const result_tensor y = dequantize(input, scale, type, dim);
        EXPECT_TRUE(y) << y.message();
    }

    // Refused by both forms, and nothing is written.
    void expect_quantize_refused(const std::vector<std::string> &words, const qdq::tensor &input,
                                 const scale_argument &scale, dtype type = int8, std::optional<int> dim = {}) {
        EXPECT_TRUE(refused(quantize(input, scale, type, dim).error(), words));
        EXPECT_TRUE(refused(quantize_out({codes, {2, 3}}, input, scale, type, dim), words));
        EXPECT_EQ(codes, std::vector<int8_t>(256, 77));
    }
    void expect_dequantize_refused(const std::vector<std::string> &words, const qdq::tensor &input,
                                   const scale_argument &scale, dtype type = float32, std::optional<int> dim = {}) {
        EXPECT_TRUE(refused(dequantize(input, scale, type, dim).error(), words));
        EXPECT_TRUE(refused(dequantize_out({floats, {2, 3}}, input, scale, type, dim), words));
        EXPECT_EQ(floats, std::vector<float>(64, 77.0f));
    }
};

TEST_F(Tripy, rounds_to_nearest_even_and_saturates) {
    const std::vector<float> input{0.5f, 1.5f, -2.5f, 1e9f, -1e9f, NAN};
    EXPECT_EQ(of<int8_t>(quantize(input, 1, int8)), (std::vector<int8_t>{0, 2, -2, 127, -128, -128}));
}

TEST_F(Tripy, quantizes_f32_f16_and_bf16_to_i8_i4_and_f8) {
    for (dtype input : {float32, float16, bfloat16}) {
        for (dtype type : {int8, int4, float8}) {
            expect_quantizes(tensor({2, 3}, input), 1, type);
        }
    }
    for (dtype input : {int8, int4, float8, dtype::i32, dtype::u8}) {
        expect_quantize_refused({"input", "float32, float16, bfloat16"}, tensor({2, 3}, input), 1);
    }
    for (dtype type : {float32, float16, bfloat16, dtype::i32, dtype::u8, dtype::f8e5m2}) {
        expect_quantize_refused({"dtype", "int8, int4, float8"}, tensor({2, 3}), 1, type);
    }
}

TEST_F(Tripy, dequantizes_i8_i4_and_f8_to_f32_f16_and_bf16) {
    for (dtype input : {int8, int4, float8}) {
        for (dtype type : {float32, float16, bfloat16}) {
            expect_dequantizes(tensor({2, 3}, input), 1, type);
        }
    }
    for (dtype input : {float32, float16, bfloat16, dtype::i32, dtype::u8}) {
        expect_dequantize_refused({"input", "int8, int4, float8"}, tensor({2, 3}, input), 1);
    }
    for (dtype type : {int8, int4, float8, dtype::i32}) {
        expect_dequantize_refused({"dtype", "float32, float16, bfloat16"}, tensor({2, 3}, int8), 1, type);
    }
}

TEST_F(Tripy, wants_a_scale_tensor_of_the_floating_type) {
    for (dtype type : {float32, float16, bfloat16}) {
        expect_quantizes(tensor({2, 3}, type), tensor({}, type), int8);
        expect_dequantizes(tensor({2, 3}, int8), tensor({}, type), type);
        for (dtype other : {float32, float16, bfloat16, int8}) {
            if (other == type) {
                continue;
            }
            expect_quantize_refused({"scale", "dtype"}, tensor({2, 3}, type), tensor({}, other));
            expect_dequantize_refused({"scale", "dtype"}, tensor({2, 3}, int8), tensor({}, other), type);
        }
    }
}

TEST_F(Tripy, refuses_an_input_or_a_scale_that_is_missing) {
    expect_quantize_refused({"input", "none"}, none, 1);
    expect_quantize_refused({"input", "NULL"}, {static_cast<const float *>(nullptr), {2, 3}}, 1);
    expect_quantize_refused({"scale", "none"}, tensor({2, 3}), none);
    expect_dequantize_refused({"input", "none"}, none, 1);
}

TEST_F(Tripy, refuses_an_input_without_dimensions) {
    expect_quantize_refused({"input", "no dimensions"}, tensor({}), 1);
    expect_dequantize_refused({"input", "no dimensions"}, tensor({}, int8), 1);
}

TEST_F(Tripy, takes_a_scale_as_a_tensor_a_number_or_a_sequence) {
    const std::vector<float> input{1, 2, 3, 4}, rows{0.5f, 0.25f};
    const std::vector<int8_t> halves{2, 4, 6, 8}, by_row{2, 4, 12, 16};
    const float half[] = {0.5f};
    for (const scale_argument &scale :
         {scale_argument(0.5), scale_argument(0.5f), scale_argument(qdq::tensor(half, {}))}) {
        EXPECT_EQ(of<int8_t>(quantize({input, {2, 2}}, scale, int8)), halves);
    }
    EXPECT_EQ(of<int8_t>(quantize(input, 1, int8)), (std::vector<int8_t>{1, 2, 3, 4}));
    EXPECT_EQ(of<int8_t>(quantize({input, {2, 2}}, {0.5, 0.25}, int8, 0)), by_row);
    EXPECT_EQ(of<int8_t>(quantize({input, {2, 2}}, rows, int8, 0)), by_row);
    EXPECT_EQ(of<int8_t>(quantize({input, {2, 2}}, qdq::tensor(rows), int8, 0)), by_row);
}

TEST_F(Tripy, takes_a_scale_as_a_nested_sequence) {
    const std::vector<float> input{1, 2, 3, 4};
    const std::vector<std::vector<float>> nested{{0.5f, 1}};
    const std::vector<uint8_t> packed{0x22, 0x46};  // 2 2 6 4
    for (const scale_argument &scale : {scale_argument({{0.5f, 1}}), scale_argument(nested)}) {
        const result_tensor q = quantize({input, {2, 2}}, scale, int4);
        ASSERT_TRUE(q) << q.message();
        const auto *bytes = static_cast<const uint8_t *>(q->data());
        EXPECT_EQ(std::vector<uint8_t>(bytes, bytes + 2), packed);
    }
}

TEST_F(Tripy, refuses_a_nested_sequence_with_rows_of_several_lengths) {
    expect_quantize_refused({"scale", "several lengths"}, tensor({2, 2}), {{1, 1}, {1}}, int4);
}

// Python's brackets: [[1.0]] is a row of one, and [1.0] one number in a row of its own.
TEST_F(Tripy, counts_the_brackets_of_a_scale) {
    expect_quantizes(tensor({2, 1}), {{1.0}}, int4);
    expect_quantizes(tensor({2, 1}), {{1}, {2}}, int4);
    expect_quantizes(tensor({1, 3}), {1.0}, int8, 0);
    expect_quantize_refused({"scale", "scalar"}, tensor({2, 3}), {1.0});
    expect_quantize_refused({"scale", "one dimension", "2"}, tensor({2, 3}), {{1.0}}, int8, 0);
    expect_quantize_refused({"scale", "neither"}, tensor({2, 2}), {{1.0}, 2.0}, int4);
    expect_quantize_refused({"scale", "neither"}, tensor({2, 2}), {2.0, {1.0}}, int4);
    expect_quantize_refused({"scale", "neither"}, tensor({2, 2}), {{{1.0, 1.0}}}, int4);
}

TEST_F(Tripy, takes_numbers_of_every_arithmetic_type_in_any_range) {
    const std::vector<float> input{1, 2, 3, 4};
    const std::vector<int8_t> by_row{1, 2, 2, 2};
    const std::vector<double> doubles{1, 2};
    const std::vector<int> ints{1, 2};
    const std::list<float> list{1, 2};
    const std::array<unsigned char, 2> bytes{1, 2};
    for (const scale_argument &scale : {scale_argument(doubles), scale_argument(ints), scale_argument(list),
                                        scale_argument(bytes), scale_argument({1, 2}), scale_argument({1.0f, 2.0f})}) {
        EXPECT_EQ(of<int8_t>(quantize({input, {2, 2}}, scale, int8, 0)), by_row);
    }
    const std::vector<std::vector<double>> nested{{1, 2}};
    const double c_array[1][2] = {{1, 2}};
    for (const scale_argument &scale : {scale_argument(nested), scale_argument(c_array), scale_argument({{1, 2}})}) {
        EXPECT_EQ(of<qdq::i4_pair>(quantize({input, {2, 2}}, scale, int4))[0].bits, 0x11);
    }
}

TEST_F(Tripy, owns_the_elements_of_a_tensor_that_is_made_of_numbers) {
    const Tensor row({1, 2, 3}, int8), matrix({{1, 2}, {3, 4}}, float16);
    EXPECT_EQ(of<float>(dequantize(row, 0.5, float32)), (std::vector<float>{0.5f, 1, 1.5f}));
    EXPECT_EQ(of<int8_t>(quantize(matrix, {1, 2}, int8, 0)), (std::vector<int8_t>{1, 2, 2, 2}));
    const Tensor moved = [&] { return Tensor({4, 5, 6}, int8); }();
    EXPECT_EQ(of<float>(dequantize(moved, 1, float32)), (std::vector<float>{4, 5, 6}));
    expect_dequantize_refused({"input", "several lengths"}, Tensor({{1, 2}, {3}}, int8), 1);
    expect_dequantize_refused({"input", "number"}, Tensor({128}, int8), 1);
}

TEST_F(Tripy, does_not_compile_with_a_view_over_a_temporary) {
    static_assert(!std::is_constructible_v<Tensor, std::vector<float>>);
    static_assert(!std::is_constructible_v<Tensor, std::vector<float>, qdq::dimensions>);
    static_assert(std::is_constructible_v<Tensor, const std::vector<float> &, qdq::dimensions>);
    static_assert(std::is_constructible_v<Tensor, std::span<const float>>);
}

TEST_F(Tripy, names_its_own_arguments_where_memory_overlaps) {
    std::vector<float> x(6, 1.0f);
    EXPECT_TRUE(refused(quantize_out({reinterpret_cast<int8_t *>(x.data()), {2, 3}}, {x, {2, 3}}, 1, int8),
                        {"nvtripy.quantize: out: it overlaps input"}));
    EXPECT_TRUE(refused(dequantize_out({x, {2, 3}}, tensor({2, 3}, int8), qdq::tensor(x, {}), float32),
                        {"nvtripy.dequantize: out: it overlaps scale"}));
    EXPECT_TRUE(refused(quantize_out({codes.data(), {2, 3}, {1, 1}}, tensor({2, 3}), 1, int8),
                        {"nvtripy.quantize: out: its strides"}));
    EXPECT_EQ(x, std::vector<float>(6, 1.0f));
}

TEST_F(Tripy, rounds_numbers_to_the_floating_type) {
    const uint16_t tenth = static_cast<uint16_t>(reference::encode_ieee(reference::f16_format, 0.1f));
    const std::vector<int8_t> input{1, 1};
    for (const result_tensor &y : {dequantize(input, 0.1, float16), dequantize(input, {0.1, 0.1}, float16, 0)}) {
        ASSERT_TRUE(y) << y.message();
        EXPECT_EQ((*y->values<qdq::f16>())[0].bits, tenth);
        EXPECT_EQ((*y->values<qdq::f16>())[1].bits, tenth);
    }
}

TEST_F(Tripy, takes_one_dimension_of_scales_with_a_dim) {
    expect_quantizes(tensor({2, 3}), tensor({2}), int8, 0);
    expect_quantizes(tensor({2, 3}), tensor({3}), int8, 1);
    for (const dimensions &shape : {dimensions{}, {1, 3}, {1, 1}}) {
        expect_quantize_refused({"scale", "one dimension"}, tensor({2, 3}), tensor(shape), int8, 1);
        expect_dequantize_refused({"scale", "one dimension"}, tensor({2, 3}, int8), tensor(shape), float32, 1);
    }
    expect_quantize_refused({"scale", "one dimension"}, tensor({2, 3}), 0.5, int8, 0);
}

TEST_F(Tripy, wants_as_many_scales_as_input_has_along_the_dim) {
    for (int64_t count : {1, 2, 4}) {
        expect_quantize_refused({"scale", std::to_string(count), "3"}, tensor({2, 3}), tensor({count}), int8, 1);
    }
}

TEST_F(Tripy, refuses_a_dim_that_input_does_not_have) {
    for (int dim : {-1, -2, 2, 99, INT32_MIN, INT32_MAX}) {
        const std::string words = "dim: " + std::to_string(dim) + " is not in";
        expect_quantize_refused({words}, tensor({3, 3}), tensor({3}), int8, dim);
        expect_dequantize_refused({words}, tensor({3, 3}, int8), tensor({3}), float32, dim);
    }
}

TEST_F(Tripy, wants_a_scalar_or_blocks_without_a_dim) {
    for (const dimensions &shape : {dimensions{1}, {3}, {1, 1, 3}}) {
        expect_quantize_refused({"scale", "scalar"}, tensor({2, 3}), tensor(shape));
    }
    expect_quantize_refused({"scale", "scalar"}, tensor({2, 3}), {0.5, 0.5, 0.5});
}

TEST_F(Tripy, takes_blocks_for_int4_only) {
    expect_quantizes(tensor({4, 4}), tensor({2, 4}), int4);
    expect_dequantizes(tensor({4, 4}, int4), tensor({2, 4}), float32);
    for (dtype type : {int8, float8}) {
        expect_quantize_refused({"blocks", "int4"}, tensor({4, 4}), tensor({2, 4}), type);
        expect_dequantize_refused({"blocks", "int4"}, tensor({4, 4}, type), tensor({2, 4}));
    }
}

TEST_F(Tripy, takes_blocks_of_an_input_of_two_dimensions_only) {
    expect_quantize_refused({"input", "two dimensions"}, tensor({4}), tensor({2, 4}), int4);
    expect_quantize_refused({"input", "two dimensions"}, tensor({1, 4, 4}), tensor({2, 4}), int4);
}

TEST_F(Tripy, wants_blocks_that_divide_the_first_dimension_and_span_the_second) {
    for (const dimensions &shape : {dimensions{1, 4}, {2, 4}, {4, 4}}) {
        expect_quantizes(tensor({4, 4}), tensor(shape), int4);
    }
    for (const dimensions &shape : {dimensions{3, 4}, {8, 4}, {2, 2}, {2, 1}, {4, 8}, {0, 4}}) {
        expect_quantize_refused({"scale", "[4, 4]"}, tensor({4, 4}), tensor(shape), int4);
    }
}

TEST_F(Tripy, takes_an_empty_input) {
    expect_quantizes(tensor({0, 3}), 1, int8);
    expect_quantizes(tensor({0, 3}), tensor({3}), int8, 1);
    expect_dequantizes(tensor({2, 0}, int8), tensor({2}), float32, 0);
}

TEST_F(Tripy, refuses_an_out_of_another_type_or_shape) {
    EXPECT_TRUE(refused(quantize_out({codes, {3, 2}}, tensor({2, 3}), 1, int8), {"out", "[3, 2]"}));
    EXPECT_TRUE(refused(quantize_out({codes, {2, 3}}, tensor({2, 3}), 1, float8), {"out", "f8e4m3"}));
    EXPECT_TRUE(refused(dequantize_out({floats, {2, 3}}, tensor({2, 3}, int8), 1, float16), {"out", "f16"}));
    EXPECT_EQ(codes, std::vector<int8_t>(256, 77));
}

TEST_F(Tripy, says_when_memory_for_the_result_or_a_scale_is_short) {
    const memory_shortage shortage;
    EXPECT_TRUE(ran_out_of_memory(quantize(tensor({2, 3}), 1, int8).error()));
    EXPECT_TRUE(ran_out_of_memory(quantize_out({codes, {2, 3}}, tensor({2, 3}, float16), 1, int8)));
    EXPECT_TRUE(ran_out_of_memory(quantize_out({codes, {2, 2}}, tensor({2, 2}), {{1, 1}}, int4)));
}

// A scale as tensor, by its number of dimensions: none, along `dim`, or blocks.
struct randomized {
    qdq_dtype floating, stored;
    dimensions shape, scale_shape;
    std::optional<int> dim;
};

class TripyOracle : public testing::Test {
protected:
    random_bits random{20240503};
    rotation<layout, 5> x_layouts{every_layout}, scale_layouts{every_layout};
    rotation<layout, 4> y_layouts{distinct_layouts};
    const qdq_options options{};  // without a zero point its order does not matter

    static dimensions scale_index(const randomized &what, const int64_t *i) {
        if (what.dim) {
            return {i[*what.dim]};
        }
        if (what.scale_shape.empty()) {
            return {};
        }
        return {i[0] / (what.shape[0] / what.scale_shape[0]), i[1]};
    }

    tensor_memory output(qdq_dtype type, const dimensions &shape) {
        const layout how = reference::is_packed(type) ? layout::dense : y_layouts.next();
        return tensor_memory(type, shape, strides_of(how, shape));
    }

    void expect_oracle_results(const randomized &what) {
        const tensor_memory scale = random_scales(random, what.floating, what.scale_shape, scale_layouts.next());
        const auto scale_at = [&](const int64_t *i) { return float_at(scale, scale_index(what, i).data()); };
        const dtype floating = static_cast<dtype>(what.floating), stored = static_cast<dtype>(what.stored);

        const tensor_memory x = random_floats(random, what.floating, what.shape, x_layouts.next());
        tensor_memory y = output(what.stored, what.shape);
        tensor_memory expected = filled(y, [&](const int64_t *i) {
            return reference::quantize_element(float_at(x, i), scale_at(i), {}, what.stored, options);
        });
        result_tensor made = quantize(view(x), view(scale), stored, what.dim);
        ASSERT_TRUE(made) << made.message();
        ASSERT_TRUE(same_bytes(expected, *made));
        qdq::result done = quantize_out(out(y), view(x), view(scale), stored, what.dim);
        ASSERT_TRUE(done) << done.message();
        ASSERT_TRUE(same_bytes(expected, y));

        const tensor_memory q = random_codes(random, what.stored, what.shape, x_layouts.next());
        y = output(what.floating, what.shape);
        expected = filled(y, [&](const int64_t *i) {
            return reference::dequantize_element(what.stored, code_at(q, i), scale_at(i), {}, what.floating,
                                                 QDQ_ZP_SUBTRACT);
        });
        made = dequantize(view(q), view(scale), floating, what.dim);
        ASSERT_TRUE(made) << made.message();
        ASSERT_TRUE(same_bytes(expected, *made));
        done = dequantize_out(out(y), view(q), view(scale), floating, what.dim);
        ASSERT_TRUE(done) << done.message();
        ASSERT_TRUE(same_bytes(expected, y));
    }
};

TEST_F(TripyOracle, agrees_both_ways) {
    for (qdq_dtype floating : {QDQ_F32, QDQ_F16, QDQ_BF16}) {
        for (qdq_dtype stored : {QDQ_I8, QDQ_I4, QDQ_F8E4M3}) {
            for (int rank = 1; rank <= 8; rank++) {
                for (int dim = -1; dim < rank; dim++) {
                    for (int round = 0; round < 5; round++) {
                        randomized what{floating, stored, random_shape(random, rank), {}, {}};
                        if (dim >= 0) {
                            what.dim = dim;
                            what.scale_shape = {what.shape[static_cast<size_t>(dim)]};
                        }
                        SCOPED_TRACE("floating " + std::to_string(floating) + ", stored " + std::to_string(stored) +
                                     ", dim " + std::to_string(dim) + ", shape " + testing::PrintToString(what.shape));
                        expect_oracle_results(what);
                        if (HasFatalFailure()) {
                            return;
                        }
                    }
                }
            }
        }
    }
    EXPECT_TRUE(x_layouts.came_round() && scale_layouts.came_round() && y_layouts.came_round());
}

TEST_F(TripyOracle, agrees_both_ways_in_blocks) {
    for (qdq_dtype floating : {QDQ_F32, QDQ_F16, QDQ_BF16}) {
        for (int64_t blocks = 1; blocks <= 5; blocks++) {
            for (int64_t block = 1; block <= 5; block++) {
                const int64_t columns = 1 + random.below(40);
                SCOPED_TRACE("floating " + std::to_string(floating) + ", blocks " + std::to_string(blocks) + " of " +
                             std::to_string(block) + " x " + std::to_string(columns));
                expect_oracle_results({floating, QDQ_I4, {blocks * block, columns}, {blocks, columns}, {}});
                if (HasFatalFailure()) {
                    return;
                }
            }
        }
    }
}

}  // namespace
}  // namespace compat_test
