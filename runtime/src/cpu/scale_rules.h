// Scales and zero points of extremes: the arithmetic of qdq_scale_rule, in default floating-point modes.
#pragma once

#include "cpu/reduction.h"

namespace qdq::runtime {

// The bits of so many scales in their type, and zero points where the rule has such. At most most_groups.
void compute_scales(const scale_computation &how, const extremes &found, int64_t count, uint32_t *scales,
                    int32_t *zero_points);

}  // namespace qdq::runtime
