// How a dynamic plan is cut into areas.
#pragma once

#include "plan/dynamic_plan.h"
#include "plan/regions.h"

namespace qdq::runtime {

// The groups of elements that share a scale are cut into areas, boxes of whole groups.
struct area_grid {
    interval box[most_dimensions];    // what is cut
    int64_t extent[most_dimensions];  // elements of an area along each dimension of the plan
    int64_t count[most_dimensions];   // of areas; the last one has what is left: less, or up to twice as many
    int order[most_dimensions];       // dimensions by their strides in x, the smallest first
    int64_t areas;                    // all of them
    int64_t elements;                 // of an area that is not the last one
    bool may_quantize;                // whether the codes of an area lie in bytes of its own
};
constexpr int64_t most_groups = 1024;          // of an area
constexpr int64_t most_measured_groups = 128;  // where clip ratios are searched

// Of x, where a group has no more: a quarter of an L2 cache. [4096, 4096] f32 to i8 by rows takes 4.5 ms by areas of 32
// KiB, 4.3 of 64, 3.9 of 256 (Zen 4); a loop by hand that goes by single rows 3.8.
constexpr int64_t area_bytes = int64_t{1} << 18;
// Of a box: 128 KiB take a tenth longer, of MX blocks of 32 along rows and columns (Xeon with 2 MiB of L2).
constexpr int64_t box_bytes = 2 * area_bytes;

// Of so many bytes of x, as far as groups have no more.
area_grid cut_into_areas(const dynamic_plan &p, int64_t bytes = area_bytes);

// Those of a box of whole groups, and of whole bytes of packed codes.
area_grid cut_into_areas(const dynamic_plan &p, const interval *box, int64_t bytes = area_bytes);

// Such boxes, for each of two plans whose dimensions are of the same elements of x. They may have any number of groups.
area_grid cut_into_boxes(const dynamic_plan &p, const dynamic_plan &q);

// The place of one area of so many dimensions.
void find_area(const area_grid &grid, int dimensions, int64_t number, interval *place);

}  // namespace qdq::runtime
