#include "cpu/fast_variants.h"

#include "cpu/avx2.h"
#include "support/types.h"
#include "targets/cpu_features.h"

#include <algorithm>
#include <cstring>

namespace qdq::runtime {

namespace {

bool rounds_to_one_side(const call &op) { return op.rounding == QDQ_DOWN || op.rounding == QDQ_UP; }

// The f32 scales by which the fast variants multiply x. Where NaN has a code of its own, x alone is to decide what is
// NaN: 0 times infinity is, too.
bit_range fast_factors(const call &op) {
    const bool any = type_of(op.y_type).is_integer() && !op.nan_is_zero;
    return any ? bit_range{0, UINT32_MAX} : bit_range{1, 0x7f7fffffu};
}

// The largest of (bits & mask) - first.
QDQ_PORTABLE uint32_t most_above_portably(const void *values, int64_t count, uint32_t mask, uint32_t first) {
    uint32_t most = 0;
    for (int64_t i = 0; i < count; i++) {
        most = std::max(most, (element<uint32_t>(values, i) & mask) - first);
        if constexpr (!portable_vectors) {
            asm volatile("");
        }
    }
    return most;
}

// By two vectors at once, as one waits for itself, and the last of them may overlap. By one vector of AVX2 a scale for
// each element took longer here than in the kernel (i4 to bf16).
template<typename Vector>
[[gnu::always_inline]] inline uint32_t most_above(const void *values, int64_t count, uint32_t mask, uint32_t first) {
    constexpr int64_t lanes = sizeof(Vector) / sizeof(uint32_t);
    Vector even = {}, odd = {};
    const auto raise = [=](Vector &most, int64_t i) __attribute__((always_inline)) {
        Vector above;
        std::memcpy(&above, static_cast<const uint32_t *>(values) + i, sizeof(above));
        above = (above & mask) - first;
        most = above > most ? above : most;
    };
    int64_t i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
        raise(even, i);
        raise(odd, i + lanes);
    }
    if (i + lanes <= count) {
        raise(even, i);
    }
    raise(odd, count - lanes);
    even = even > odd ? even : odd;
    uint32_t most = 0;
    for (int64_t k = 0; k < lanes; k++) {
        most = std::max(most, even[k]);
    }
    return most;
}

QDQ_AVX2 uint32_t most_above_avx2(const void *values, int64_t count, uint32_t mask, uint32_t first) {
    using vector [[gnu::vector_size(32)]] = uint32_t;
    return most_above<vector>(values, count, mask, first);
}

QDQ_AVX512 uint32_t most_above_avx512(const void *values, int64_t count, uint32_t mask, uint32_t first) {
    using vector [[gnu::vector_size(64)]] = uint32_t;
    return most_above<vector>(values, count, mask, first);
}

constexpr uint32_t magnitude = 0x7fffffff;

}  // namespace

bool may_flush_subnormals(const call &op) {
    return op.quantizes() && op.x_type != QDQ_F16 && !rounds_to_one_side(op) && slow_with_subnormals();
}

uint32_t most_above(const target &on, const void *values, int64_t count, uint32_t mask, uint32_t first) {
    auto *const by = count >= 16 && runs_avx512(on) ? most_above_avx512
                     : count >= 8 && runs_avx2(on)  ? most_above_avx2
                                                    : most_above_portably;
    return by(values, count, mask, first);
}

bit_range factors_of(qdq_dtype codes) {
    // Float formats scale it up, and an infinite code times 0 is NaN.
    return {smallest_scale, type_of(codes).is_integer() ? 0x7f7fffffu : (127u + 100) << 23};
}

// Whether quantize gives the same codes where a subnormal number is taken for a zero of its sign, as an operand and as
// a result. Most processors are slow with it: f32 to i8 by AVX-512 takes 0.085 ns an element, and took 5.3 for |x|
// below 1e-30.
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
    if (all_within(*op.target, scale, count, usual_scales(op))) {
        return {true, may_flush_subnormals(op)};
    }
    if (!op.quantizes()) {
        return {type_of(op.x_type).is_integer() && all_zero_or_within(scale, count, factors_of(op.x_type)), false};
    }
    return {op.multiply && all_within(*op.target, scale, count, fast_factors(op)),
            may_flush_subnormals(op) && all_within(*op.target, scale, count, divisors, magnitude)};
}

quantize_variant fast_variant(const call &op, bool multiplies) {
    using enum quantize_variant;
    if (op.rounding != QDQ_NEAREST_EVEN) {
        return multiplies ? rounded_multiply : rounded_divide;
    }
    const element_type &codes = type_of(op.y_type);
    const bool is_narrowed = op.narrowed && op.y_type != QDQ_I32;  // i32 narrows its range in every variant
    if (!(codes.is_integer() || codes.roles.floats) || (!op.zero_point && !is_narrowed)) {
        return multiplies ? multiply : divide;
    }
    if (op.adds_before_rounding) {
        return multiplies ? multiply_before : divide_before;
    }
    return multiplies ? multiply_after : divide_after;
}

bool multiplies_by_reciprocals(const call &op, int32_t variant) {
    using enum quantize_variant;
    const auto own = static_cast<quantize_variant>(variant);
    return op.reciprocal || (!op.multiply && (own <= multiply_before || own == rounded_multiply));
}

bool needs_column(const call &op, kernel_form form, int32_t variant) {
    if (op.quantizes()) {
        const auto first =
            form == kernel_form::block ? quantize_variant::rounded_multiply : quantize_variant::general_multiply;
        return variant >= static_cast<int32_t>(first);
    }
    const auto its_variant = static_cast<dequantize_variant>(variant);
    return its_variant == dequantize_variant::general ||
           (its_variant == dequantize_variant::exact && op.x_type != QDQ_I32);
}

int32_t plain_variant(const call &op) {
    using enum dequantize_variant;
    return op.quantizes() ? static_cast<int32_t>(fast_variant(op, op.multiply))
                          : static_cast<int32_t>(op.zero_point ? offset : plain);
}

}  // namespace qdq::runtime
