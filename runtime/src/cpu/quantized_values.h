// Elements with what they are once they are quantized, by operands that need not be in memory yet.
#pragma once

#include "plan/dynamic_plan.h"
#include "plan/regions.h"

namespace qdq::runtime {

// Scales and zero points of groups by their numbers, as f32 and int32; NULL for no zero points.
struct group_operands {
    const float *scale;
    const int32_t *zero_point;
};

// Elements of one group, a few at a time, and what their codes are worth.
using quantized_run = void(void *context, int64_t group, const float *x, const float *y, int64_t count);

// Those of a part without ragged blocks, in any order. `dimensions` have the number of a group as the stride of the
// scale; `at` is where the part begins.
void for_each_quantized(const dynamic_plan &p, const blocked_dimension *dimensions, int count, const offsets &at,
                        const void *x, const group_operands &with, quantized_run *visit, void *context);

}  // namespace qdq::runtime
