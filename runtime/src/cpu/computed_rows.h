// The elements of computed tiles as rows, of which each row or each column has an operand.
#pragma once

#include "cpu/tile_runner.h"

namespace qdq::runtime {

// Rows of consecutive elements on both sides. Past the last one of a row, memory can be read up to whole groups; blocks
// that are shorter than a group lie end to end.
struct computed_rows {
    rows_of_x x, codes;
    int64_t columns, rows;
    bool along_columns;    // whether operands vary along columns; else along rows
    int64_t operand_step;  // 0: they have one
    const float *scale;
    const int32_t *zero_point;
    bool has_float_zero_points;  // by their bits

    // What begins there.
    computed_rows from(const call &op, int64_t row, int64_t column) const;
};

void for_each_rows(const computed_tile &tile, void (*visit)(void *context, const computed_rows &rows), void *context);

}  // namespace qdq::runtime
