#include "cpu/tile_runner.h"

#include "cpu/fast_variants.h"
#include "cpu/float_environment.h"
#include "cpu/packing.h"
#include "plan/loops.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

namespace qdq::runtime {

namespace {

constexpr int64_t line = 64;  // bytes of a cache line

int64_t whole_lines(int64_t bytes) { return (bytes + line - 1) / line * line; }

int64_t array_count(const call &op) { return 1 + op.has_inverses() + (op.zero_point != nullptr); }

// In equal parts of so many units, none of them longer than `most` unless that is less than a unit.
int64_t even_part(int64_t extent, int64_t most, int64_t unit) {
    const int64_t longest = std::max(most / unit, int64_t{1}) * unit, parts = (extent + longest - 1) / longest;
    return extent <= most ? extent : ((extent + parts - 1) / parts + unit - 1) / unit * unit;
}

// The loops of several steps along which operands vary, as operands lie in memory: the closest ones first.
int operand_order(const loop_nest &part, int *order) {
    const auto distance = [&](int loop) {
        const dimension &d = part.loops[loop];
        return std::abs(d.scale != 0 ? d.scale : d.zero_point);
    };
    int count = 0;
    for (int i = 0; i < part.count; i++) {
        if (part.loops[i].extent == 1 || !part.loops[i].varies()) {
            continue;
        }
        int k = count++;
        for (; k > 0 && distance(i) < distance(order[k - 1]); k--) {
            order[k] = order[k - 1];
        }
        order[k] = i;
    }
    return count;
}

// The steps of a dimension's blocks, and those within one.
void split(const blocked_dimension &d, loop_nest &nest) {
    const dimension &w = d.whole;
    const int64_t block = w.varies() ? d.block : w.extent;
    nest.loops[nest.count++] = {block, w.x, 0, 0, 0};
    nest.loops[nest.count++] = {w.extent / block, w.x * block, 0, w.scale, w.zero_point};
}

}  // namespace

tile_runner::tile_runner(const plan &p, const void *x, void *y, const tile_visitor *visitor)
    : op(p.op),
      dimensions(p.dimensions),
      count(p.dimension_count),
      x(static_cast<const char *>(x)),
      y(static_cast<char *>(y)),
      visitor(visitor),
      room(memory_bytes - (visitor ? visitor->memory_bytes : 0)),
      elements(p.elements) {
    const bool expands = any_varies(dimensions, count) && !visitor;  // as a rule; a visitor takes longer than it costs
    const int64_t bits = op.x_bits + op.y_bits + (expands ? array_count(op) * 48 : 0);
    for (int pass = 0, kept = 0; pass < 2; pass++) {
        for (int d = 0; d < count; d++) {
            if (dimensions[d].whole.varies() == (pass == 1)) {
                walk[kept++] = d;
            }
        }
    }
    for (int64_t most = std::min(most_elements, room * 8 / bits); !fits(most);) {
        most -= most / 8;
    }
}

// Whether there is room for such tiles, and for their operands.
bool tile_runner::fits(int64_t most) {
    const int64_t places = round_up(choose_shape(most));
    int64_t blocks = 1;
    for (int d = 0; d < count; d++) {
        blocks *= blocks_met(d);
    }
    const auto bytes_of = [](int64_t values) { return (values + spare_operands) * int64_t{sizeof(float)}; };
    const int64_t arrays = array_count(op), few_bytes = arrays * bytes_of(round_up(std::max(blocks, least_operands)));
    array_bytes = blocks > 1 ? bytes_of(places) : 0;
    expanded = memory + few_bytes;
    y_tile = expanded + arrays * array_bytes;
    x_tile = y_tile + whole_lines(places * op.y_bits / 8);
    if (x_tile + whole_lines(places * op.x_bits / 8) > memory + room) {
        return false;
    }
    few.emplace(op, memory, few_bytes);
    return true;
}

// At most so many blocks of a dimension have elements in one tile.
int64_t tile_runner::blocks_met(int d) const {
    const blocked_dimension &b = dimensions[d];
    const bool begins_blocks = shape[d] % b.block == 0 || shape[d] == b.whole.extent;
    const int64_t met = (shape[d] + b.block - 1) / b.block + (begins_blocks ? 0 : 1);
    return b.whole.varies() ? std::min(shape[d], met) : 1;
}

// Inner dimensions whole, as many as there is room for. Where x and y are contiguous along different ones, squares; and
// for a visitor where each column has an operand, of which it then meets fewer.
// Parts of packed rows are padded, too, as they begin at whole bytes then. Returns how many places a tile has.
// Compiled for size, as it is called once or twice.
[[gnu::cold]] int64_t tile_runner::choose_shape(int64_t most) {
    int64_t left = most, places = 1;
    const dimension &c = dimensions[0].whole;
    const dimension r = count > 1 ? dimensions[1].whole : dimension{};
    const bool crosses = ((c.x != 1 || c.y != 1) && (r.x == 1 || r.y == 1)) ||
                         (visitor && count > 1 && c.varies() && dimensions[0].block == 1);
    pads = pads_rows(op, dimensions, count);
    for (int d = 0; d < count; d++) {
        const auto &[whole, block] = dimensions[d];
        const int64_t longest = d == 0 && crosses ? std::max(left / std::min(r.extent, group), group) : left;
        // Whole groups, which kernels write where they are to be, or at least whole bytes of packed codes; whole
        // blocks.
        int64_t unit = group / std::gcd(places, group);
        unit = unit <= longest ? unit : std::max(op.packed_unit() / std::gcd(places, op.packed_unit()), int64_t{1});
        unit = whole.varies() && block <= longest && block % unit == 0 ? block : unit;
        shape[d] = even_part(whole.extent, longest, unit <= longest ? unit : 1);
        const bool is_cut = shape[d] < whole.extent;
        pads = pads || (d == 0 && is_cut && op.packs());
        places *= d == 0 ? row_places(shape[0]) : shape[d];
        const bool begins_bytes = pads || !op.packs();
        left = is_cut && !(crosses && begins_bytes) ? 1 : std::max(most / places, int64_t{1});
    }
    return places;
}

int64_t tile_runner::row_places(int64_t columns) const { return pads ? round_up(columns) : columns; }

void tile_runner::run(const interval *region) {
    tile t{};
    for (int d = 0; d < count; d++) {
        t.box[d] = region[d];
        t.x += region[d].start * dimensions[d].whole.x;
        t.y += region[d].start * dimensions[d].whole.y;
    }
    for (bool more = true; more;) {
        t.places = 1;
        for (int d = 0; d < count; d++) {
            t.step[d] = t.places;
            // A tile ends where one would that began at 0: it meets no more blocks than there is room for.
            const int64_t start = t.box[d].start;
            t.box[d].extent = std::min(shape[d] - start % shape[d], region[d].start + region[d].extent - start);
            t.places *= d == 0 ? row_places(t.box[0].extent) : t.box[d].extent;
        }
        run_tile(t);
        more = false;
        for (int i = 0; i < count && !more; i++) {
            const int d = walk[i];
            auto &[start, extent] = t.box[d];
            more = start + extent < region[d].start + region[d].extent;
            const int64_t steps = more ? extent : region[d].start - start;
            start += steps;
            t.x += steps * dimensions[d].whole.x;
            t.y += steps * dimensions[d].whole.y;
        }
    }
}

void tile_runner::run_tile(const tile &t) {
    load_operands(t);
    const bool reorders = op.packing != QDQ_LOW_FIRST, visits_own = visitor && x == y;
    const auto x_pitch = pitch_in_place(t, &dimension::x, (reorders && op.x_bits < 8) || visits_own),
               y_pitch = pitch_in_place(t, &dimension::y, (reorders && op.y_bits < 8) || op.nontemporal || !y);
    if (!x_pitch) {
        gather(t);
    }
    const rows_of_x from =
        x_pitch ? rows_of_x{address(x, t.x, op.x_bits), *x_pitch} : rows_of_x{x_tile, kernel.columns};
    const rows_of_y to = y_pitch ? rows_of_y{address(y, t.y, op.y_bits), *y_pitch} : rows_of_y{y_tile, kernel.columns};
    call_kernel(t, from, to);
    if (visitor) {
        const int64_t extent = t.box[0].extent;
        const computed_tile done{
            op, kernel, many, variant, from, {to.data, to.pitch}, extent, row_places(extent), t.places, memory + room};
        visitor->visit(visitor->context, done);
    }
    if (!y_pitch && y) {
        scatter(t);
    }
}

// What fills no group is zero: subnormal numbers left on the stack would cost 100 cycles an operation.
void tile_runner::gather(const tile &t) {
    const int64_t first = pads ? 0 : t.places * op.x_bits / 8;
    std::memset(x_tile + first, 0, round_up(t.places) * op.x_bits / 8 - first);
    move_loop loops[most_dimensions];
    const int loop_count = move_loops(t, &dimension::x, true, loops);
    if (op.x_bits < 8) {
        for_each_run(loops, loop_count, [&](int64_t from, int64_t place, int64_t run) {
            gather_codes(op, x, t.x + from, run, address(x_tile, place, op.x_bits));
        });
    } else {
        move(*op.target, op.x_bits, address(x, t.x, op.x_bits), x_tile, loops, loop_count);
    }
}

void tile_runner::scatter(const tile &t) {
    move_loop loops[most_dimensions];
    const int loop_count = move_loops(t, &dimension::y, false, loops);
    char *const first = address(y, t.y, op.y_bits);
    if (op.y_bits < 8) {
        for_each_run(loops, loop_count, [&](int64_t place, int64_t to, int64_t run) {
            const int64_t begin = t.y + to;
            scatter_codes(op, address(y_tile, place, op.y_bits), y, begin, run, begin + run == elements);
        });
    } else if (op.nontemporal && loop_count == 1 && is_contiguous(loops[0])) {
        op.target->nontemporal->copy(first, y_tile, loops[0].extent * op.y_bits / 8);
    } else {
        move(*op.target, op.y_bits, y_tile, first, loops, loop_count);
    }
}

int tile_runner::move_loops(const tile &t, int64_t dimension::*stride, bool gathers, move_loop *loops) const {
    for (int d = 0; d < count; d++) {
        const int64_t outside = dimensions[d].whole.*stride;
        loops[d] =
            gathers ? move_loop{t.box[d].extent, outside, t.step[d]} : move_loop{t.box[d].extent, t.step[d], outside};
    }
    return merge(loops, count);
}

// How far apart the kernel's rows lie in memory, if they are contiguous there.
std::optional<int64_t> tile_runner::pitch_in_place(const tile &t, int64_t dimension::*stride, bool is_moved) const {
    const bool of_x = stride == &dimension::x, is_packed = (of_x ? op.x_bits : op.y_bits) < 8;
    const int64_t unit = is_packed ? op.codes_per_byte() : 1;
    const bool is_padded = row_places(t.box[0].extent) != t.box[0].extent;
    if (is_moved || is_padded || (of_x ? t.x : t.y) % unit != 0 || t.places % group != 0) {
        return std::nullopt;
    }
    int64_t next = 1;
    std::optional<int64_t> pitch;
    for (int d = 0; d < count; d++) {
        const int64_t step = dimensions[d].whole.*stride;
        if (t.box[d].extent == 1) {
            continue;
        }
        if (d > 0 && kernel.rows > 1 && !pitch) {
            pitch = next = step;
        }
        if (step != next) {
            return std::nullopt;
        }
        next *= t.box[d].extent;
    }
    const int64_t found = pitch.value_or(kernel.columns);
    return found % unit == 0 && rows_in_reach(found) >= kernel.rows ? std::optional(found) : std::nullopt;
}

void tile_runner::call_kernel(const tile &t, rows_of_x from, rows_of_y to) {
    const float_environment environment(few->flushes);
    kernel_caller caller(op, kernel.form, false, variant, kernel.form != kernel_form::row || kernel.unit > 0);
    if (kernel.rows > 1) {
        caller.run(many, from, to, kernel.columns, kernel.rows);
        return;
    }
    const int64_t columns = round_up(t.places);
    for (int64_t done = 0; done < columns; done += kernel.columns) {  // one operand, as a row of few
        caller.run(many, {address(static_cast<const char *>(from.data), done, op.x_bits), 0},
                   {address(static_cast<char *>(to.data), done, op.y_bits), 0},
                   std::min(kernel.columns, columns - done), 1);
    }
}

// Whether a tile has the same operands in the same places as the one before.
bool tile_runner::loaded_before(const tile &t) const {
    bool same = loaded.places == t.places;
    for (int d = 0; d < count && same; d++) {
        const bool moves = dimensions[d].whole.varies() && loaded.box[d].start != t.box[d].start;
        same = loaded.box[d].extent == t.box[d].extent && !moves;
    }
    return same;
}

void tile_runner::load_operands(const tile &t) {
    if (loaded_before(t)) {
        return;
    }
    loaded = t;
    read = 0;
    read_in_order = true;
    int parts = 0;
    for_each_part(t, [&](const loop_nest &part, const offsets &at) {
        read_part(part, at);
        parts++;
    });
    variant = few->finish(read);
    kernel = shape_of(t);
    many = *few;
    if (kernel.unit == 0 && kernel.form == kernel_form::column) {
        few->repeat(1, kernel.columns);
    } else if (kernel.unit > 0 && (parts > 1 || !read_in_order || read != places_of(t))) {
        expand(t);
    }
}

kernel_shape tile_runner::shape_of(const tile &t) const {
    const int64_t columns = row_places(t.box[0].extent), places = round_up(t.places);
    const bool whole = columns % group == 0;
    const auto meets_several = [&](int d) {
        const int64_t block = dimensions[d].block, last = t.box[d].start + t.box[d].extent - 1;
        return dimensions[d].whole.varies() && t.box[d].start / block != last / block;
    };
    int64_t rows = 1;
    bool along_rows = false;
    for (int d = 1; d < count; d++) {
        rows *= t.box[d].extent;
        along_rows = along_rows || meets_several(d);
    }
    const bool along_columns = meets_several(0);
    if (!along_columns && !along_rows) {
        return needs_column(op, kernel_form::row, variant)
                   ? kernel_shape{kernel_form::column, std::min(places, few->room()), 1, 0}
                   : kernel_shape{kernel_form::row, whole ? columns : places, whole ? rows : 1, 0};
    }
    if (whole && !along_columns && !needs_column(op, kernel_form::row, variant)) {
        return {kernel_form::row, columns, rows, columns};
    }
    const bool in_blocks = columns % op.block == 0 && t.box[0].start % op.block == 0 &&
                           (!along_columns || dimensions[0].block % op.block == 0);
    if (in_blocks && !needs_column(op, kernel_form::block, variant)) {
        return {kernel_form::block, places, 1, op.block};
    }
    return whole && !along_rows ? kernel_shape{kernel_form::column, columns, rows, 1}
                                : kernel_shape{kernel_form::column, places, 1, 1};
}

// Calls visit(loops, at) for each part of a tile that has whole blocks or lies in one: loop.x counts places, at.x is
// the first.
template<typename Visit> void tile_runner::for_each_part(const tile &t, Visit visit) const {
    blocked_dimension within[most_dimensions];
    loop_nest whole;
    offsets first;
    int64_t origin = 0;
    bool is_regular = true;
    whole.count = 0;
    for (int d = 0; d < count; d++) {
        const auto &[w, block] = dimensions[d];
        const auto &[start, extent] = t.box[d];
        within[d] = {{w.extent, t.step[d], 0, w.scale, w.zero_point}, block};
        origin += start * t.step[d];
        if (w.varies()) {
            is_regular = is_regular && start % block == 0 && extent % block == 0;
            first.scale += start / block * w.scale;
            first.zero_point += start / block * w.zero_point;
        }
        split({{extent, t.step[d], 0, w.scale, w.zero_point}, block}, whole);
    }
    if (is_regular) {  // as a rule, and in less time
        visit(whole, first);
        return;
    }
    struct visiting {
        Visit &visit;
        int64_t origin;
    } context{visit, origin};
    for_each_regular_part(
        within, t.box, count,
        [](void *given, const blocked_dimension *part, int dimension_count, const offsets &at) {
            visiting &to = *static_cast<visiting *>(given);
            loop_nest nest;
            nest.count = 0;
            for (int d = 0; d < dimension_count; d++) {
                split(part[d], nest);
            }
            offsets first = at;
            first.x -= to.origin;
            to.visit(nest, first);
        },
        &context);
}

// One operand for each step of the loops along which they vary.
void tile_runner::read_part(const loop_nest &part, offsets at) {
    int order[most_loops];
    const int count = operand_order(part, order);
    dimension loops[most_loops];
    loops[0] = {1, 0, 0, 0, 0};
    int varying = 0;
    for (int k = 0; k < count; k++) {
        const dimension &d = part.loops[order[k]];
        dimension *const last = varying > 0 ? &loops[varying - 1] : nullptr;
        read_in_order = read_in_order && (k == 0 || order[k] > order[k - 1]);
        if (last && d.scale == last->scale * last->extent && d.zero_point == last->zero_point * last->extent) {
            last->extent *= d.extent;
        } else {
            loops[varying++] = d;
        }
    }
    loop_counter rows(1, varying);
    do {
        few->read({at.scale, loops[0].scale, at.zero_point, loops[0].zero_point, loops[0].extent}, read);
        read += loops[0].extent;
    } while (
        rows.next([&](int i) { return loops[i].extent; }, [&](int i, int64_t steps) { at.advance(loops[i], steps); }));
}

int64_t tile_runner::places_of(const tile &t) const {
    const bool one_row = kernel.form == kernel_form::column && kernel.rows > 1;
    return one_row ? kernel.columns : round_up(t.places) / kernel.unit;
}

// Operands for each of the kernel's places.
void tile_runner::expand(const tile &t) {
    const bool along_columns = kernel.form == kernel_form::column && kernel.rows > 1;  // of one row
    const int64_t places = places_of(t);
    int64_t first = 0;
    const auto array = [this](int64_t i) -> void * { return expanded + i * array_bytes; };
    many.scale = static_cast<float *>(array(0));
    many.inverse = op.has_inverses() ? static_cast<float *>(array(1)) : many.scale;
    if (op.zero_point) {
        many.zero_point = static_cast<int32_t *>(array(array_count(op) - 1));
    }
    struct {
        const void *from, *to;
        uint32_t harmless;
    } arrays[3] = {{few->scale, many.scale, 0x3f800000}};
    size_t used_arrays = 1;
    if (op.has_inverses()) {
        arrays[used_arrays++] = {few->inverse, many.inverse, 0x3f800000};
    }
    if (op.zero_point) {
        arrays[used_arrays++] = {few->zero_point, many.zero_point, 0};
    }
    const int64_t filled = pads ? 0 : along_columns ? places : t.places / kernel.unit;
    for (const auto &[from, to, harmless] : std::span(arrays, used_arrays)) {
        auto *const bits = static_cast<uint32_t *>(const_cast<void *>(to));
        std::fill(bits + filled, bits + places + spare_operands, harmless);
    }
    for_each_part(t, [&](const loop_nest &part, const offsets &at) {
        move_loop loops[most_loops];
        for (int i = 0; i < part.count; i++) {
            const dimension &d = part.loops[i];
            const bool is_first = i < 2, steps = is_first || !along_columns;
            const int64_t units = (d.extent + kernel.unit - 1) / kernel.unit;
            loops[i] = {!steps ? 1 : i == 0 ? units : d.extent, 0, i == 0 ? 1 : d.x / kernel.unit};
        }
        int order[most_loops];
        const int order_count = operand_order(part, order);
        int64_t step = 1;
        for (int k = 0; k < order_count; k++) {
            loops[order[k]].from = step;
            step *= part.loops[order[k]].extent;
        }
        for (const auto &[from, to, harmless] : std::span(arrays, used_arrays)) {
            move_loop used[most_loops];
            std::copy_n(loops, part.count, used);
            move(*op.target, 32, static_cast<const int32_t *>(from) + first,
                 static_cast<int32_t *>(const_cast<void *>(to)) + at.x / kernel.unit, used, part.count);
        }
        first += step;
    });
}

}  // namespace qdq::runtime
