// Calls of rows that lie ready, with an operand for each row or each column: codes of x, and what they are worth.
#pragma once

#include "cpu/kernel_call.h"

namespace qdq::runtime {

// The same call by f32 scales and int32 zero points that lie ready, one after another; NULL for no zero points. Codes
// are in their usual order.
call with_own_operands(const call &op, const float *scales, const int32_t *zero_points);

// What dequantizes the codes of such a call to f32.
call decoding_of(const call &quantize, const dequantize_row *kernels);

// Rows of elements or codes, of which each row or each column has an operand. Past the last one of a row, as many can
// be read as whole groups take; blocks that are shorter than a group lie end to end.
struct operand_rows {
    rows_of_x from;
    int64_t columns, rows;
    bool along_columns;
};

// As many operands at most.
constexpr int64_t most_operands_of_rows = 128;

// How far apart rows of results lie, which are written up to whole groups, too.
int64_t pitch_of_results(const operand_rows &part);

void run_rows(const call &op, const operand_rows &part, void *results);

}  // namespace qdq::runtime
