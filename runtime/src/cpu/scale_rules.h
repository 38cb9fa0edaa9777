// Scales and zero points of extremes: the arithmetic of qdq_scale_rule, in default floating-point modes.
#pragma once

#include "cpu/reduction.h"

namespace qdq::runtime {

// The bits of so many scales in their type, and zero points where the rule has such.
void compute_scales(const target &on, const scale_computation &how, const extremes &found, int64_t count,
                    uint32_t *scales, int32_t *zero_points);

// What they are worth as x is divided by them, with the tensor's own scale.
void values_of_scales(const target &on, const scale_computation &how, const uint32_t *scales, int64_t count,
                      float *values);

// The numbers that extremes of so many groups stand for: the lowest, 0 where none is below it, and the highest.
void values_of_extremes(qdq_dtype x, const extremes &found, int64_t count, float *lowest, float *highest);

// The tensor's own scale by the largest magnitude of its elements, of which the largest product of a scale and a value
// is to be.
float global_of_amax(qdq_global_sense sense, float amax, float largest);

}  // namespace qdq::runtime
