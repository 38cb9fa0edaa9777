#include "execute.h"

#include "dtype.h"
#include "float_environment.h"
#include "kernel_call.h"
#include "loops.h"
#include "movement.h"
#include "operands.h"
#include "packing.h"
#include "stream_copy.h"
#include "threads.h"

#include <algorithm>

namespace qdq {

namespace {

constexpr int64_t tile_elements = 4096;   // a staged tile: at most 16 KiB on each side, both in the L1 cache
constexpr int64_t stream_columns = 512;   // best of 64..8192: short enough that loads and streamed stores overlap
constexpr int64_t prefetch_bytes = 4096;  // how far ahead of a streamed tile x is fetched to the L2 cache: +15%
constexpr int64_t index_limit = int64_t{1} << 30;  // kernels index elements with 32 bits

int64_t round_up(int64_t n) { return (n + group - 1) / group * group; }

// A kernel's view of a part of a call: two loops, and operands that are loaded.
struct chunk {
    kernel_form form;
    int64_t columns, rows;
    int64_t operand_step;  // along the operands' loop: 1, or 0 where one serves all
    const char *x;
    char *y;
    int64_t x_column, x_row, y_column, y_row;  // strides in elements
};

class executor {
public:
    // y is streamed only where that is its place in memory, not a tile on the way there.
    executor(const plan &p, const void *x, void *y, bool may_stream)
        : what(p.what), streams(may_stream && p.what.streams), x_bytes(byte_size(p.what.x_type)), y_bytes(byte_size(p.what.y_type)),
          x(static_cast<const char *>(x)), y(static_cast<char *>(y)) {}

    void run(const loop_nest &nest, const offsets &at) {
        if (nest.count <= 2) {
            run_plane(nest, at);
            return;
        }
        int64_t index[most_loops] = {};
        offsets here = at;
        for (bool more = true; more;) {
            run_plane(nest, here);
            more = false;
            for (int i = 2; i < nest.count && !more; i++) {
                more = ++index[i] < nest.loops[i].extent;
                const int64_t step = more ? 1 : 1 - nest.loops[i].extent;
                here.advance(nest.loops[i], step);
                if (!more) {
                    index[i] = 0;
                }
            }
        }
    }

private:
    const call &what;
    const bool streams;
    const int64_t x_bytes, y_bytes;
    const char *const x;
    char *const y;
    operands loaded;
    alignas(64) char x_tile[tile_elements * 4];
    alignas(64) char y_tile[tile_elements * 4];

    void run_plane(const loop_nest &nest, const offsets &at) {
        const dimension &c = nest.loops[0];
        const dimension r = nest.count > 1 ? nest.loops[1] : dimension{1, 0, 0, 0, 0};
        if (c.varies()) {
            run_columns(c, r, at);
        } else if (is_short_block(c, r)) {
            run_blocks(c, r, at);
        } else {
            run_rows(c, r, at);
        }
    }

    void load(const operand_range &range) {
        loaded.variant = load_operands(what, range, loaded.scale, loaded.zero_point);
    }

    // Operands along c: few enough columns at a time for the buffer, and one row at a time where they vary there too.
    void run_columns(const dimension &c, const dimension &r, offsets at) {
        const bool one_row = r.varies();
        for (int64_t row = 0; row < (one_row ? r.extent : 1); row++) {
            offsets here = at;
            for (int64_t done = 0; done < c.extent; done += most_operands) {
                const int64_t columns = std::min<int64_t>(most_operands, c.extent - done);
                load({here.scale, c.scale, here.zero_point, c.zero_point, columns});
                pad_operands(loaded, columns);
                run_chunks(kernel_form::column, 1, c, columns, r, one_row ? 1 : r.extent, here);
                here.advance(c, columns);
            }
            at.advance(r, 1);
        }
    }

    static bool is_short_block(const dimension &c, const dimension &r) {
        return (c.extent == 16 || c.extent == 32) && c.x == 1 && c.y == 1 && r.x == c.extent && r.y == c.extent &&
               r.varies();
    }

    // Blocks that lie end to end are one long row with an operand for each block.
    void run_blocks(const dimension &c, const dimension &r, offsets at) {
        const kernel_form form = c.extent == 16 ? kernel_form::block16 : kernel_form::block32;
        const int64_t most_blocks = most_operands / c.extent;
        const dimension row{1, 0, 0, 0, 0};
        for (int64_t done = 0; done < r.extent; done += most_blocks) {
            const int64_t blocks = std::min(most_blocks, r.extent - done);
            load({at.scale, r.scale, at.zero_point, r.zero_point, blocks});
            pad_operands(loaded, blocks);
            run_chunks(form, 1, c, blocks * c.extent, row, 1, at);
            at.advance(r, blocks);
        }
    }

    // Operands along r, or one for all rows.
    void run_rows(const dimension &c, const dimension &r, offsets at) {
        const bool shared = !r.varies();
        if (shared) {
            load({at.scale, 0, at.zero_point, 0, 1});
            run_chunks(kernel_form::row, 0, c, c.extent, r, r.extent, at);
            return;
        }
        for (int64_t done = 0; done < r.extent; done += most_operands) {
            const int64_t rows = std::min<int64_t>(most_operands, r.extent - done);
            load({at.scale, r.scale, at.zero_point, r.zero_point, rows});
            run_chunks(kernel_form::row, 1, c, c.extent, r, rows, at);
            at.advance(r, rows);
        }
    }

    // Cuts until 32-bit indices suffice.
    void run_chunks(kernel_form form, int64_t operand_step, const dimension &c, int64_t columns, const dimension &r,
                    int64_t rows, const offsets &at) {
        chunk whole{form, columns, rows, operand_step, x + at.x * x_bytes, y + at.y * y_bytes, c.x, r.x, c.y, r.y};
        const int64_t pitch = std::max({std::abs(r.x), std::abs(r.y), int64_t{1}});
        const int64_t most_rows = std::max<int64_t>(1, index_limit / pitch);
        for (int64_t row = 0; row < rows; row += most_rows) {
            for (int64_t column = 0; column < columns; column += index_limit) {
                run_chunk(part_of(whole, column, std::min(index_limit, columns - column), row,
                                  std::min(most_rows, rows - row)),
                          column, row);
            }
        }
    }

    chunk part_of(const chunk &k, int64_t column, int64_t columns, int64_t row, int64_t rows) const {
        chunk part = k;
        part.columns = columns;
        part.rows = rows;
        part.x += (column * k.x_column + row * k.x_row) * x_bytes;
        part.y += (column * k.y_column + row * k.y_row) * y_bytes;
        return part;
    }

    // `column` and `row` locate the chunk among the loaded operands.
    void run_chunk(const chunk &k, int64_t column, int64_t row) {
        const bool contiguous = k.x_column == 1 && k.y_column == 1;
        if (!contiguous) {
            run_tiles(k, column, row);
        } else if (streams) {
            run_streamed(k, column, row);
        } else {
            const int64_t whole = k.columns / group * group;
            if (whole > 0) {
                kernel_caller kernel(what, k.form, k.operand_step);
                kernel.run(loaded, first_operand(k, column, row), {k.x, k.x_row}, {k.y, k.y_row}, whole, k.rows);
            }
            if (whole < k.columns) {
                run_tiles(part_of(k, whole, k.columns - whole, 0, k.rows), column + whole, row);
            }
        }
    }

    // Streams whole cache lines of y; the columns before the first one go the ordinary way.
    void run_streamed(const chunk &k, int64_t column, int64_t row) {
        const int64_t past_line = -reinterpret_cast<intptr_t>(k.y) & 63;
        const bool same_in_every_row = k.rows == 1 || k.y_row * y_bytes % 64 == 0;
        const bool on_block_boundary = k.form == kernel_form::row || k.form == kernel_form::column;
        const int64_t head = same_in_every_row && on_block_boundary && past_line % y_bytes == 0
                                 ? std::min(past_line / y_bytes, k.columns)
                                 : 0;
        if (head > 0) {
            run_tiles(part_of(k, 0, head, 0, k.rows), column, row);
        }
        if (head < k.columns) {
            run_tiles(part_of(k, head, k.columns - head, 0, k.rows), column + head, row);
        }
    }

    void run_tiles(const chunk &k, int64_t column, int64_t row) {
        const bool contiguous = k.x_column == 1 && k.y_column == 1;
        const int64_t columns = contiguous ? std::min(stream_columns, round_up(k.columns)) : group;
        // Operands along c cost a reciprocal each tile: more rows share it.
        const int64_t elements = contiguous && k.form == kernel_form::row && k.columns > group ? stream_columns
                                                                                                : tile_elements;
        const int64_t rows = elements / columns;
        kernel_caller kernel(what, k.form, k.operand_step);
        for (int64_t r = 0; r < k.rows; r += rows) {
            for (int64_t c = 0; c < k.columns; c += columns) {
                run_tile(kernel, part_of(k, c, std::min(columns, k.columns - c), r, std::min(rows, k.rows - r)),
                         first_operand(k, column + c, row + r));
            }
        }
    }

    void run_tile(kernel_caller &kernel, const chunk &k, int64_t operand) {
        const int64_t columns = round_up(k.columns);
        const rectangle area{k.columns, k.rows};
        const bool whole = columns == k.columns;
        rows_of_x from{k.x, k.x_row};
        if (k.x_column != 1 || !whole) {
            gather(*what.on, x_bytes, k.x, k.x_column, k.x_row, area, x_tile, columns);
            from = {x_tile, columns};
        }
        if (k.y_column == 1 && whole && !streams) {
            kernel.run(loaded, operand, from, {k.y, k.y_row}, columns, k.rows);
            return;
        }
        kernel.run(loaded, operand, from, {y_tile, columns}, columns, k.rows);
        if (k.y_column == 1 && streams) {
            stream_rows(k, columns);
        } else {
            scatter(*what.on, y_bytes, y_tile, columns, area, k.y, k.y_column, k.y_row);
        }
    }

    void stream_rows(const chunk &k, int64_t pitch) {
        for (int64_t r = 0; r < k.rows; r++) {
            const char *next = k.x + r * k.x_row * x_bytes + prefetch_bytes;
            for (int64_t line = 0; line < k.columns * x_bytes; line += 64) {
                __builtin_prefetch(next + line, 0, 2);
            }
            what.on->stream_copy(k.y + r * k.y_row * y_bytes, y_tile + r * pitch * y_bytes, k.columns * y_bytes);
        }
    }

    static int64_t first_operand(const chunk &k, int64_t column, int64_t row) {
        switch (k.form) {
        case kernel_form::row:
            return row * k.operand_step;
        case kernel_form::column:
            return column;
        case kernel_form::block16:
            return column / 16;
        default:
            return column / 32;
        }
    }
};

// Runs one nest on the calling thread.
void run_serially(const plan &p, const loop_nest &nest, const offsets &at, const void *x, void *y) {
    const default_float_environment environment;
    executor(p, x, y, true).run(nest, at);
    if (p.what.streams) {
        stream_fence();
    }
}

struct parallel_run {
    const plan &p;
    const loop_nest &nest;
    offsets at;
    const void *x;
    void *y;
    int split;     // the loop that is divided
    int64_t step;  // its iterations in each part
};

void run_part(int64_t i, void *context) {
    const parallel_run &whole = *static_cast<const parallel_run *>(context);
    loop_nest nest = whole.nest;
    dimension &loop = nest.loops[whole.split];
    const int64_t first = i * whole.step;
    offsets at = whole.at;
    at.advance(loop, first);
    loop.extent = std::min(whole.step, loop.extent - first);
    run_serially(whole.p, nest, at, whole.x, whole.y);
}

void run_nest(const plan &p, const loop_nest &nest, const offsets &at, const void *x, void *y) {
    const int64_t parts = useful_parts(nest.elements());
    if (parts <= 1) {
        run_serially(p, nest, at, x, y);
        return;
    }
    // The longest loop, counting the contiguous one by tiles: its parts should stay whole cache lines.
    int split = 0;
    int64_t longest = nest.loops[0].extent / stream_columns;
    for (int i = 1; i < nest.count; i++) {
        if (nest.loops[i].extent > longest) {
            split = i;
            longest = nest.loops[i].extent;
        }
    }
    const int64_t unit = split == 0 ? stream_columns : 1;
    const int64_t extent = nest.loops[split].extent;
    const int64_t step = std::max<int64_t>((extent + parts - 1) / parts + unit - 1, unit) / unit * unit;
    parallel_run whole{p, nest, at, x, y, split, step};
    run_in_parallel((extent + step - 1) / step, run_part, &whole);
}

struct run_in_parts {
    const plan &p;
    const void *x;
    void *y;
};

void run_regular_part(void *context, const blocked_dimension *dimensions, int count, const offsets &at) {
    const run_in_parts &whole = *static_cast<const run_in_parts *>(context);
    loop_nest nest;
    normalize(dimensions, count, whole.p.what.op == operation::quantize, nest);
    run_nest(whole.p, nest, at, whole.x, whole.y);
}

void run_ragged(const plan &p, const void *x, void *y) {
    interval all[most_dimensions];
    for (int d = 0; d < p.dimension_count; d++) {
        all[d] = {0, p.dimensions[d].whole.extent};
    }
    run_in_parts whole{p, x, y};
    for_each_regular_part(p.dimensions, all, p.dimension_count, run_regular_part, &whole);
}

// Packed tensors go window by window, each a run of elements of the flat packed order: the window's codes, one in a
// byte, stand in for the packed tensor.
constexpr int64_t window_elements = 4096;

class packed_window {
public:
    packed_window(const plan &p, const void *x, void *y)
        : p(p), x(x), y(y), quantizes(p.what.op == operation::quantize),
          kernels(p, quantizes ? x : codes, quantizes ? codes : y, !quantizes) {}

    void run(int64_t first, int64_t count) {
        begin = first;
        const target &on = *p.what.on;
        if (!quantizes) {
            unpack(on, p.what.packing, p.what.x_type == QDQ_I8, static_cast<const uint8_t *>(x) + first / 2, count, codes);
        }
        for_each_region(p.dimensions, p.dimension_count, first, first + count, run_region, this);
        if (quantizes) {
            write(static_cast<uint8_t *>(y) + first / 2, count);
        }
    }

private:
    const plan &p;
    const void *const x;
    void *const y;
    const bool quantizes;
    executor kernels;
    int64_t begin = 0;
    alignas(64) uint8_t codes[window_elements];
    alignas(64) uint8_t bytes[window_elements / 2];

    void write(uint8_t *to, int64_t count) {
        if (!p.what.streams) {
            pack(*p.what.on, p.what.packing, codes, count, to);
            return;
        }
        pack(*p.what.on, p.what.packing, codes, count, bytes);
        p.what.on->stream_copy(to, bytes, (count + 1) / 2);
    }

    static void run_region(void *context, const interval *region) {
        packed_window &window = *static_cast<packed_window *>(context);
        for_each_regular_part(window.p.dimensions, region, window.p.dimension_count, run_part, context);
    }

    static void run_part(void *context, const blocked_dimension *dimensions, int count, const offsets &at) {
        packed_window &window = *static_cast<packed_window *>(context);
        loop_nest nest;
        normalize(dimensions, count, window.quantizes, nest);
        offsets in_window = at;
        (window.quantizes ? in_window.y : in_window.x) -= window.begin;
        window.kernels.run(nest, in_window);
    }
};

struct packed_run {
    const plan &p;
    const void *x;
    void *y;
    int64_t step;  // elements of one part, whole windows
};

void run_windows(int64_t part, void *context) {
    const packed_run &whole = *static_cast<const packed_run *>(context);
    const default_float_environment environment;
    packed_window window(whole.p, whole.x, whole.y);
    const int64_t end = std::min((part + 1) * whole.step, whole.p.elements);
    for (int64_t first = part * whole.step; first < end; first += window_elements) {
        window.run(first, std::min(window_elements, end - first));
    }
    if (whole.p.what.streams) {
        stream_fence();
    }
}

void run_packed(const plan &p, const void *x, void *y) {
    const int64_t windows = (p.elements + window_elements - 1) / window_elements;
    const int64_t parts = std::min(windows, useful_parts(p.elements));
    packed_run whole{p, x, y, (windows + parts - 1) / parts * window_elements};
    if (parts == 1) {
        run_windows(0, &whole);
    } else {
        run_in_parallel((p.elements + whole.step - 1) / whole.step, run_windows, &whole);
    }
}

}  // namespace

void prepare(plan &p) {
    p.direct.possible = false;
    if (p.in_parts) {
        return;
    }
    const dimension &c = p.nest.loops[0];
    const call &what = p.what;
    p.direct.possible = p.nest.count == 1 && c.x == 1 && c.y == 1 && c.scale == 0 && c.zero_point == 0 &&
                        c.extent % group == 0 && !what.streams && useful_parts(p.elements) == 1 && p.elements < index_limit;
    if (p.direct.possible) {
        prepare_direct_call(what, c.extent, p.direct);
    }
}

void execute(const plan &p, const void *x, void *y) {
    if (p.direct.possible) {
        const default_float_environment environment;
        call_directly(p, x, y);
    } else if (p.what.packs) {
        run_packed(p, x, y);
    } else if (p.in_parts) {
        run_ragged(p, x, y);
    } else {
        run_nest(p, p.nest, {}, x, y);
    }
}

}  // namespace qdq
