#include "cpu/row_stream.h"

#include "cpu/cache_lines.h"
#include "cpu/fast_variants.h"
#include "cpu/float_environment.h"
#include "cpu/movement.h"

#include <algorithm>

namespace qdq::runtime {

// Encoding 16-bit floats as float codes takes longer than memory does: bf16 to e4m3 3.9 to 4.6 ms past them.
bool row_stream::bypasses_caches(const call &op) { return op.x_bits == 32 || op.codes().is_integer(); }

bool row_stream::takes(const plan &quantize) {
    const call &op = quantize.op;
    if (!op.nontemporal || quantize.path != execution_path::nest || op.y_bits != 8) {
        return false;
    }
    const dimension &c = quantize.nest.loops[0], r = quantize.nest.rows();
    return quantize.nest.count == 2 && c.x == 1 && c.y == 1 && !c.varies() && r.varies() &&
           (c.extent >= shortest_row || lie_end_to_end(c, r)) && c.extent % group == 0;
}

row_stream::row_stream(const plan &quantize, const void *x, void *y)
    : op(quantize.op),
      c(quantize.nest.loops[0]),
      r(quantize.nest.loops[1]),
      x(static_cast<const char *>(x)),
      y(static_cast<char *>(y)),
      loaded(op, memory, operand_bytes) {}

// By pieces. Those that bypass the caches end where cache lines of y do, and leave while the next one is computed.
bool row_stream::run(const offsets &at, int64_t rows) {
    const int32_t variant = loaded.load({at.scale, r.scale, at.zero_point, r.zero_point, rows}, true);
    if (needs_column(op, kernel_form::row, variant)) {
        return false;
    }
    const float_environment environment(loaded.flushes);
    kernel_caller kernel(op, kernel_form::row, false, variant, 1);
    const int64_t distance = rows * r.x;
    const int64_t most = op.nontemporal ? op.tuned->piece_elements / group * group : piece_in_caches;
    const bool begins_line = reinterpret_cast<intptr_t>(y + at.y) % line == 0;
    // Codes of short rows leave together.
    const int64_t at_once = lie_end_to_end(c, r) && (begins_line || !op.nontemporal) ? most / c.extent : 1;
    piece leaving;
    int own = 0;
    for (int64_t row = 0, count; row < rows; row += count) {
        count = std::clamp<int64_t>(at_once, 1, rows - row);
        const int64_t first = at.x + row * r.x;
        char *const to = y + at.y + row * r.y;
        const int64_t past_line = op.nontemporal ? reinterpret_cast<intptr_t>(to) % line : 0;
        for (int64_t column = 0, columns; column < c.extent; column += columns) {
            columns = std::min(column == 0 ? most - past_line : most, c.extent - column);
            // Kernels take whole groups, the last of which ends where the row does.
            const int64_t begin = std::min(column, c.extent - round_up(columns));
            char *const results = op.nontemporal ? codes[own] : to + column;
            prefetch<cache::l1>(address(x, first + column + distance, op.x_bits), count * columns * op.x_bits / 8);
            kernel.run(loaded.from(row), {address(x, first + begin, op.x_bits), r.x}, {results, r.y}, round_up(columns),
                       count);
            emit(leaving);
            leaving = {to + column, results + (column - begin), count * columns};
            own = 1 - own;
        }
    }
    emit(leaving);
    return true;
}

// Unless they lie there.
void row_stream::emit(const piece &leaving) const {
    if (leaving.to != leaving.from) {
        op.target->nontemporal->copy(leaving.to, leaving.from, leaving.codes);
    }
}

}  // namespace qdq::runtime
