// Extremes of groups that are shorter than kernels take, and lie end to end.
#pragma once

#include "cpu/reduction.h"
#include "targets/kernel_table.h"

#include <cstdint>

namespace qdq::runtime {

constexpr int64_t fewest_short_groups = 16;  // that fill vectors

// Combines the extremes of so many groups of as many elements of x, of 16 or 32 bits at any address, with those that
// are there: magnitudes alone, as `above`, where those are enough.
void reduce_short_groups(const target &on, int bits, bool magnitudes, const char *x, int64_t length, int64_t groups,
                         const extremes &found);

}  // namespace qdq::runtime
