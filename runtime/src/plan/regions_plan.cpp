// Plans that run region by region, or always by tiles, apart: programs that have no such calls do not link them.
#include "plan/loops.h"
#include "plan/make_plan.h"

#include <algorithm>

namespace qdq::runtime {

void set_regions(plan &p, merge_order order) {
    blocked_dimension ordered[most_dimensions] = {{{1, 1, 1, 0, 0}, 1}};
    const int count = order_dimensions(p.dimensions, p.dimension_count, order, ordered);
    plan whole = p;
    choose_path(whole);
    set_tiles(p, ordered, std::max(count, 1));
    p.path = whole.path == execution_path::tiles ? execution_path::tiles : execution_path::parts;
}

qdq_status make_plan_of_regions(const arguments &given, plan &result, bool *bypasses_caches) {
    const qdq_status status = check_call(given, result);
    if (!status && runs_on_host(result) && result.path != execution_path::stochastic) {
        if (bypasses_caches) {
            *bypasses_caches = result.op.nontemporal;
            result.op.nontemporal = false;
        }
        set_regions(result, result.op.quantizes() ? merge_order::of_x_strides : merge_order::of_strides);
    }
    return status;
}

void go_by_tiles(plan &p) {
    if (p.path != execution_path::tiles) {
        blocked_dimension ordered[most_dimensions];
        set_tiles(p, ordered, order_for_tiles(p.op, p.dimensions, p.dimension_count, ordered));
    }
}

}  // namespace qdq::runtime
