#include "cpu/copied_areas.h"

#include "cpu/cache_lines.h"
#include "cpu/movement.h"
#include "plan/loops.h"
#include "plan/make_plan.h"
#include "support/types.h"

#include <algorithm>

namespace qdq::runtime {

namespace {

constexpr int64_t short_run = 16;             // consecutive elements
constexpr int64_t fewest_elements = 1 << 11;  // of x: for fewer the plans of copies take as long as the copies win

// Consecutive elements of x.
int64_t run_of_x(const plan &p, const area_grid &grid) {
    int64_t run = 1;
    for (int i = 0; i < p.dimension_count; i++) {
        const dimension &w = p.dimensions[grid.order[i]].whole;
        run *= distance_of(w.x) == static_cast<uint64_t>(run) ? w.extent : 1;
    }
    return run;
}

// Whether areas have all that they read of most cache lines of x.
bool have_whole_lines(const plan &p, const area_grid &grid) {
    for (int i = 0; i < p.dimension_count; i++) {
        const int d = grid.order[i];
        const dimension &w = p.dimensions[d].whole;
        const auto pitch = static_cast<int64_t>(distance_of(w.x)) * (p.op.x_bits / 8);
        if (w.extent > 1 && pitch > 0) {
            return grid.extent[d] >= std::min(w.extent, 4 * line / pitch);
        }
    }
    return true;
}

// The path of codes whose areas have such a shape.
execution_path path_of_areas(const plan &coded, const interval *box) {
    plan of_area = coded;
    for (int d = 0; d < coded.dimension_count; d++) {
        dimension &w = of_area.dimensions[d].whole;
        w.extent = box[d].extent;
    }
    choose_path(of_area);
    return of_area.path;
}

}  // namespace

bool copies_areas(const dynamic_plan &p) {
    const plan &base = p.quantize;
    if (base.path != execution_path::tiles || !p.codes_have_areas || p.diagnostics || p.candidates.count > 1 ||
        base.elements < fewest_elements) {
        return false;
    }
    const area_grid grid = cut_into_areas(p, copied_bytes);
    const int64_t bytes = grid.elements * base.op.x_bits / 8;
    return bytes <= copied_bytes && bytes >= copied_bytes / 4 && run_of_x(base, grid) < short_run &&
           have_whole_lines(base, grid);
}

bool area_copy::copy(const void *x, const interval *box) {
    const int count = of_x.quantize.dimension_count;
    const bool is_new =
        !std::equal(shape, shape + count, box, [](int64_t extent, const interval &i) { return extent == i.extent; });
    if (is_new) {
        set_shape(box);
    }
    move_loop loops[most_dimensions];
    int64_t from = 0, to = 0;
    for (int d = 0; d < count; d++) {
        const int64_t stride = of_x.quantize.dimensions[d].whole.x, own = coded.dimensions[d].whole.x;
        loops[d] = {box[d].extent, stride, own};
        from += box[d].start * stride;
        to += box[d].start * own;
    }
    const int bits = type_of(of_x.how.x_type).bits;
    move(*of_x.quantize.op.target, bits, address(static_cast<const char *>(x), from, bits), memory, loops, count);
    begin = address(memory, -to, bits);
    return is_new;
}

void area_copy::set_shape(const interval *box) {
    int64_t stride = 1;
    for (int d = 0; d < of_x.quantize.dimension_count; d++) {
        shape[d] = box[d].extent;
        coded.dimensions[d].whole.x = reduced.quantize.dimensions[d].whole.x = stride;
        stride *= box[d].extent;
    }
    coded.path = path_of_areas(coded, box);
}

}  // namespace qdq::runtime
