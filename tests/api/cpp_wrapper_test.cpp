// qdq.hpp: what it adds to qdq.h.
#include <qdq/qdq.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace {

using bytes = std::vector<int8_t>;

const std::vector<float> x{-1.0f, 0.0f, 0.25f, 0.75f, 1.0f, 100.0f};
const float scale = 0.5f;
const bytes quantized{-2, 0, 0, 2, 2, 127};

template<typename T, qdq::dtype type> constexpr bool is_dtype = qdq::dtype_of<T>::value == type;

static_assert(is_dtype<float, qdq::dtype::f32> && is_dtype<int8_t, qdq::dtype::i8>);
static_assert(is_dtype<uint8_t, qdq::dtype::u8> && is_dtype<int16_t, qdq::dtype::i16>);
static_assert(is_dtype<uint16_t, qdq::dtype::u16> && is_dtype<int32_t, qdq::dtype::i32>);
static_assert(is_dtype<qdq::f16, qdq::dtype::f16> && is_dtype<qdq::bf16, qdq::dtype::bf16>);
static_assert(is_dtype<qdq::f8e4m3, qdq::dtype::f8e4m3> && is_dtype<qdq::f4e2m1_pair, qdq::dtype::f4e2m1>);
static_assert(sizeof(qdq::f16) == 2 && sizeof(qdq::i4_pair) == 1 && sizeof(qdq::e8m0) == 1);

// Only memory that may be written is an output.
static_assert(std::is_constructible_v<qdq::output, std::vector<int8_t> &>);
static_assert(std::is_constructible_v<qdq::output, std::span<int8_t>>);
static_assert(!std::is_constructible_v<qdq::output, const std::vector<int8_t> &>);
static_assert(!std::is_constructible_v<qdq::output, std::span<const int8_t>>);
static_assert(!std::is_constructible_v<qdq::output, const int8_t *, qdq::dimensions>);
static_assert(!std::is_constructible_v<qdq::tensor, std::vector<double> &>);

// No view of memory that has gone when the view is used.
static_assert(!std::is_constructible_v<qdq::tensor, std::vector<float>>);
static_assert(!std::is_constructible_v<qdq::output, std::vector<float>, qdq::dimensions>);

TEST(Wrapper, quantizes_ranges_of_one_dimension) {
    bytes y(x.size());
    const qdq::result done = qdq::quantize(x, qdq::scalar(scale), y);
    ASSERT_TRUE(done) << done.message();
    EXPECT_EQ(done.status(), qdq::status::ok);
    EXPECT_STREQ(done.message(), "");
    EXPECT_EQ(y, quantized);
}

TEST(Wrapper, takes_vectors_spans_arrays_and_pointers) {
    const float c_array[2] = {1.0f, 2.0f};
    const std::array<float, 2> array{1.0f, 2.0f};
    const std::span<const float> span(c_array);
    const bytes expected{2, 4};
    bytes y(2);
    for (const qdq::tensor &view :
         {qdq::tensor(c_array), qdq::tensor(array), qdq::tensor(span), qdq::tensor(array, {2}),
          qdq::tensor(&c_array[0], {2}), qdq::tensor(static_cast<const void *>(c_array), qdq::dtype::f32, {2})}) {
        y.assign(2, 0);
        ASSERT_TRUE(qdq::quantize(view, qdq::scalar(scale), {y.data(), {2}}));
        EXPECT_EQ(y, expected);
    }
}

TEST(Wrapper, copies_shape_and_strides) {
    bytes y(6);
    std::vector<int64_t> shape{3, 2}, strides{1, 3};
    const qdq::tensor view(x, shape, strides);
    shape.assign(2, -1);
    strides.assign(2, -1);
    ASSERT_TRUE(qdq::quantize(view, qdq::scalar(scale), {y, {3, 2}}));
    EXPECT_EQ(y, (bytes{-2, 2, 0, 2, 0, 127}));
}

TEST(Wrapper, passes_every_option) {
    const int64_t block_shape[] = {128, 128};
    int stream;
    const float global = 3;
    const qdq::options how{.scale_mode = qdq::scale_mode::multiply,
                           .quantize_zp = qdq::quantize_zp::before_rounding,
                           .dequantize_zp = qdq::dequantize_zp::add,
                           .rounding = qdq::rounding::stochastic,
                           .saturate = false,
                           .axis = -3,
                           .block_size = 5,
                           .quant_min = -7,
                           .quant_max = 8,
                           .block_shape = block_shape,
                           .stream = &stream,
                           .nan = qdq::nan_code::zero,
                           .random_seed = 9,
                           .random_offset = 10,
                           .scale_is_arranged = true,
                           .scale_layout = qdq::scale_layout::column_words,
                           .global_sense = qdq::global_sense::inverse,
                           .global_scale = &global};
    const qdq_options c = how.c();
    EXPECT_EQ(c.scale_mode, QDQ_MULTIPLY);
    EXPECT_EQ(c.quantize_zp, QDQ_ZP_BEFORE_ROUNDING);
    EXPECT_EQ(c.dequantize_zp, QDQ_ZP_ADD);
    EXPECT_EQ(c.rounding, QDQ_STOCHASTIC);
    EXPECT_EQ(c.random_seed, 9u);
    EXPECT_EQ(c.random_offset, 10u);
    EXPECT_EQ(c.scale_is_arranged, 1);
    EXPECT_EQ(c.scale_layout, QDQ_SCALES_COLUMN_WORDS);
    EXPECT_EQ(c.global_sense, QDQ_GLOBAL_INVERSE);
    EXPECT_EQ(c.global_scale, &global);
    EXPECT_EQ(c.no_saturate, 1);
    EXPECT_EQ(c.axis, -3);
    EXPECT_EQ(c.block_size, 5);
    EXPECT_EQ(c.quant_min, -7);
    EXPECT_EQ(c.quant_max, 8);
    EXPECT_EQ(c.block_shape, block_shape);
    EXPECT_EQ(c.stream, &stream);
    EXPECT_EQ(c.nan, QDQ_NAN_ZERO);
}

TEST(Wrapper, passes_the_device_on) {
    float on_host;
    qdq::tensor view(&on_host, {1});
    EXPECT_EQ(view.c().device.kind, QDQ_DEVICE_HOST);
    const qdq_device device = view.on({QDQ_DEVICE_CUDA, 3, 0}).c().device;
    EXPECT_EQ(device.kind, QDQ_DEVICE_CUDA);
    EXPECT_EQ(device.id, 3);
}

TEST(Wrapper, defaults_to_all_zero_options) {
    const qdq_options c = qdq::options{}.c(), zero{};
    EXPECT_EQ(c.scale_mode, zero.scale_mode);
    EXPECT_EQ(c.rounding, zero.rounding);
    EXPECT_EQ(c.no_saturate, 0);
    EXPECT_EQ(c.nan, QDQ_NAN_LOWEST);
    EXPECT_EQ(c.block_size, 0);
    EXPECT_EQ(c.quant_max, 0);
}

TEST(Wrapper, applies_scale_zero_point_and_axis) {
    const std::vector<float> scales{0.5f, 0.25f, 1.0f};
    const bytes zero_points{1, 2, 3};
    bytes y(6);
    const qdq::result done = qdq::quantize({x, {2, 3}}, scales, zero_points, {y, {2, 3}}, {.axis = 1});
    ASSERT_TRUE(done) << done.message();
    EXPECT_EQ(y, (bytes{-1, 2, 3, 3, 6, 103}));
}

TEST(Wrapper, dequantizes) {
    const bytes codes{-2, 0, 2, 127};
    const int8_t zero_point = 2;
    std::vector<float> y(4);
    ASSERT_TRUE(qdq::dequantize(codes, qdq::scalar(scale), y));
    EXPECT_EQ(y, (std::vector<float>{-1.0f, 0.0f, 1.0f, 63.5f}));
    ASSERT_TRUE(qdq::dequantize(codes, qdq::scalar(scale), qdq::scalar(zero_point), y));
    EXPECT_EQ(y, (std::vector<float>{-2.0f, -1.0f, 0.0f, 62.5f}));
}

TEST(Wrapper, reports_the_library_message) {
    bytes y(6, 0x5a);
    const qdq::result done = qdq::quantize({x, {2, 3}}, qdq::scalar(scale), {y, {3, 2}});
    EXPECT_FALSE(done);
    EXPECT_EQ(done.status(), qdq::status::invalid_argument);
    EXPECT_NE(std::string(done.message()).find("shape"), std::string::npos) << done.message();
    EXPECT_EQ(y, bytes(6, 0x5a));
}

TEST(Wrapper, keeps_the_message_of_each_failure) {
    bytes y(6);
    const qdq::result first = qdq::quantize({x, {2, 3}}, qdq::scalar(scale), {y, {3, 2}});
    const qdq::result second = qdq::quantize(qdq::none, qdq::scalar(scale), y);
    EXPECT_NE(std::string(first.message()).find("shape"), std::string::npos) << first.message();
    qdq::result copy = second;
    EXPECT_STREQ(copy.message(), second.message());
    copy = first;
    EXPECT_STREQ(copy.message(), first.message());
    copy = copy.error();
    EXPECT_STREQ(copy.message(), first.message());
    EXPECT_THROW(first.value(), qdq::bad_result_access);
}

TEST(Wrapper, takes_shapes_of_any_integers) {
    bytes y(6);
    const std::vector<int> shape{2, 3};
    EXPECT_TRUE(qdq::quantize({x, shape}, qdq::scalar(scale), {y, std::array<short, 2>{2, 3}}));
    EXPECT_EQ(y, quantized);
    EXPECT_FALSE(qdq::quantize({x, std::vector<int>(9, 1)}, qdq::scalar(scale), {y, std::vector<int>(9, 1)}));
}

TEST(Wrapper, refuses_a_range_shorter_than_its_shape) {
    bytes y(6, 0x5a), too_short(5, 0x5a);
    EXPECT_FALSE(qdq::quantize({x, {2, 3}}, qdq::scalar(scale), {too_short, {2, 3}}));
    EXPECT_FALSE(qdq::quantize({x, {2, 4}}, qdq::scalar(scale), {y.data(), {2, 4}}));
    EXPECT_FALSE(qdq::quantize({x, {INT64_MAX, INT64_MAX}}, qdq::scalar(scale), {y, {2, 3}}));
    EXPECT_EQ(too_short, bytes(5, 0x5a));
    EXPECT_EQ(y, bytes(6, 0x5a));
    EXPECT_EQ(qdq::quantize(x, qdq::scalar(scale), {too_short, {6}}).status(), qdq::status::invalid_argument);
}

TEST(Wrapper, counts_two_elements_in_a_4_bit_pair) {
    const std::vector<qdq::i4_pair> pairs(3);
    EXPECT_EQ(qdq::tensor(pairs).c().shape[0], 6);
    EXPECT_EQ(qdq::tensor(pairs, {5}).problem(), nullptr);
    EXPECT_EQ(qdq::tensor(pairs, {2, 3}).problem(), nullptr);
    EXPECT_NE(qdq::tensor(pairs, {7}).problem(), nullptr);
}

template<typename Stored> void expect_elements_by_bits() {
    constexpr qdq::dtype type = qdq::dtype_of<Stored>::value;
    const std::vector<Stored> three(3);
    EXPECT_EQ(qdq::tensor(three).c().shape[0], 3 * 8 / qdq_dtype_bits(static_cast<qdq_dtype>(type)))
        << qdq_dtype_name(static_cast<qdq_dtype>(type));
}

TEST(Wrapper, counts_the_elements_of_every_packed_type) {
    expect_elements_by_bits<qdq::i4_pair>();
    expect_elements_by_bits<qdq::u4_pair>();
    expect_elements_by_bits<qdq::f4e2m1_pair>();
    expect_elements_by_bits<qdq::f4e1m2_pair>();
    expect_elements_by_bits<qdq::i2_quad>();
    expect_elements_by_bits<qdq::u2_quad>();
    expect_elements_by_bits<qdq::f6e2m3>();
    expect_elements_by_bits<int8_t>();
}

TEST(Wrapper, refuses_strides_of_another_length_than_the_shape) {
    bytes y(6);
    const qdq::result done = qdq::quantize({x, {2, 3}, {1}}, qdq::scalar(scale), {y, {2, 3}});
    EXPECT_EQ(done.status(), qdq::status::invalid_argument);
    EXPECT_NE(std::string(done.message()).find("strides"), std::string::npos);
}

TEST(Wrapper, refuses_a_rank_above_8) {
    bytes y(6);
    const std::vector<int64_t> nine(9, 1);
    EXPECT_EQ(qdq::quantize({x, nine}, qdq::scalar(scale), {y, nine}).status(), qdq::status::invalid_argument);
}

TEST(Wrapper, refuses_a_missing_tensor) {
    bytes y(6);
    EXPECT_EQ(qdq::quantize(qdq::none, qdq::scalar(scale), y).status(), qdq::status::invalid_argument);
    EXPECT_EQ(qdq::quantize(x, qdq::none, y).status(), qdq::status::invalid_argument);
}

TEST(Wrapper, takes_empty_ranges) {
    std::vector<float> no_floats;
    bytes no_bytes;
    EXPECT_TRUE(qdq::quantize(no_floats, qdq::scalar(scale), no_bytes));
    EXPECT_TRUE(qdq::quantize({no_floats, {0, 3}}, qdq::scalar(scale), {no_bytes, {0, 3}}));
}

TEST(Wrapper, plans_and_runs) {
    bytes y(6);
    std::vector<float> restored(6);
    qdq::plan quantizing, dequantizing;
    ASSERT_TRUE(quantizing.prepare_quantize({static_cast<const float *>(nullptr), {6}}, qdq::scalar(scale), qdq::none,
                                            {static_cast<int8_t *>(nullptr), {6}}));
    ASSERT_TRUE(dequantizing.prepare_dequantize(y, qdq::scalar(scale), qdq::none, restored));
    const qdq::plan copy = quantizing;
    ASSERT_TRUE(copy.run(x.data(), y.data()));
    EXPECT_EQ(y, quantized);
    ASSERT_TRUE(dequantizing.run(y.data(), restored.data()));
    EXPECT_EQ(restored, (std::vector<float>{-1.0f, 0.0f, 0.0f, 1.0f, 1.0f, 63.5f}));
}

TEST(Wrapper, does_not_run_a_plan_that_was_never_prepared) {
    bytes y(6, 0x5a);
    EXPECT_FALSE(qdq::plan{}.run(x.data(), y.data()));
    EXPECT_EQ(y, bytes(6, 0x5a));
}

TEST(Wrapper, transcodes) {
    const bytes codes{4, -2, 100, 6};
    const std::vector<float> x_scale{0.5f, 0.25f}, y_scale{1};
    bytes y(codes.size());
    ASSERT_TRUE(
        qdq::transcode({codes, {2, 2}}, {x_scale, {2, 1}}, qdq::none, {}, {y, {2, 2}}, {y_scale, {}}, qdq::none, {}));
    EXPECT_EQ(y, (bytes{2, -1, 25, 2}));
    const qdq::result refused =
        qdq::transcode({codes, {2, 2}}, {x_scale, {2, 1}}, qdq::none, {}, {y, {4, 1}}, {y_scale, {}}, qdq::none, {});
    EXPECT_TRUE(std::string(refused.message()).starts_with("qdq_transcode, quantizing y: "));
}

TEST(Wrapper, rows_in_groups_have_scales_of_their_own) {
    const std::vector<float> values{2, 4, 30, -60, 10, 127}, given{2, 10};
    const std::vector<std::int64_t> offsets{0, 1, 3};
    bytes y(values.size());
    ASSERT_TRUE(qdq::quantize_grouped({values, {3, 2}}, offsets, given, qdq::none, {y, {3, 2}}));
    EXPECT_EQ(y, (bytes{1, 2, 3, -6, 1, 13}));
    std::vector<float> back(values.size()), scales(2);
    ASSERT_TRUE(qdq::dequantize_grouped({y, {3, 2}}, offsets, given, qdq::none, {back, {3, 2}}));
    EXPECT_EQ(back, (std::vector<float>{2, 4, 30, -60, 10, 130}));
    ASSERT_TRUE(qdq::quantize_dynamic_grouped({values, {3, 2}}, offsets, scales, qdq::none, {y, {3, 2}}));
    EXPECT_EQ(scales, (std::vector<float>{4 / 127.0f, 1}));
    const qdq::result refused = qdq::quantize_grouped({values, {3, 2}}, {}, given, qdq::none, {y, {3, 2}});
    EXPECT_STREQ(refused.message(), "qdq_quantize_grouped: groups: -1 is below 0");
}

TEST(Wrapper, passes_the_stream_of_a_dynamic_run_on) {
    const std::vector<float> values{1, 2};
    std::vector<float> scales(1), more_scales(1);
    bytes y(2), more(2);
    int stream;
    qdq::dynamic_plan plan;
    ASSERT_TRUE(plan.prepare(values, scales, qdq::none, y));
    qdq::result refused = plan.run(values.data(), scales.data(), nullptr, y.data(), &stream);
    EXPECT_TRUE(std::string(refused.message()).starts_with("qdq_run_dynamic: stream: ")) << refused.message();
    qdq::dynamic_pair_plan pair;
    ASSERT_TRUE(pair.prepare(values, {scales, y}, {more_scales, more}));
    refused = pair.run(values.data(), {scales.data(), y.data()}, {more_scales.data(), more.data()}, &stream);
    EXPECT_TRUE(std::string(refused.message()).starts_with("qdq_run_dynamic_pair: first: stream: "))
        << refused.message();
}

TEST(Wrapper, computes_scales_and_codes_by_them) {
    const std::vector<float> values{-127.0f, 1.0f, 254.0f, 0.0f};
    std::vector<float> scales(2);
    bytes y(values.size());
    ASSERT_TRUE(qdq::compute_scales({values, {2, 2}}, qdq::dtype::i8, {scales, {2, 1}}));
    EXPECT_EQ(scales, (std::vector<float>{1, 2}));
    ASSERT_TRUE(qdq::quantize_dynamic({values, {2, 2}}, {scales, {2, 1}}, {y, {2, 2}}));
    EXPECT_EQ(y, (bytes{-127, 1, 127, 0}));
    qdq::dynamic_plan plan;
    ASSERT_TRUE(plan.prepare({values, {2, 2}}, {scales, {2, 1}}, qdq::none, {y, {2, 2}},
                             {.rule = qdq::scale_rule::power_round_up}));
    ASSERT_TRUE(plan.run(values.data(), scales.data(), nullptr, y.data()));
    EXPECT_EQ(scales, (std::vector<float>{1, 2}));
    bytes codes(values.size()), zero_points(2);
    ASSERT_TRUE(qdq::quantize_dynamic({values, {2, 2}}, {scales, {2, 1}}, qdq::output(zero_points, {2, 1}),
                                      {codes, {2, 2}}, {.rule = qdq::scale_rule::minmax}));
    EXPECT_EQ(zero_points, (bytes{125, -128}));
    const qdq::result refused =
        qdq::quantize_dynamic({values, {2, 2}}, {scales, {2, 1}}, {y, {2, 2}}, {.clip_ratio = 2});
    EXPECT_STREQ(refused.message(), "qdq_quantize_dynamic: how: clip_ratio 2 is not in 0..1");

    const std::vector<float> row = {10, 20, 30, 40};
    std::vector<qdq::f8e4m3> block(1);
    float global = 0;
    ASSERT_TRUE(qdq::quantize_dynamic({row, {1, 4}}, {block, {1, 1}}, {codes, {1, 4}},
                                      {.last_clip_ratio = 1.5f,
                                       .clip_ratio_count = 2,
                                       .global_sense = qdq::global_sense::inverse,
                                       .computes_global = true,
                                       .global_largest = 256,
                                       .global_scale = &global}));
    EXPECT_EQ(global, 127 * 256 / 40.0f);
    EXPECT_EQ(block[0].bits, 0x78);  // 256, the first candidate's
    EXPECT_EQ(codes, (bytes{32, 64, 95, 127}));

    qdq_diagnostics met;
    ASSERT_TRUE(qdq::compute_scales({row, {1, 4}}, qdq::dtype::i8, {scales, {1, 1}}, {.diagnostics = &met}));
    EXPECT_EQ(met.amax, 40);

    std::vector<float> column_scales(2);
    bytes column_codes(values.size());
    const qdq::dynamic_output by_row{{scales, {2, 1}}, {y, {2, 2}}},
        by_column{.scale = {column_scales, {1, 2}},
                  .y = {column_codes, {2, 2}},
                  .rule = {.rule = qdq::scale_rule::minmax},
                  .zero_point = qdq::output(zero_points, {1, 2})};
    ASSERT_TRUE(qdq::quantize_dynamic_pair({values, {2, 2}}, by_row, by_column));
    EXPECT_EQ(scales, (std::vector<float>{1, 2}));
    EXPECT_EQ(y, (bytes{-127, 1, 127, 0}));
    EXPECT_EQ(column_scales, (std::vector<float>{381 / 255.0f, 1 / 255.0f}));
    const bytes expected = column_codes, expected_zero_points = zero_points;
    qdq::dynamic_pair_plan of_both;
    ASSERT_TRUE(of_both.prepare({values, {2, 2}}, by_row, by_column));
    column_codes = y = {};
    column_codes.resize(values.size());
    y.resize(values.size());
    ASSERT_TRUE(of_both.run(values.data(), {scales.data(), y.data()},
                            {column_scales.data(), column_codes.data(), zero_points.data()}));
    EXPECT_EQ(column_codes, expected);
    EXPECT_EQ(zero_points, expected_zero_points);
    EXPECT_EQ(y, (bytes{-127, 1, 127, 0}));

    const std::int64_t bytes = qdq::arranged_bytes(qdq::scale_layout::tiled_128x4, 1, 1);
    std::vector<std::uint8_t> arranged(static_cast<std::size_t>(bytes), 1);
    ASSERT_TRUE(qdq::arrange_scales({block, {1, 1}}, qdq::scale_layout::tiled_128x4, arranged));
    EXPECT_EQ(arranged[0], 0x78);
    EXPECT_EQ(arranged[511], 0);
    std::vector<qdq::f8e4m3> back(1);
    ASSERT_TRUE(qdq::restore_scales(arranged, qdq::scale_layout::tiled_128x4, {back, {1, 1}}));
    EXPECT_EQ(back[0].bits, 0x78);
}

}  // namespace
