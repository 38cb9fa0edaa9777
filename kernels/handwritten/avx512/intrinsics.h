// AVX-512's intrinsics, and what files for it share.
#pragma once

#include "handwritten/x86_stores.h"

#include <immintrin.h>

// GCC 12 warns of what its own intrinsics leave undefined (GCC bug 105593).
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace qdq::kernels {
namespace {

constexpr int64_t lanes = 16;  // of 32 bits

[[gnu::always_inline]] inline __m512 load(const uint16_t *f16) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(f16)));
}

// x times the scale, or divided by it as divide_by_reciprocal in generators/arithmetic.h proves.
template<bool multiplies> [[gnu::always_inline]] inline __m512 quotient(__m512 x, __m512 scale, __m512 inverse) {
    if constexpr (multiplies) {
        return _mm512_mul_ps(x, scale);
    }
    const __m512 guess = _mm512_mul_ps(x, inverse);
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(guess, scale, x), inverse, guess);
}

inline __m512i both_halves(__m256i low, __m256i high) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

inline __m512i to_f16(__m512 low, __m512 high) {
    constexpr int nearest = _MM_FROUND_TO_NEAREST_INT;
    return both_halves(_mm512_cvtps_ph(low, nearest), _mm512_cvtps_ph(high, nearest));
}

}  // namespace
}  // namespace qdq::kernels
