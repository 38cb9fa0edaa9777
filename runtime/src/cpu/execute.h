// Runs a plan on the processor, by the path that it names.
#pragma once

#include "plan/plan.h"
#include "plan/regions.h"

namespace qdq::runtime {

struct tile_visitor;

// Finds out whether a plan may be one direct call of one kernel.
void prepare_direct_call(plan &p);

// A plan that goes by tiles may have a visitor, which threads call at once; then `y` may be NULL.
void execute(const plan &p, const void *x, void *y, const tile_visitor *visitor = nullptr);

// A region of a plan by parts or tiles, on the calling thread.
void run_region(const plan &p, const interval *region, const void *x, void *y);

}  // namespace qdq::runtime
