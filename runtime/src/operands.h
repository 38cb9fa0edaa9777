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

// Which operands: places in the caller's arrays, `count` of each.
struct operand_range {
    int64_t scale, scale_stride, zero_point, zero_point_stride;
    int64_t count;
};

// Fills up with scale 1 and zero point 0 to a multiple of 64, for kernels that take operands by vectors.
void pad_operands(operands &loaded, int64_t count);

// The variants of a call with one f32 scale and no zero point: for a scale within `fast_scale`, and for the others.
struct plain_variants {
    int32_t within, outside;
};
plain_variants variants_without_zero_point(const call &what);

// The scales for which a variant without zero point is exact.
bit_range fast_scale(const call &what);

// Loads scales and zero points; returns the fastest kernel variant that is exact for all of them.
int32_t load_operands(const call &what, const operand_range &range, float *scale, int32_t *zero_point);

// Whether a zero point is 0 everywhere; else `bad` is the first place, counted row-major.
bool all_zero(const qdq_tensor &zero_point, const int64_t *strides, int64_t &bad);

}  // namespace qdq
