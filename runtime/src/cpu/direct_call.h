// A whole call as one call of a kernel: what makes calls of few elements fast.
#pragma once

#include "plan/plan.h"

namespace qdq::runtime {

// Fills `direct` where one kernel call computes a nest, else leaves it impossible.
void set_direct_call(const call &op, const loop_nest &nest, direct_call &direct);

// The kernel call, where it is possible; false where its operands ask for more than that.
bool call_directly(const call &op, const direct_call &direct, const void *x, void *y);

}  // namespace qdq::runtime
