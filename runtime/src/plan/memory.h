// What memory x and y share.
#pragma once

#include "plan/plan.h"

namespace qdq::runtime {

// The rules about x's and y's memory, for a run with these addresses.
qdq_status check_overlap(const char *function, const plan &p, const void *x, const void *y);

}  // namespace qdq::runtime
