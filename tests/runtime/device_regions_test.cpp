// A plan's parts for a device's launches, by their arithmetic alone: no memory is touched, so that elements beyond 2^31
// cost nothing.
#include "device/region.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace runtime_test {
namespace {

using namespace qdq::runtime;

struct place {
    int64_t x, y, scale, zero_point, number;
    bool operator==(const place &) const = default;
};

void PrintTo(const place &p, std::ostream *out) {
    *out << p.x << " " << p.y << " " << p.scale << " " << p.zero_point << " " << p.number;
}

// Of an element, counted with the first dimension fastest.
place place_of(const region &r, int64_t element) {
    place at{r.x, r.y, r.scale, r.zero_point, r.number + element};
    for (int d = 0; d < r.count; d++) {
        const blocked_dimension &dim = r.dimensions[d];
        const int64_t i = element % dim.whole.extent;
        element /= dim.whole.extent;
        at.x += i * dim.whole.x;
        at.y += i * dim.whole.y;
        at.scale += i / dim.block * dim.whole.scale;
        at.zero_point += i / dim.block * dim.whole.zero_point;
    }
    return at;
}

region region_of(std::initializer_list<blocked_dimension> dimensions) {
    region r;
    for (const blocked_dimension &d : dimensions) {
        r.dimensions[r.count++] = d;
    }
    return r;
}

std::vector<region> parts_of(const region &r) {
    std::vector<region> parts;
    const auto keep = [](void *to, const region &part) {
        static_cast<std::vector<region> *>(to)->push_back(part);
        return QDQ_OK;
    };
    EXPECT_EQ(for_each_part(r, keep, &parts), QDQ_OK);
    return parts;
}

// The parts follow one another, each no more than a launch takes, and have the region's elements where it has them.
void expect_covered(const region &r, std::mt19937_64 &random) {
    int64_t done = 0;
    for (const region &part : parts_of(r)) {
        const int64_t elements = part.elements();
        ASSERT_GT(elements, 0);
        ASSERT_LE(elements, most_elements);
        for (int i = 0; i < 6; i++) {
            const int64_t element = i == 0   ? 0
                                    : i == 1 ? elements - 1
                                             : static_cast<int64_t>(random() % static_cast<uint64_t>(elements));
            ASSERT_EQ(place_of(part, element), place_of(r, done + element)) << "element " << done + element;
        }
        done += elements;
    }
    EXPECT_EQ(done, r.elements());
}

constexpr int64_t k = 1024, m = k * k;

TEST(DeviceRegions, what_a_launch_takes_stays_whole) {
    const region r = region_of({{{m, 1, 1, 3, 0}, 32}, {{k, m, m, 5, 1}, 1}});
    const std::vector<region> parts = parts_of(r);
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].count, 2);
    EXPECT_EQ(parts[0].elements(), most_elements);
    EXPECT_TRUE(r.has_dense_rows(8));
}

TEST(DeviceRegions, rows_are_cut_between_them_and_within) {
    std::mt19937_64 random(1);
    const region cases[] = {
        region_of({{{8 * k * m + 7, 1, 1, 0, 0}, 8 * k * m + 7}}),                // one row, one operand
        region_of({{{8 * k * m + 7, 1, 1, 1, 1}, 1}}),                            // an operand each
        region_of({{{8 * k * m + 7, 1, 1, 1, 0}, 32}}),                           // blocks
        region_of({{{8 * k * m + 7, 1, 1, 1, 0}, 3 * k * m + 1}}),                // longer than a launch
        region_of({{{8 * k * m + 7, 1, 1, 1, 0}, 1000}}),                         // that fit no power of two
        region_of({{{k, 1, 1, 0, 0}, k}, {{5 * m + 3, k, k, 1, 1}, 1}}),          // rows
        region_of({{{k, 1, 1, 1, 1}, 1}, {{5 * m + 3, k, k, 0, 0}, 5 * m + 3}}),  // columns
        region_of(
            {{{3 * k * m + 5, 1, 1, 2, 1}, 64}, {{2, 4 * k * m, 3 * k * m + 5, 9, 7}, 1}}),  // rows beyond a launch
        region_of({{{3 * k * m + 5, -1, 1, 2, 1}, 64}, {{3, 4 * k * m, -9 * k * m, 9, 7}, 2}, {{2, 5, 11, 1, 0}, 1}}),
    };
    for (const region &r : cases) {
        SCOPED_TRACE(std::to_string(r.dimensions[0].whole.extent) + ", blocks of " +
                     std::to_string(r.dimensions[0].block));
        expect_covered(r, random);
    }
}

TEST(DeviceRegions, drawn_regions_are_covered) {
    std::mt19937_64 random(2);
    const auto below = [&](int64_t end) { return static_cast<int64_t>(random() % static_cast<uint64_t>(end)); };
    for (int n = 0; n < 3000; n++) {
        region r;
        r.count = 1 + static_cast<int>(below(4));
        int64_t room = 1 + below(int64_t{1} << (25 + below(10)));
        for (int d = 0; d < r.count; d++) {
            const bool last = d + 1 == r.count;
            const int64_t extent =
                std::max<int64_t>(1, last ? room : std::min(room, 1 + below(int64_t{1} << below(34))));
            room /= extent;
            const int64_t block = below(3) == 0 ? extent : below(2) == 0 ? 1 : 1 + below(extent);
            const bool varies = block != extent || below(2) == 0;
            r.dimensions[d] = {
                {extent, below(100) - 50, 1 + below(100), varies ? 1 + below(9) : 0, varies ? below(9) : 0}, block};
        }
        r.x = below(m);
        r.scale = below(m);
        if (r.elements() / most_elements * 2 < 4000 && r.dimensions[r.count - 1].whole.extent < 4000 * k) {
            SCOPED_TRACE("region " + std::to_string(n));
            expect_covered(r, random);
        }
    }
}

TEST(DeviceRegions, parts_of_packed_rows_begin_at_whole_bytes) {
    for (const int64_t columns : {3 * k * m + 64, k * m + 64, int64_t{3}, int64_t{5}}) {
        const int64_t rows = columns < k ? k * m : 2;
        for (const region &part :
             parts_of(region_of({{{columns, 1, 1, 0, 0}, columns}, {{rows, columns, columns, 1, 0}, 1}}))) {
            EXPECT_EQ(part.x % 64, 0);
        }
    }
}

TEST(DeviceRegions, stop_at_the_first_failure) {
    int calls = 0;
    const auto fail_second = [](void *count, const region &) {
        return ++*static_cast<int *>(count) == 2 ? QDQ_DEVICE_ERROR : QDQ_OK;
    };
    const region r = region_of({{{8 * k * m, 1, 1, 0, 0}, 8 * k * m}});
    EXPECT_EQ(for_each_part(r, fail_second, &calls), QDQ_DEVICE_ERROR);
    EXPECT_EQ(calls, 2);
}

TEST(DeviceRegions, the_rest_after_whole_groups_lies_where_it_lay) {
    for (const blocked_dimension &d :
         {blocked_dimension{{1003, 1, 1, 0, 0}, 1003}, blocked_dimension{{1003, 1, 1, 1, 1}, 1},
          blocked_dimension{{1003, 1, 1, 1, 2}, 64}}) {
        region r = region_of({d});
        r.x = 5;
        r.zero_point = 7;
        r.number = 11;
        const region rest = rest_of(r, 1000);
        ASSERT_EQ(rest.elements(), 3);
        for (int64_t i = 0; i < 3; i++) {
            EXPECT_EQ(place_of(rest, i), place_of(r, 1000 + i)) << "blocks of " << d.block;
        }
    }
}

TEST(DeviceRegions, dense_rows_are_without_gaps_and_begin_whole_groups_apart) {
    EXPECT_TRUE(region_of({{{16, 1, 1, 0, 0}, 16}, {{3, 16, 16, 1, 0}, 1}}).has_dense_rows(8));
    EXPECT_TRUE(region_of({{{16, 1, 1, 0, 0}, 16}, {{3, 24, 16, 1, 0}, 1}}).has_dense_rows(8));
    EXPECT_TRUE(region_of({{{16, 1, 1, 0, 0}, 16}, {{3, 0, 32, 1, 0}, 1}}).has_dense_rows(8));
    EXPECT_TRUE(region_of({{{5, 1, 1, 0, 0}, 5}}).has_dense_rows(8));
    EXPECT_FALSE(region_of({{{16, 1, 1, 0, 0}, 16}, {{3, 20, 16, 1, 0}, 1}}).has_dense_rows(8));
    EXPECT_FALSE(region_of({{{16, 1, 1, 0, 0}, 16}, {{3, 16, 20, 1, 0}, 1}}).has_dense_rows(8));
    EXPECT_FALSE(region_of({{{16, 1, 1, 0, 0}, 16}, {{3, -16, 16, 1, 0}, 1}}).has_dense_rows(8));
    EXPECT_FALSE(region_of({{{16, 1, 1, 0, 0}, 16}, {{3, 16, -16, 1, 0}, 1}}).has_dense_rows(8));
    EXPECT_FALSE(region_of({{{16, 2, 1, 0, 0}, 16}, {{3, 32, 16, 1, 0}, 1}}).has_dense_rows(8));
    EXPECT_FALSE(region_of({{{16, 1, 2, 0, 0}, 16}, {{3, 16, 32, 1, 0}, 1}}).has_dense_rows(8));
    EXPECT_FALSE(region_of({{{16, 1, 1, 0, 0}, 16}, {{3, 16, 16, 1, 0}, 1}, {{2, 64, 48, 0, 0}, 2}}).has_dense_rows(8));
    EXPECT_FALSE(region{}.has_dense_rows(8));
}

}  // namespace
}  // namespace runtime_test
