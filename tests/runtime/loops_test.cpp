// The reduction of dimensions to loops: which merge, which two loops become a kernel's plane, which rows are one.
#include "plan/loops.h"

#include "dimensions.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace runtime_test {
namespace {

using namespace qdq::runtime;

constexpr unsigned drawn_shapes = 5000;

std::vector<blocked_dimension> merged(const std::vector<blocked_dimension> &dimensions, merge_order order) {
    blocked_dimension result[most_dimensions];
    const int count = merge_dimensions(dimensions.data(), static_cast<int>(dimensions.size()), order, result);
    return {result, result + count};
}

std::string merged_description(const std::vector<blocked_dimension> &dimensions,
                               merge_order order = merge_order::of_strides) {
    const std::vector<blocked_dimension> left = merged(dimensions, order);
    return description(left);
}

// A dimension along which no operand varies: it is one block.
blocked_dimension constant(int64_t extent, int64_t x, int64_t y) { return {{extent, x, y, 0, 0}, extent}; }

TEST(MergeDimensions, makes_one_of_those_that_continue_one_another) {
    const std::vector<blocked_dimension> dense{constant(3, 20, 20), constant(4, 5, 5), constant(5, 1, 1)};
    EXPECT_EQ(merged_description(dense), "{60, 1, 1, 0, 0; block 60} ");
    EXPECT_EQ(merged_description(dense, merge_order::as_given), "{60, 1, 1, 0, 0; block 60} ");
}

TEST(MergeDimensions, drops_those_of_one_element) {
    EXPECT_EQ(merged_description({constant(1, 7, 9), {{5, 2, 1, 3, 0}, 1}, constant(1, 0, 0)}),
              "{5, 2, 1, 3, 0; block 1} ");
    EXPECT_EQ(merged_description({constant(1, 1, 1)}), "");
    EXPECT_EQ(merged_description({}), "");
}

TEST(MergeDimensions, of_strides_sees_that_two_transposed_tensors_continue_where_as_given_does_not) {
    const std::vector<blocked_dimension> column_major{constant(4, 1, 1), constant(5, 4, 4)};
    EXPECT_EQ(merged_description(column_major, merge_order::of_strides), "{20, 1, 1, 0, 0; block 20} ");
    EXPECT_EQ(merged_description(column_major, merge_order::as_given),
              "{5, 4, 4, 0, 0; block 5} {4, 1, 1, 0, 0; block 4} ");
}

TEST(MergeDimensions, of_strides_puts_the_smallest_stride_of_y_innermost_and_then_that_of_x) {
    EXPECT_EQ(merged_description({constant(4, 1, 7), constant(5, 9, 1)}),
              "{5, 9, 1, 0, 0; block 5} {4, 1, 7, 0, 0; block 4} ");
    EXPECT_EQ(merged_description({constant(4, -2, 6), constant(5, 9, -6)}),
              "{4, -2, 6, 0, 0; block 4} {5, 9, -6, 0, 0; block 5} ");
    EXPECT_EQ(merged_description({constant(4, 2, -6), constant(5, 9, 1)}),
              "{5, 9, 1, 0, 0; block 5} {4, 2, -6, 0, 0; block 4} ");
}

TEST(MergeDimensions, leaves_apart_what_a_gap_in_x_or_y_parts) {
    EXPECT_EQ(merged({constant(3, 6, 5), constant(5, 1, 1)}, merge_order::of_strides).size(), 2u);
    EXPECT_EQ(merged({constant(3, 5, 6), constant(5, 1, 1)}, merge_order::of_strides).size(), 2u);
}

TEST(MergeDimensions, merges_negative_strides_that_continue_one_another) {
    EXPECT_EQ(merged_description({constant(3, -5, 5), constant(5, -1, 1)}), "{15, -1, 1, 0, 0; block 15} ");
    EXPECT_EQ(merged({constant(3, -5, 5), constant(5, 1, 1)}, merge_order::of_strides).size(), 2u);
}

TEST(MergeDimensions, makes_blocks_of_rows_that_share_an_operand) {
    EXPECT_EQ(merged_description({{{3, 5, 5, 1, 2}, 1}, constant(5, 1, 1)}), "{15, 1, 1, 1, 2; block 5} ");
    EXPECT_EQ(merged_description({{{6, 5, 5, 1, 0}, 2}, constant(5, 1, 1)}), "{30, 1, 1, 1, 0; block 10} ");
}

TEST(MergeDimensions, a_ragged_one_takes_constant_ones_in_and_stays_ragged) {
    const auto left = merged({{{5, 4, 4, 1, 0}, 2}, constant(4, 1, 1)}, merge_order::of_strides);
    EXPECT_EQ(description(left), "{20, 1, 1, 1, 0; block 8} ");
    EXPECT_TRUE(left[0].ragged());
}

TEST(MergeDimensions, operands_that_continue_one_another_merge_and_others_do_not) {
    const auto with_outer_operands = [](int64_t scale, int64_t zero_point) {
        return merged({{{3, 4, 4, scale, zero_point}, 1}, {{4, 1, 1, 1, 1}, 1}}, merge_order::of_strides).size();
    };
    EXPECT_EQ(with_outer_operands(4, 4), 1u);
    EXPECT_EQ(with_outer_operands(5, 4), 2u);
    EXPECT_EQ(with_outer_operands(4, 5), 2u);
    EXPECT_EQ(with_outer_operands(0, 0), 2u) << "channels of the last axis repeat in each row";
}

TEST(MergeDimensions, blocks_within_rows_merge_unless_the_last_is_ragged) {
    EXPECT_EQ(merged_description({{{3, 8, 8, 2, 0}, 1}, {{8, 1, 1, 1, 0}, 4}}), "{24, 1, 1, 1, 0; block 4} ");
    EXPECT_EQ(merged({{{3, 9, 9, 3, 0}, 1}, {{9, 1, 1, 1, 0}, 4}}, merge_order::of_strides).size(), 2u);
    EXPECT_EQ(merged({{{3, 9, 9, 2, 0}, 1}, {{9, 1, 1, 1, 0}, 4}}, merge_order::of_strides).size(), 2u)
        << "a row's last operand is the next one's first";
    EXPECT_EQ(merged({{{4, 8, 8, 2, 0}, 2}, {{8, 1, 1, 1, 0}, 4}}, merge_order::of_strides).size(), 2u)
        << "of blocks of 2 x 4 elements, the second row's are the first's again";
}

TEST(MergeDimensions, keeps_every_elements_place_and_operands) {
    for (unsigned i = 0; i < drawn_shapes && !HasFailure(); i++) {
        test_support::random_choices random(i);
        const auto dimensions = drawn_dimensions(random, blocks::any);
        std::vector<element> expected = elements_of(dimensions);
        std::sort(expected.begin(), expected.end());
        auto left = merged(dimensions, merge_order::of_strides);
        std::reverse(left.begin(), left.end());
        std::vector<element> found = elements_of(left);
        std::sort(found.begin(), found.end());
        EXPECT_EQ(found, expected) << i << ": " << description(dimensions) << " became " << description(left);
    }
}

TEST(MergeDimensions, as_given_keeps_the_elements_in_their_order_too) {
    for (unsigned i = 0; i < drawn_shapes && !HasFailure(); i++) {
        test_support::random_choices random(i);
        const auto dimensions = drawn_dimensions(random, blocks::any);
        auto left = merged(dimensions, merge_order::as_given);
        std::reverse(left.begin(), left.end());
        EXPECT_EQ(elements_of(left), elements_of(dimensions))
            << i << ": " << description(dimensions) << " became " << description(left);
    }
}

constexpr dispatch_parameters tuned = [] {
    dispatch_parameters of{};
    of.fused_row = 256;
    of.fused_nontemporal_row = 320;
    of.fused_repeating_row = 24;
    return of;
}();

call call_of(operation kind, qdq_dtype x, qdq_dtype y) {
    call op{};
    op.tuned = &tuned;
    op.kind = kind;
    op.x_type = x;
    op.y_type = y;
    op.x_bits = type_of(x).bits;
    op.y_bits = type_of(y).bits;
    op.block = op.codes().block;
    return op;
}

const call to_i8 = call_of(operation::quantize, QDQ_F32, QDQ_I8);
const call to_i4 = call_of(operation::quantize, QDQ_F32, QDQ_I4);
const call from_i8 = call_of(operation::dequantize, QDQ_I8, QDQ_F32);
const call from_i4 = call_of(operation::dequantize, QDQ_I4, QDQ_F32);

loop_nest normalized(const call &op, const std::vector<blocked_dimension> &dimensions) {
    loop_nest nest;
    normalize(op, dimensions.data(), static_cast<int>(dimensions.size()), nest);
    return nest;
}

std::string loops_of(const loop_nest &nest) {
    std::ostringstream out;
    for (int i = 0; i < nest.count; i++) {
        const dimension &d = nest.loops[i];
        out << "{" << d.extent << ", " << d.x << ", " << d.y << ", " << d.scale << ", " << d.zero_point << "} ";
    }
    return out.str();
}

std::string normalized_description(const call &op, const std::vector<blocked_dimension> &dimensions) {
    return loops_of(normalized(op, dimensions));
}

TEST(Normalize, one_element_is_one_loop_of_one_step) {
    EXPECT_EQ(normalized_description(to_i8, {}), "{1, 1, 1, 0, 0} ");
    EXPECT_EQ(normalized_description(to_i8, {constant(1, 5, 5)}), "{1, 1, 1, 0, 0} ");
}

TEST(Normalize, a_dense_tensor_is_one_loop) {
    EXPECT_EQ(normalized_description(to_i8, {constant(300, 500, 500), constant(500, 1, 1)}), "{150000, 1, 1, 0, 0} ");
}

TEST(Normalize, columns_are_contiguous_and_rows_have_an_operand_each) {
    EXPECT_EQ(normalized_description(to_i8, {{{300, 500, 500, 1, 0}, 1}, constant(500, 1, 1)}),
              "{500, 1, 1, 0, 0} {300, 500, 500, 1, 0} ");
}

TEST(Normalize, blocks_become_a_loop_within_one_and_a_loop_over_them) {
    EXPECT_EQ(normalized_description(to_i8, {{{256, 1, 1, 3, 2}, 128}}), "{128, 1, 1, 0, 0} {2, 128, 128, 3, 2} ");
    EXPECT_EQ(normalized_description(to_i8, {{{128, 1, 1, 3, 2}, 128}}), "{128, 1, 1, 0, 0} ") << "one block";
}

TEST(Normalize, of_transposed_tensors_the_wider_ones_contiguous_loop_is_innermost) {
    EXPECT_EQ(normalized_description(to_i8, {constant(300, 1, 500), constant(500, 300, 1)}),
              "{300, 1, 500, 0, 0} {500, 300, 1, 0, 0} ");
    EXPECT_EQ(normalized_description(from_i8, {constant(300, 1, 500), constant(500, 300, 1)}),
              "{500, 300, 1, 0, 0} {300, 1, 500, 0, 0} ");
}

TEST(Normalize, of_transposed_tensors_the_packed_ones_contiguous_loop_is_innermost) {
    EXPECT_EQ(normalized_description(to_i4, {constant(300, 1, 500), constant(500, 300, 1)}),
              "{500, 300, 1, 0, 0} {300, 1, 500, 0, 0} ");
    EXPECT_EQ(normalized_description(from_i4, {constant(300, 1, 500), constant(500, 300, 1)}),
              "{300, 1, 500, 0, 0} {500, 300, 1, 0, 0} ");
}

TEST(Normalize, where_transposed_tensors_have_more_loops_the_second_is_the_other_contiguous_one) {
    EXPECT_EQ(normalized_description(to_i8, {constant(300, 1, 5000), constant(10, 300, 500), constant(500, 3000, 1)}),
              "{300, 1, 5000, 0, 0} {500, 3000, 1, 0, 0} {10, 300, 500, 0, 0} ");
    EXPECT_EQ(normalized_description(from_i8, {constant(300, 1, 5000), constant(10, 300, 500), constant(500, 3000, 1)}),
              "{500, 3000, 1, 0, 0} {300, 1, 5000, 0, 0} {10, 300, 500, 0, 0} ");
    EXPECT_EQ(
        normalized_description(to_i8, {{{300, 1, 5000, 1, 0}, 1}, constant(10, 300, 500), {{500, 3000, 1, 300, 0}, 1}}),
        "{300, 1, 5000, 1, 0} {500, 3000, 1, 300, 0} {10, 300, 500, 0, 0} ")
        << "although its operands vary, too";
}

TEST(Normalize, where_operands_vary_along_columns_the_second_loop_is_one_along_which_they_do_not) {
    EXPECT_EQ(normalized_description(
                  to_i8, {constant(20, 90000, 90000), {{30, 2000, 2000, 500, 0}, 1}, {{500, 1, 1, 1, 0}, 1}}),
              "{500, 1, 1, 1, 0} {20, 90000, 90000, 0, 0} {30, 2000, 2000, 500, 0} ");
}

TEST(Normalize, of_loops_that_suit_alike_that_of_the_smaller_strides_comes_first) {
    EXPECT_EQ(normalized_description(to_i8,
                                     {{{20, 90000, 90000, 5, 0}, 1}, {{30, 2000, 2000, 7, 0}, 1}, constant(500, 1, 1)}),
              "{500, 1, 1, 0, 0} {30, 2000, 2000, 7, 0} {20, 90000, 90000, 5, 0} ");
}

TEST(Normalize, short_contiguous_rows_give_way_to_long_columns_with_a_stride) {
    EXPECT_EQ(normalized_description(to_i8, {constant(1 << 18, 5, 4), constant(4, 1, 1)}),
              "{262144, 5, 4, 0, 0} {4, 1, 1, 0, 0} ");
    EXPECT_EQ(normalized_description(to_i8, {constant(1 << 18, 9, 8), constant(8, 1, 1)}),
              "{8, 1, 1, 0, 0} {262144, 9, 8, 0, 0} ");
    EXPECT_EQ(normalized_description(to_i4, {constant(1 << 18, 5, 4), constant(4, 1, 1)}),
              "{4, 1, 1, 0, 0} {262144, 5, 4, 0, 0} ")
        << "packed codes are whole bytes along one loop only";
}

TEST(Normalize, reaches_every_element_once_with_its_operands) {
    for (unsigned i = 0; i < drawn_shapes && !HasFailure(); i++) {
        test_support::random_choices random(i);
        const auto dimensions = drawn_dimensions(random, blocks::whole);
        std::vector<element> expected = elements_of(dimensions);
        std::sort(expected.begin(), expected.end());
        const loop_nest nest = normalized(random.chance(2) ? to_i8 : from_i4, dimensions);
        std::vector<element> found{{}};
        for (const dimension &loop : std::span(nest.loops, static_cast<size_t>(nest.count))) {
            std::vector<element> longer;
            for (const element &e : found) {
                for (int64_t step = 0; step < loop.extent; step++) {
                    longer.push_back(moved(e, loop, step, step));
                }
            }
            found = std::move(longer);
        }
        std::sort(found.begin(), found.end());
        EXPECT_EQ(found, expected) << i << ": " << description(dimensions) << " became " << loops_of(nest);
    }
}

// Rows of `extent` elements that lie end to end and have an operand each.
bool fuses_with_operands_per_row(const call &op, int64_t extent) {
    return fuses_rows(op, {extent, 1, 1, 0, 0}, {100, extent, extent, 1, 0});
}

// Those that share an operand for each column.
bool fuses_with_operands_per_column(const call &op, int64_t extent) {
    return fuses_rows(op, {extent, 1, 1, 1, 0}, {100, extent, extent, 0, 0});
}

call past_the_caches(call op) {
    op.nontemporal = true;
    return op;
}

TEST(FusesRows, short_ones_with_an_operand_each) {
    EXPECT_TRUE(fuses_with_operands_per_row(to_i8, 2));
    EXPECT_TRUE(fuses_with_operands_per_row(to_i8, 23));
    EXPECT_FALSE(fuses_with_operands_per_row(to_i8, 25));
    EXPECT_TRUE(fuses_with_operands_per_row(to_i8, 224)) << "operands are repeated by blocks of 32";
    EXPECT_FALSE(fuses_with_operands_per_row(to_i8, 256));
    EXPECT_TRUE(fuses_with_operands_per_row(past_the_caches(to_i8), 256));
    EXPECT_FALSE(fuses_with_operands_per_row(past_the_caches(to_i8), 320));
    EXPECT_TRUE(fuses_with_operands_per_row(to_i4, 25)) << "packed rows of odd length have no other way";
}

TEST(FusesRows, those_that_leave_lanes_of_a_group_empty_and_share_their_operands) {
    EXPECT_TRUE(fuses_with_operands_per_column(to_i8, 3));
    EXPECT_FALSE(fuses_with_operands_per_column(to_i8, 64));
    EXPECT_TRUE(fuses_with_operands_per_column(to_i8, 100));
    EXPECT_TRUE(fuses_with_operands_per_column(to_i8, 2016)) << "two rows are 63 groups";
    EXPECT_FALSE(fuses_with_operands_per_column(to_i8, 65)) << "64 rows are more than operands are repeated for";
    EXPECT_TRUE(fuses_with_operands_per_column(past_the_caches(to_i8), 64));
    EXPECT_FALSE(fuses_with_operands_per_column(past_the_caches(to_i8), 320));
}

TEST(FusesRows, only_those_that_lie_end_to_end) {
    EXPECT_FALSE(fuses_rows(to_i8, {8, 1, 1, 0, 0}, {100, 9, 8, 1, 0}));
    EXPECT_FALSE(fuses_rows(to_i8, {8, 1, 1, 0, 0}, {100, 8, 9, 1, 0}));
    EXPECT_FALSE(fuses_rows(to_i8, {8, 2, 1, 0, 0}, {100, 8, 8, 1, 0}));
    EXPECT_FALSE(fuses_rows(to_i8, {8, 1, 2, 0, 0}, {100, 8, 8, 1, 0}));
    EXPECT_FALSE(fuses_rows(to_i8, {8, -1, 1, 0, 0}, {100, -8, 8, 1, 0}));
}

TEST(FusesRows, none_where_operands_vary_along_both_or_neither) {
    EXPECT_FALSE(fuses_rows(to_i8, {8, 1, 1, 1, 0}, {100, 8, 8, 0, 8}));
    EXPECT_FALSE(fuses_rows(to_i8, {8, 1, 1, 0, 0}, {100, 8, 8, 0, 0}));
    EXPECT_TRUE(fuses_rows(to_i8, {8, 1, 1, 0, 0}, {100, 8, 8, 0, 1})) << "a zero point is an operand";
}

TEST(RowsOfWholeGroups, are_the_fewest_whose_elements_fill_groups) {
    for (int64_t extent = 1; extent <= 4 * group; extent++) {
        int64_t fewest = 1;
        while (fewest * extent % group != 0) {
            fewest++;
        }
        EXPECT_EQ(rows_of_whole_groups({extent, 1, 1, 1, 0}), fewest) << extent;
    }
}

}  // namespace
}  // namespace runtime_test
