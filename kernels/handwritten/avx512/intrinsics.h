// AVX-512's intrinsics, and what files for it share.
#pragma once

#include "handwritten/handwritten.h"

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

template<bool nontemporal> void store(char *y, __m512i value) {
    nontemporal ? _mm512_stream_si512(reinterpret_cast<__m512i *>(y), value) : _mm512_storeu_si512(y, value);
}

template<bool nontemporal> void store(char *y, __m256i value) {
    auto *const to = reinterpret_cast<__m256i *>(y);
    nontemporal ? _mm256_stream_si256(to, value) : _mm256_storeu_si256(to, value);
}

// Into the L1 cache, 64 elements that come later, where codes go past the caches.
template<bool nontemporal, typename Element> inline void fetch_ahead(const Element *x) {
    constexpr int64_t distance = 8192, line = 64;
    for (int64_t i = 0; nontemporal && i < group_size * int64_t{sizeof(Element)}; i += line) {
        _mm_prefetch(reinterpret_cast<const char *>(x) + distance + i, _MM_HINT_T0);
    }
}

// The same where the call says whether its stores bypass the caches. Both ways share one loop, which costs an encoder 1
// to 2 %; the empty asm keeps compilers from making two of it.
class call_stores {
public:
    explicit call_stores(bool are_nontemporal) : are_nontemporal(are_nontemporal) {}

    template<typename Vector> [[gnu::always_inline]] void store(char *y, Vector value) const {
        bypass_caches() ? kernels::store<true>(y, value) : kernels::store<false>(y, value);
    }
    template<typename Element> [[gnu::always_inline]] void fetch_ahead(const Element *x) const {
        if (bypass_caches()) {
            kernels::fetch_ahead<true>(x);
        }
    }

private:
    const bool are_nontemporal;

    [[gnu::always_inline]] bool bypass_caches() const {
        bool own = are_nontemporal;
        __asm__("" : "+r"(own));
        return own;
    }
};

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
