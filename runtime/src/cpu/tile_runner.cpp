#include "cpu/tile_runner.h"

#include "cpu/fast_variants.h"
#include "cpu/float_environment.h"
#include "cpu/packing.h"
#include "plan/loops.h"

#include <algorithm>
#include <cstring>

namespace qdq::runtime {

namespace {

constexpr int64_t line = 64;  // bytes of a cache line

int64_t whole_lines(int64_t bytes) { return (bytes + line - 1) / line * line; }

int64_t array_count(const call &op) { return 1 + (op.quantizes() && !op.multiply) + (op.zero_point != nullptr); }

// In equal parts, none of them longer than `most`.
int64_t even_part(int64_t extent, int64_t most) {
    const int64_t parts = (extent + most - 1) / most;
    return (extent + parts - 1) / parts;
}

bool varies(const loop_nest &nest) {
    return std::any_of(nest.loops, nest.loops + nest.count, [](const dimension &d) { return d.varies(); });
}

}  // namespace

bool runs_by_tiles(const call &op, const loop_nest &nest) {
    const dimension &c = nest.loops[0], r = nest.rows();
    if (c.x != 1 || c.y != 1) {
        return true;
    }
    constexpr int64_t small = 1024;  // elements, of which a plane's own calls take longer than moving them does
    if (c.extent * r.extent < small && nest.count > 2) {
        return true;
    }
    return !fuses_rows(op, c, r) && (c.extent < group || (c.extent < small && c.varies() && r.varies()));
}

tile_runner::tile_runner(const call &op, const loop_nest &nest, const void *x, void *y)
    : op(op),
      nest(nest),
      x(static_cast<const char *>(x)),
      y(static_cast<char *>(y)),
      reorders_x(op.x_bits < 8 && op.packing != QDQ_LOW_FIRST),
      reorders_y(op.y_bits < 8 && op.packing != QDQ_LOW_FIRST) {
    choose_shape();
    int64_t elements = 1, steps = 1;
    bool repeats = false;
    for (int i = 0; i < nest.count; i++) {
        const bool is_varying = nest.loops[i].varies();
        elements *= shape[i];
        steps *= is_varying ? shape[i] : 1;
        repeats = repeats || (!is_varying && shape[i] > 1);
    }
    x_tile = memory + memory_bytes - whole_lines(round_up(elements) * op.x_bits / 8);
    y_tile = x_tile - whole_lines(round_up(elements) * op.y_bits / 8);
    const bool expands = repeats && varies(nest);
    array_bytes = (round_up(elements) + spare_operands) * int64_t{sizeof(float)};
    few_bytes = expands ? array_count(op) * (round_up(std::max(steps, least_operands)) + spare_operands) *
                              int64_t{sizeof(float)}
                        : y_tile - memory;
    few.emplace(op, memory, few_bytes);
}

// How many elements tiles and their operands have room for.
int64_t tile_runner::capacity() const {
    const int64_t operand_bits = varies(nest) ? array_count(op) * 48 : 0;  // at most half as many are loaded
    const int64_t fixed = array_count(op) * (least_operands + 4 * spare_operands) * int64_t{sizeof(float)};
    const int64_t found = (memory_bytes - fixed) * 8 / (op.x_bits + op.y_bits + operand_bits) / group * group;
    return varies(nest) ? std::min(found, most_elements) : most_elements;
}

// Inner loops whole, as many as there is room for. Where x and y are contiguous along different ones, squares.
void tile_runner::choose_shape() {
    int64_t left = capacity(), elements = 1;
    const dimension &c = nest.loops[0], r = nest.rows();
    const bool crosses = (c.x != 1 || c.y != 1) && (r.x == 1 || r.y == 1);
    for (int i = 0; i < nest.count; i++) {
        const int64_t extent = nest.loops[i].extent;
        if (i == 0) {
            const int64_t most =
                crosses ? std::max(left / std::min(r.extent, group) / group, int64_t{1}) * group : left;
            shape[i] = extent <= most ? extent : round_up(even_part(extent, most));
        } else {
            const int64_t unit = elements % op.packed_unit() == 0 ? 1 : op.packed_unit();
            shape[i] = extent <= left ? extent : std::max(even_part(extent, left) / unit, int64_t{1}) * unit;
        }
        elements *= shape[i];
        left = shape[i] < extent ? 1 : std::max(left / shape[i], int64_t{1});
    }
}

void tile_runner::run(const offsets &at) {
    int64_t start[most_loops] = {};
    tile t{at, {}, 1};
    for (bool more = true; more;) {
        t.elements = 1;
        for (int i = 0; i < nest.count; i++) {
            t.extents[i] = std::min(shape[i], nest.loops[i].extent - start[i]);
            t.elements *= t.extents[i];
        }
        run_tile(t);
        more = false;
        for (int i = 0; i < nest.count && !more; i++) {
            more = start[i] + shape[i] < nest.loops[i].extent;
            const int64_t steps = more ? shape[i] : -start[i];
            t.at.advance(nest.loops[i], steps);
            start[i] += steps;
        }
    }
}

void tile_runner::run_tile(const tile &t) {
    load_operands(t);
    const auto x_pitch = pitch_in_place(t, &dimension::x, reorders_x),
               y_pitch = pitch_in_place(t, &dimension::y, reorders_y);
    move_loop loops[most_loops];
    if (!x_pitch) {
        const int64_t end = t.elements * op.x_bits / 8;
        std::memset(x_tile + end, 0, round_up(t.elements) * op.x_bits / 8 - end);  // not subnormal numbers
        move(*op.target, op.x_bits, address(x, t.at.x, op.x_bits), x_tile, loops,
             move_loops(t, &dimension::x, true, loops));
        if (reorders_x) {
            from_packing(*op.target, op.packing, reinterpret_cast<uint8_t *>(x_tile), (t.elements + 1) / 2);
        }
    }
    call_kernel(x_pitch ? rows_of_x{address(x, t.at.x, op.x_bits), *x_pitch} : rows_of_x{x_tile, kernel.columns},
                y_pitch ? rows_of_y{address(y, t.at.y, op.y_bits), *y_pitch} : rows_of_y{y_tile, kernel.columns});
    if (!y_pitch) {
        clear_padding(y_tile, op.y_bits, t.elements);  // if there is any: the end of the tensor
        if (reorders_y) {
            to_packing(*op.target, op.packing, reinterpret_cast<uint8_t *>(y_tile), (t.elements + 1) / 2);
        }
        move(*op.target, op.y_bits, y_tile, address(y, t.at.y, op.y_bits), loops,
             move_loops(t, &dimension::y, false, loops));
    }
}

int tile_runner::move_loops(const tile &t, int64_t dimension::*stride, bool gathers, move_loop *loops) const {
    int64_t place = 1;
    for (int i = 0; i < nest.count; i++) {
        const int64_t outside = nest.loops[i].*stride;
        loops[i] = gathers ? move_loop{t.extents[i], outside, place} : move_loop{t.extents[i], place, outside};
        place *= t.extents[i];
    }
    return nest.count;
}

// How far apart the kernel's rows lie in memory, if they are contiguous there.
std::optional<int64_t> tile_runner::pitch_in_place(const tile &t, int64_t dimension::*stride, bool reorders) const {
    int64_t next = 1;
    std::optional<int64_t> pitch;
    for (int i = 0; i < nest.count; i++) {
        const int64_t step = nest.loops[i].*stride;
        if (t.extents[i] == 1) {
            continue;
        }
        if (i > 0 && kernel.rows > 1 && !pitch) {
            pitch = next = step;
        }
        if (step != next) {
            return std::nullopt;
        }
        next *= t.extents[i];
    }
    const int64_t found = pitch.value_or(kernel.columns);
    return !reorders && t.elements % group == 0 && rows_in_reach(found) >= kernel.rows ? std::optional(found)
                                                                                       : std::nullopt;
}

// Rows of one tile that repeat the same operands are called with them again.
void tile_runner::call_kernel(const rows_of_x &from, const rows_of_y &to) {
    const float_environment environment(few->flushes);
    kernel_caller caller(op, kernel.form, false, variant, kernel.form != kernel_form::row || kernel.operands > 0);
    if (kernel.rows > 1) {
        caller.run(many, from, to, kernel.columns, kernel.rows);
        return;
    }
    const int64_t columns = round_up(loaded.elements);
    for (int64_t done = 0; done < columns; done += kernel.columns) {
        caller.run(many, {address(static_cast<const char *>(from.data), done, op.x_bits), 0},
                   {address(static_cast<char *>(to.data), done, op.y_bits), 0},
                   std::min(kernel.columns, columns - done), 1);
    }
}

bool tile_runner::loaded_before(const tile &t) const {
    return t.at.scale == loaded.at.scale && t.at.zero_point == loaded.at.zero_point &&
           std::equal(t.extents, t.extents + nest.count, loaded.extents);
}

void tile_runner::load_operands(const tile &t) {
    if (loaded_before(t)) {
        return;
    }
    loaded = t;
    read_operands(t);
    kernel = shape_of(t);
    many = *few;
    if (kernel.form == kernel_form::row && kernel.rows == 1 && needs_column(op, kernel_form::row, variant)) {
        kernel = {kernel_form::column, std::min(round_up(t.elements), few->room()), 1, 1};
        few->repeat(1, kernel.columns);
    } else {
        expand(t);
    }
}

tile_runner::kernel_shape tile_runner::shape_of(const tile &t) const {
    const int64_t columns = t.extents[0], rows = t.elements / columns;
    const bool along_columns = columns > 1 && nest.loops[0].varies(), whole = columns % group == 0;
    bool along_rows = false;
    for (int i = 1; i < nest.count; i++) {
        along_rows = along_rows || (t.extents[i] > 1 && nest.loops[i].varies());
    }
    if (!along_columns && !along_rows) {
        return {kernel_form::row, round_up(t.elements), 1, 0};
    }
    if (whole && !along_rows) {
        return {kernel_form::column, columns, rows, columns};
    }
    if (whole && !along_columns && !needs_column(op, kernel_form::row, variant)) {
        return {kernel_form::row, columns, rows, 1};
    }
    if (!along_columns && columns % op.block == 0 && !needs_column(op, kernel_form::block, variant)) {
        return {kernel_form::block, round_up(t.elements), 1, columns / op.block};
    }
    return {kernel_form::column, round_up(t.elements), 1, columns};
}

// One operand for each step of the loops along which they vary.
void tile_runner::read_operands(const tile &t) {
    dimension loops[most_loops] = {{1, 0, 0, 0, 0}};
    int count = 0;
    int64_t total = 1;
    for (int i = 0; i < nest.count; i++) {
        const dimension &d = nest.loops[i];
        if (t.extents[i] == 1 || !d.varies()) {
            continue;
        }
        total *= t.extents[i];
        dimension *const last = count > 0 ? &loops[count - 1] : nullptr;
        if (last && d.scale == last->scale * last->extent && d.zero_point == last->zero_point * last->extent) {
            last->extent *= t.extents[i];
        } else {
            loops[count++] = {t.extents[i], 0, 0, d.scale, d.zero_point};
        }
    }
    const bool within = total % group == 0 || total < t.elements;  // else kernels read whole groups of them
    offsets at = t.at;
    if (count <= 1) {
        variant = few->load({at.scale, loops[0].scale, at.zero_point, loops[0].zero_point, total}, within);
        return;
    }
    int64_t index[most_loops] = {};
    for (int64_t first = 0; first < total; first += loops[0].extent) {
        few->read({at.scale, loops[0].scale, at.zero_point, loops[0].zero_point, loops[0].extent}, first);
        for (int i = 1; i < count; i++) {
            const bool more = ++index[i] < loops[i].extent;
            at.advance(loops[i], more ? 1 : 1 - loops[i].extent);
            if (more) {
                break;
            }
            index[i] = 0;
        }
    }
    variant = few->finish(total);
}

// Operands for each of the kernel's places, unless that is one for each step.
void tile_runner::expand(const tile &t) {
    if (kernel.operands == 0 || (kernel.form == kernel_form::column && kernel.rows > 1)) {
        return;
    }
    move_loop loops[most_loops];
    int64_t loaded_step = 1, place = 1;
    bool repeats = false;
    for (int i = 0; i < nest.count; i++) {
        const bool is_varying = nest.loops[i].varies();
        const int64_t extent = i == 0 ? kernel.operands : t.extents[i];
        loops[i] = {extent, is_varying ? loaded_step : 0, place};
        loaded_step *= is_varying ? extent : 1;
        place *= extent;
        repeats = repeats || (!is_varying && extent > 1);
    }
    if (!repeats) {
        return;
    }
    char *array = memory + few_bytes;
    const auto expanded = [&]<typename Value>(const Value *values, Value harmless) {
        move_loop used[most_loops];
        std::copy_n(loops, nest.count, used);
        Value *const to = reinterpret_cast<Value *>(array);
        move(*op.target, 8 * sizeof(Value), values, to, used, nest.count);
        std::fill_n(to + place, spare_operands, harmless);
        array += array_bytes;
        return to;
    };
    many.scale = expanded(few->scale, 1.0f);
    many.inverse = op.quantizes() && !op.multiply ? expanded(few->inverse, 1.0f) : many.scale;
    many.zero_point = op.zero_point ? expanded(few->zero_point, 0) : many.zero_point;
}

}  // namespace qdq::runtime
