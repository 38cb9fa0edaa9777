// Scales as they are stored: in a layout of tensor cores, or below one of the tensor's own.
#pragma once

#include "plan/plan.h"

namespace qdq::runtime {

// The codes of so many scales in a layout, in the order of rows: from place `first` on, `stride` places apart.
void gather(const scale_storage &how, const void *scales, int64_t first, int64_t stride, int64_t count, uint8_t *codes);

// What scales are worth below the tensor's own one.
void apply_global(qdq_global_sense sense, float global, float *scales, int64_t count);

}  // namespace qdq::runtime
