// How AVX-512 rounds to integers otherwise than to nearest even: conversions round as MXCSR says, and what comes before
// them has its own rounding. So one loop is for every rounding.
#pragma once

#include "handwritten/avx512/intrinsics.h"

namespace qdq::kernels {
namespace {

// Conversions round so while it lives: toward zero for QDQ_NEAREST_AWAY, too.
class conversions_round {
public:
    explicit conversions_round(int32_t rounding) : before(_mm_getcsr()) {
        const uint32_t way = rounding == QDQ_DOWN ? _MM_ROUND_DOWN
                             : rounding == QDQ_UP ? _MM_ROUND_UP
                                                  : _MM_ROUND_TOWARD_ZERO;
        set((before & ~uint32_t{_MM_ROUND_MASK}) | way);
    }
    ~conversions_round() { set(before); }
    conversions_round(const conversions_round &) = delete;
    conversions_round &operator=(const conversions_round &) = delete;

private:
    const uint32_t before;

    static void set(uint32_t mxcsr) { __asm__ volatile("vldmxcsr %0" : : "m"(mxcsr) : "memory"); }
};

[[gnu::always_inline]] inline __m512 with_sign_of(__m512 x, __m512 magnitude) {
    constexpr int a_and_b_or_c = 0xea;  // of ternary logic
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(INT32_MIN),
                                                         _mm512_castps_si512(magnitude), a_and_b_or_c));
}

// The bits of the largest magnitude whose quotient by a scale is 0, as with_exact_zeros in
// generators/quantize_element.cpp has them.
inline __m512i largest_with_quotient_zero(__m512 scale) {
    const __m512i steps = _mm512_cvttps_epi32(_mm512_mul_ps(scale, _mm512_set1_ps(0.5f)));
    const __m512i bits = _mm512_sub_epi32(_mm512_castps_si512(scale), _mm512_set1_epi32(150 << 23));
    return _mm512_mask_mov_epi32(bits, _mm512_cmp_ps_mask(scale, _mm512_set1_ps(0x1p24f), _CMP_LT_OQ), steps);
}

// t plus a magnitude with the sign of x where x has a quotient other than 0, else 0. t of a tiny x may be 0 where its
// quotient is not, and the other way round.
[[gnu::always_inline]] inline __m512 add_unless_zero(__m512 t, __m512 x, __m512 magnitude, __m512i largest_of_zero) {
    const __mmask16 is_not_zero = _mm512_cmpgt_epi32_mask(_mm512_castps_si512(_mm512_abs_ps(x)), largest_of_zero);
    return _mm512_maskz_add_round_ps(is_not_zero, t, with_sign_of(x, magnitude), to_nearest_even);
}

// What is added to magnitudes before they are converted. The largest float below one half rounds away by itself: 0.5 +
// 0.49999997 is 1, 0.49999997 + 0.49999997 is not.
inline __m512 added_to_magnitudes(int32_t rounding, float otherwise) {
    return _mm512_set1_ps(rounding == QDQ_NEAREST_AWAY ? 0x1.fffffep-2f : otherwise);
}

constexpr float least_normal = 0x1p-126f;  // tells quotients from 0, and changes no other integer

}  // namespace
}  // namespace qdq::kernels
