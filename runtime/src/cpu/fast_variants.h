// Which variants f32 scales allow. It is not in operands.h, so that programs that call kernels without the dispatcher
// link no conversion of operands.
#pragma once

#include "plan/plan.h"
#include "support/types.h"
#include "variants.h"

#include <bit>

namespace qdq::runtime {

// A range of f32 or int32 values by their bits, taken as unsigned integers. It may wrap: [-5, 5].
struct bit_range {
    uint32_t first, last;

    bool contains(uint32_t bits) const { return bits - first <= last - first; }
};

// The largest of (bits & mask) - first, of 32-bit values.
uint32_t most_above(const target &on, const void *values, int64_t count, uint32_t mask, uint32_t first);

// Whether all 32-bit values, or those bits of them that the mask keeps, are within a range.
inline bool all_within(const target &on, const void *values, int64_t count, bit_range range,
                       uint32_t mask = UINT32_MAX) {
    return count == 1 ? range.contains(element<uint32_t>(values, 0) & mask)
                      : most_above(on, values, count, mask, range.first) <= range.last - range.first;
}

// The scales that the fast variants divide by, and that they multiply codes by.
inline constexpr bit_range divisors{smallest_divisor, largest_divisor};
bit_range factors_of(qdq_dtype codes);

// What f32 scales allow: the fast variants, and to take subnormal numbers for zeros.
struct scale_abilities {
    bool fast, flushes;
};
scale_abilities abilities_of(const call &op, const float *scale, int64_t count);

// The scales that allow both, as far as the call does: those of nearly all calls.
inline bit_range usual_scales(const call &op) { return op.quantizes() ? divisors : factors_of(op.x_type); }

// Whether to take subnormal numbers for zeros makes a call faster, and its scales are to decide.
bool may_flush_subnormals(const call &op);

// What one scale allows. `may_flush`: as of the call.
inline scale_abilities abilities_of_one(const call &op, bool may_flush, float scale) {
    return usual_scales(op).contains(std::bit_cast<uint32_t>(scale)) ? scale_abilities{true, may_flush}
                                                                     : abilities_of(op, &scale, 1);
}

// Whether a form has no such variant, and the column form takes its place.
bool needs_column(const call &op, kernel_form form, int32_t variant);

// The fast variant of a call, that multiplies or divides.
quantize_variant fast_variant(const call &op, bool multiplies);

// Whether x is multiplied by what kernels take for the scale, and the scale itself is what they take for its inverse.
bool multiplies_by_reciprocals(const call &op, int32_t variant);

// The zero points that the fast variants take.
inline bit_range small_zero_points(const call &op) {
    const uint32_t most = op.quantizes() && op.codes().bits <= 8 ? small_zero_point_of_bytes : small_zero_point;
    return {-most, most};
}

// The variant of a call whose scales are fast, and whose zero points are small.
int32_t plain_variant(const call &op);

// Whether each is 0, or its magnitude is within a range.
template<typename T> bool all_zero_or_within(const T *values, int64_t count, bit_range magnitudes) {
    uint32_t outside = 0;
    for (int64_t i = 0; i < count; i++) {
        const uint32_t magnitude = std::bit_cast<uint32_t>(values[i]) & 0x7fffffffu;
        outside |= magnitude != 0 && !magnitudes.contains(magnitude);
    }
    return outside == 0;
}

}  // namespace qdq::runtime
