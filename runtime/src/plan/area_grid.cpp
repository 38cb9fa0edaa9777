#include "plan/area_grid.h"

#include "support/types.h"

#include <algorithm>
#include <numeric>

namespace qdq::runtime {

namespace {

constexpr int64_t area_run = 512;  // consecutive elements at least, whatever is reduced across them

// The fewest elements along a dimension that are whole groups, and if y counts, whole bytes of packed codes.
int64_t unit_of(const blocked_dimension &d, int64_t extent, int64_t packed) {
    return d.whole.varies() ? d.block * (packed / std::gcd(packed, d.block * d.whole.y)) : std::max<int64_t>(extent, 1);
}

// The least common multiple, or all there is.
int64_t common_unit(int64_t a, int64_t b, int64_t extent) {
    const int64_t times = a / std::gcd(a, b);
    return times > extent / b ? std::max<int64_t>(extent, 1) : times * b;
}

int64_t groups_in(const blocked_dimension &d, int64_t elements) {
    return d.whole.varies() ? (elements + d.block - 1) / d.block : 1;
}

// Insertion sort: there are few dimensions.
void order_by_stride(const plan &p, int *order) {
    for (int i = 0; i < p.dimension_count; i++) {
        const uint64_t distance = distance_of(p.dimensions[i].whole.x);
        int j = i;
        for (; j > 0 && distance < distance_of(p.dimensions[order[j - 1]].whole.x); j--) {
            order[j] = order[j - 1];
        }
        order[j] = i;
    }
}

// Areas of one unit along a dimension.
void set_unit(area_grid &grid, int d, int64_t unit) {
    grid.extent[d] = unit;
    grid.count[d] = std::max<int64_t>(1, (grid.box[d].extent + unit - 1) / unit);
    grid.elements *= std::min(unit, std::max<int64_t>(grid.box[d].extent, 1));
}

// Areas of one unit, and how many groups it has.
int64_t set_units(const plan &p, int64_t packed, area_grid &grid) {
    int64_t groups = 1;
    grid.elements = 1;
    for (int d = 0; d < p.dimension_count; d++) {
        const int64_t extent = grid.box[d].extent, unit = unit_of(p.dimensions[d], extent, packed);
        set_unit(grid, d, unit);
        groups *= groups_in(p.dimensions[d], std::min(unit, extent));
    }
    return groups;
}

// More units along the dimensions in the order of their strides in x, as far as there is room; past the first that is
// cut an area has one. It may have so many times as many groups as a unit has.
void grow_areas(const dynamic_plan &dynamic, int64_t bytes, int64_t most_times, area_grid &grid) {
    const plan &p = dynamic.quantize;
    const int64_t most_elements = bytes / type_of(dynamic.how.x_type).bytes();
    order_by_stride(p, grid.order);
    grid.areas = 1;
    bool is_cut = false;
    for (int i = 0; i < p.dimension_count; i++) {
        const int d = grid.order[i];
        const int64_t units = grid.count[d], unit = grid.extent[d];
        if (units > 1 && !is_cut) {
            const int64_t run = distance_of(p.dimensions[d].whole.x) == 1 ? area_run / unit : 1;
            const int64_t room = std::max(most_elements / grid.elements, run);
            const int64_t taken = std::clamp<int64_t>(std::min(room, most_times), 1, units);
            is_cut = taken < units;
            grid.extent[d] = taken * unit;
            grid.count[d] = std::max<int64_t>(1, grid.box[d].extent / grid.extent[d]);
            grid.elements *= taken;
            most_times /= taken;
        }
        grid.areas *= grid.count[d];
    }
}

bool has_areas_of_codes(const dynamic_plan &p) { return p.quantize.elements > 0 && p.codes_have_areas; }

}  // namespace

area_grid cut_into_areas(const dynamic_plan &p, int64_t bytes) {
    interval whole[most_dimensions];
    for (int d = 0; d < p.quantize.dimension_count; d++) {
        whole[d] = {0, p.quantize.dimensions[d].whole.extent};
    }
    return cut_into_areas(p, whole, bytes);
}

area_grid cut_into_areas(const dynamic_plan &p, const interval *box, int64_t bytes) {
    area_grid grid;
    std::copy_n(box, p.quantize.dimension_count, grid.box);
    grid.may_quantize = has_areas_of_codes(p);
    const int64_t most = (p.candidates.count > 1 ? most_measured_groups : most_groups) / 2;  // the last may have twice
    int64_t groups = set_units(p.quantize, grid.may_quantize ? p.quantize.op.packed_unit() : 1, grid);
    if (groups > most) {
        grid.may_quantize = false;
        groups = set_units(p.quantize, 1, grid);
    }
    grow_areas(p, bytes, most / groups, grid);
    return grid;
}

area_grid cut_into_boxes(const dynamic_plan &p, const dynamic_plan &q) {
    area_grid grid;
    grid.may_quantize = has_areas_of_codes(p) && has_areas_of_codes(q);
    grid.elements = 1;
    const plan &a = p.quantize, &b = q.quantize;
    for (int d = 0; d < a.dimension_count; d++) {
        const int64_t extent = a.dimensions[d].whole.extent;
        grid.box[d] = {0, extent};
        set_unit(grid, d,
                 common_unit(unit_of(a.dimensions[d], extent, a.op.packed_unit()),
                             unit_of(b.dimensions[d], extent, b.op.packed_unit()), extent));
    }
    grow_areas(p, box_bytes, INT64_MAX, grid);
    return grid;
}

void find_area(const area_grid &grid, int dimensions, int64_t number, interval *place) {
    for (int d = dimensions - 1; d >= 0; d--) {
        const int64_t along = number % grid.count[d], first = along * grid.extent[d];
        number /= grid.count[d];
        place[d] = {grid.box[d].start + first,
                    along == grid.count[d] - 1 ? grid.box[d].extent - first : grid.extent[d]};
    }
}

}  // namespace qdq::runtime
