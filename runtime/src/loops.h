// Reshaping of loop nests.
#pragma once

#include "problem.h"

namespace qdq::runtime {

// Splits blocks, drops loops of one, merges loops that continue one another, and puts first the two that make a
// kernel's plane. loops[0] is contiguous in x and y where some loop is. Where x and y are transposed, loops[0] and
// loops[1] are the two contiguous ones: the packed tensor's first, as codes in bytes cannot be transposed, otherwise
// the wider element type's, so that the narrower is the one to transpose.
void normalize(const call &what, const blocked_dimension *dimensions, int count, loop_nest &nest);

// Whether rows are joined into one, with the operands repeated along it: they lie end to end, and are short with an
// operand each, or leave lanes of a group empty and share the operands along them.
bool joins_rows(const call &what, const dimension &c, const dimension &r);

// The fewest rows of operands along c that together are whole groups.
int64_t rows_of_whole_groups(const dimension &c);

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

// Covers the elements [begin, end) of a dimension list, counted row-major, with regions: calls run(context, region)
// for each, in order.
using flat_region = void(void *context, const interval *region);
void for_each_region(const blocked_dimension *dimensions, int count, int64_t begin, int64_t end, flat_region *run,
                     void *context);

}  // namespace qdq::runtime
