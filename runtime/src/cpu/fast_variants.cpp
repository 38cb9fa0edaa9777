#include "cpu/fast_variants.h"

#include "cpu/avx2.h"
#include "support/types.h"

#include <algorithm>

namespace qdq::runtime {

namespace {

bool rounds_to_one_side(const call &op) { return op.rounding == QDQ_DOWN || op.rounding == QDQ_UP; }

// Whether a quotient may be so small that it is 0, and its code tells that from any other. divide_by_reciprocal
// (generators/arithmetic.h) errs there by a unit; by divisors up to 1 neither x nor its product with the reciprocal
// becomes 0. An x of f16 is from 2^-24 on.
bool is_seen_if_tiny(const call &op) { return rounds_to_one_side(op) && op.x_type != QDQ_F16; }

// The f32 scales that the fast variants take.
bit_range fast_scale(const call &op) {
    if (!op.quantizes()) {
        return factors_of(op.x_type);
    }
    if (!op.multiply) {
        return is_seen_if_tiny(op) ? bit_range{smallest_divisor, std::bit_cast<uint32_t>(1.0f)} : divisors;
    }
    // Where NaN has a code of its own, x alone is to decide what is NaN: 0 times infinity is, too.
    const bool any = type_of(op.y_type).is_integer() && !op.nan_is_zero;
    return any ? bit_range{0, UINT32_MAX} : bit_range{1, 0x7f7fffffu};
}

// The largest of (bits & mask) - first.
template<bool vectors>
[[gnu::always_inline]] inline uint32_t most_above(const float *values, int64_t count, uint32_t mask, uint32_t first) {
    uint32_t most = 0;
    for (int64_t i = 0; i < count; i++) {
        most = std::max(most, (std::bit_cast<uint32_t>(values[i]) & mask) - first);
        if constexpr (!vectors) {
            asm volatile("");
        }
    }
    return most;
}

QDQ_PORTABLE uint32_t most_above_portably(const float *values, int64_t count, uint32_t mask, uint32_t first) {
    return most_above<portable_vectors>(values, count, mask, first);
}

// Without these vectors a scale for each element took longer here than in the kernel (f8e4m3 to bf16).
QDQ_AVX2 uint32_t most_above_avx2(const float *values, int64_t count, uint32_t mask, uint32_t first) {
    return most_above<true>(values, count, mask, first);
}

// Whether all values, or those bits of them that the mask keeps, are within a range.
[[gnu::noinline]] bool all_within(const target &on, const float *values, int64_t count, bit_range range,
                                  uint32_t mask = UINT32_MAX) {
    if (count == 1) {
        return range.contains(std::bit_cast<uint32_t>(*values) & mask);
    }
    auto *const most = runs_avx2(on) ? most_above_avx2 : most_above_portably;
    return most(values, count, mask, range.first) <= range.last - range.first;
}

constexpr uint32_t magnitude = 0x7fffffff;

bool may_flush_subnormals(const call &op) { return op.quantizes() && op.x_type != QDQ_F16 && !rounds_to_one_side(op); }

}  // namespace

bit_range factors_of(qdq_dtype codes) {
    // Float formats scale it up, and an infinite code times 0 is NaN.
    return {smallest_scale, type_of(codes).is_integer() ? 0x7f7fffffu : (127u + 100) << 23};
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
scale_abilities abilities_of(const call &op, const float *scale, int64_t count) {
    if (!op.quantizes()) {
        const bit_range fast = fast_scale(op);
        const bool zero_too = type_of(op.x_type).is_integer();
        return {all_within(*op.target, scale, count, fast) || (zero_too && all_zero_or_within(scale, count, fast)),
                false};
    }
    if (all_within(*op.target, scale, count, op.multiply ? divisors : fast_scale(op))) {  // as a rule
        return {true, may_flush_subnormals(op)};
    }
    return {op.multiply && all_within(*op.target, scale, count, fast_scale(op)),
            may_flush_subnormals(op) && all_within(*op.target, scale, count, divisors, magnitude)};
}

quantize_variant fast_variant(const call &op) {
    using enum quantize_variant;
    if (op.rounding != QDQ_NEAREST_EVEN) {
        return op.multiply ? rounded_multiply : rounded_divide;
    }
    const element_type &codes = type_of(op.y_type);
    if (!(codes.is_integer() || codes.roles.floats) || (!op.zero_point && !op.narrowed)) {
        return op.multiply ? multiply : divide;
    }
    // i32 narrows its range in every variant.
    if (op.y_type == QDQ_I32 && !op.zero_point) {
        return op.multiply ? multiply : divide;
    }
    if (op.adds_before_rounding) {
        return op.multiply ? multiply_before : divide_before;
    }
    return op.multiply ? multiply_after : divide_after;
}

bool needs_column(const call &op, kernel_form form, int32_t variant) {
    if (op.quantizes()) {
        const auto first =
            form == kernel_form::block ? quantize_variant::rounded_multiply : quantize_variant::general_multiply;
        return variant >= static_cast<int32_t>(first);
    }
    return variant >= static_cast<int32_t>(dequantize_variant::general);
}

int32_t plain_variant(const call &op) {
    return op.quantizes() ? static_cast<int32_t>(fast_variant(op)) : static_cast<int32_t>(dequantize_variant::plain);
}

}  // namespace qdq::runtime
