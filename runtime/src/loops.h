// Reshaping of loop nests.
#pragma once

#include "problem.h"

namespace qdq {

// Splits blocks, drops loops of one, merges loops that continue one another, and puts first the two that make a
// kernel's plane. loops[0] is contiguous in x and y where some loop is. Where x and y are transposed, loops[0] and
// loops[1] are the two contiguous ones, the wider element type's first, so that the narrower is the one to transpose.
void normalize(const blocked_dimension *dimensions, int count, bool x_is_wider, loop_nest &nest);

// Cuts a ragged dimension list into regular ones: calls run(context, dimensions, x, y, scale and zero-point offsets)
// for each.
struct offsets {
    int64_t x = 0, y = 0, scale = 0, zero_point = 0;
};
using regular_part = void(void *context, const blocked_dimension *dimensions, int count, offsets at);
void for_each_regular_part(const blocked_dimension *dimensions, int count, regular_part *run, void *context);

}  // namespace qdq
