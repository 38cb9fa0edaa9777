// Scales and zero points as the kernels take them: f32 scales, and 32-bit zero points that are an int32 or an f32's
// bits. A chunk of a call converts those it needs into this buffer, so every operand type meets every kernel.
#pragma once

#include "problem.h"

namespace qdq {

constexpr int most_operands = 2048;  // schedules/mapping.cpp relies on it

struct operands {
    alignas(64) float scale[most_operands];
    alignas(64) int32_t zero_point[most_operands];
    int32_t variant;
};

bool can_load(qdq_dtype dtype);

// Loads `count` scales and zero points and picks the fastest kernel variant that is exact for all of them. Beyond
// `count`, up to a multiple of 64, it pads with scale 1 and zero point 0.
void load_operands(const call &what, int64_t scale_at, int64_t scale_stride, int64_t zero_point_at,
                   int64_t zero_point_stride, int64_t count, operands &loaded);

// Whether a zero point is 0 everywhere; else `bad` is the first place, counted row-major.
bool all_zero(const qdq_tensor &zero_point, const int64_t *strides, int64_t &bad);

}  // namespace qdq
