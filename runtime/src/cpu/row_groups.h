// Runs groups of rows on the processor.
#pragma once

#include "plan/row_groups.h"

namespace qdq::runtime {

// Calls run(group, context) for each: for large groups one after another, as each is split over threads, and for the
// others in any order, by several threads. `of_all` is a plan of all rows.
void run_groups(const row_groups &groups, const plan &of_all, void (*run)(int64_t group, const void *context),
                const void *context);

}  // namespace qdq::runtime
