#include "cpu/row_stream.h"

#include "cpu/cache_lines.h"
#include "cpu/fast_variants.h"
#include "cpu/float_environment.h"
#include "cpu/movement.h"

#include <algorithm>

namespace qdq::runtime {

// Kernels that fetch what comes next take less than pieces whose next ones are fetched: [4096, 4096] bf16 to e4m3 1.3
// ms past the caches, 1.5 by way of them, and 1.9; to i8 0.9, 1.4 and 1.5 (Zen 5). But f32 to integers takes 2.2 to 2.5
// past the caches, by pieces 2.05.
row_stream::way row_stream::way_of(const call &op, kernel_form form, const void *y, int64_t columns, int64_t pitch,
                                   int64_t rows) {
    const bool has_kernel = has_nontemporal_kernel(op, form) && !op.nan_is_zero && columns % group == 0;
    if (!has_kernel || (op.x_bits == 32 && op.codes().is_integer())) {
        return way::pieces;
    }
    if (begin_at_lines(op, y, columns, pitch, rows)) {
        return way::past_caches;
    }
    return op.x_type == QDQ_BF16 || op.codes().is_float() ? way::through_caches : way::pieces;
}

row_stream::way row_stream::way_of(const plan &quantize, const void *y) {
    const dimension &c = quantize.nest.loops[0], r = quantize.nest.rows();
    return are_blocks(quantize.op, c, r) ? way_of(quantize.op, kernel_form::block, y, group, 0, 1)
                                         : way_of(quantize.op, kernel_form::row, y, c.extent, r.y, r.extent);
}

// Pieces of 16-bit floats that become float codes stay in the caches: bf16 to e4m3 takes 3.9 to 4.6 ms past them, 3.2
// otherwise (Xeon).
bool row_stream::bypasses_caches(const plan &quantize, const void *y) {
    const call &op = quantize.op;
    const way by = way_of(quantize, y);
    return by == way::past_caches || (by == way::pieces && (op.x_bits == 32 || op.codes().is_integer()));
}

// What a kernel does in one call may be larger than the L1 cache: areas of 128 KiB take 0.9 of the time of those of 32.
int64_t row_stream::bytes_of(const plan &quantize, const void *y) {
    const bool in_blocks = are_blocks(quantize.op, quantize.nest.loops[0], quantize.nest.rows());
    return in_blocks || way_of(quantize, y) == way::pieces ? bytes_of_pieces : bytes_of_kernel;
}

bool row_stream::takes(const plan &quantize) {
    const call &op = quantize.op;
    const bool is_in_order = op.y_bits == 8 || (op.y_bits < 8 && op.packing == QDQ_LOW_FIRST);
    if (!op.nontemporal || quantize.path != execution_path::nest || !is_in_order) {
        return false;
    }
    const dimension &c = quantize.nest.loops[0], r = quantize.nest.rows();
    const bool are_rows = c.extent % group == 0 && (c.extent >= shortest_row || lie_end_to_end(c, r));
    return quantize.nest.count == 2 && c.x == 1 && c.y == 1 && !c.varies() && r.varies() &&
           (are_rows || are_blocks(op, c, r));
}

// Less than groups, and blocks of a kernel.
bool row_stream::are_blocks(const call &op, const dimension &c, const dimension &r) {
    return c.extent < group && c.extent % op.block == 0 && lie_end_to_end(c, r);
}

row_stream::row_stream(const plan &quantize, const void *x, void *y)
    : op(quantize.op),
      c(quantize.nest.loops[0]),
      r(quantize.nest.loops[1]),
      x(static_cast<const char *>(x)),
      y(static_cast<char *>(y)),
      loaded(op, memory, operand_bytes) {}

bool row_stream::run(const offsets &at, int64_t rows) {
    const bool in_blocks = are_blocks(op, c, r);
    const kernel_form form = in_blocks ? kernel_form::block : kernel_form::row;
    const int64_t times = in_blocks ? c.extent / op.block : 1, columns = rows * c.extent;
    if (in_blocks && (rows * times > loaded.room() || columns < group)) {
        return false;
    }
    const int32_t variant = loaded.load({at.scale, r.scale, at.zero_point, r.zero_point, rows}, times == 1);
    if (needs_column(op, form, variant)) {
        return false;
    }
    loaded.repeat(rows, times);
    const float_environment environment(loaded.flushes);
    if (!(in_blocks ? run_kernel(form, variant, at, columns, 1, columns)
                    : run_kernel(form, variant, at, c.extent, rows, rows * r.x))) {
        kernel_caller kernel(op, form, false, variant, 1);
        if (in_blocks) {  // as one row
            run_pieces(kernel, {at.x, at.y, columns, 0, op.block}, columns, 1);
        } else {
            run_rows(kernel, at, rows);
        }
    }
    emit(leaving);
    return true;
}

// All in one call, which fetches what comes next, so many elements ahead. False where no kernel takes them.
bool row_stream::run_kernel(kernel_form form, int32_t variant, const offsets &at, int64_t columns, int64_t rows,
                            int64_t ahead) {
    char *const to = address(y, at.y, op.y_bits);
    const way by = way_of(op, form, to, columns, r.y, rows);
    const bool in_reach = rows <= std::min(rows_in_reach(r.x), rows_in_reach(r.y));
    if (!in_reach || by == way::pieces || (op.nontemporal && by == way::through_caches)) {
        return false;
    }
    kernel_caller kernel(op, form, op.nontemporal, variant, 1);
    kernel.fetch_ahead(ahead * op.x_bits / 8);
    kernel.run(loaded.from(0), {address(x, at.x, op.x_bits), r.x}, {to, r.y}, columns, rows);
    return true;
}

void row_stream::run_rows(kernel_caller &kernel, const offsets &at, int64_t rows) {
    // Codes of short rows leave together, though cache lines may be cut where y begins within one: f32 to i8 by rows of
    // 128 takes 3.3 ms so, and 5.0 a row at a time (Zen 5).
    const int64_t at_once = lie_end_to_end(c, r) ? most_columns() / c.extent : 1;
    for (int64_t row = 0, count; row < rows; row += count) {
        count = std::clamp<int64_t>(at_once, 1, rows - row);
        run_pieces(kernel, {at.x + row * r.x, at.y + row * r.y, rows * r.x, row, 0}, c.extent, count);
    }
}

int64_t row_stream::most_columns() const {
    return op.nontemporal ? op.tuned->piece_elements / group * group : piece_in_caches;
}

// Of rows that lie end to end, or of one. Pieces that bypass the caches end where cache lines of y do, and leave while
// the next one is computed.
void row_stream::run_pieces(kernel_caller &kernel, const first_piece &at, int64_t all_columns, int64_t rows) {
    char *const to = address(y, at.y, op.y_bits);
    const int64_t most = most_columns(), past_line = columns_past_line(to, at.block);
    for (int64_t column = 0, columns; column < all_columns; column += columns) {
        columns = std::min(column == 0 ? most - past_line : most, all_columns - column);
        // Kernels take whole groups, the last of which ends where the row does.
        const int64_t begin = std::min(column, all_columns - round_up(columns));
        char *const results = op.nontemporal ? codes[own] : address(to, begin, op.y_bits);
        const int64_t operand = at.operand + (at.block > 0 ? begin / at.block : 0);
        prefetch<cache::l1>(address(x, at.x + column + at.distance, op.x_bits), rows * columns * op.x_bits / 8);
        kernel.run(loaded.from(operand), {address(x, at.x + begin, op.x_bits), r.x}, {results, r.y}, round_up(columns),
                   rows);
        emit(leaving);
        leaving = {address(to, column, op.y_bits), address(results, column - begin, op.y_bits),
                   rows * columns * op.y_bits / 8};
        own = 1 - own;
    }
}

// Whole blocks that lie in y before a cache line begins, less than there are in a piece.
int64_t row_stream::columns_past_line(const char *to, int64_t block) const {
    const int64_t columns = reinterpret_cast<intptr_t>(to) % line * 8 / op.y_bits;
    return op.nontemporal && (block == 0 || columns % block == 0) ? columns : 0;
}

// Unless they lie there.
void row_stream::emit(const piece &leaving) const {
    if (leaving.to != leaving.from) {
        op.target->nontemporal->copy(leaving.to, leaving.from, leaving.codes);
    }
}

}  // namespace qdq::runtime
