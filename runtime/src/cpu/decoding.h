// Codes that a call of quantize has just made, back to f32.
#pragma once

#include "cpu/kernel_call.h"

namespace qdq::runtime {

// The same call by f32 scales and int32 zero points that lie ready, one after another; NULL for no zero points. Codes
// are in their usual order.
call with_own_operands(const call &op, const float *scales, const int32_t *zero_points);

// What dequantizes the codes of such a call to f32.
call decoding_of(const call &quantize, const dequantize_row *kernels);

// Rows of codes, of which each row or each column has an operand. Past the last one of a row, codes can be read and
// values written up to whole groups; blocks that are shorter than a group lie end to end.
struct coded_rows {
    rows_of_x codes;
    int64_t columns, rows;
    bool along_columns;
};

// As many operands at most.
constexpr int64_t most_decoded_operands = 128;

// How far apart rows of values lie.
int64_t decoded_pitch(const coded_rows &part);

void decode(const call &op, const coded_rows &part, float *values);

}  // namespace qdq::runtime
