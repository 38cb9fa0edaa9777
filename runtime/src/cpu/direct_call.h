// A whole call as one call of a kernel: what makes calls of few elements fast.
#pragma once

#include "plan/plan.h"
#include "plan/regions.h"

namespace qdq::runtime {

// Fills `direct` where one kernel call computes a nest, else leaves it impossible.
void set_direct_call(const call &op, const loop_nest &nest, direct_call &direct);

// The kernel call, where it is possible; false where its operands ask for more than that.
// `nontemporal`: by the form's kernel whose stores bypass the caches, as bypasses_caches_directly allows.
bool call_directly(const call &op, const direct_call &direct, const void *x, void *y, bool nontemporal = false);

// The same at offsets from what the call and the pointers name.
bool call_directly(const call &op, const direct_call &direct, const offsets &at, const void *x, void *y,
                   bool nontemporal = false);

// Whether there is such a kernel for it, and every row of y begins at a cache line.
bool bypasses_caches_directly(const call &op, const direct_call &direct, const void *y);

}  // namespace qdq::runtime
