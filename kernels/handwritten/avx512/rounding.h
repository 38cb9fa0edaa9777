// How AVX-512 rounds to integers: conversions have the rounding in themselves.
#pragma once

#include "handwritten/avx512/intrinsics.h"

namespace qdq::kernels {
namespace {

[[gnu::always_inline]] inline __m512 with_sign_of(__m512 x, __m512 magnitude) {
    constexpr int a_and_b_or_c = 0xea;  // of ternary logic
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(INT32_MIN),
                                                         _mm512_castps_si512(magnitude), a_and_b_or_c));
}

// The bits of the largest magnitude whose quotient by a scale is 0, and of a quotient that is not nearly 0, as
// with_exact_zeros in generators/quantize_element.cpp has them.
inline __m512i largest_with_quotient_zero(__m512 scale) {
    const __m512i steps = _mm512_cvttps_epi32(_mm512_mul_ps(scale, _mm512_set1_ps(0.5f)));
    const __m512i bits = _mm512_sub_epi32(_mm512_castps_si512(scale), _mm512_set1_epi32(150 << 23));
    return _mm512_mask_mov_epi32(bits, _mm512_cmp_ps_mask(scale, _mm512_set1_ps(0x1p24f), _CMP_LT_OQ), steps);
}

[[gnu::always_inline]] inline __m512 with_exact_zeros(__m512 t, __m512 x, __m512i largest_of_zero) {
    const __m512i magnitude = _mm512_castps_si512(_mm512_abs_ps(x));
    return _mm512_maskz_add_ps(_mm512_cmpgt_epi32_mask(magnitude, largest_of_zero), t,
                               with_sign_of(x, _mm512_set1_ps(0x1p-126f)));
}

// Quotients t of x as int32. NaN becomes the least, as all does that is below int32's; t is to be below 2^31.
// `may_lose_remainders`: t of a tiny x may be 0 where its quotient is not, and the other way round. Down and up differ
// there. The largest float below one half rounds away by itself: 0.5 + 0.49999997 is 1, 0.49999997 + 0.49999997 is not.
template<qdq_rounding rounding, bool may_lose_remainders>
[[gnu::always_inline]] inline __m512i rounded(__m512 t, __m512 x, __m512i largest_of_zero) {
    if constexpr (rounding == QDQ_NEAREST_EVEN) {
        return _mm512_cvtps_epi32(t);
    } else if constexpr (rounding == QDQ_NEAREST_AWAY) {
        return _mm512_cvttps_epi32(_mm512_add_ps(t, with_sign_of(t, _mm512_set1_ps(0x1.fffffep-2f))));
    } else if constexpr (rounding == QDQ_TOWARD_ZERO) {
        return _mm512_cvttps_epi32(t);
    } else {
        constexpr int way = rounding == QDQ_DOWN ? _MM_FROUND_TO_NEG_INF : _MM_FROUND_TO_POS_INF;
        const __m512 exact = may_lose_remainders ? with_exact_zeros(t, x, largest_of_zero) : t;
        return _mm512_cvt_roundps_epi32(exact, way | _MM_FROUND_NO_EXC);
    }
}

}  // namespace
}  // namespace qdq::kernels
