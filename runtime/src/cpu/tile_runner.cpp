#include "cpu/tile_runner.h"

#include "cpu/fast_variants.h"
#include "cpu/float_environment.h"
#include "cpu/packing.h"
#include "plan/loops.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace qdq::runtime {

namespace {

constexpr int64_t line = 64;  // bytes of a cache line

int64_t whole_lines(int64_t bytes) { return (bytes + line - 1) / line * line; }

int64_t array_count(const call &op) { return 1 + (op.quantizes() && !op.multiply) + (op.zero_point != nullptr); }

// In equal parts of so many units, none of them longer than `most` unless that is less than a unit.
int64_t even_part(int64_t extent, int64_t most, int64_t unit) {
    const int64_t longest = std::max(most / unit, int64_t{1}) * unit, parts = (extent + longest - 1) / longest;
    return extent <= most ? extent : ((extent + parts - 1) / parts + unit - 1) / unit * unit;
}

// The bytes of so many packed codes, and of what must stay together with them.
int64_t whole_units(const call &op, int64_t codes) {
    const int64_t unit = op.packed_unit();
    return (codes + unit - 1) / unit * unit * op.codes().bits / 8;
}

// The steps of a dimension's blocks, and those within one.
void split(const blocked_dimension &d, loop_nest &nest) {
    const dimension &w = d.whole;
    const int64_t block = w.varies() ? d.block : w.extent;
    nest.loops[nest.count++] = {block, w.x, 0, 0, 0};
    nest.loops[nest.count++] = {w.extent / block, w.x * block, 0, w.scale, w.zero_point};
}

}  // namespace

tile_runner::tile_runner(const plan &p, const void *x, void *y)
    : op(p.op),
      dimensions(p.dimensions),
      count(p.dimension_count),
      x(static_cast<const char *>(x)),
      y(static_cast<char *>(y)),
      reorders_x(op.x_bits < 8 && op.packing != QDQ_LOW_FIRST),
      reorders_y(op.y_bits < 8 && op.packing != QDQ_LOW_FIRST),
      any_box(steps_begin_at_bytes(op, dimensions, count)) {
    const bool varies = std::any_of(dimensions, dimensions + count, [](const auto &d) { return d.whole.varies(); });
    const int64_t bits = op.x_bits + op.y_bits + (varies ? array_count(op) * 48 : 0);
    for (int pass = 0, kept = 0; pass < 2; pass++) {
        for (int d = 0; d < count; d++) {
            const bool comes_later = any_box && dimensions[d].whole.varies();
            if (comes_later == (pass == 1)) {
                walk[kept++] = d;
            }
        }
    }
    for (int64_t most = std::min(most_elements, memory_bytes * 8 / bits); !fits(most);) {
        most -= most / 8;
    }
}

// Whether there is room for such tiles, and for their operands.
bool tile_runner::fits(int64_t most) {
    choose_shape(most);
    int64_t elements = 1, blocks = 1;
    for (int d = 0; d < count; d++) {
        elements *= shape[d];
        blocks *= blocks_met(d);
    }
    const int64_t places = round_up(elements + (any_box ? 0 : op.packed_unit() - 1));
    const auto bytes_of = [](int64_t values) { return (values + spare_operands) * int64_t{sizeof(float)}; };
    const int64_t arrays = array_count(op), few_bytes = arrays * bytes_of(round_up(std::max(blocks, least_operands)));
    array_bytes = blocks > 1 ? bytes_of(places) : 0;
    expanded = memory + few_bytes;
    y_tile = expanded + arrays * array_bytes;
    x_tile = y_tile + whole_lines(places * op.y_bits / 8);
    if (x_tile + whole_lines(places * op.x_bits / 8) > memory + memory_bytes) {
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

// Inner dimensions whole, as many as there is room for. Where x and y are contiguous along different ones, squares.
void tile_runner::choose_shape(int64_t most) {
    int64_t left = most, elements = 1;
    const dimension &c = dimensions[0].whole;
    const dimension r = count > 1 ? dimensions[1].whole : dimension{};
    const bool crosses = any_box && (c.x != 1 || c.y != 1) && (r.x == 1 || r.y == 1);
    for (int d = 0; d < count; d++) {
        const auto &[whole, block] = dimensions[d];
        const int64_t longest = d == 0 && crosses ? std::max(left / std::min(r.extent, group), group) : left;
        // Whole groups, which kernels write where they are to be, or at least whole bytes of packed codes; whole
        // blocks.
        int64_t unit = group / std::gcd(elements, group);
        unit = unit <= longest ? unit : std::max(op.packed_unit() / std::gcd(elements, op.packed_unit()), int64_t{1});
        unit = whole.varies() && block <= longest && block % unit == 0 ? block : unit;
        shape[d] = even_part(whole.extent, longest, unit <= longest ? unit : 1);
        elements *= shape[d];
        left = shape[d] < whole.extent && !crosses ? 1 : std::max(left / shape[d], int64_t{1});
    }
}

void tile_runner::run(const interval *region) {
    tile t{};
    for (int d = 0; d < count; d++) {
        t.box[d] = region[d];
        t.x += region[d].start * dimensions[d].whole.x;
        t.y += region[d].start * dimensions[d].whole.y;
    }
    for (bool more = true; more;) {
        t.elements = 1;
        for (int d = 0; d < count; d++) {
            t.places[d] = t.elements;
            t.box[d].extent = std::min(shape[d], region[d].start + region[d].extent - t.box[d].start);
            t.elements *= t.box[d].extent;
        }
        t.lead = (op.quantizes() ? t.y : t.x) % op.packed_unit();
        run_tile(t);
        more = false;
        for (int i = 0; i < count && !more; i++) {
            const int d = walk[i];
            int64_t &start = t.box[d].start;
            more = start + shape[d] < region[d].start + region[d].extent;
            const int64_t steps = more ? shape[d] : region[d].start - start;
            start += steps;
            t.x += steps * dimensions[d].whole.x;
            t.y += steps * dimensions[d].whole.y;
        }
    }
}

void tile_runner::run_tile(const tile &t) {
    load_operands(t);
    const auto x_pitch = pitch_in_place(t, &dimension::x, reorders_x),
               y_pitch = pitch_in_place(t, &dimension::y, reorders_y || op.nontemporal);
    if (!x_pitch) {
        gather(t);
    }
    call_kernel(t, x_pitch ? rows_of_x{address(x, t.x, op.x_bits), *x_pitch} : rows_of_x{x_tile, kernel.columns},
                y_pitch ? rows_of_y{address(y, t.y, op.y_bits), *y_pitch} : rows_of_y{y_tile, kernel.columns});
    if (!y_pitch) {
        scatter(t);
    }
}

// What fills no group is zero: subnormal numbers left on the stack would cost 100 cycles an operation.
void tile_runner::gather(const tile &t) {
    const int64_t end = t.end() * op.x_bits / 8, whole = round_up(t.end()) * op.x_bits / 8;
    std::memset(x_tile + end, 0, whole - end);
    if (op.x_bits < 8 && !any_box) {
        std::memcpy(x_tile, address(x, t.x - t.lead, op.x_bits), whole_units(op, t.end()));
    } else {
        std::memset(x_tile, 0, t.lead * op.x_bits / 8);
        move_loop loops[most_dimensions];
        move(*op.target, op.x_bits, address(x, t.x, op.x_bits), address(x_tile, t.lead, op.x_bits), loops,
             move_loops(t, &dimension::x, true, loops));
    }
    if (reorders_x) {
        from_packing(*op.target, op.packing, reinterpret_cast<uint8_t *>(x_tile), whole_units(op, t.end()));
    }
}

void tile_runner::scatter(const tile &t) {
    const bool is_run = op.y_bits < 8 && !any_box;
    char *const first = address(y, t.y - (is_run ? t.lead : 0), op.y_bits);
    if (is_run && t.lead > 0) {
        keep_lead(t, first);
    }
    clear_padding(y_tile, op.y_bits, t.end());  // the next tile's first codes, or the end of the tensor
    if (reorders_y) {
        to_packing(*op.target, op.packing, reinterpret_cast<uint8_t *>(y_tile), whole_units(op, t.end()));
    }
    const char *const from = is_run ? y_tile : address(y_tile, t.lead, op.y_bits);
    bool end_to_end = true;
    for (int d = 0; d < count; d++) {
        end_to_end = end_to_end && (t.box[d].extent == 1 || dimensions[d].whole.y == t.places[d]);
    }
    if (is_run || end_to_end) {
        const int64_t bytes = is_run ? whole_units(op, t.end()) : (t.elements * op.y_bits + 7) / 8;
        if (op.nontemporal) {
            op.target->nontemporal->copy(first, from, bytes);
        } else {
            std::memcpy(first, from, bytes);
        }
        return;
    }
    move_loop loops[most_dimensions];
    move(*op.target, op.y_bits, from, first, loops, move_loops(t, &dimension::y, false, loops));
}

// The codes of the tile before stay what they are in memory.
void tile_runner::keep_lead(const tile &t, const char *first) {
    alignas(64) uint8_t before[64];
    const int64_t unit = op.packed_unit() * op.y_bits / 8, bits = t.lead * op.y_bits;
    std::memcpy(before, first, unit);
    from_packing(*op.target, op.packing, before, unit);
    std::memcpy(y_tile, before, bits / 8);
    if (bits % 8 != 0) {
        uint8_t &shared = reinterpret_cast<uint8_t *>(y_tile)[bits / 8];
        const int kept = (1 << bits % 8) - 1;
        shared = static_cast<uint8_t>((before[bits / 8] & kept) | (shared & ~kept));
    }
}

int tile_runner::move_loops(const tile &t, int64_t dimension::*stride, bool gathers, move_loop *loops) const {
    for (int d = 0; d < count; d++) {
        const int64_t outside = dimensions[d].whole.*stride;
        loops[d] = gathers ? move_loop{t.box[d].extent, outside, t.places[d]}
                           : move_loop{t.box[d].extent, t.places[d], outside};
    }
    return count;
}

// How far apart the kernel's rows lie in memory, if they are contiguous there.
std::optional<int64_t> tile_runner::pitch_in_place(const tile &t, int64_t dimension::*stride, bool reorders) const {
    if (reorders || t.lead > 0 || t.elements % group != 0) {
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
    return rows_in_reach(found) >= kernel.rows ? std::optional(found) : std::nullopt;
}

void tile_runner::call_kernel(const tile &t, rows_of_x from, rows_of_y to) {
    const float_environment environment(few->flushes);
    kernel_caller caller(op, kernel.form, false, variant, kernel.form != kernel_form::row || kernel.unit > 0);
    if (kernel.rows > 1) {
        caller.run(many, from, to, kernel.columns, kernel.rows);
        return;
    }
    const int64_t columns = round_up(t.end());
    for (int64_t done = 0; done < columns; done += kernel.columns) {  // one operand, as a row of few
        caller.run(many, {address(static_cast<const char *>(from.data), done, op.x_bits), 0},
                   {address(static_cast<char *>(to.data), done, op.y_bits), 0},
                   std::min(kernel.columns, columns - done), 1);
    }
}

// Whether a tile has the same operands in the same places as the one before.
bool tile_runner::loaded_before(const tile &t) const {
    bool same = loaded.elements == t.elements && loaded.lead == t.lead;
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
    } else if (kernel.unit > 0 && (parts > 1 || read != places_of(t))) {
        expand(t);
    }
}

tile_runner::kernel_shape tile_runner::shape_of(const tile &t) const {
    const int64_t columns = t.box[0].extent, rows = t.elements / columns, places = round_up(t.end());
    const bool whole = columns % group == 0 && t.lead == 0;
    const auto meets_several = [&](int d) {
        const int64_t block = dimensions[d].block, last = t.box[d].start + t.box[d].extent - 1;
        return dimensions[d].whole.varies() && t.box[d].start / block != last / block;
    };
    bool along_rows = false;
    for (int d = 1; d < count; d++) {
        along_rows = along_rows || meets_several(d);
    }
    const bool along_columns = meets_several(0);
    if (!along_columns && !along_rows) {
        return needs_column(op, kernel_form::row, variant)
                   ? kernel_shape{kernel_form::column, std::min(places, few->room()), 1, 0}
                   : kernel_shape{kernel_form::row, whole ? columns : places, whole ? rows : 1, 0};
    }
    if (whole && !along_rows) {
        return {kernel_form::column, columns, rows, 1};
    }
    if (whole && !along_columns && !needs_column(op, kernel_form::row, variant)) {
        return {kernel_form::row, columns, rows, columns};
    }
    const bool in_blocks = columns % op.block == 0 && t.box[0].start % op.block == 0 && t.lead == 0 &&
                           (!along_columns || dimensions[0].block % op.block == 0);
    if (in_blocks && !needs_column(op, kernel_form::block, variant)) {
        return {kernel_form::block, places, 1, op.block};
    }
    return {kernel_form::column, places, 1, 1};
}

// Calls visit(loops, at) for each part of a tile that has whole blocks or lies in one: loop.x counts places, at.x is
// the first.
template<typename Visit> void tile_runner::for_each_part(const tile &t, Visit visit) const {
    blocked_dimension within[most_dimensions];
    int64_t origin = 0;
    for (int d = 0; d < count; d++) {
        within[d] = dimensions[d];
        within[d].whole.x = t.places[d];
        origin += t.box[d].start * t.places[d];
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
    dimension loops[most_loops] = {{1, 0, 0, 0, 0}};
    int varying = 0;
    for (int i = 0; i < part.count; i++) {
        const dimension &d = part.loops[i];
        dimension *const last = varying > 0 ? &loops[varying - 1] : nullptr;
        if (d.extent == 1 || !d.varies()) {
            continue;
        }
        if (last && d.scale == last->scale * last->extent && d.zero_point == last->zero_point * last->extent) {
            last->extent *= d.extent;
        } else {
            loops[varying++] = d;
        }
    }
    int64_t index[most_loops] = {};
    for (bool more = true; more;) {
        few->read({at.scale, loops[0].scale, at.zero_point, loops[0].zero_point, loops[0].extent}, read);
        read += loops[0].extent;
        more = false;
        for (int i = 1; i < varying && !more; i++) {
            more = ++index[i] < loops[i].extent;
            at.advance(loops[i], more ? 1 : 1 - loops[i].extent);
            index[i] = more ? index[i] : 0;
        }
    }
}

int64_t tile_runner::places_of(const tile &t) const {
    const bool one_row = kernel.form == kernel_form::column && kernel.rows > 1;
    return one_row ? kernel.columns : round_up(t.end()) / kernel.unit;
}

// Operands for each of the kernel's places.
void tile_runner::expand(const tile &t) {
    const bool along_columns = kernel.form == kernel_form::column && kernel.rows > 1;  // of one row
    const int64_t places = places_of(t);
    int64_t first = 0;
    many.scale = reinterpret_cast<float *>(expanded);
    many.inverse = op.quantizes() && !op.multiply ? many.scale + array_bytes / int64_t{sizeof(float)} : many.scale;
    if (op.zero_point) {
        many.zero_point = reinterpret_cast<int32_t *>(expanded + (array_count(op) - 1) * array_bytes);
    }
    const auto fill = [&](const void *array, int64_t from, int64_t to, uint32_t harmless) {
        std::fill(static_cast<uint32_t *>(const_cast<void *>(array)) + from,
                  static_cast<uint32_t *>(const_cast<void *>(array)) + to, harmless);
    };
    const auto for_each_array = [&](auto change) {
        change(few->scale, many.scale, 0x3f800000u);
        if (many.inverse != many.scale) {
            change(few->inverse, many.inverse, 0x3f800000u);
        }
        if (op.zero_point) {
            change(few->zero_point, many.zero_point, 0u);
        }
    };
    for_each_array([&](const void *, const void *to, uint32_t harmless) {
        fill(to, 0, t.lead, harmless);
        fill(to, along_columns ? places : t.end() / kernel.unit, places + spare_operands, harmless);
    });
    for_each_part(t, [&](const loop_nest &part, const offsets &at) {
        move_loop loops[most_loops];
        int64_t step = 1;
        for (int i = 0; i < part.count; i++) {
            const dimension &d = part.loops[i];
            const bool is_first = i < 2, steps = is_first || !along_columns;
            const int64_t extent = !steps ? 1 : i == 0 ? d.extent / kernel.unit : d.extent;
            loops[i] = {extent, d.varies() ? step : 0, i == 0 ? 1 : d.x / kernel.unit};
            step *= d.varies() ? d.extent : 1;
        }
        for_each_array([&](const void *from, const void *to, uint32_t) {
            move_loop used[most_loops];
            std::copy_n(loops, part.count, used);
            move(*op.target, 32, static_cast<const int32_t *>(from) + first,
                 static_cast<int32_t *>(const_cast<void *>(to)) + t.lead + at.x / kernel.unit, used, part.count);
        });
        first += step;
    });
}

}  // namespace qdq::runtime
