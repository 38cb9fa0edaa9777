#include "plan/area_grid.h"

#include "support/types.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace qdq::runtime {

namespace {

// Of x, where a group has no more: a quarter of an L2 cache. [4096, 4096] f32 to i8 by rows takes 4.5 ms by areas of 32
// KiB, 4.3 of 64, 3.9 of 256 (Zen 4); a loop by hand that goes by single rows 3.8.
constexpr int64_t area_bytes = int64_t{1} << 18;
constexpr int64_t area_run = 512;  // consecutive elements at least, whatever is reduced across them

// The fewest elements along a dimension that are whole groups, and if y counts, whole bytes of packed codes.
int64_t unit_of(const blocked_dimension &d, int64_t packed) {
    return d.whole.varies() ? d.block * (packed / std::gcd(packed, d.block * d.whole.y))
                            : std::max<int64_t>(d.whole.extent, 1);
}

int64_t groups_in(const blocked_dimension &d, int64_t elements) {
    return d.whole.varies() ? (std::min(elements, d.whole.extent) + d.block - 1) / d.block : 1;
}

// Insertion sort: there are few dimensions.
void order_by_stride(const plan &p, int *order) {
    for (int i = 0; i < p.dimension_count; i++) {
        const int64_t stride = std::abs(p.dimensions[i].whole.x);
        int j = i;
        for (; j > 0 && stride < std::abs(p.dimensions[order[j - 1]].whole.x); j--) {
            order[j] = order[j - 1];
        }
        order[j] = i;
    }
}

struct area_size {
    int64_t elements = 1, groups = 1;
};

// The last area may have up to twice as many.
int64_t area_groups(const dynamic_plan &p) { return (p.candidates.count > 1 ? most_measured_groups : most_groups) / 2; }

// Areas of one unit.
area_size set_units(const plan &p, int64_t packed, area_grid &grid) {
    area_size size;
    for (int d = 0; d < p.dimension_count; d++) {
        const int64_t unit = unit_of(p.dimensions[d], packed), extent = p.dimensions[d].whole.extent;
        grid.extent[d] = unit;
        grid.count[d] = std::max<int64_t>(1, (extent + unit - 1) / unit);
        size.elements *= std::min(unit, std::max<int64_t>(extent, 1));
        size.groups *= groups_in(p.dimensions[d], unit);
    }
    return size;
}

}  // namespace

// More units along the dimensions in the order of their strides in x, as far as there is room; past the first that is
// cut an area has one.
area_grid cut_into_areas(const dynamic_plan &dynamic) {
    const plan &p = dynamic.quantize;
    const element_type &x = type_of(dynamic.how.x_type);
    area_grid grid;
    grid.may_quantize = p.elements > 0 && dynamic.rows_begin_at_bytes;
    area_size size = set_units(p, grid.may_quantize ? p.op.packed_unit() : 1, grid);
    const int64_t most = area_groups(dynamic);
    if (size.groups > most) {
        grid.may_quantize = false;
        size = set_units(p, 1, grid);
    }
    int order[most_dimensions];
    order_by_stride(p, order);
    grid.areas = 1;
    bool is_cut = false;
    for (int i = 0; i < p.dimension_count; i++) {
        const int d = order[i];
        const int64_t units = grid.count[d], unit = grid.extent[d];
        if (units > 1 && !is_cut) {
            const int64_t run = std::abs(p.dimensions[d].whole.x) == 1 ? area_run / unit : 1;
            const int64_t room = std::max(area_bytes / x.bytes() / size.elements, run);
            const int64_t taken = std::clamp<int64_t>(std::min(room, most / size.groups), 1, units);
            is_cut = taken < units;
            grid.extent[d] = taken * unit;
            grid.count[d] = std::max<int64_t>(1, p.dimensions[d].whole.extent / grid.extent[d]);
            size.elements *= taken;
            size.groups *= taken;
        }
        grid.areas *= grid.count[d];
    }
    return grid;
}

}  // namespace qdq::runtime
