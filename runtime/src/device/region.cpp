#include "device/region.h"

#include "device_arguments.h"
#include "plan/loops.h"

#include <algorithm>

namespace qdq::runtime {

namespace {

void advance(region &r, const blocked_dimension &d, int64_t steps, int64_t elements) {
    r.number += steps * elements;
    r.x += steps * d.whole.x;
    r.y += steps * d.whole.y;
    r.scale += steps / d.block * d.whole.scale;
    r.zero_point += steps / d.block * d.whole.zero_point;
}

blocked_dimension cut(const blocked_dimension &d, int64_t steps, bool in_block) {
    blocked_dimension part = d;
    part.whole.extent = steps;
    if (in_block || !d.whole.varies()) {
        part.whole.scale = part.whole.zero_point = 0;
        part.block = steps;
    }
    return part;
}

}  // namespace

int64_t region::elements() const {
    int64_t product = 1;
    for (int d = 0; d < count; d++) {
        product *= dimensions[d].whole.extent;
    }
    return product;
}

bool region::has_dense_rows(int64_t group) const {
    if (count < 1 || count > dense_dimensions || dimensions[0].whole.x != 1 || dimensions[0].whole.y != 1) {
        return false;
    }
    const dimension &rows = dimensions[1].whole;
    return count == 1 || (rows.x >= 0 && rows.x % group == 0 && rows.y >= 0 && rows.y % group == 0);
}

region whole_region(const plan &p) {
    region all;
    const bool keeps_order = p.op.packs() || p.op.rounds_by_chance();
    const merge_order order = keeps_order ? merge_order::as_given : merge_order::of_strides;
    all.count = merge_dimensions(p.dimensions, p.dimension_count, order, all.dimensions);
    return all;
}

qdq_status for_each_part(const region &r, qdq_status (*run)(void *context, const region &part), void *context) {
    const int64_t elements = r.elements();
    if (elements <= most_elements) {
        return run(context, r);
    }
    const blocked_dimension &outer = r.dimensions[r.count - 1];
    const dimension &d = outer.whole;
    const int64_t inner = elements / d.extent;
    int64_t room = std::max<int64_t>(1, most_elements / inner);
    if (room > 64) {
        room -= room % 64;  // so that parts of packed codes begin at whole bytes
    }
    for (int64_t done = 0, steps; done < d.extent; done += steps) {
        const bool in_block = d.varies() && room < outer.block;
        const int64_t most = in_block     ? std::min(room, outer.block - done % outer.block)
                             : d.varies() ? room - room % outer.block
                                          : room;
        steps = std::min(d.extent - done, most);
        region part = r;
        advance(part, outer, done, inner);
        part.dimensions[r.count - 1] = cut(outer, steps, in_block);
        part.count -= steps == 1;
        if (qdq_status s = for_each_part(part, run, context)) {
            return s;
        }
    }
    return QDQ_OK;
}

region rest_of(const region &r, int64_t start) {
    const blocked_dimension &d = r.dimensions[0];
    region rest = r;
    advance(rest, d, start, 1);
    rest.dimensions[0] = cut(d, d.whole.extent - start, d.block != 1);
    return rest;
}

}  // namespace qdq::runtime
