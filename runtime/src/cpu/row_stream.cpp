#include "cpu/row_stream.h"

#include "cpu/fast_variants.h"
#include "cpu/float_environment.h"
#include "cpu/movement.h"

#include <algorithm>

namespace qdq::runtime {

namespace {

constexpr int64_t line = 64;  // bytes of a cache line

// Into the L2 cache. GCC drops calls of functions that do nothing but prefetch, unless they are inlined.
[[gnu::always_inline]] inline void fetch(const char *from, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += line) {
        __builtin_prefetch(from + i, 0, 2);
    }
}

// Encoding 16-bit floats as float codes takes longer than memory does: bf16 to e4m3 3.9 ms, and 3.9 to 4.6 so.
bool waits_for_memory(const call &op) { return op.y_bits == 8 && (op.x_bits == 32 || op.codes().is_integer()); }

}  // namespace

bool row_stream::takes(const plan &quantize) {
    const call &op = quantize.op;
    if (!op.nontemporal || quantize.path != execution_path::nest || !waits_for_memory(op)) {
        return false;
    }
    const dimension &c = quantize.nest.loops[0], r = quantize.nest.rows();
    return quantize.nest.count == 2 && c.x == 1 && c.y == 1 && !c.varies() && r.varies() && c.extent >= shortest_row &&
           c.extent % group == 0;
}

row_stream::row_stream(const plan &quantize, const void *x, void *y)
    : op(quantize.op),
      c(quantize.nest.loops[0]),
      r(quantize.nest.loops[1]),
      x(static_cast<const char *>(x)),
      y(static_cast<char *>(y)),
      loaded(op, memory, operand_bytes) {}

// By pieces, each of which leaves for memory while the next one is computed.
bool row_stream::run(const offsets &at, int64_t rows) {
    const int32_t variant = loaded.load({at.scale, r.scale, at.zero_point, r.zero_point, rows}, true);
    if (needs_column(op, kernel_form::row, variant)) {
        return false;
    }
    const float_environment environment(loaded.flushes);
    kernel_caller kernel(op, kernel_form::row, false, variant, 1);
    const int64_t distance = rows * r.x;
    const auto copy = op.target->nontemporal->copy;
    const int64_t most = op.tuned->piece_elements / group * group;
    char *own = codes[0], *previous = codes[1], *to = nullptr;
    int64_t leaving = 0;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t column = 0; column < c.extent; column += most) {
            const int64_t columns = std::min(most, c.extent - column), place = at.x + row * r.x + column;
            fetch(address(x, place + distance, op.x_bits), columns * op.x_bits / 8);
            kernel.run(loaded.from(row), {address(x, place, op.x_bits), 0}, {own, 0}, columns, 1);
            if (to) {
                copy(to, previous, leaving);
            }
            to = address(y, at.y + row * r.y + column, op.y_bits);
            leaving = columns;
            std::swap(own, previous);
        }
    }
    copy(to, previous, leaving);
    return true;
}

}  // namespace qdq::runtime
