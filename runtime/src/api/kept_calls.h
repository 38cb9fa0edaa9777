// What a thread keeps of its last calls, so that one that comes again needs no plan: that takes 100 ns, a call of 64
// elements 30.
#pragma once

#include "plan/make_plan.h"

namespace qdq::runtime {

// Runs a call if one is kept that differs in nothing but the contents of its tensors. False: there is none, or its
// operands ask for a plan.
bool run_kept(const arguments &given);

// Keeps a call whose plan is one kernel call, unless contents or the number of threads have decided something.
void keep(const arguments &given, const plan &p);

}  // namespace qdq::runtime
