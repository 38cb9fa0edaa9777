// Runs dynamic plans: reduces the elements that share a scale, computes it, and quantizes them, area by area while they
// are in the caches.
#pragma once

#include "plan/dynamic_plan.h"

namespace qdq::runtime {

// Scales and zero points alone.
void compute_scales(const dynamic_plan &p, const dynamic_tensors &at);

// And y. A plan with elements.
void quantize_dynamic(const dynamic_plan &p, const dynamic_tensors &at);

}  // namespace qdq::runtime
