// Scales and zero points as the kernels take them: f32 scales and their reciprocals, and 32-bit zero points that are an
// int32 or an f32's bits. A part of a call converts those it needs into this buffer, so every operand type meets every
// kernel, and small kernel calls share one conversion.
#pragma once

#include "plan/plan.h"

namespace qdq::runtime {

// Rows of so many columns, each with its operand, are worked on whole: in quarters, 64 Mi elements from f32 to i8
// take 1.4 times as long.
constexpr int64_t most_operands = 8192;
constexpr int64_t spare_operands = 64;  // kernels that take operands by vectors read so many past the last

struct operands {
    alignas(64) float scale[most_operands + spare_operands];
    alignas(64) float inverse[most_operands + spare_operands];
    alignas(64) int32_t zero_point[most_operands + spare_operands];
};

// Which operands: places in the caller's arrays, `count` of each.
struct operand_range {
    int64_t scale, scale_stride, zero_point, zero_point_stride;
    int64_t count;
};

// Converts a range into loaded[first...].
void read_operands(const call &what, const operand_range &range, operands &loaded, int64_t first);

// The fastest kernel variant that is exact for the first `count` operands, which it completes for that variant.
int32_t choose_variant(const call &what, operands &loaded, int64_t count);

// Whether a variant exists in the column form alone.
bool needs_column(const call &what, int32_t variant);

// Puts every one of the first `count` operands that the call needs `times` over, in order.
void repeat_operands(const call &what, operands &loaded, int64_t count, int64_t times);

// Puts the first `count` operands `times` over, one after another.
void cycle_operands(operands &loaded, int64_t count, int64_t times);

// Puts harmless operands after the first `count`.
void pad_operands(operands &loaded, int64_t count);

// The variant of a call with one f32 scale within fast_scale and no zero point.
int32_t plain_variant(const call &what);
bit_range fast_scale(const call &what);

}  // namespace qdq::runtime
