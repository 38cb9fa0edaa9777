// Reshaping of dimensions to loop nests.
#pragma once

#include "plan/plan.h"

namespace qdq::runtime {

// The order in which dimensions are merged, innermost first.
enum class merge_order {
    of_strides,    // the smaller its stride in y (then in x), the further inside
    of_x_strides,  // the same of x and y
    as_given,      // the last dimension is innermost, as in packed tensors
};

// Drops dimensions of one element, and orders the others, innermost first. Returns how many are left. One that does not
// vary is one block.
int order_dimensions(const blocked_dimension *dimensions, int count, merge_order order, blocked_dimension *ordered);

// The same, and merges those that continue one another in x, y and the operands.
int merge_dimensions(const blocked_dimension *dimensions, int count, merge_order order, blocked_dimension *merged);

// A loop nest over dimensions without ragged blocks: splits blocks off, and puts first the two loops that make a
// kernel's plane. loops[0] is contiguous in x and y where some loop is. Where x and y are transposed, loops[0] and
// loops[1] are the two contiguous ones: the packed tensor's first, as codes in bytes cannot be transposed, otherwise
// the wider element type's, so that the narrower is the one to transpose.
void normalize(const call &op, const blocked_dimension *dimensions, int count, loop_nest &nest);

// Whether elements lie closer along `row` on one side, and along `column` on the other: tiles of both are squares then.
bool cross(const call &op, const blocked_dimension &column, const blocked_dimension &row);

// The same of dimensions that run by tiles: packed ones stay in their order where rows do not begin at whole bytes;
// else the wider tensor's smallest stride is innermost, or the other's, where more places one after another share an
// operand then. What crosses it on the other side is next.
int order_for_tiles(const call &op, const blocked_dimension *dimensions, int count, blocked_dimension *merged);

// Whether operands vary along one of so many dimensions.
bool any_varies(const blocked_dimension *dimensions, int count);

// Operands of shorter blocks vary within a register, which repeats them: rows that share those do better by tiles,
// which repeat them once. f32 to i4, [577, 1024] with a scale for 8 columns, takes 0.15 ns an element so, and 0.22 by
// rows.
constexpr int64_t shortest_long_block = 16;

// The longest block of the block form that divides so many elements; 0: none does.
int64_t dividing_block(const call &op, int64_t elements);

// Whether tiles pad rows to whole groups: then rows, or blocks of them, that are no whole blocks of the block form
// share operands, which costs a fraction of what an operand for each element does (i4 to bf16, a scale a row of 1023:
// 11 times the time of one scale).
bool pads_rows(const call &op, const blocked_dimension *dimensions, int count);

// Whether ragged rows run by tiles, which pad them, and not by parts: i4 to bf16, [64, 1000] by blocks of 32, takes
// 0.10 ns an element, and 0.18 by parts. Each is a kernel call, which takes longer than parts for shorter rows; longer
// ones would be cut.
bool pads_ragged_rows(const call &op, const blocked_dimension *dimensions, int count);

// Whether packed codes begin a whole byte, or the bytes that split their halves, at every step but the first's.
bool steps_begin_at_bytes(const call &op, const blocked_dimension *dimensions, int count);

// Whether blocks are so short that their operands are repeated for each of their columns. Rows that share them do
// better by tiles, which keep them: f16 to u2, [337, 768] with a scale for two columns, takes 0.34 ns an element, and
// 0.77 by rows. So do ragged ones: f8e5m2 to bf16, [12, 1152] by blocks of 33, 0.23 and 0.42. Tiles do not store past
// the caches.
bool repeats_operands(const call &op, const loop_nest &nest);

// Whether a nest runs by tiles, and not by rows where they lie.
bool runs_by_tiles(const call &op, const loop_nest &nest);

constexpr int64_t longest_period = 4096;  // columns of fused rows that share the operands along them, at most

// Whether each row begins where the one before it ends, in x and y.
inline bool lie_end_to_end(const dimension &c, const dimension &r) { return r.x == c.extent && r.y == c.extent; }

// Whether rows are fused into one, with the operands repeated along it: they lie end to end, and are short with an
// operand each, or leave lanes of a group empty and share the operands along them.
bool fuses_rows(const call &op, const dimension &c, const dimension &r);

// The fewest rows of operands along c that together are whole groups.
int64_t rows_of_whole_groups(const dimension &c);

}  // namespace qdq::runtime
