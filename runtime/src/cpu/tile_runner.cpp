#include "cpu/tile_runner.h"

#include "cpu/cache_lines.h"
#include "cpu/fast_variants.h"
#include "cpu/float_environment.h"
#include "cpu/packing.h"
#include "cpu/spread.h"
#include "plan/loops.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace qdq::runtime {

namespace {

int64_t whole_lines(int64_t bytes) { return (bytes + line - 1) / line * line; }

int64_t array_count(const call &op) { return 1 + op.has_inverses() + (op.zero_point != nullptr); }

// In equal parts of so many units, none of them longer than `most` unless that is less than a unit.
int64_t even_part(int64_t extent, int64_t most, int64_t unit) {
    const int64_t longest = std::max(most / unit, int64_t{1}) * unit, parts = (extent + longest - 1) / longest;
    return extent <= most ? extent : ((extent + parts - 1) / parts + unit - 1) / unit * unit;
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
    const bool crosses = (count > 1 && cross(op, dimensions[0], dimensions[1])) ||
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
    const bool overlaps = overlaps_rows(region);
    tile t{};
    for (int d = 0; d < count; d++) {
        t.box[d] = region[d];
        t.x += region[d].start * dimensions[d].whole.x;
        t.y += region[d].start * dimensions[d].whole.y;
    }
    for (bool more = true; more;) {
        bool is_followed = false;  // by a row that is written later
        t.places = 1;
        for (int d = 0; d < count; d++) {
            t.step[d] = t.places;
            // A tile ends where one would that began at 0: it meets no more blocks than there is room for.
            const int64_t start = t.box[d].start;
            const int64_t left = region[d].start + region[d].extent - start;
            t.box[d].extent = std::min(shape[d] - start % shape[d], left);
            if (d == 1 && overlaps) {  // the last row is a tile of its own
                is_followed = left > 1;
                t.box[d].extent = std::min(t.box[d].extent, std::max(left - 1, int64_t{1}));
            }
            t.places *= d == 0 ? row_places(t.box[0].extent) : t.box[d].extent;
        }
        load_operands(t);
        const bool has_operands_of_a_row = kernel.form != kernel_form::column || kernel.unit > 0;
        if (is_followed && has_operands_of_a_row) {
            run_overlapping(t);
        } else {
            run_tile(t);
        }
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

// Whether padded rows are written where they lie: what a kernel writes past one is the next one's, which comes later.
bool tile_runner::overlaps_rows(const interval *region) const {
    const dimension &c = dimensions[0].whole;
    const bool are_whole = shape[0] == c.extent && region[0].extent == c.extent;
    const bool follow_one_another = count == 2 && c.y == 1 && dimensions[1].whole.y == c.extent;
    const bool begin_at_bytes = op.y_bits >= 8 || (op.packing == QDQ_LOW_FIRST && c.extent % op.packed_unit() == 0);
    return pads && are_whole && follow_one_another && begin_at_bytes && y && x != y && !visitor && !op.nontemporal;
}

void tile_runner::run_overlapping(const tile &t) {
    const dimension &c = dimensions[0].whole, &r = dimensions[1].whole;
    const int64_t columns = row_places(c.extent), unit = op.packed_unit();
    const bool reorders = op.x_bits < 8 && op.packing != QDQ_LOW_FIRST;
    const bool are_bytes = op.x_bits >= 8 || (t.x % unit == 0 && r.x % unit == 0);
    // What is read past a row is the next one's: no memory may lie between them.
    const bool lie_ready = c.x == 1 && r.x == c.extent && are_bytes && !reorders;
    if (!lie_ready) {
        gather(t);
    }
    const rows_of_x from = lie_ready ? rows_of_x{address(x, t.x, op.x_bits), r.x} : rows_of_x{x_tile, columns};
    char *const to = address(y, t.y, op.y_bits);
    const float_environment environment(few->flushes);
    kernel_caller caller(op, kernel.form, false, variant, kernel.form != kernel_form::row || kernel.unit > 0);
    if (kernel.rows > 1) {
        caller.run(many, from, {to, c.extent}, columns, kernel.rows);
        return;
    }
    const int64_t operands = kernel.unit > 0 ? columns / kernel.unit : 0;
    for (int64_t row = 0; row < t.box[1].extent; row++) {
        caller.run(many.from(row * operands),
                   {address(static_cast<const char *>(from.data), row * from.pitch, op.x_bits), 0},
                   {address(to, row * c.extent, op.y_bits), 0}, columns, 1);
    }
}

void tile_runner::run_tile(const tile &t) {
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
    const operand_box box = read_operands(t);
    variant = few->finish(box.count);
    kernel = shape_of(t, box);
    many = *few;
    if (kernel.unit == 0 && kernel.form == kernel_form::column) {
        few->repeat(1, kernel.columns);
    } else if (kernel.unit > 0 && !(box.in_order && box.count == places_of(t))) {
        expand(t, box);
    }
}

// One operand for each block that a tile meets, the closest ones in memory first.
tile_runner::operand_box tile_runner::read_operands(const tile &t) {
    operand_box box;
    box.count = 1;
    box.in_order = true;
    offsets at;
    int order[most_dimensions]{}, several = 0;
    const auto distance = [this](int d) {
        const dimension &w = dimensions[d].whole;
        return distance_of(w.scale != 0 ? w.scale : w.zero_point);
    };
    for (int d = 0; d < count; d++) {
        const auto &[w, block] = dimensions[d];
        const auto &[start, extent] = t.box[d];
        const int64_t first = start / block;
        at.scale += first * w.scale;
        at.zero_point += first * w.zero_point;
        box.blocks[d] = w.varies() ? (start + extent - 1) / block - first + 1 : 1;
        if (box.blocks[d] > 1) {
            int k = several++;
            for (; k > 0 && distance(d) < distance(order[k - 1]); k--) {
                order[k] = order[k - 1];
            }
            order[k] = d;
        }
    }
    dimension loops[most_dimensions];
    loops[0] = {1, 0, 0, 0, 0};
    int varying = 0;
    for (int k = 0; k < several; k++) {
        const int d = order[k];
        const dimension &w = dimensions[d].whole;
        box.in_order = box.in_order && (k == 0 || d > order[k - 1]);
        box.step[d] = box.count;
        box.count *= box.blocks[d];
        dimension *const last = varying > 0 ? &loops[varying - 1] : nullptr;
        if (last && w.scale == last->scale * last->extent && w.zero_point == last->zero_point * last->extent) {
            last->extent *= box.blocks[d];
        } else {
            loops[varying++] = {box.blocks[d], 0, 0, w.scale, w.zero_point};
        }
    }
    int64_t read = 0;
    loop_counter rows(1, varying);
    do {
        few->read({at.scale, loops[0].scale, at.zero_point, loops[0].zero_point, loops[0].extent}, read);
        read += loops[0].extent;
    } while (
        rows.next([&](int i) { return loops[i].extent; }, [&](int i, int64_t steps) { at.advance(loops[i], steps); }));
    return box;
}

kernel_shape tile_runner::shape_of(const tile &t, const operand_box &box) const {
    const int64_t columns = row_places(t.box[0].extent), places = round_up(t.places);
    const bool whole = columns % group == 0;
    int64_t rows = 1;
    bool along_rows = false;
    for (int d = 1; d < count; d++) {
        rows *= t.box[d].extent;
        along_rows = along_rows || box.blocks[d] > 1;
    }
    const bool along_columns = box.blocks[0] > 1;
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
    const bool rows_share_operands = whole && !along_rows && rows > 1;
    if (in_blocks && !rows_share_operands && !needs_column(op, kernel_form::block, variant)) {
        return {kernel_form::block, places, 1, op.block};
    }
    return whole && !along_rows ? kernel_shape{kernel_form::column, columns, rows, 1}
                                : kernel_shape{kernel_form::column, places, 1, 1};
}

bool tile_runner::expands_one_row() const { return kernel.form == kernel_form::column && kernel.rows > 1; }

int64_t tile_runner::places_of(const tile &t) const {
    return expands_one_row() ? kernel.columns : round_up(t.places) / kernel.unit;
}

// The one that all have, in so many places and the spare ones: those of the tile before may be there. bf16 to i16,
// blocks of 33 x 33 and one zero point, takes 0.25 ns an element so, and 0.34 otherwise (Zen 5).
const int32_t *tile_runner::share_zero_point(void *memory, int64_t places) {
    auto *const to = static_cast<int32_t *>(memory);
    if (shared_places < places || *to != *few->zero_point) {
        std::fill_n(to, places + spare_operands, *few->zero_point);
        shared_places = places;
    }
    return to;
}

// Operands for each of the kernel's places.
void tile_runner::expand(const tile &t, const operand_box &box) {
    spread_dimension all[most_dimensions];
    int varying = 0;
    int64_t step = 1;
    for (int d = 0; d < count && (d == 0 || !expands_one_row()); d++) {
        const auto &[start, extent] = t.box[d];
        const int64_t unit = d == 0 ? kernel.unit : 1, places = (d == 0 ? row_places(extent) : extent) / unit;
        spread_dimension next{places, step, places, 0, 1, 0};
        if (box.blocks[d] > 1) {
            const int64_t block = dimensions[d].block;
            next = {places, step, block / unit, start % block / unit, box.blocks[d], box.step[d]};
        }
        if (varying > 0 && all[varying - 1].is_continued_by(next)) {
            all[varying - 1].extent *= places;
            all[varying - 1].blocks *= places;
        } else if (varying > 0 || next.blocks > 1) {
            all[varying++] = next;
        }
        step *= places;
    }
    spread_values arrays[3];
    uint32_t harmless[3];  // what follows
    size_t used = 0;
    const auto add = [&](const void *from, uint32_t follows) {
        harmless[used] = follows;
        char *const to = expanded + static_cast<int64_t>(used) * array_bytes;
        arrays[used++] = {from, to};
        return to;
    };
    constexpr uint32_t one = 0x3f800000;
    many.scale = reinterpret_cast<float *>(add(few->scale, one));
    many.inverse = op.has_inverses() ? reinterpret_cast<float *>(add(few->inverse, one)) : many.scale;
    if (few->shares_zero_point()) {
        many.zero_point = share_zero_point(expanded + static_cast<int64_t>(used) * array_bytes, places_of(t));
    } else if (op.zero_point) {
        many.zero_point = reinterpret_cast<int32_t *>(add(few->zero_point, 0));
        shared_places = 0;
    }
    spread(*op.target, std::span(arrays, used), std::span(all, static_cast<size_t>(varying)));
    for (size_t i = 0; i < used; i++) {
        auto *const places = static_cast<uint32_t *>(arrays[i].to);
        std::fill(places + step, places + places_of(t) + spare_operands, harmless[i]);
    }
}

}  // namespace qdq::runtime
