#include "cpu/execute.h"

#include "cpu/direct_call.h"
#include "cpu/float_environment.h"
#include "cpu/kernel_call.h"
#include "cpu/nest_runner.h"
#include "cpu/packing.h"
#include "cpu/threads.h"
#include "cpu/tile_runner.h"
#include "plan/dense_codes.h"
#include "plan/loops.h"
#include "plan/regions.h"
#include "plan/stochastic.h"

#include <algorithm>

namespace qdq::runtime {

namespace {

void order_stores(const call &op) {
    if (op.nontemporal) {
        op.target->nontemporal->fence();
    }
}

// A nest, or part of one, on the calling thread. Out of line for its memory: inlined, it would be on the stack of a
// caller that splits a nest, too, and twice beneath the parts that run there (clang 19: 87 KiB).
[[gnu::noinline]] void run_serially(const plan &p, const loop_nest &nest, const offsets &at, const void *x, void *y) {
    const float_environment environment;
    nest_runner(p.op, nest, x, y).run(at);
    order_stores(p.op);
}

struct parallel_run {
    const plan &p;
    const loop_nest &nest;
    offsets at;
    const void *x;
    void *y;
    int split;     // the loop that is divided
    int64_t step;  // its iterations in each part
};

void run_part(int64_t i, void *context) {
    const parallel_run &whole = *static_cast<const parallel_run *>(context);
    loop_nest nest = whole.nest;
    dimension &loop = nest.loops[whole.split];
    const int64_t first = i * whole.step;
    offsets at = whole.at;
    at.advance(loop, first);
    loop.extent = std::min(whole.step, loop.extent - first);
    run_serially(whole.p, nest, at, whole.x, whole.y);
}

void run_nest(const plan &p, const loop_nest &nest, const offsets &at, const void *x, void *y) {
    const int64_t parts = useful_parts(nest.elements(), p.op.tuned->part_elements);
    if (parts <= 1) {
        run_serially(p, nest, at, x, y);
        return;
    }
    // The longest loop, counting the contiguous one by what it may be cut into.
    const int64_t part_columns = p.op.tuned->part_columns;
    int split = 0;
    int64_t longest = nest.loops[0].extent / part_columns;
    for (int i = 1; i < nest.count; i++) {
        if (nest.loops[i].extent > longest) {
            split = i;
            longest = nest.loops[i].extent;
        }
    }
    // Parts of odd packed rows end at bytes, and those that pass the caches at lines.
    const dimension &loop = nest.loops[split];
    const int64_t extent = loop.extent, of_lines = rows_of_lines(p.op, loop.y);
    const bool ends_at_lines = p.op.nontemporal && extent >= parts * of_lines;
    const int64_t unit = split == 0 ? part_columns : ends_at_lines ? of_lines : p.op.packed_unit();
    const int64_t step = std::max<int64_t>((extent + parts - 1) / parts + unit - 1, unit) / unit * unit;
    parallel_run whole{p, nest, at, x, y, split, step};
    run_in_parallel((extent + step - 1) / step, run_part, &whole);
}

struct run_by_parts {
    const plan &p;
    const void *x;
    void *y;
};

void run_regular_part(void *context, const blocked_dimension *dimensions, int count, const offsets &at) {
    const run_by_parts &whole = *static_cast<const run_by_parts *>(context);
    loop_nest nest;
    normalize(whole.p.op, dimensions, count, nest);
    run_nest(whole.p, nest, at, whole.x, whole.y);
}

void run_parts(const plan &p, const void *x, void *y) {
    interval all[most_dimensions];
    for (int d = 0; d < p.dimension_count; d++) {
        all[d] = {0, p.dimensions[d].whole.extent};
    }
    run_by_parts whole{p, x, y};
    for_each_regular_part(p.dimensions, all, p.dimension_count, run_regular_part, &whole);
}

[[gnu::noinline]] void run_some_tiles(const plan &p, const interval *region, const void *x, void *y,
                                      const tile_visitor *visitor) {
    const float_environment environment;
    tile_runner(p, x, y, visitor).run(region);
    order_stores(p.op);
}

struct parallel_tiles {
    const plan &p;
    const void *x;
    void *y;
    const tile_visitor *visitor;
    int split;     // the dimension that is divided
    int64_t step;  // its steps in each part
};

void run_part_of_tiles(int64_t i, void *context) {
    const parallel_tiles &whole = *static_cast<const parallel_tiles *>(context);
    interval region[most_dimensions];
    for (int d = 0; d < whole.p.dimension_count; d++) {
        region[d] = {0, whole.p.dimensions[d].whole.extent};
    }
    interval &part = region[whole.split];
    part = {i * whole.step, std::min(whole.step, part.extent - i * whole.step)};
    run_some_tiles(whole.p, region, whole.x, whole.y, whole.visitor);
}

// By the longest dimension whose parts share no byte of packed codes: none outside it begins within one.
void run_tiles(const plan &p, const void *x, void *y, const tile_visitor *visitor) {
    const int64_t parts = useful_parts(p.elements, p.op.tuned->part_elements), unit = p.op.packed_unit();
    int split = p.dimension_count - 1;
    for (int d = split - 1; d >= 0 && steps_begin_at_bytes(p.op, p.dimensions + d, p.dimension_count - d); d--) {
        split = p.dimensions[d].whole.extent > p.dimensions[split].whole.extent ? d : split;
    }
    const int64_t extent = p.dimensions[split].whole.extent;
    parallel_tiles whole{p, x, y, visitor, split, ((extent + parts - 1) / parts + unit - 1) / unit * unit};
    if (parts == 1) {
        run_part_of_tiles(0, &whole);
    } else {
        run_in_parallel((extent + whole.step - 1) / whole.step, run_part_of_tiles, &whole);
    }
}

}  // namespace

void run_region(const plan &p, const interval *region, const void *x, void *y) {
    if (p.path == execution_path::tiles) {
        run_some_tiles(p, region, x, y, nullptr);
        return;
    }
    run_by_parts whole{p, x, y};
    for_each_regular_part(
        p.dimensions, region, p.dimension_count,
        [](void *context, const blocked_dimension *dimensions, int count, const offsets &at) {
            const run_by_parts &region_of = *static_cast<const run_by_parts *>(context);
            loop_nest nest;
            normalize(region_of.p.op, dimensions, count, nest);
            run_serially(region_of.p, nest, at, region_of.x, region_of.y);
        },
        &whole);
}

void prepare_direct_call(plan &p) {
    const call &op = p.op;
    if (p.path == execution_path::nest && !op.nontemporal && useful_parts(p.elements, op.tuned->part_elements) == 1) {
        set_direct_call(op, p.nest, p.direct);
    }
}

namespace {

// Out of line for what its ways keep on the stack: a direct call spends no time on that.
[[gnu::noinline]] void run_path(const plan &p, const void *x, void *y, const tile_visitor *visitor) {
    switch (p.path) {
    case execution_path::device: break;  // device_backend::run
    case execution_path::nest: run_nest(p, p.nest, {}, x, y); break;
    case execution_path::parts: run_parts(p, x, y); break;
    case execution_path::tiles: run_tiles(p, x, y, visitor); break;
    case execution_path::stochastic: qdq_linked_stochastic_rounding->run(p, x, y, nullptr); break;
    case execution_path::dense: p.op.target->dense->run(p, x, y); break;
    }
}

}  // namespace

void execute(const plan &p, const void *x, void *y, const tile_visitor *visitor) {
    if (!(p.direct.possible && call_directly(p.op, p.direct, x, y))) {
        run_path(p, x, y, visitor);
    }
}

}  // namespace qdq::runtime
