// Reshaping of dimensions to loop nests.
#pragma once

#include "plan/plan.h"

namespace qdq::runtime {

// The order in which dimensions are merged, innermost first.
enum class merge_order {
    of_strides,  // the smaller its stride in y (then in x), the further inside
    as_given,    // the last dimension is innermost, as in packed tensors
};

// Drops dimensions of one element, and merges those that continue one another in x, y and the operands. Returns how
// many are left, innermost first. One that does not vary is one block.
int merge_dimensions(const blocked_dimension *dimensions, int count, merge_order order, blocked_dimension *merged);

// A loop nest over dimensions without ragged blocks: splits blocks off, and puts first the two loops that make a
// kernel's plane. loops[0] is contiguous in x and y where some loop is. Where x and y are transposed, loops[0] and
// loops[1] are the two contiguous ones: the packed tensor's first, as codes in bytes cannot be transposed, otherwise
// the wider element type's, so that the narrower is the one to transpose.
void normalize(const call &op, const blocked_dimension *dimensions, int count, loop_nest &nest);

constexpr int64_t longest_period = 4096;  // columns of fused rows that share the operands along them, at most

// Whether rows are fused into one, with the operands repeated along it: they lie end to end, and are short with an
// operand each, or leave lanes of a group empty and share the operands along them.
bool fuses_rows(const call &op, const dimension &c, const dimension &r);

// The fewest rows of operands along c that together are whole groups.
int64_t rows_of_whole_groups(const dimension &c);

}  // namespace qdq::runtime
