// Parts of a dimension list: where blocks are cut.
#pragma once

#include "plan/plan.h"

namespace qdq::runtime {

struct interval {
    int64_t start, extent;
};

struct offsets {
    int64_t x = 0, y = 0, scale = 0, zero_point = 0;

    void advance(const dimension &loop, int64_t steps) {
        x += steps * loop.x;
        y += steps * loop.y;
        scale += steps * loop.scale;
        zero_point += steps * loop.zero_point;
    }
};

// Cuts a region of a dimension list, an interval of each, at block boundaries: calls run(context, dimensions, count,
// at) for each part that has whole blocks or lies in one. `at` locates its first element and operands.
using regular_part = void(void *context, const blocked_dimension *dimensions, int count, const offsets &at);
void for_each_regular_part(const blocked_dimension *dimensions, const interval *region, int count, regular_part *run,
                           void *context);

}  // namespace qdq::runtime
