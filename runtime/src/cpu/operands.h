// Scales and zero points as the kernels take them: f32 scales and their reciprocals, and 32-bit zero points that are an
// int32 or an f32's bits. A part of a call converts those it needs into buffers, so every operand type meets every
// kernel, and small kernel calls share one conversion.
#pragma once

#include "plan/plan.h"
#include "variants.h"

#include <bit>

namespace qdq::runtime {

constexpr int64_t spare_operands = 64;  // kernels that take operands by vectors read so many past the last

// Which operands: places in the caller's arrays, `count` of each.
struct operand_range {
    int64_t scale, scale_stride, zero_point, zero_point_stride;
    int64_t count;
};

// What kernels without a zero point are given, and most do not read.
const int32_t *no_zero_points();

// In memory of the caller's, but for scales that lie ready: f32, one after another, whole groups of them.
class operands {
public:
    // At most `room()` operands at a time fit into so many bytes, which begin at a cache line and which the arrays that
    // a call needs share. Scales that lie ready need none, and are taken as columns only.
    operands(const call &what, void *memory, int64_t bytes, bool scales_lie_ready = false);
    operands(const operands &) = delete;

    int64_t room() const { return most; }

    // The room that calls of the most arrays, of scales, inverses and zero points, have in so many bytes.
    static constexpr int64_t least_room(int64_t bytes) { return room_of_array(array_bytes(bytes, 3)); }

    const float *scale;
    const float *inverse;       // of scales that divide; else any memory, which no kernel reads
    const int32_t *zero_point;  // zeros without one
    bool flushes = false;       // whether subnormal numbers may be zeros, as flushes_subnormals says, for the kernels

    // Converts a range into places [first, first + count) of the buffers.
    void read(const operand_range &range, int64_t first);

    // The fastest kernel variant that is exact for the first `count` operands, which it completes for that variant.
    int32_t choose_variant(int64_t count);

    // Both, for a range from place 0 on.
    int32_t load(const operand_range &range);

    // The same for kernels that read no operand past the range: scales stay where they are, if they lie ready there.
    int32_t load_exactly(const operand_range &range);

    // The same, padded, for a range that is used as a kernel's columns.
    int32_t load_columns(const operand_range &range);

    // Puts every one of the first `count` operands `times` over, in order.
    void repeat(int64_t count, int64_t times);

    // Puts the first `count` operands over and over, one after another, up to so many places.
    void make_periodic(int64_t count, int64_t places);

    // Puts harmless operands after the first `count`.
    void pad(int64_t count);

private:
    const call &what;
    int64_t most;
    float *own_scale;         // NULL where scales lie ready
    float *own_inverse;       // NULL where nothing divides
    int32_t *own_zero_point;  // NULL without a zero point

    // Whole cache lines.
    static constexpr int64_t array_bytes(int64_t bytes, int64_t arrays) { return bytes / arrays / 64 * 64; }
    static constexpr int64_t room_of_array(int64_t bytes) {
        return (bytes / int64_t{sizeof(float)} - spare_operands) / group * group;
    }

    // Calls change(buffer, a harmless operand) for each that a call has, of scales of its own.
    template<typename Change> void for_each_buffer(Change change);

    void use_scales(const float *at);
    int32_t load_where_they_lie(const operand_range &range);
    void read_zero_points(const operand_range &range, int64_t first);
    int32_t choose_quantize(int64_t count);
    int32_t choose_dequantize(int64_t count);
};

// Whether scales so far from one another lie as kernels read them.
bool scales_lie_ready(const call &what, int64_t stride);

// Whether a variant exists in the column form alone.
bool needs_column(const call &what, int32_t variant);

constexpr bit_range divisors{smallest_divisor, largest_divisor};

// The f32 scales that the fast variants take.
inline bit_range fast_scale(const call &what) {
    if (!what.quantizes()) {
        // Float formats scale it up, and an infinite code times 0 is NaN.
        return {smallest_scale, type_of(what.x_type).is_integer() ? 0x7f7fffffu : (127u + 100) << 23};
    }
    if (!what.multiply || what.encode) {
        return divisors;
    }
    // Where NaN has a code of its own, x alone is to decide what is NaN: 0 times infinity is, too.
    const bool any = type_of(what.y_type).is_integer() && !what.nan_is_zero;
    return any ? bit_range{0, UINT32_MAX} : bit_range{1, 0x7f7fffffu};
}

inline bool all_magnitudes_within(const float *values, int64_t count, bit_range range) {
    bool within = true;
    for (int64_t i = 0; i < count; i++) {
        within &= range.contains(std::bit_cast<uint32_t>(values[i]) & 0x7fffffffu);
    }
    return within;
}

inline bool may_flush_subnormals(const call &what) {
    const bool to_one_side = what.rounding == QDQ_DOWN || what.rounding == QDQ_UP;
    return what.quantizes() && what.x_type != QDQ_F16 && !to_one_side;
}

// Whether quantize gives the same codes where a subnormal number is taken for a zero of its sign, as an operand and as
// a result. Processors are slow with it: f32 to i8 by AVX-512 takes 0.085 ns an element, and took 5.3 for |x| below
// 1e-30.
//
// It does with scales whose magnitudes are divisors, in [2^-60, 2^60], rounded to nearest or toward zero:
// - A subnormal x is a t below 2^-66, as a product and as a quotient, and a subnormal t is below 2^-126.
// - divide_by_reciprocal (generators/arithmetic.h) loses a remainder below 2^-126. That moves t by a unit at most, and
//   only if it is more than 2^-25 of x: x is below 2^-101 then, and t below 2^-40.
// So t differs where it is below 2^-40 before and after. Such a t rounds to 0, or to a float's zero (the least code is
// 2^-17), whose sign is that of x or of t, and neither is lost. With a zero point before rounding, t + z is z for a z
// from 2^-14 on, and for a smaller one it is far below one half, as it is where z itself is subnormal.
// - All else that kernels compute is integral, or the type's own numbers: none is subnormal but 0.
// Rounded up and down, a tiny t becomes 1 or -1 by its sign, and zero does not. With other scales t may be large:
// 2^-130 times 2^127, or divided by 2^-130. An x of f16 is from 2^-24 on and meets no subnormal number.
inline bool flushes_subnormals(const call &what, const float *scale, int64_t count) {
    return may_flush_subnormals(what) && all_magnitudes_within(scale, count, divisors);
}

// The variant of a call with one f32 scale within fast_scale and no zero point.
int32_t plain_variant(const call &what);
bool all_within(const float *values, int64_t count, bit_range range);

}  // namespace qdq::runtime
