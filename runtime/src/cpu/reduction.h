// The extremes of elements that share a scale: those furthest above and below zero, by their bits.
#pragma once

#include "plan/dynamic_plan.h"
#include "plan/regions.h"

namespace qdq::runtime {

// `above`: the largest bits as a signed integer, of a number above 0, or 0. `below`: the largest as an unsigned
// integer, of a number below 0 if it has the sign bit. Of 16-bit floats in the lower bits, `above` with its sign
// extended. NaNs are beyond the infinities. Where magnitudes are enough, those are `above`, and `below` may be 0. What
// has been found is found in any order.
struct extremes {
    int32_t *above;
    uint32_t *below;
};

// The whole reduction as one call, if it is.
void prepare_reduction(dynamic_plan &p);

// Finds those of x by the prepared call, of a row each.
void call_reduction(const dynamic_plan &p, const void *x, const extremes &found);

// A loop over elements of x and groups.
struct reduced_loop {
    int64_t extent, x, group;
};

// A part of a reduction: loops, those of a kernel first if one takes them.
struct reduced_nest {
    enum class way { row, short_rows, columns, short_groups, elements } by;
    int count;
    reduced_loop loops[most_loops + 2];
    int64_t x, group;  // the first element's, from where the dimensions begin
    int64_t period;    // of columns: how many groups, which are repeated
    bool magnitudes;   // whether those are enough
};

// That of a regular part, without the place where it begins. `dimensions` have the number of a group as the stride of
// the scale.
void set_reduction(const dynamic_plan &p, const blocked_dimension *dimensions, int count, reduced_nest &nest);

// Combines the extremes of x, whose part begins there, with those that are there.
void reduce(const dynamic_plan &p, const reduced_nest &nest, int64_t first, int64_t first_group, const void *x,
            const extremes &found);

}  // namespace qdq::runtime
