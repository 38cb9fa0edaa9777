// Runs dynamic plans: reduces the elements that share a scale, computes it, and quantizes them, area by area while they
// are in the caches.
#pragma once

#include "plan/dynamic_plan.h"

namespace qdq::runtime {

// Finds what is one kernel call of a plan that has been made, so that runs need not. On the host; else without effect.
void prepare(dynamic_plan &p);

// Scales and zero points alone.
void compute_scales(const dynamic_plan &p, const dynamic_tensors &at);

// And y. A plan with elements.
void quantize_dynamic(const dynamic_plan &p, const dynamic_tensors &at);

// Whether two plans on the host that share areas are run box by box, by one thread.
bool shares_boxes(const dynamic_plan &p, const dynamic_plan &q);

// Both of a pair with elements, one after the other in each box of whole areas, so that x comes from memory once.
void quantize_dynamic_pair(const dynamic_pair &pair);

}  // namespace qdq::runtime
