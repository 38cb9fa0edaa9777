#include "plan/loops.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>

namespace qdq::runtime {

namespace {

bool is_inside(const dimension &a, const dimension &b, merge_order order) {
    const bool by_y = order == merge_order::of_strides;
    const auto first = by_y ? &dimension::y : &dimension::x, second = by_y ? &dimension::x : &dimension::y;
    const uint64_t of_a = distance_of(a.*first), of_b = distance_of(b.*first);
    return of_a != of_b ? of_a < of_b : distance_of(a.*second) < distance_of(b.*second);
}

// Insertion sort: there are few dimensions, and they come nearly sorted.
void sort_by_stride(blocked_dimension *dimensions, int count, merge_order order) {
    for (int i = 1; i < count; i++) {
        const blocked_dimension moving = dimensions[i];
        int j = i;
        for (; j > 0 && is_inside(moving.whole, dimensions[j - 1].whole, order); j--) {
            dimensions[j] = dimensions[j - 1];
        }
        dimensions[j] = moving;
    }
}

// Merges a dimension into the one inside it, where together they are one.
bool merge(blocked_dimension &inner, const blocked_dimension &outer) {
    dimension &a = inner.whole;
    const dimension &b = outer.whole;
    if (b.x != a.x * a.extent || b.y != a.y * a.extent) {
        return false;
    }
    if (!a.varies()) {
        inner.block = b.varies() ? a.extent * outer.block : a.extent * b.extent;
        a.scale = b.scale;
        a.zero_point = b.zero_point;
    } else {
        const int64_t blocks = a.extent / inner.block;
        if (a.extent % inner.block != 0 || outer.block != 1 || b.scale != a.scale * blocks ||
            b.zero_point != a.zero_point * blocks) {
            return false;
        }
    }
    a.extent *= b.extent;
    return true;
}

void append(loop_nest &nest, const dimension &loop) {
    if (loop.extent != 1) {
        nest.loops[nest.count++] = loop;
    }
}

void split_blocks(const blocked_dimension &d, loop_nest &nest) {
    const dimension &w = d.whole;
    if (d.block == 1 || !w.varies()) {
        append(nest, w);
        return;
    }
    append(nest, {d.block, w.x, w.y, 0, 0});
    append(nest, {w.extent / d.block, w.x * d.block, w.y * d.block, w.scale, w.zero_point});
}

// The first loop from `start` on with the highest preference.
template<typename Preference> int best_loop(const loop_nest &nest, int start, Preference preference) {
    int best = start;
    for (int i = start + 1; i < nest.count; i++) {
        if (preference(nest.loops[i]) > preference(nest.loops[best])) {
            best = i;
        }
    }
    return best;
}

// Puts an element in an earlier place; those from there on move up. std::rotate takes a KiB of code.
template<typename T> void insert_at(T *place, T *from) {
    const T moved = *from;
    std::move_backward(place, from, from + 1);
    *place = moved;
}

void move_to(loop_nest &nest, int from, int to) { insert_at(nest.loops + to, nest.loops + from); }

// How many lanes of a group a loop fills as a kernel's columns. Packed codes are whole bytes along one loop only.
int64_t lanes(const call &op, const loop_nest &nest, const dimension &c) {
    if (op.packs() || c.extent >= group) {
        return group;
    }
    const bool fuses = std::ranges::any_of(std::span(nest.loops, nest.count),
                                           [&](const dimension &r) { return fuses_rows(op, c, r); });
    return fuses ? group : c.extent;
}

// Where a contiguous loop is short, strides cost less than lanes that compute nothing: 2^20 elements in rows of 4, f32
// to i8, take 1.1 ns each by columns of 2^18 and 2 to 3 by columns of 4; rows of 8 take the same either way.
int64_t worth_as_columns(const call &op, const loop_nest &nest, const dimension &c) {
    const bool prefers_x = op.quantizes() != op.packs();
    const int contiguous = (c.x == 1 ? 1 + prefers_x : 0) + (c.y == 1 ? 2 - prefers_x : 0);
    return (contiguous ? 7 + contiguous : 1) * lanes(op, nest, c);
}

void choose_plane(const call &op, loop_nest &nest) {
    move_to(nest, best_loop(nest, 0, [&](const dimension &d) { return worth_as_columns(op, nest, d); }), 0);
    if (nest.count > 1) {
        const dimension &c = nest.loops[0];
        // Few blocks of a row, each with its operand, take longer than many rows of one: f32 to i8 in areas of [128,
        // 512] by blocks of [128, 128], which compute their scales, 0.50 ns an element, and 0.27 so (Zen 5).
        constexpr int64_t few_blocks = 16;
        const bool has_few_blocks =
            !op.nontemporal && c.extent % group == 0 && nest.loops[1].varies() && nest.loops[1].extent < few_blocks;
        const int64_t more_than = c.varies() ? 0 : has_few_blocks ? nest.loops[1].extent : INT64_MAX;
        const bool wants_x = c.x != 1, wants_y = c.y != 1;
        move_to(nest,
                best_loop(nest, 1,
                          [=](const dimension &d) {
                              return 2 * (wants_x && d.x == 1) + 2 * (wants_y && d.y == 1) +
                                     (!d.varies() && d.extent > more_than);
                          }),
                1);
    }
}

// Blocks along the first dimension as a dimension of their own, where padding them pays, or where they are whole groups
// that lie end to end: rows of a kernel.
int split_blocks_into_rows(const call &op, blocked_dimension *dimensions, int count) {
    const auto [whole, block] = dimensions[0];
    if (count == most_dimensions || !whole.varies() || block == whole.extent || dimensions[0].ragged()) {
        return count;
    }
    const blocked_dimension split[] = {
        {{block, whole.x, whole.y, 0, 0}, block},
        {{whole.extent / block, whole.x * block, whole.y * block, whole.scale, whole.zero_point}, 1}};
    const bool are_rows = block % group == 0 && whole.x == 1 && whole.y == 1;
    if (!are_rows && !pads_rows(op, split, 2)) {
        return count;
    }
    std::copy_backward(dimensions + 1, dimensions + count, dimensions + count + 1);
    std::copy_n(split, 2, dimensions);
    return count + 1;
}

// Whether rows that lie end to end begin at whole bytes, each before the next one's.
bool begin_at_bytes(const call &op, int64_t extent) {
    return !op.packs() || (op.packing == QDQ_LOW_FIRST && extent % op.codes_per_byte() == 0);
}

}  // namespace

int order_dimensions(const blocked_dimension *dimensions, int count, merge_order order, blocked_dimension *ordered) {
    int kept = 0;
    for (int i = count - 1; i >= 0; i--) {
        if (dimensions[i].whole.extent > 1) {
            ordered[kept] = dimensions[i];
            if (!ordered[kept].whole.varies()) {
                ordered[kept].block = ordered[kept].whole.extent;
            }
            kept++;
        }
    }
    if (order != merge_order::as_given) {
        sort_by_stride(ordered, kept, order);
    }
    return kept;
}

int merge_dimensions(const blocked_dimension *dimensions, int count, merge_order order, blocked_dimension *merged) {
    const int kept = order_dimensions(dimensions, count, order, merged);
    int last = 0;
    for (int i = 1; i < kept; i++) {
        if (!merge(merged[last], merged[i])) {
            merged[++last] = merged[i];
        }
    }
    return std::min(kept, last + 1);
}

bool fuses_rows(const call &op, const dimension &c, const dimension &r) {
    if (c.x != 1 || c.y != 1 || !lie_end_to_end(c, r) || c.varies() == r.varies()) {
        return false;
    }
    const dispatch_parameters &tuned = *op.tuned;
    const int64_t short_row = op.nontemporal ? tuned.fused_nontemporal_row : tuned.fused_row;
    if (c.varies()) {
        return (c.extent % group != 0 || (op.nontemporal && c.extent < short_row)) &&
               rows_of_whole_groups(c) * c.extent <= longest_period;
    }
    // Rows of whole groups are kernels' rows as they lie: bf16 to i8 by rows of 128 takes 0.047 ns an element so, 0.063
    // with each scale repeated for every block (Zen 5).
    if (c.extent % group == 0 && !op.nontemporal && begin_at_bytes(op, c.extent)) {
        return false;
    }
    const bool repeats_cheaply = c.extent % op.block == 0 && op.rounding == QDQ_NEAREST_EVEN;
    // Rows in other packings are staged one by one: i4 to bf16 by blocks of 64, high first, takes 0.40 ns an element
    // so, and 0.034 as one row. The longest leave room for their operands by columns, which other variants ask for.
    if (repeats_cheaply && op.packs() && op.packing != QDQ_LOW_FIRST) {
        return c.extent <= dispatch_parameters::most_fused_row;
    }
    // Repeating operands costs 0.05 to 0.2 ns an element, once a block next to nothing. What it saves goes by rows: f32
    // to i8 takes 0.66 ns an element by rows of 24 and 0.24 so, by rows of 65 0.19 and 0.27. Packed rows of odd length
    // have no other way, and a part of packed ones has as many rows as a byte has codes.
    const bool repeats_each = !repeats_cheaply && begin_at_bytes(op, c.extent);
    const bool has_room = !op.packs() || c.extent <= dispatch_parameters::most_fused_row;
    return has_room && c.extent < (repeats_each ? tuned.fused_repeating_row : short_row);
}

bool any_varies(const blocked_dimension *dimensions, int count) {
    return std::ranges::any_of(std::span(dimensions, count), [](const auto &d) { return d.whole.varies(); });
}

int64_t dividing_block(const call &op, int64_t elements) {
    const int64_t blocks = op.quantizes() ? op.quantize->blocks : op.dequantize->blocks;
    return int64_t(std::bit_floor(static_cast<uint64_t>(blocks & ((elements & -elements) * 2 - 1))));
}

bool pads_rows(const call &op, const blocked_dimension *dimensions, int count) {
    const auto &[c, block] = dimensions[0];
    const int64_t whole = round_up(c.extent);
    const bool shares_operands = !c.varies() || dividing_block(op, block) != 0;
    const int64_t dividing = dividing_block(op, std::gcd(c.extent, block));
    const bool is_whole_blocks =
        dividing >= shortest_long_block || (dividing != 0 && dividing == dividing_block(op, block));
    // Codes that begin within bytes are shifted: i4 to bf16 by rows of 255 takes 0.091 ns an element padded, and 0.113
    // by an operand of each; by rows of 127 0.145 and 0.115.
    constexpr int64_t long_row = 192;
    const bool pays_to_move = begin_at_bytes(op, c.extent) || (op.packing == QDQ_LOW_FIRST && c.extent >= long_row);
    return count > 1 && any_varies(dimensions, count) && shares_operands && !is_whole_blocks && pays_to_move &&
           4 * c.extent >= 3 * whole;
}

bool pads_ragged_rows(const call &op, const blocked_dimension *dimensions, int count) {
    constexpr int64_t shortest = 512, longest = 2048;
    const blocked_dimension &c = dimensions[0];
    return !op.nontemporal && c.ragged() && c.whole.extent >= shortest && c.whole.extent <= longest &&
           pads_rows(op, dimensions, count);
}

// What repeats elements brings none closer.
bool is_closer(int64_t stride, int64_t than) { return stride != 0 && distance_of(stride) < distance_of(than); }

bool cross(const call &op, const blocked_dimension &column, const blocked_dimension &row) {
    constexpr int64_t shortest = 8;
    const dimension &c = column.whole, &r = row.whole;
    if (c.x == 1 && c.y == 1) {
        return false;
    }
    if (r.x == 1 || r.y == 1) {
        return true;
    }
    const bool are_long = std::min(c.extent, r.extent) >= shortest;
    const bool has_whole_blocks = !c.varies() || column.block == 1 || column.block % group == 0;
    return !op.packs() && are_long && has_whole_blocks && (is_closer(r.x, c.x) || is_closer(r.y, c.y));
}

// How many elements along a dimension share an operand.
int64_t sharing(const blocked_dimension &d) { return std::min(d.block, d.whole.extent); }

// How many places one after another share an operand, if innermost dimensions come first.
int64_t places_of_operand(const blocked_dimension *dimensions, int count) {
    int64_t places = 1;
    for (int d = 0; d < count; d++) {
        places *= sharing(dimensions[d]);
        if (dimensions[d].whole.varies()) {
            break;
        }
    }
    return places;
}

int64_t elements_of_operand(const blocked_dimension *dimensions, int count) {
    int64_t elements = 1;
    for (int d = 0; d < count; d++) {
        elements *= sharing(dimensions[d]);
    }
    return elements;
}

bool is_contiguous(const dimension &c) { return c.x == 1 || c.y == 1; }

constexpr int64_t few_places = 8;  // operands of fewer cost more than strides do

// Whether another order has operands that take less, by more than its strides take longer: each has more places one
// after another, where each has few elements, or where rows would be short. bf16 to u16 with a scale for 10 permuted
// elements takes 0.7 ns an element where those are innermost, 1.6 where y's are (Zen 5).
bool has_cheaper_operands(const blocked_dimension *other, int other_count, const blocked_dimension *dimensions,
                          int count) {
    constexpr int64_t few_elements = 16, few_of_transposed = 256, short_row = 16, long_run = 64;
    const int64_t places = places_of_operand(dimensions, count), others = places_of_operand(other, other_count);
    const int64_t elements = elements_of_operand(dimensions, count);
    const bool transposes = is_contiguous(dimensions[0].whole) && is_contiguous(other[0].whole);
    return others >= 4 * places && (elements <= (transposes ? few_of_transposed : few_elements) ||
                                    (dimensions[0].whole.extent <= short_row && others >= long_run));
}

int order_for_tiles(const call &op, const blocked_dimension *dimensions, int count, blocked_dimension *merged) {
    bool by_x = op.x_bits > op.y_bits;
    const auto order = op.packs() ? merge_order::as_given : by_x ? merge_order::of_x_strides : merge_order::of_strides;
    const int given = count;
    count = merge_dimensions(dimensions, given, order, merged);
    if (count == 0) {
        merged[0] = {{1, 1, 1, 0, 0}, 1};
        return 1;
    }
    int64_t shortest_row = 1;  // of a square
    if (!op.packs() && places_of_operand(merged, count) < few_places) {
        blocked_dimension other[most_dimensions];
        const int other_count =
            merge_dimensions(dimensions, given, by_x ? merge_order::of_strides : merge_order::of_x_strides, other);
        if (has_cheaper_operands(other, other_count, merged, count)) {
            count = other_count;
            std::copy_n(other, count, merged);
            by_x = !by_x;
            shortest_row = few_places;
        }
    }
    if (steps_begin_at_bytes(op, merged, count)) {
        const auto distance = [&](const blocked_dimension &d) {
            const auto unless_repeated = [](int64_t stride) { return stride == 0 ? UINT64_MAX : distance_of(stride); };
            const uint64_t x = unless_repeated(d.whole.x), y = unless_repeated(d.whole.y);
            return op.packs() ? std::min(x, y) : by_x ? y : x;
        };
        blocked_dimension *const row = std::ranges::min_element(merged + 1, merged + count, {}, distance);
        if (row != merged + count && row->whole.extent >= shortest_row && cross(op, merged[0], *row)) {
            insert_at(merged + 1, row);
        }
    }
    return split_blocks_into_rows(op, merged, count);
}

bool steps_begin_at_bytes(const call &op, const blocked_dimension *dimensions, int count) {
    return std::ranges::all_of(std::span(dimensions + 1, count - 1), [&](const blocked_dimension &d) {
        return (op.quantizes() ? d.whole.y : d.whole.x) % op.packed_unit() == 0;
    });
}

bool repeats_operands(const call &op, const loop_nest &nest) {
    constexpr int64_t short_block = 96;
    const dimension &c = nest.loops[0], r = nest.rows();
    return !c.varies() && r.varies() && c.extent % op.block != 0 && c.extent < short_block && !op.nontemporal;
}

namespace {

// Whether kernels repeat operands in registers, for each row anew.
bool repeats_in_registers(const call &op, const loop_nest &nest) {
    const dimension &c = nest.loops[0];
    return !c.varies() && nest.rows().varies() && c.extent % op.block == 0 && op.block < shortest_long_block &&
           !op.nontemporal;
}

}  // namespace

bool runs_by_tiles(const call &op, const loop_nest &nest) {
    // Elements of which own kernel calls, or own operands, take longer than moving them does.
    constexpr int64_t small_plane = 512, small_row = 1024;
    const dimension &c = nest.loops[0], r = nest.rows();
    if (c.x != 1 || c.y != 1) {
        return true;
    }
    if (c.extent * r.extent < small_plane && nest.count > 2) {
        return true;
    }
    const bool repeats = repeats_operands(op, nest) || repeats_in_registers(op, nest);
    if (nest.count > 2 && !nest.loops[2].varies() && repeats && fuses_rows(op, c, r)) {
        return true;
    }
    const bool is_row = nest.count == 1 && !c.varies();
    return !is_row && !fuses_rows(op, c, r) && (c.extent < group || (c.extent < small_row && c.varies() && r.varies()));
}

int64_t rows_of_whole_groups(const dimension &c) { return group / std::gcd(c.extent, group); }

void normalize(const call &op, const blocked_dimension *dimensions, int count, loop_nest &nest) {
    blocked_dimension merged[most_dimensions];
    count = merge_dimensions(dimensions, count, merge_order::of_strides, merged);
    nest.count = 0;
    for (int i = 0; i < count; i++) {
        split_blocks(merged[i], nest);
    }
    if (nest.count == 0) {
        nest.loops[nest.count++] = {1, 1, 1, 0, 0};  // one element
        return;
    }
    choose_plane(op, nest);
}

}  // namespace qdq::runtime
