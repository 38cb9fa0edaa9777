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

constexpr int to_nearest_even = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;  // whatever MXCSR says

// x times the scale, or divided by it as divide_by_reciprocal in generators/arithmetic.h proves.
template<bool multiplies> [[gnu::always_inline]] inline __m512 quotient(__m512 x, __m512 scale, __m512 inverse) {
    if constexpr (multiplies) {
        return _mm512_mul_round_ps(x, scale, to_nearest_even);
    }
    const __m512 guess = _mm512_mul_round_ps(x, inverse, to_nearest_even);
    const __m512 remainder = _mm512_fnmadd_round_ps(guess, scale, x, to_nearest_even);
    return _mm512_fmadd_round_ps(remainder, inverse, guess, to_nearest_even);
}

inline __m512i both_halves(__m256i low, __m256i high) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

inline __m512i to_f16(__m512 low, __m512 high) {
    constexpr int nearest = _MM_FROUND_TO_NEAREST_INT;
    return both_halves(_mm512_cvtps_ph(low, nearest), _mm512_cvtps_ph(high, nearest));
}

// Products of the fast variants: none is NaN or subnormal, of which vcvtne2ps2bf16 makes zeros.
#if defined(__AVX512BF16__)
inline __m512i to_bf16(__m512 low, __m512 high) { return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)); }
#else
inline __m256i to_bf16(__m512 t) {
    const __m512i bits = _mm512_castps_si512(t);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(up, 16));
}
inline __m512i to_bf16(__m512 low, __m512 high) { return both_halves(to_bf16(low), to_bf16(high)); }
#endif

template<typename Kernel> __m512i to_words(__m512 low, __m512 high) {
    return Kernel::floats.dtype == QDQ_F16 ? to_f16(low, high) : to_bf16(low, high);
}

// Of 64 elements; where the next ones go.
template<typename Kernel> [[gnu::always_inline]] inline char *store_products(char *y, const __m512 (&products)[4]) {
    constexpr int64_t in_a_register = 512 / Kernel::floats.bits, together = in_a_register / lanes;
#pragma GCC unroll 4
    for (int64_t i = 0; i < 4; i += together, y += 64) {
        if constexpr (together == 1) {
            store<Kernel::nontemporal>(y, _mm512_castps_si512(products[i]));
        } else {
            store<Kernel::nontemporal>(y, to_words<Kernel>(products[i], products[i + 1]));
        }
    }
    return y;
}

}  // namespace
}  // namespace qdq::kernels
