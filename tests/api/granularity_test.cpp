// How scale and zero point are broadcast over x.
#include "call.h"

#include "conformance/supported.h"
#include "support/inputs.h"

#include <utility>

namespace api_test {
namespace {

class Granularity : public Api {};

qdq_options along(int32_t axis, int64_t block_size = 0) {
    qdq_options options{};
    options.axis = axis;
    options.block_size = block_size;
    return options;
}

qdq_options in_blocks_of(const dimensions &block_shape) {
    qdq_options options{};
    options.block_shape = block_shape.data();
    return options;
}

// With and without zero points of the scale's own shape and of one element.
void expect_broadcast(const dimensions &shape, const dimensions &scale_shape, const qdq_options &options = {}) {
    SCOPED_TRACE("scale " + testing::PrintToString(scale_shape) + ", axis " + std::to_string(options.axis) +
                 ", block_size " + std::to_string(options.block_size));
    const tensor_memory scale = scales(scale_shape), each = zero_points(QDQ_I8, scale_shape);
    const tensor_memory one = tensor_memory::of<int8_t>(QDQ_I8, {}, {5});
    expect_both_ways(shape, {}, {}, scale, nullptr, options);
    expect_both_ways(shape, {}, {}, scale, &each, options);
    expect_both_ways(shape, {}, {}, scale, &one, options);
}

TEST_F(Granularity, one_element_of_any_rank_is_per_tensor) {
    for (const dimensions &one : {dimensions{}, {1}, {1, 1}, {1, 1, 1}, {1, 1, 1, 1}}) {
        expect_broadcast({3, 5, 7}, one);
    }
}

TEST_F(Granularity, one_element_ignores_axis) { expect_broadcast({3, 5, 7}, {}, along(99)); }

TEST_F(Granularity, one_element_may_be_the_one_block_that_the_options_ask_for) {
    const dimensions whole{3, 0, 9};
    for (const dimensions &one : {dimensions{}, {1}, {1, 1, 1}}) {
        expect_broadcast({3, 5, 7}, one, along(1, 5));
        expect_broadcast({3, 5, 7}, one, along(-1, 8));
        expect_broadcast({3, 5, 7}, one, in_blocks_of(whole));
    }
}

TEST_F(Granularity, a_1d_scale_is_per_channel_along_axis) {
    const dimensions shape{3, 5, 7};
    for (int32_t axis : {0, 1, 2, -1, -2, -3}) {
        const size_t d = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
        expect_broadcast(shape, {shape[d]}, along(axis));
    }
}

TEST_F(Granularity, a_1d_scale_on_long_channels_and_on_many_channels) {
    expect_broadcast({3, 1000}, {3}, along(0));
    expect_broadcast({1000, 3}, {3}, along(1));
    expect_broadcast({1000, 3}, {1000}, along(0));
    expect_broadcast({3, 1000}, {1000}, along(1));
}

// Operands are loaded 8192 at a time, at most. Fewer than 2^19 elements stay on one thread, which loads several times.
TEST_F(Granularity, a_1d_scale_of_more_than_one_load_of_operands) {
    expect_broadcast({8200, 40}, {8200}, along(0));
    expect_broadcast({3000, 70}, {3000},
                     along(0));                    // rows where they lie, with scales, inverses and zero points of each
    expect_broadcast({600, 17}, {600}, along(0));  // rows fused into one, with 17 copies of each operand
    expect_broadcast({3, 8200}, {8200}, along(1));
}

// Columns of 64 rows of 63 elements are whole groups, but more than there is room for: scales, inverses and zero points
// of 4032. Parts of them begin at any operand.
TEST_F(Granularity, a_1d_scale_along_rows_that_make_whole_groups_of_more_columns_than_one_load) {
    for (const dimensions &shape : {dimensions{131, 63}, {67, 126}, {11, 1008}, {7, 2016}}) {
        for (const qdq_stores stores : {QDQ_STORES_CACHED, QDQ_STORES_NONTEMPORAL}) {
            qdq_options options = along(1);
            options.stores = stores;
            expect_broadcast(shape, {shape[1]}, options);
        }
    }
}

TEST_F(Granularity, a_1d_scale_on_a_1d_x_is_blocks_of_it) {
    expect_broadcast({12}, {12});
    expect_broadcast({12}, {4});
    expect_broadcast({12}, {1});
    expect_broadcast({1000}, {8});
}

TEST_F(Granularity, same_rank_scales_mix_shared_and_own_dimensions) {
    for (const dimensions &scale :
         {dimensions{3, 1, 1}, {1, 4, 1}, {1, 1, 6}, {3, 4, 1}, {3, 1, 6}, {1, 4, 6}, {3, 4, 6}}) {
        expect_broadcast({3, 4, 6}, scale);
    }
}

TEST_F(Granularity, blocks_along_the_last_axis) {
    for (int64_t block : {1, 2, 3, 4, 8, 16, 32, 64, 128}) {
        expect_broadcast({5, 2 * block}, {5, 2});
        expect_broadcast({5, 7 * block}, {5, 7});
    }
}

TEST_F(Granularity, blocks_along_the_first_axis) {
    for (int64_t block : {2, 3, 16, 32}) {
        expect_broadcast({3 * block, 11}, {3, 11});
    }
}

TEST_F(Granularity, blocks_on_several_axes_at_once) {
    expect_broadcast({8, 12}, {2, 3});
    expect_broadcast({64, 48}, {4, 3});
    expect_broadcast({4, 6, 8}, {2, 3, 4});
    expect_broadcast({4, 6, 8, 10}, {2, 3, 2, 5});
    expect_broadcast({4, 6, 8}, {2, 1, 4});
}

TEST_F(Granularity, tiles_of_128_by_128) { expect_broadcast({256, 384}, {2, 3}); }

TEST_F(Granularity, ragged_last_blocks) {
    expect_broadcast({5}, {2});              // 3 and 2
    expect_broadcast({7}, {4});              // 2, 2, 2 and 1
    expect_broadcast({3, 65}, {3, 2});       // 33 and 32
    expect_broadcast({9, 33}, {2, 3});       // 5 and 4 by 11s
    expect_broadcast({5, 7, 9}, {2, 4, 5});  // ragged in all three
    expect_broadcast({300, 200}, {3, 1});
    expect_broadcast({131, 257}, {2, 3});
}

TEST_F(Granularity, a_block_size_along_axis) {
    expect_broadcast({4, 96}, {4, 3}, along(1, 32));
    expect_broadcast({4, 96}, {4, 3}, along(-1, 32));
    expect_broadcast({96, 4}, {3, 4}, along(0, 32));
    expect_broadcast({96, 4}, {3, 4}, along(-2, 32));
    expect_broadcast({3, 10, 5}, {3, 5, 5}, along(1, 2));
}

TEST_F(Granularity, a_block_size_leaves_a_ragged_last_block) {
    expect_broadcast({4, 70}, {4, 3}, along(1, 32));  // 32, 32 and 6
    expect_broadcast({4, 65}, {4, 3}, along(1, 32));  // 32, 32 and 1
    expect_broadcast({70, 4}, {3, 4}, along(0, 32));
    expect_broadcast({4, 10}, {4, 2}, along(1, 9));  // 9 and 1, which the shapes alone would split 5 and 5
    expect_broadcast({10}, {2}, along(0, 9));
}

TEST_F(Granularity, a_block_size_beyond_the_axis_is_one_block) {
    expect_broadcast({4, 10}, {4, 1}, along(1, 32));
    expect_broadcast({4, 10}, {4, 1}, along(1, int64_t{1} << 62));
}

TEST_F(Granularity, a_block_size_with_blocks_on_the_other_axes_too) { expect_broadcast({8, 10}, {2, 3}, along(1, 4)); }

TEST_F(Granularity, a_block_shape_leaves_ragged_last_blocks_on_every_axis) {
    const dimensions tile{128, 128};
    expect_broadcast({576, 300}, {5, 3}, in_blocks_of(tile));  // the shapes alone would cut 576 by 116 and 300 by 100
    expect_broadcast({128, 256}, {1, 2}, in_blocks_of(tile));
    expect_broadcast({100, 130}, {1, 2}, in_blocks_of(tile));
    const dimensions brick{2, 3, 4};
    expect_broadcast({5, 7, 9}, {3, 3, 3}, in_blocks_of(brick));
}

TEST_F(Granularity, a_zero_in_a_block_shape_is_derived_from_the_shapes) {
    const dimensions rows_alone{4, 0};
    expect_broadcast({10, 9}, {3, 2}, in_blocks_of(rows_alone));  // 4, 4 and 2 by 5 and 4
}

TEST_F(Granularity, a_broadcast_scale_with_stride_0) {
    const tensor_memory scale = scales({4, 6}, {0, 0}), rows = scales({4, 6}, {1, 0}), columns = scales({4, 6}, {0, 1});
    for (const dimensions &shape : {dimensions{4, 6}, {8, 12}, {7, 11}}) {
        for (const tensor_memory *spread : {&scale, &rows, &columns}) {
            expect_both_ways(shape, {}, {}, *spread);
        }
    }
}

// 17 elements are no whole bytes, nor 6 of 2 bits: parts of so many rows must still begin at one.
TEST_F(Granularity, a_scale_for_each_of_many_packed_rows_of_odd_length) {
    for (qdq_dtype codes : supported::stored_types) {
        if (!reference::is_packed(codes)) {
            continue;
        }
        for (const dimensions &shape : {dimensions{1000, 17}, {2501, 3}, {4, 300, 5}, {1001, 6}}) {
            dimensions rows = shape;
            rows.back() = 1;
            for (qdq_packing packing : supported::packings_of(codes)) {
                if (packing == QDQ_SPLIT_HALVES) {
                    continue;  // of 32 elements
                }
                qdq_options options{};
                options.packing = packing;
                SCOPED_TRACE(std::string(reference::name_of(codes)) + ", packing " + std::to_string(packing) + ", " +
                             testing::PrintToString(shape));
                expect_reference_result(direction::quantize, floats(QDQ_F32, shape), scales(rows), nullptr,
                                        tensor_memory(codes, shape), options);
                expect_reference_result(direction::dequantize, stored(codes, shape), scales(rows), nullptr,
                                        tensor_memory(QDQ_F32, shape), options);
            }
        }
    }
}

// Last blocks that are shorter, in rows and blocks that begin at whole bytes, and that do not; the other tensor dense,
// and with its columns far apart.
TEST_F(Granularity, ragged_blocks_of_packed_codes) {
    const std::pair<dimensions, dimensions> cases[] = {
        {{9, 1000}, {1, 32}}, {{3, 70}, {2, 32}}, {{5, 64}, {1, 33}},  {{4, 36}, {3, 17}},       {{1, 77}, {1, 32}},
        {{7, 9}, {2, 9}},     {{6, 40}, {4, 3}},  {{3, 1023}, {1, 0}}, {{2, 3, 24}, {1, 2, 16}}, {{5, 130}, {1, 64}}};
    for (const qdq_dtype codes : supported::stored_types) {
        if (!reference::is_packed(codes) || !supported::has_row(false, codes, QDQ_F32) ||
            !supported::has_row(true, QDQ_F32, codes)) {
            continue;
        }
        for (const auto &[shape, blocks] : cases) {
            SCOPED_TRACE(testing::PrintToString(shape) + " in blocks of " + testing::PrintToString(blocks));
            dimensions scale_shape, apart(shape.size(), 1);
            for (size_t d = 0; d < shape.size(); d++) {
                scale_shape.push_back(blocks[d] == 0 ? 1 : (shape[d] + blocks[d] - 1) / blocks[d]);
                apart[d] = d == 0 ? 1 : apart[d - 1] * shape[d - 1];
            }
            const tensor_memory scale = scales(scale_shape);
            for (const dimensions &strides : {dimensions{}, apart}) {
                const qdq_options options = in_blocks_of(blocks);
                expect_reference_result(direction::quantize, floats(QDQ_F32, shape, strides), scale, nullptr,
                                        tensor_memory(codes, shape), options);
                expect_reference_result(direction::dequantize, stored(codes, shape), scale, nullptr,
                                        tensor_memory(QDQ_F32, shape, strides), options);
            }
        }
    }
}

// Scale and zero point each by strides of its own: what is one loop for one is not for the other.
TEST_F(Granularity, zero_points_laid_out_unlike_the_scale) {
    const dimensions spread{4, 6};
    const std::vector<dimensions> layouts{{}, {1, 4}, {0, 1}, {1, 0}, {0, 0}, {-6, -1}, {12, 2}, {6, -1}, {7, 1}};
    for (const dimensions &of_scale : layouts) {
        for (const dimensions &of_zero_point : layouts) {
            SCOPED_TRACE("scale by " + testing::PrintToString(of_scale) + ", zero point by " +
                         testing::PrintToString(of_zero_point));
            const tensor_memory scale = scales(spread, of_scale),
                                zero_point = zero_points(QDQ_I8, spread, of_zero_point);
            for (const dimensions &shape :
                 {dimensions{4, 6}, {8, 12}, {7, 11}, {4, 384}}) {  // each, blocks, ragged, long
                expect_both_ways(shape, {}, {}, scale, &zero_point);
                expect_both_ways(shape, {1, shape[0]}, {}, scale, &zero_point);
            }
            expect_reference_result(direction::quantize, floats(QDQ_F32, {4, 6}), scale, &zero_point,
                                    tensor_memory(QDQ_I4, {4, 6}));
            expect_reference_result(direction::dequantize, stored(QDQ_I4, {7, 11}), scale, &zero_point,
                                    tensor_memory(QDQ_F32, {7, 11}));
        }
    }
}

// Tiles whose rows share a zero point come before and after tiles whose rows have several, and begin with the same.
TEST_F(Granularity, zero_points_that_rows_of_some_tiles_share) {
    const tensor_memory scale = scales({900, 7, 1});
    tensor_memory zero_point(QDQ_I8, {900, 7, 1}, {1, 0, 0});
    zero_point.fill([](int64_t i) { return static_cast<uint32_t>(i / 7 / 300 == 1 && i / 7 % 3 == 2 ? 9 : 6); });
    for (const int64_t columns : {3, 10, 21, 65}) {
        expect_both_ways({900, 7, columns}, {}, {}, scale, &zero_point);
        expect_both_ways({900, 7, columns}, {1, 900, 900 * 7}, {}, scale, &zero_point);
    }
}

// A tile reads its scales by several ranges, and finds the same zero point for each.
TEST_F(Granularity, one_zero_point_of_scales_that_lie_apart) {
    tensor_memory zero_point(QDQ_I16);
    zero_point.fill([](int64_t) { return uint32_t{0x54}; });
    for (const int64_t rows : {64, 128, 200}) {
        const tensor_memory scale = scales({(rows + 15) / 16, 64}, {1, 20});
        const int64_t block[] = {16, 1};
        const qdq_options blocks{.block_shape = block};
        expect_reference_result(direction::quantize, floats(QDQ_BF16, {rows, 64}, {1, rows + 2}), scale, &zero_point,
                                tensor_memory(QDQ_I8, {rows, 64}, {256, 4}), blocks);
    }
}

// Rows that share a tile, each with a zero point for all of its blocks.
TEST_F(Granularity, zero_points_of_rows_of_which_some_are_the_same) {
    const tensor_memory scale = scales({6, 3});
    for (const std::vector<int8_t> &of_rows :
         {std::vector<int8_t>{4, 4, 4, 4, 4, 4}, {4, 4, 7, 4, 4, 9}, {4, 7, 4, 7, 7, 7}, {0, 0, 0, 0, 0, 1}}) {
        SCOPED_TRACE(testing::PrintToString(of_rows));
        tensor_memory zero_point(QDQ_I8, {6, 3}, {1, 0});
        zero_point.fill([&](int64_t i) { return static_cast<uint32_t>(of_rows[static_cast<size_t>(i / 3)]); });
        for (const dimensions &shape : {dimensions{6, 3}, {6, 70}, {12, 33}, {12, 384}}) {
            expect_both_ways(shape, {}, {}, scale, &zero_point);
            expect_both_ways(shape, {1, shape[0]}, {}, scale, &zero_point);
        }
    }
}

TEST_F(Granularity, blocks_of_a_strided_x) {
    const dimensions shape{8, 12};
    for (const dimensions &scale_shape : {dimensions{2, 3}, {8, 1}, {1, 12}, {3, 4}, {3, 1}}) {
        const tensor_memory scale = scales(scale_shape), each = zero_points(QDQ_I8, scale_shape);
        expect_both_ways(shape, {1, 8}, {}, scale, &each);
        expect_both_ways(shape, {}, {1, 8}, scale, &each);
        expect_both_ways(shape, {-12, -1}, {24, 2}, scale, &each);
    }
}

// Kernels multiply by their reciprocals.
TEST_F(Granularity, scales_that_are_powers_of_two_divide_exactly) {
    for (const dimensions &scale_shape : {dimensions{}, {1, 256}, {4, 1}, {4, 8}}) {
        tensor_memory scale(QDQ_E8M0, scale_shape);
        scale.fill([](int64_t i) { return static_cast<uint32_t>(119 + i % 9); });
        const tensor_memory zero_point = zero_points(QDQ_I8, scale_shape);
        for (const auto &[place, rounding] : {std::pair{QDQ_ZP_AFTER_ROUNDING, QDQ_NEAREST_EVEN},
                                              {QDQ_ZP_BEFORE_ROUNDING, QDQ_NEAREST_EVEN},
                                              {QDQ_ZP_AFTER_ROUNDING, QDQ_UP}}) {
            qdq_options options{};
            options.quantize_zp = place;
            options.rounding = rounding;
            expect_both_ways({4, 256}, {}, {}, scale, nullptr, options);
            expect_both_ways({4, 256}, {}, {}, scale, &zero_point, options);
        }
    }
}

// The products are no powers of two: quotients that are halfway between codes tell.
TEST_F(Granularity, powers_of_two_times_a_global_scale_divide_correctly_rounded) {
    const float global = 1.0f / 3;
    const tensor_memory scale = tensor_memory::of<uint8_t>(QDQ_E8M0, {}, {127});
    const std::vector<float> values = test_support::tricky_floats(global, QDQ_DIVIDE, 4096, 1);
    const dimensions shape{static_cast<int64_t>(values.size())};
    const tensor_memory x = tensor_memory::of<float>(QDQ_F32, shape, values);
    qdq_options options{};
    options.global_sense = QDQ_GLOBAL_SCALE;
    options.global_scale = &global;
    expect_reference_result(direction::quantize, x, scale, nullptr, tensor_memory(QDQ_I8, shape), options);
}

TEST_F(Granularity, zero_points_of_every_integer_type) {
    const tensor_memory scale = scales({6});
    for (qdq_dtype type : {QDQ_I8, QDQ_U8, QDQ_I16, QDQ_U16, QDQ_I32}) {
        const tensor_memory zero_point = zero_points(type, {6}), x = floats(QDQ_F32, {4, 6}), y(QDQ_I8, {4, 6});
        const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_zero_point = zero_point.view(), c_y = y.view();
        const qdq_options options = along(1);
        const qdq_status status = qdq_quantize(&c_x, &c_scale, &c_zero_point, &c_y, &options);
        if (status == QDQ_UNSUPPORTED) {
            std::printf("[   NOTE   ] %s\n", qdq_last_error());
            continue;
        }
        expect_both_ways({4, 6}, {}, {}, scale, &zero_point, options);
    }
}

}  // namespace
}  // namespace api_test
