#include "cpu/nest_runner.h"

#include "cpu/cache_lines.h"
#include "cpu/fast_variants.h"
#include "cpu/float_environment.h"
#include "cpu/movement.h"
#include "cpu/packing.h"
#include "plan/loops.h"

#include <algorithm>
#include <cstring>

namespace qdq::runtime {

namespace {

// The extent in equal parts of whole groups, none of them longer than `most`, itself whole groups.
int64_t even_part(int64_t extent, int64_t most) {
    const int64_t parts = (extent + most - 1) / most;
    return round_up((extent + parts - 1) / parts);
}

// Whether contiguous rows are computed by staged pieces.
bool is_staged(const call &op) { return op.nontemporal || (op.packs() && op.packing != QDQ_LOW_FIRST); }

// Not by staged pieces: the first of a row reaches to the end of a cache line of y, which may not be whole groups. Then
// neither is the last, and its kernel reads on to whole groups: 48 scales too many where y begins 16 bytes into a line
// and its codes are i8.
bool uses_scales_where_they_lie(const call &op, const loop_nest &nest) {
    const dimension &c = nest.loops[0];
    return c.varies() && !is_staged(op) && c.extent % group == 0 && scales_lie_ready(op, c.scale) &&
           !fuses_rows(op, c, nest.rows());
}

}  // namespace

nest_runner::nest_runner(const call &op, const loop_nest &nest, const void *x, void *y)
    : op(op),
      nest(nest),
      x(static_cast<const char *>(x)),
      y(static_cast<char *>(y)),
      reorders_x(op.x_bits < 8 && op.packing != QDQ_LOW_FIRST),
      reorders_y(op.y_bits < 8 && op.packing != QDQ_LOW_FIRST),
      x_tile(memory + memory_bytes - dispatch_parameters::most_piece_elements * std::max<int>(op.x_bits, 8) / 8),
      y_tile(x_tile - y_piece_bytes),
      loaded(op, memory, y_tile - memory, uses_scales_where_they_lie(op, nest)) {}

void nest_runner::run(const offsets &at) {
    loop_counter planes(2, nest.count);
    offsets here = at;
    do {
        run_plane(here);
    } while (planes.next([&](int i) { return nest.loops[i].extent; },
                         [&](int i, int64_t steps) { here.advance(nest.loops[i], steps); }));
}

void nest_runner::run_plane(const offsets &at) {
    const dimension &c = nest.loops[0];
    const dimension r = nest.rows();
    const bool fuses = fuses_rows(op, c, r);
    if (c.varies()) {
        fuses ? run_periodic(c, r, at) : run_columns(c, r, at);
    } else if (fuses && overlaps_rows(c)) {
        run_overlapping(c, r, at);
    } else if (fuses) {
        const bool in_blocks = c.extent % op.block == 0 && !needs_column(op, kernel_form::block, plain_variant(op));
        run_fused(c, r, at, in_blocks ? kernel_form::block : kernel_form::column);
    } else if (r.varies()) {
        run_rows(c, r, at, c.extent);
    } else {
        run_one_operand(c, r, at);
    }
}

// Operands along c: few enough columns at a time for the buffer, and one row at a time where they vary there too.
void nest_runner::run_columns(const dimension &c, const dimension &r, offsets at) {
    const bool one_row = r.varies(), in_place = uses_scales_where_they_lie(op, nest);
    const int64_t most = even_part(c.extent, loaded.room());
    for (int64_t row = 0; row < (one_row ? r.extent : 1); row++) {
        offsets here = at;
        for (int64_t done = 0; done < c.extent; done += most) {
            const int64_t columns = std::min(most, c.extent - done);
            const int32_t variant =
                loaded.load({here.scale, c.scale, here.zero_point, c.zero_point, columns}, in_place);
            run_area(area_of(kernel_form::column, variant, 1, columns, r, one_row ? 1 : r.extent, here));
            here.advance(c, columns);
        }
        at.advance(r, 1);
    }
}

// Operands along r, of so many columns: more than c's of short rows that overlap.
void nest_runner::run_rows(const dimension &c, const dimension &r, offsets at, int64_t columns) {
    for (int64_t done = 0; done < r.extent; done += loaded.room()) {
        const int64_t rows = std::min(loaded.room(), r.extent - done);
        const int32_t variant = loaded.load({at.scale, r.scale, at.zero_point, r.zero_point, rows}, true);
        const bool by_columns = needs_column(op, kernel_form::row, variant);
        if (by_columns && (c.extent >= op.tuned->fused_row || !lie_end_to_end(c, r))) {
            for (int64_t row = 0; row < rows; row++) {
                run_one_operand(c, {1, 0, 0, 0, 0}, at);
                at.advance(r, 1);
            }
            continue;
        }
        if (by_columns) {  // rows of 33, bf16 to e4m3 without saturation: 0.7 ns an element, 3.3 one by one
            run_fused(c, {rows, r.x, r.y, r.scale, r.zero_point}, at, kernel_form::column);
        } else {
            run_area(area_of(kernel_form::row, variant, 1, columns, r, rows, at));
        }
        at.advance(r, rows);
    }
}

void nest_runner::run_one_operand(const dimension &c, const dimension &r, const offsets &at) {
    const int32_t variant = loaded.load({at.scale, 0, at.zero_point, 0, 1}, true);
    if (!needs_column(op, kernel_form::row, variant)) {
        run_area(area_of(kernel_form::row, variant, 0, c.extent, r, r.extent, at));
        return;
    }
    const int64_t most = std::min(loaded.room(), round_up(c.extent));
    loaded.repeat(1, most);
    offsets here = at;
    for (int64_t done = 0; done < c.extent; done += most) {
        const int64_t columns = std::min(most, c.extent - done);
        run_area(area_of(kernel_form::column, variant, 1, columns, r, r.extent, here));
        here.advance(c, columns);
    }
}

// Whether each of short rows is computed as a whole group, which takes less than repeating its operand for its columns:
// f32 to i8 by rows of 49 takes 0.14 ns an element, and 0.35. Dequantizing repeats one array of operands, not two: i8
// to f32 by rows of 33 takes 0.23 as groups, and 0.18.
bool nest_runner::overlaps_rows(const dimension &c) const {
    const int64_t shortest = op.quantizes() ? 32 : 40;
    const bool by_bytes = op.x_bits >= 8 && op.y_bits >= 8;
    const bool is_long_block = c.extent % op.block == 0 && op.block >= shortest_long_block;
    return c.extent >= shortest && c.extent < group && !is_long_block && by_bytes && x != y && !is_staged(op);
}

// Short rows as whole groups: what one writes beyond its end, later rows write again. The last, from which a group
// would end beyond y, go another way.
void nest_runner::run_overlapping(const dimension &c, const dimension &r, offsets at) {
    dimension whole = r, rest = r;
    rest.extent = std::min((group - 1) / c.extent, r.extent);
    whole.extent -= rest.extent;
    run_rows(c, whole, at, group);
    at.advance(r, whole.extent);
    run_fused(c, rest, at, kernel_form::column);
}

// Short rows as one long row, where operands are repeated along c. Parts of it begin at whole bytes.
void nest_runner::run_fused(const dimension &c, const dimension &r, offsets at, kernel_form form) {
    const int64_t times = form == kernel_form::block ? c.extent / op.block : c.extent;
    const int64_t room = loaded.room() / times, of_lines = rows_of_lines(op, c.extent);
    const int64_t unit = room >= of_lines ? of_lines : op.codes_per_byte(), most_rows = room / unit * unit;
    for (int64_t done = 0; done < r.extent; done += most_rows) {
        const int64_t rows = std::min(most_rows, r.extent - done);
        const operand_range range = {at.scale, r.scale, at.zero_point, r.zero_point, rows};
        area all = area_of(form, 0, 1, rows * c.extent, {1, 0, 0, 0, 0}, 1, at);
        // Staged pieces may end within a group.
        const bool exact = times == 1 && all.columns % group == 0 && (!is_staged(op) || bypasses_caches(all));
        all.variant = loaded.load(range, exact);
        if (form == kernel_form::block && needs_column(op, form, all.variant)) {
            run_fused(c, {rows, r.x, r.y, r.scale, r.zero_point}, at, kernel_form::column);
        } else {
            loaded.repeat(rows, times);
            run_area(all);
        }
        at.advance(r, rows);
    }
}

// Rows that share the operands along them as rows of whole groups. The last may be shorter.
void nest_runner::run_periodic(const dimension &c, const dimension &r, offsets at) {
    constexpr int64_t shortest = 512;  // shorter rows of one kernel call cost more than the operands' copies
    const int64_t unit = rows_of_whole_groups(c);
    const int64_t times = std::min(r.extent, (shortest / c.extent + unit) / unit * unit);
    const int32_t variant = loaded.load({at.scale, c.scale, at.zero_point, c.zero_point, c.extent}, false);
    // Where there is no room for all of them, parts begin at any of the operands.
    const int64_t columns = times * c.extent, places = std::min(columns, loaded.room());
    const int64_t most = places == columns ? columns : (places - c.extent) / group * group;
    loaded.make_periodic(c.extent, places);
    const int64_t whole = r.extent / times, rest = r.extent % times;
    run_periodic_area(
        area_of(kernel_form::column, variant, 1, columns, {whole, times * r.x, times * r.y, 0, 0}, whole, at), c.extent,
        most);
    at.advance(r, whole * times);
    if (rest > 0) {
        run_periodic_area(area_of(kernel_form::column, variant, 1, rest * c.extent, {1, 0, 0, 0, 0}, 1, at), c.extent,
                          most);
    }
}

// By so many columns at a time, of operands that come again after `period` columns.
void nest_runner::run_periodic_area(const area &a, int64_t period, int64_t most) {
    for (int64_t column = 0; column < a.columns; column += most) {
        area part = part_of(a, column, std::min(most, a.columns - column), 0, a.rows);
        part.operand %= period;
        run_area(part);
    }
}

nest_runner::area nest_runner::area_of(kernel_form form, int32_t variant, int64_t operand_step, int64_t columns,
                                       const dimension &r, int64_t rows, const offsets &at) const {
    return {form, variant, columns, rows, 0, operand_step, at.x, at.y, r.x, r.y};
}

nest_runner::area nest_runner::part_of(const area &a, int64_t column, int64_t columns, int64_t row,
                                       int64_t rows) const {
    area part = a;
    part.columns = columns;
    part.rows = rows;
    part.x += column + row * a.x_row;
    part.y += column + row * a.y_row;
    switch (a.form) {
    case kernel_form::row: part.operand += row * a.operand_step; break;
    case kernel_form::column: part.operand += column; break;
    default: part.operand += column / op.block; break;
    }
    return part;
}

void nest_runner::run_area(const area &a) {
    const float_environment environment(loaded.flushes);
    if (!is_staged(op)) {
        run_in_place(a, false);
    } else if (!has_kernel_past_caches(a)) {
        run_staged(a);
    } else if (bypasses_caches(a)) {
        run_past_caches(a);
    } else if (splits_at_lines(a)) {
        run_from_lines(a);
    } else {
        run_across_lines(a);
    }
}

void nest_runner::run_past_caches(const area &a) {
    if (fetches(a)) {
        run_fetching(a);
    } else {
        run_in_place(a, true);
    }
}

bool nest_runner::has_kernel_past_caches(const area &a) const {
    return op.nontemporal && has_nontemporal_kernel(op, a.form) && !reorders_x && !reorders_y;
}

// Whether the form has a kernel that stores past the caches, and an area is what it takes.
bool nest_runner::bypasses_caches(const area &a) const {
    return has_kernel_past_caches(a) && begin_at_lines(op, address(y, a.y, op.y_bits), a.columns, a.y_row, a.rows);
}

// How many columns at least begin a block, and a byte.
int64_t nest_runner::unit_of(const area &a) const {
    return std::max(a.form == kernel_form::block ? op.block : 1, op.packed_unit());
}

// How many columns of a row come before its first cache line; -1: that lies within one.
int64_t nest_runner::columns_before_line(const area &a) const {
    const auto first = reinterpret_cast<intptr_t>(address(y, a.y, op.y_bits));
    const int64_t bits = 8 * (-first & (line - 1));
    return bits % op.y_bits == 0 ? bits / op.y_bits : -1;
}

// Whether such a kernel pays from the first cache line of each row on, which is as far from where each begins.
bool nest_runner::splits_at_lines(const area &a) const {
    constexpr int64_t shortest = 8192;
    const int64_t before = columns_before_line(a), pitch = a.rows > 1 ? a.y_row * op.y_bits / 8 : 0;
    return a.columns >= shortest && a.columns <= reach && pitch % line == 0 && before >= 0 && before % unit_of(a) == 0;
}

// What comes before the lines, and the end, which fills no group, go by way of tiles: cached stores to lines that
// others pass would wait for them. 32 Mi elements of bf16 to f8e4m3 whose y begins 16 bytes into a line, as what
// malloc() returns does, take 2.3 ms so, and 4.5 by pieces (Zen 5).
void nest_runner::run_from_lines(const area &a) {
    const int64_t before = columns_before_line(a), end = before + (a.columns - before) / group * group;
    const int64_t at_once = std::min({few_rows, rows_in_reach(a.x_row), rows_in_reach(a.y_row)});
    kernel_caller kernel(op, a.form, false, a.variant, a.operand_step);
    for (int64_t row = 0; row < a.rows; row += at_once) {
        const int64_t rows = std::min(at_once, a.rows - row);
        for (int64_t column = 0; column < before; column += group) {
            run_tails(part_of(a, column, std::min(group, before - column), row, rows), kernel);
        }
        run_past_caches(part_of(a, before, end - before, row, rows));
        if (end < a.columns) {
            run_tails(part_of(a, end, a.columns - end, row, rows), kernel);
        }
    }
}

// Rows that begin at no cache line by kernels that could pass the caches. Cached stores take less than pieces, but for
// integers that become f32, or f32 that become integers: bf16 to f8e4m3 in blocks of 32 takes 0.10 ns an element so,
// and 0.16 (Zen 5); i8 to bf16 0.22 and 0.26, to f32 0.36 and 0.29 (AVX2, Zen 3).
void nest_runner::run_across_lines(const area &a) {
    constexpr int64_t shortest = 1024;  // that pieces pay for: i4 to f32 by rows of 128 0.25 ns, and 0.13 by the caches
    const bool are_short = a.rows > 1 && a.columns >= group && a.columns < shortest;
    if (!are_short && (op.y_bits == 32 || (op.x_bits == 32 && op.codes().is_integer()))) {
        run_staged(a);
    } else {
        run_in_place(a, false);
    }
}

// Whether x of what bypasses the caches is fetched before it is read: of rows that are apart, as hardware begins anew
// with each. Rows end to end take up to a fifth longer so.
bool nest_runner::fetches(const area &a) const {
    return op.nontemporal && op.tuned->fetched_elements >= group && a.rows > 1 && a.x_row != a.columns;
}

// By pieces of a row, or of short rows together, during each of which the next one's x is fetched. On Zen 3 i8 to f32,
// rows of 4096 of 8192, takes 0.22 ns an element so, 0.30 without.
void nest_runner::run_fetching(const area &a) {
    kernel_caller kernel(op, a.form, true, a.variant, a.operand_step);
    const int64_t most = op.tuned->fetched_elements / group * group;
    const int64_t in_reach = std::min(rows_in_reach(a.x_row), rows_in_reach(a.y_row));
    const int64_t most_rows = std::clamp<int64_t>(most / a.columns, 1, in_reach);
    for (int64_t row = 0; row < a.rows; row += most_rows) {
        const int64_t rows = std::min(most_rows, a.rows - row);
        for (int64_t column = 0; column < a.columns; column += most) {
            const area piece = part_of(a, column, std::min(most, a.columns - column), row, rows);
            const bool is_last = column + most >= a.columns;
            const int64_t next_column = is_last ? 0 : column + most, next_row = is_last ? row + rows : row;
            for (int64_t r = next_row; r < std::min(next_row + rows, a.rows); r++) {
                const char *const next = address(x, part_of(a, next_column, 0, r, 1).x, op.x_bits);
                prefetch<cache::l1>(next, std::min(most, a.columns - next_column) * op.x_bits / 8);
            }
            run_part(kernel, piece);
        }
    }
}

void nest_runner::run_part(kernel_caller &kernel, const area &part) const {
    kernel.run(loaded.from(part.operand), {address(x, part.x, op.x_bits), part.x_row},
               {address(y, part.y, op.y_bits), part.y_row}, part.columns, part.rows);
}

// Straight from x to y, by parts that kernels reach.
void nest_runner::run_in_place(const area &a, bool nontemporal) {
    const int64_t most_rows = std::min(rows_in_reach(a.x_row), rows_in_reach(a.y_row));
    for (int64_t row = 0; row < a.rows; row += most_rows) {
        for (int64_t column = 0; column < a.columns; column += reach) {
            run_within_reach(
                part_of(a, column, std::min(reach, a.columns - column), row, std::min(most_rows, a.rows - row)),
                nontemporal);
        }
    }
}

// Whole groups, and for the columns that are left the last group that fits, some of whose codes are then computed
// twice; by way of a tile where no group fits. A few rows at a time, so that they are still in the L1 cache (rows of
// 200, f32 to i8: 0.19 ns an element, 0.27 all rows at a time).
void nest_runner::run_within_reach(const area &a, bool nontemporal) {
    const int64_t whole = a.columns / group * group, last = a.columns - group;
    const bool repeats = last >= 0 && last % unit_of(a) == 0 && x != y;
    kernel_caller kernel(op, a.form, nontemporal, a.variant, a.operand_step);
    const int64_t most_rows = whole == 0 || whole == a.columns ? a.rows : few_rows;
    for (int64_t row = 0; row < a.rows; row += most_rows) {
        const int64_t rows = std::min(most_rows, a.rows - row);
        if (whole > 0) {
            run_part(kernel, part_of(a, 0, whole, row, rows));
        }
        if (whole < a.columns && repeats) {
            run_part(kernel, part_of(a, last, group, row, rows));
        } else if (whole < a.columns) {
            run_tails(part_of(a, whole, a.columns - whole, row, rows), kernel);
        }
    }
}

// Columns that fill no group, by way of tiles. Kernels compute whole groups: what is left of them is zero, as subnormal
// numbers left on the stack would cost 100 cycles an operation.
void nest_runner::run_tails(const area &a, kernel_caller &kernel) {
    std::memset(x_tile, 0, tail_rows * group * op.x_bits / 8);
    for (int64_t row = 0; row < a.rows; row += tail_rows) {
        const int64_t rows = std::min(tail_rows, a.rows - row);
        const area tail = part_of(a, 0, a.columns, row, rows);
        move_loop gathered[] = {{a.columns, 1, 1}, {rows, a.x_row, group}};
        move(*op.target, op.x_bits, address(x, tail.x, op.x_bits), x_tile, gathered, 2);
        kernel.run(loaded.from(tail.operand), {x_tile, group}, {y_tile, group}, group, rows);
        clear_padding(y_tile, op.y_bits, a.columns);  // if there is any: the end of the tensor, in one row
        move_loop scattered[] = {{a.columns, 1, 1}, {rows, group, a.y_row}};
        move(*op.target, op.y_bits, y_tile, address(y, tail.y, op.y_bits), scattered, 2);
    }
}

// Contiguous rows by pieces that go to y a piece later than they are computed: non-temporal stores then leave the
// processor while the next piece is computed, and never wait for codes that are still on their way to the L1 cache.
// What lies ahead is fetched in two parts, apart: 64 lines at once keep a piece's own loads waiting (0.80 of a
// hand-written loop's speed for f32 to i8, and 0.95 in two parts, on an Intel machine). It lies 8 KiB ahead, two pieces
// of f32: where it was the next half piece, Zen 5 took 11.5 ms for 64 Mi elements of f32 to i8, and takes 7.6. By AVX2
// f32 lie 10 KiB ahead, as Zen 3 takes a fifth less where the two parts are of different pages (320 MiB, f32 to i8:
// 0.51 ns an element, and 0.40; 0.43 by cached stores). Encoding float formats computes for longer than memory takes,
// and the two overlap better in shorter pieces, which schedules/tuned asks for (f16 to f8e4m3: 14.2 ms for 64 Mi
// elements with 1024 to a piece, 12.3 with 512).
void nest_runner::run_staged(const area &a) {
    kernel_caller kernel(op, a.form, false, a.variant, a.operand_step);
    const int64_t distance = op.tuned->prefetch_bytes * 8 / op.x_bits;
    outgoing previous;
    char *own = y_tile, *other = y_tile + dispatch_parameters::most_piece_bytes;
    for (int64_t row = 0; row < a.rows; row++) {
        for (int64_t column = 0, columns; column < a.columns; column += columns) {
            columns = staged_columns(a, row, column);
            const area piece = part_of(a, column, columns, row, 1);
            const char *const ahead = ahead_of(a, row, column + distance, columns);
            const int64_t half = ahead ? columns * op.x_bits / 16 : 0;
            prefetch<cache::l1>(ahead, half);
            const char *from = staged_x(piece, a.columns - column);
            char *const to = address(y, piece.y, op.y_bits);
            const bool in_place = !op.nontemporal && !reorders_y && columns % group == 0;
            kernel.run(loaded.from(piece.operand), {from, 0}, {in_place ? to : own, 0}, round_up(columns), 1);
            if (previous.to) {
                emit(previous);
            }
            prefetch<cache::l1>(ahead + half, half);
            previous = {in_place ? nullptr : to, own, columns};
            std::swap(own, other);
        }
    }
    if (previous.to) {
        emit(previous);
    }
}

// Packed codes in another order that stay in the caches go by as many as tiles have room for (i4 to bf16, high first:
// 0.04 ns an element, 0.06 by pieces of 512). A piece that ends within a group fits both tiles.
int64_t nest_runner::staged_columns(const area &a, int64_t row, int64_t column) const {
    const dispatch_parameters &tuned = *op.tuned;
    const int64_t left = a.columns - column;
    if (op.nontemporal) {
        const int64_t most = std::min(tuned.piece_bytes * 8 / op.y_bits, tuned.piece_elements) / group * group;
        return std::min(column == 0 ? first_staged(a, row, most) : most, left);
    }
    const int64_t columns = std::min(dispatch_parameters::most_piece_bytes * op.codes_per_byte(), left);
    const int64_t in_tiles = std::min<int64_t>(dispatch_parameters::most_piece_bytes * 8 / op.y_bits,
                                               dispatch_parameters::most_piece_elements);
    return columns <= in_tiles ? columns : columns / group * group;
}

// How many columns a row's first piece takes: up to a cache line's end in y, if the next piece may begin there. Pieces
// of packed codes may be shorter than a line.
int64_t nest_runner::first_staged(const area &a, int64_t row, int64_t most) const {
    const int64_t past_line = reinterpret_cast<intptr_t>(address(y, a.y + row * a.y_row, op.y_bits)) % line * 8;
    const bool can_align = past_line % (op.y_bits * unit_of(a)) == 0;
    return can_align ? most - past_line / op.y_bits % most : most;
}

// A piece's elements as a kernel takes them: whole groups, which may reach into the rest of the row.
const char *nest_runner::staged_x(const area &piece, int64_t columns_left) {
    const char *from = address(x, piece.x, op.x_bits);
    if (!reorders_x && round_up(piece.columns) <= columns_left) {
        return from;
    }
    const int64_t bytes = (piece.columns * op.x_bits + 7) / 8;
    if (reorders_x) {
        from_packing(*op.target, op.packing, from, x_tile, bytes);
    } else {
        std::memcpy(x_tile, from, bytes);
    }
    std::memset(x_tile + bytes, 0, round_up(piece.columns) * op.x_bits / 8 - bytes);  // as run_tails does
    return x_tile;
}

// The x of a place, which may be past its row's end: in a later row then. NULL where that is past the area.
const char *nest_runner::ahead_of(const area &a, int64_t row, int64_t column, int64_t columns) const {
    if (column >= a.columns) {
        row += column / a.columns;
        column %= a.columns;
    }
    return row < a.rows ? address(x, part_of(a, column, columns, row, 1).x, op.x_bits) : nullptr;
}

void nest_runner::emit(const outgoing &piece) const {
    clear_padding(piece.from, op.y_bits, piece.elements);  // if there is any: the end of the tensor
    const int64_t bytes = (piece.elements * op.y_bits + 7) / 8;
    const char *from = piece.from;
    if (reorders_y) {
        char *const to = op.nontemporal ? x_tile : piece.to;  // the kernel has read what was there
        to_packing(*op.target, op.packing, from, to, bytes);
        from = to;
    }
    if (op.nontemporal) {
        op.target->nontemporal->copy(piece.to, from, bytes);
    } else if (!reorders_y) {
        std::memcpy(piece.to, from, bytes);
    }
}

}  // namespace qdq::runtime
