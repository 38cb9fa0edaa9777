#include "loops.h"

#include <algorithm>
#include <cstdlib>

namespace qdq {

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
    if (d.block == 1 || (w.scale == 0 && w.zero_point == 0)) {
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

bool varies(const dimension &loop) { return loop.scale != 0 || loop.zero_point != 0; }

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

void move_to(loop_nest &nest, int from, int to) { std::rotate(nest.loops + to, nest.loops + from, nest.loops + from + 1); }

void choose_plane(loop_nest &nest, bool x_is_wider) {
    const int x_weight = x_is_wider ? 2 : 1, y_weight = 3 - x_weight;
    move_to(nest, best_loop(nest, 0, [=](const dimension &d) { return x_weight * (d.x == 1) + y_weight * (d.y == 1); }), 0);
    if (nest.count > 1) {
        const dimension &c = nest.loops[0];
        const bool wants_x = c.x != 1, wants_y = c.y != 1, wants_constant = varies(c);
        move_to(nest, best_loop(nest, 1, [=](const dimension &d) {
                    return 2 * (wants_x && d.x == 1) + 2 * (wants_y && d.y == 1) + (wants_constant && !varies(d));
                }), 1);
    }
}

}  // namespace

void normalize(const blocked_dimension *dimensions, int count, bool x_is_wider, loop_nest &nest) {
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
    choose_plane(nest, x_is_wider);
}

void for_each_regular_part(const blocked_dimension *dimensions, int count, regular_part *run, void *context) {
    // Bit d of `part` picks, of ragged dimension d, the whole blocks (0) or the short last one (1).
    for (int part = 0; part < 1 << count; part++) {
        blocked_dimension piece[most_dimensions];
        offsets at;
        bool exists = true;
        for (int d = 0; d < count; d++) {
            piece[d] = dimensions[d];
            dimension &w = piece[d].whole;
            const bool last = part >> d & 1;
            if (last && !piece[d].ragged()) {
                exists = false;
                break;
            }
            const int64_t blocks = w.extent / piece[d].block;
            if (last) {
                const int64_t start = blocks * piece[d].block;
                at.x += start * w.x;
                at.y += start * w.y;
                at.scale += blocks * w.scale;
                at.zero_point += blocks * w.zero_point;
                w.extent -= start;
                w.scale = w.zero_point = 0;
            } else {
                w.extent = blocks * piece[d].block;
            }
            exists = exists && w.extent != 0;
        }
        if (exists) {
            run(context, piece, count, at);
        }
    }
}

}  // namespace qdq
