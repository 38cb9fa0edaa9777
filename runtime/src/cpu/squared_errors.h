// How far codes by given scales are from what they stand for.
#pragma once

#include "plan/dynamic_plan.h"
#include "plan/regions.h"

namespace qdq::runtime {

// Scales and zero points of groups by their numbers, as f32 and int32; NULL for no zero points.
struct group_operands {
    const float *scale;
    const int32_t *zero_point;
};

// Sums of squares of groups, in units of error_unit() of their scales; at most 2^64 - 1.
uint64_t saturating_sum(uint64_t a, uint64_t b);
float error_unit(float scale);

// Adds those of the elements of a part without ragged blocks. `dimensions` have the number of a group as the stride of
// the scale; `at` is where the part begins.
void add_squared_errors(const dynamic_plan &p, const blocked_dimension *dimensions, int count, const offsets &at,
                        const void *x, const group_operands &with, uint64_t *sums);

}  // namespace qdq::runtime
