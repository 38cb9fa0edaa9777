#include "cpu/lookup_steps.h"

#include <immintrin.h>

// GCC 12 warns of what its own intrinsics leave undefined (GCC bug 105593).
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace qdq::runtime {

namespace {

// A byte of two codes goes to the lanes of both, shifted so that the second begins at the second lane. vpshufb and a
// shift by lane would be an instruction less, and take 1.3 times as long (Zen 4).

template<bool nontemporal> void store(char *y, __m512i value) {
    nontemporal ? _mm512_stream_si512(reinterpret_cast<__m512i *>(y), value) : _mm512_storeu_si512(y, value);
}

// vpermw takes the low 5 bits of a word: a byte's low nibble and a bit of the other, for which the table is there
// twice.
struct words {
    static constexpr int64_t bytes = 2;
    const __m512i results;

    explicit words(const char *table)
        : results(_mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(table)))) {}

    template<bool nontemporal> void look_up(const char *x, char *y) const {
        const __m512i of_both = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(x)));
        const __m512i codes = _mm512_or_si512(of_both, _mm512_slli_epi32(of_both, 12));
        store<nontemporal>(y, _mm512_permutexvar_epi16(codes, results));
    }
};

// vpermps takes the low 4 bits of a lane.
struct floats {
    static constexpr int64_t bytes = 4;
    const __m512 results;

    explicit floats(const char *table) : results(_mm512_loadu_ps(table)) {}

    template<bool nontemporal> void look_up(const char *x, char *y) const {
        for (int64_t half = 0; half < 2; half++) {
            const __m512i of_both =
                _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(x + 8 * half)));
            const __m512i codes = _mm512_or_si512(of_both, _mm512_slli_epi64(of_both, 28));
            store<nontemporal>(y + 64 * half, _mm512_castps_si512(_mm512_permutexvar_ps(codes, results)));
        }
    }
};

}  // namespace

const result_lookup lookup_avx512 = {look_up<words>, look_up<floats>};

}  // namespace qdq::runtime
