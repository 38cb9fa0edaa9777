// The cutting of dimensions into parts, at block boundaries.
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

}  // namespace
}  // namespace runtime_test
