// The squared errors of groups by operands that need not be in memory yet.
#pragma once

#include "plan/dynamic_plan.h"
#include "plan/regions.h"

namespace qdq::runtime {

// Scales and zero points of groups by their numbers, as f32 and int32; NULL for no zero points.
struct group_operands {
    const float *scale;
    const int32_t *zero_point;
};

// Adds those of a part without ragged blocks to the sums of its groups, each up to 2^64 - 1. `dimensions` have the
// number of a group as the stride of the scale; `at` is where the part begins.
void add_squared_errors(const dynamic_plan &p, const blocked_dimension *dimensions, int count, const offsets &at,
                        const void *x, const group_operands &with, uint64_t *sums);

}  // namespace qdq::runtime
