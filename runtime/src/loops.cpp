#include "loops.h"

#include "kernel_call.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace qdq::runtime {

namespace {

bool continues(const dimension &outer, const dimension &inner) {
    return outer.x == inner.x * inner.extent && outer.y == inner.y * inner.extent &&
           outer.scale == inner.scale * inner.extent && outer.zero_point == inner.zero_point * inner.extent;
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

bool closer(const dimension &a, const dimension &b) {
    const int64_t ay = std::abs(a.y), by = std::abs(b.y);
    return ay != by ? ay < by : std::abs(a.x) < std::abs(b.x);
}

// Insertion sort: there are few loops, and they come nearly sorted.
void sort_by_stride(loop_nest &nest) {
    for (int i = 1; i < nest.count; i++) {
        const dimension moving = nest.loops[i];
        int j = i;
        for (; j > 0 && closer(moving, nest.loops[j - 1]); j--) {
            nest.loops[j] = nest.loops[j - 1];
        }
        nest.loops[j] = moving;
    }
}

void merge(loop_nest &nest) {
    int last = 0;
    for (int i = 1; i < nest.count; i++) {
        if (continues(nest.loops[i], nest.loops[last])) {
            nest.loops[last].extent *= nest.loops[i].extent;
        } else {
            nest.loops[++last] = nest.loops[i];
        }
    }
    nest.count = last + 1;
}

// The first loop from `start` on with the highest preference.
template<typename Preference>
int best_loop(const loop_nest &nest, int start, Preference preference) {
    int best = start;
    for (int i = start + 1; i < nest.count; i++) {
        if (preference(nest.loops[i]) > preference(nest.loops[best])) {
            best = i;
        }
    }
    return best;
}

void move_to(loop_nest &nest, int from, int to) {
    std::rotate(nest.loops + to, nest.loops + from, nest.loops + from + 1);
}

// How many lanes of a group a loop fills as a kernel's columns. Packed codes are whole bytes along one loop only.
int64_t lanes(const call &what, const loop_nest &nest, const dimension &c) {
    if (what.packs() || c.extent >= group) {
        return group;
    }
    const bool joins =
        std::any_of(nest.loops, nest.loops + nest.count, [&](const dimension &r) { return joins_rows(what, c, r); });
    return joins ? group : c.extent;
}

// Where a contiguous loop is short, strides cost less than lanes that compute nothing: 2^20 elements in rows of 4, f32
// to i8, take 1.1 ns each by columns of 2^18 and 2 to 3 by columns of 4; rows of 8 take the same either way.
int64_t worth_as_columns(const call &what, const loop_nest &nest, const dimension &c) {
    const bool prefers_x = what.quantizes() != what.packs();
    const int contiguous = (c.x == 1 ? 1 + prefers_x : 0) + (c.y == 1 ? 2 - prefers_x : 0);
    return (contiguous ? 7 + contiguous : 1) * lanes(what, nest, c);
}

void choose_plane(const call &what, loop_nest &nest) {
    move_to(nest, best_loop(nest, 0, [&](const dimension &d) { return worth_as_columns(what, nest, d); }), 0);
    if (nest.count > 1) {
        const dimension &c = nest.loops[0];
        const bool wants_x = c.x != 1, wants_y = c.y != 1, wants_constant = c.varies();
        move_to(nest,
                best_loop(nest, 1,
                          [=](const dimension &d) {
                              return 2 * (wants_x && d.x == 1) + 2 * (wants_y && d.y == 1) +
                                     (wants_constant && !d.varies());
                          }),
                1);
    }
}

}  // namespace

bool joins_rows(const call &what, const dimension &c, const dimension &r) {
    if (c.x != 1 || c.y != 1 || r.x != c.extent || r.y != c.extent || c.varies() == r.varies()) {
        return false;
    }
    const int64_t short_row = what.streams ? 320 : 256;  // streamed pieces are parts of a row
    if (c.varies()) {
        constexpr int64_t longest_cycle = 4096;
        return (c.extent % group != 0 || (what.streams && c.extent < short_row)) &&
               rows_of_whole_groups(c) * c.extent <= longest_cycle;
    }
    // Repeating operands costs 0.35 ns an element (f32 to i8), once a block next to nothing. What it saves goes by
    // rows: of 8 elements 0.9 ns an element, of 24 0.3. Packed rows of odd length have no other way.
    const bool repeats_cheaply = c.extent % what.block() == 0;
    return c.extent < (repeats_cheaply || what.packs() ? short_row : 24);
}

int64_t rows_of_whole_groups(const dimension &c) { return group / std::gcd(c.extent, group); }

void normalize(const call &what, const blocked_dimension *dimensions, int count, loop_nest &nest) {
    nest.count = 0;
    for (int i = count - 1; i >= 0; i--) {
        split_blocks(dimensions[i], nest);
    }
    if (nest.count == 0) {
        nest.loops[nest.count++] = {1, 1, 1, 0, 0};  // one element
        return;
    }
    sort_by_stride(nest);
    merge(nest);
    choose_plane(what, nest);
}

namespace {

// What cutting one dimension's interval at block boundaries leaves: an end of a block, whole blocks, a start of one.
int cut(const blocked_dimension &d, const interval &whole, interval pieces[3]) {
    if (!d.whole.varies() || d.block == 1) {
        pieces[0] = whole;
        return 1;
    }
    int count = 0;
    const int64_t end = whole.start + whole.extent;
    const int64_t first_boundary = std::min(end, (whole.start + d.block - 1) / d.block * d.block);
    const int64_t last_boundary = std::max(first_boundary, end / d.block * d.block);
    for (const interval piece :
         {interval{whole.start, first_boundary - whole.start}, interval{first_boundary, last_boundary - first_boundary},
          interval{last_boundary, end - last_boundary}}) {
        if (piece.extent > 0) {
            pieces[count++] = piece;
        }
    }
    return count;
}

// Restricts a dimension to a piece that cut() made.
void restrict_to(const interval &piece, blocked_dimension &d, offsets &at) {
    dimension &w = d.whole;
    at.x += piece.start * w.x;
    at.y += piece.start * w.y;
    at.scale += piece.start / d.block * w.scale;
    at.zero_point += piece.start / d.block * w.zero_point;
    w.extent = piece.extent;
    if (piece.extent % d.block != 0 || piece.start % d.block != 0) {
        w.scale = w.zero_point = 0;  // within one block
    }
}

}  // namespace

void for_each_regular_part(const blocked_dimension *dimensions, const interval *region, int count, regular_part *run,
                           void *context) {
    interval pieces[most_dimensions][3];
    int piece_count[most_dimensions], chosen[most_dimensions] = {};
    for (int d = 0; d < count; d++) {
        piece_count[d] = cut(dimensions[d], region[d], pieces[d]);
    }
    for (bool more = true; more;) {
        blocked_dimension part[most_dimensions]{};
        offsets at;
        for (int d = 0; d < count; d++) {
            part[d] = dimensions[d];
            restrict_to(pieces[d][chosen[d]], part[d], at);
        }
        run(context, part, count, at);
        more = false;
        for (int d = 0; d < count && !more; d++) {
            more = ++chosen[d] < piece_count[d];
            if (!more) {
                chosen[d] = 0;
            }
        }
    }
}

void for_each_region(const blocked_dimension *dimensions, int count, int64_t begin, int64_t end, flat_region *run,
                     void *context) {
    for (int64_t first = begin; first < end;) {
        // Climb while whole inner dimensions fit: `size` elements make one step of dimension `level`.
        int level = count - 1;
        int64_t size = 1;
        while (level > 0 && first % (size * dimensions[level].whole.extent) == 0 &&
               end - first >= size * dimensions[level].whole.extent) {
            size *= dimensions[level--].whole.extent;
        }
        interval region[most_dimensions];
        int64_t taken = 1, rest = first / size;
        for (int d = count - 1; d >= 0; d--) {
            const int64_t extent = dimensions[d].whole.extent;
            if (d > level) {
                region[d] = {0, extent};
                continue;
            }
            region[d] = {rest % extent, 1};
            if (d == level) {
                region[d].extent = taken = std::min(extent - region[d].start, (end - first) / size);
            }
            rest /= extent;
        }
        run(context, region);
        first += taken * size;
    }
}

}  // namespace qdq::runtime
