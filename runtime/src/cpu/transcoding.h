// Codes of one kind as codes of another, by way of f32 in the L1 cache.
#pragma once

#include "plan/plan.h"

namespace qdq::runtime {

// Plans of regions, with the same extents: of dequantizing x to a dense f32 tensor, which is never whole, and of
// quantizing that to y.
struct transcoding {
    plan dequantize, quantize;
    bool bypasses_caches;  // where kernels store y
};

void transcode(transcoding &plans, const void *x, void *y);

}  // namespace qdq::runtime
