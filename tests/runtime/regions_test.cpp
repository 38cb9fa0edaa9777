// The cutting of dimensions into parts: at block boundaries, and at places of the flat order.
#include "plan/regions.h"

#include "dimensions.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace runtime_test {
namespace {

using namespace qdq::runtime;

constexpr unsigned drawn_shapes = 5000;

// A dimension's elements within an interval of it.
std::vector<element> elements_within(const std::vector<blocked_dimension> &dimensions,
                                     const std::vector<interval> &region) {
    std::vector<element> all{{}};
    for (size_t d = 0; d < dimensions.size(); d++) {
        std::vector<element> longer;
        for (const element &e : all) {
            for (int64_t i = region[d].start; i < region[d].start + region[d].extent; i++) {
                longer.push_back(moved(e, dimensions[d].whole, i, i / dimensions[d].block));
            }
        }
        all = std::move(longer);
    }
    return all;
}

struct part {
    std::vector<blocked_dimension> dimensions;
    offsets at;
};

std::vector<part> parts_of(const std::vector<blocked_dimension> &dimensions, const std::vector<interval> &region) {
    std::vector<part> parts;
    for_each_regular_part(
        dimensions.data(), region.data(), static_cast<int>(dimensions.size()),
        [](void *context, const blocked_dimension *first, int count, const offsets &at) {
            static_cast<std::vector<part> *>(context)->push_back({{first, first + count}, at});
        },
        &parts);
    return parts;
}

std::string description(const std::vector<interval> &region) {
    std::ostringstream out;
    for (const interval &i : region) {
        out << "[" << i.start << ", " << i.start + i.extent << ") ";
    }
    return out.str();
}

struct drawn_region {
    std::vector<blocked_dimension> dimensions;
    std::vector<interval> region;
};

drawn_region draw_region(unsigned seed) {
    test_support::random_choices random(seed);
    drawn_region drawn{drawn_dimensions(random, blocks::any), {}};
    for (const blocked_dimension &d : drawn.dimensions) {
        const int64_t start = random.chance(2) ? 0 : random.between(0, d.whole.extent - 1);
        drawn.region.push_back(
            {start, random.chance(2) ? d.whole.extent - start : random.between(1, d.whole.extent - start)});
    }
    return drawn;
}

TEST(RegularParts, of_a_ragged_dimension_are_whole_blocks_and_the_rest) {
    const std::vector<part> parts = parts_of({{{10, 2, 1, 3, 5}, 4}}, {{0, 10}});
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(runtime_test::description(parts[0].dimensions), "{8, 2, 1, 3, 5; block 4} ");
    EXPECT_EQ(runtime_test::description(parts[1].dimensions), "{2, 2, 1, 0, 0; block 4} ");
    EXPECT_EQ(parts[1].at.x, 16);
    EXPECT_EQ(parts[1].at.y, 8);
    EXPECT_EQ(parts[1].at.scale, 6);
    EXPECT_EQ(parts[1].at.zero_point, 10);
}

TEST(RegularParts, of_a_region_that_begins_and_ends_within_blocks_are_three) {
    const std::vector<part> parts = parts_of({{{20, 1, 1, 1, 0}, 4}}, {{3, 11}});
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_EQ(parts[0].dimensions[0].whole.extent, 1);
    EXPECT_EQ(parts[1].dimensions[0].whole.extent, 8);
    EXPECT_EQ(parts[2].dimensions[0].whole.extent, 2);
    EXPECT_EQ(parts[0].at.scale, 0);
    EXPECT_EQ(parts[1].at.scale, 1);
    EXPECT_EQ(parts[2].at.scale, 3);
}

TEST(RegularParts, where_no_operand_varies_are_one) {
    EXPECT_EQ(parts_of({{{10, 1, 1, 0, 0}, 10}, {{7, 10, 10, 0, 0}, 7}}, {{3, 5}, {2, 4}}).size(), 1u);
    EXPECT_EQ(parts_of({{{10, 1, 1, 0, 0}, 4}}, {{0, 10}}).size(), 1u) << "blocks of a scale of strides 0";
}

TEST(RegularParts, reach_each_element_of_the_region_once_with_its_operands) {
    for (unsigned i = 0; i < drawn_shapes && !HasFailure(); i++) {
        const auto [dimensions, region] = draw_region(i);
        std::vector<element> expected = elements_within(dimensions, region), found;
        for (const part &p : parts_of(dimensions, region)) {
            for (const element &e : elements_of(p.dimensions)) {
                found.push_back({p.at.x + e.x, p.at.y + e.y, p.at.scale + e.scale, p.at.zero_point + e.zero_point});
            }
        }
        std::sort(expected.begin(), expected.end());
        std::sort(found.begin(), found.end());
        EXPECT_EQ(found, expected) << i << ": " << runtime_test::description(dimensions) << description(region);
    }
}

TEST(RegularParts, have_whole_blocks_or_lie_in_one) {
    for (unsigned i = 0; i < drawn_shapes && !HasFailure(); i++) {
        const auto [dimensions, region] = draw_region(i);
        for (const part &p : parts_of(dimensions, region)) {
            for (const blocked_dimension &d : p.dimensions) {
                EXPECT_TRUE(!d.whole.varies() || d.whole.extent % d.block == 0)
                    << i << ": " << runtime_test::description(dimensions) << description(region);
            }
        }
    }
}

std::vector<std::vector<interval>> regions_of(const std::vector<blocked_dimension> &dimensions, int64_t begin,
                                              int64_t end) {
    struct collected {
        size_t rank;
        std::vector<std::vector<interval>> regions;
    } all{dimensions.size(), {}};
    for_each_region(
        dimensions.data(), static_cast<int>(dimensions.size()), begin, end,
        [](void *context, const interval *region) {
            collected &to = *static_cast<collected *>(context);
            to.regions.emplace_back(region, region + to.rank);
        },
        &all);
    return all.regions;
}

// Row-major, as packed tensors lie in memory: an element's y is its place.
std::vector<blocked_dimension> dense(const std::vector<int64_t> &extents) {
    std::vector<blocked_dimension> dimensions(extents.size());
    int64_t stride = 1;
    for (size_t d = extents.size(); d-- > 0; stride *= extents[d]) {
        dimensions[d] = {{extents[d], stride, stride, 0, 0}, extents[d]};
    }
    return dimensions;
}

struct drawn_range {
    std::vector<blocked_dimension> dimensions;
    int64_t begin, end;
};

drawn_range draw_range(unsigned seed) {
    test_support::random_choices random(seed);
    std::vector<int64_t> extents;
    int64_t elements = 1;
    for (int64_t rank = random.between(1, 4); rank > 0; rank--) {
        extents.push_back(random.between(1, 7));
        elements *= extents.back();
    }
    const int64_t begin = random.chance(3) ? 0 : random.between(0, elements - 1);
    return {dense(extents), begin, random.chance(3) ? elements : random.between(begin, elements)};
}

TEST(Regions, of_whole_rows_are_one_and_others_climb_to_them_and_down) {
    const std::vector<blocked_dimension> matrix = dense({5, 10});
    const auto only = [](const std::vector<std::vector<interval>> &regions) {
        return regions.size() == 1 ? description(regions[0]) : std::to_string(regions.size()) + " regions";
    };
    EXPECT_EQ(only(regions_of(matrix, 0, 50)), "[0, 5) [0, 10) ");
    EXPECT_EQ(only(regions_of(matrix, 10, 30)), "[1, 3) [0, 10) ");
    EXPECT_EQ(only(regions_of(matrix, 12, 17)), "[1, 2) [2, 7) ");
    const auto three = regions_of(matrix, 7, 43);
    ASSERT_EQ(three.size(), 3u);
    EXPECT_EQ(description(three[0]), "[0, 1) [7, 10) ");
    EXPECT_EQ(description(three[1]), "[1, 4) [0, 10) ");
    EXPECT_EQ(description(three[2]), "[4, 5) [0, 3) ");
}

TEST(Regions, of_no_elements_are_none) { EXPECT_TRUE(regions_of(dense({5, 10}), 20, 20).empty()); }

TEST(Regions, reach_each_place_of_the_range_once_in_order) {
    for (unsigned i = 0; i < drawn_shapes && !HasFailure(); i++) {
        const auto [dimensions, begin, end] = draw_range(i);
        int64_t next = begin;
        for (const std::vector<interval> &region : regions_of(dimensions, begin, end)) {
            for (const element &e : elements_within(dimensions, region)) {
                ASSERT_EQ(e.y, next++) << i << ": " << runtime_test::description(dimensions) << begin << " to " << end;
            }
        }
        EXPECT_EQ(next, end) << i << ": " << runtime_test::description(dimensions);
    }
}

TEST(Regions, are_few_as_whole_inner_dimensions_are_taken_at_once) {
    for (unsigned i = 0; i < drawn_shapes && !HasFailure(); i++) {
        const auto [dimensions, begin, end] = draw_range(i);
        EXPECT_LE(regions_of(dimensions, begin, end).size(), 2 * dimensions.size() - 1)
            << i << ": " << runtime_test::description(dimensions) << begin << " to " << end;
    }
}

}  // namespace
}  // namespace runtime_test
