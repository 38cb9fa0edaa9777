#include "cpu/region_runner.h"

#include "cpu/cache_lines.h"
#include "cpu/direct_call.h"
#include "cpu/execute.h"
#include "cpu/movement.h"
#include "plan/loops.h"

#include <algorithm>

namespace qdq::runtime {

region_runner::~region_runner() {
    if (has_bypassed_caches) {
        p.op.target->nontemporal->fence();
    }
}

void region_runner::run(const interval *region, const void *x, void *y) {
    if (!is_as_prepared(region)) {
        prepare(region);
    }
    if (!direct.possible || !run_directly(region, x, y)) {
        run_region(p, region, x, y);
    }
}

// Whether it has the shape of the prepared one, and begins as far from blocks' ends: it is as many parts then.
bool region_runner::is_as_prepared(const interval *region) const {
    for (int d = 0; d < p.dimension_count; d++) {
        const auto &[whole, block] = p.dimensions[d];
        const int64_t moved = region[d].start - prepared[d].start;
        if (region[d].extent != prepared[d].extent || (moved != 0 && whole.varies() && moved % block != 0)) {
            return false;
        }
    }
    return true;
}

void region_runner::prepare(const interval *region) {
    struct parts {
        const call &op;
        loop_nest first;
        int count;
    } all{p.op, {}, 0};
    direct.possible = false;
    std::copy_n(region, p.dimension_count, prepared);
    if (p.path == execution_path::tiles || p.op.stored.is_arranged) {
        return;
    }
    for_each_regular_part(
        p.dimensions, region, p.dimension_count,
        [](void *context, const blocked_dimension *dimensions, int count, const offsets &) {
            parts &found = *static_cast<parts *>(context);
            if (found.count++ == 0) {
                normalize(found.op, dimensions, count, found.first);
            }
        },
        &all);
    if (all.count == 1) {
        set_direct_call(p.op, all.first, direct);
    }
}

bool region_runner::run_directly(const interval *region, const void *x, void *y) {
    offsets first;
    for (int d = 0; d < p.dimension_count; d++) {
        const auto &[whole, block] = p.dimensions[d];
        const int64_t operand = whole.varies() ? region[d].start / block : 0;
        first.x += region[d].start * whole.x;
        first.y += region[d].start * whole.y;
        first.scale += operand * whole.scale;
        first.zero_point += operand * whole.zero_point;
    }
    const char *const codes = address(static_cast<const char *>(y), first.y, p.op.y_bits);
    const bool nontemporal = bypasses_caches && bypasses_caches_directly(p.op, direct, codes);
    has_bypassed_caches = has_bypassed_caches || nontemporal;
    return call_directly(p.op, direct, first, x, y, nontemporal);
}

}  // namespace qdq::runtime
