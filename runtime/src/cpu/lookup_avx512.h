// Lookups of 4-bit codes by AVX-512, which its targets share.
#pragma once

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
    static constexpr int64_t code_bits = 4, bytes = 2;
    const __m512i results;

    explicit words(const lookup_rows &rows)
        : results(_mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(rows.tables)))) {}

    template<bool nontemporal> void look_up(const char *x, char *y) const {
        const __m512i of_both = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(x)));
        const __m512i codes = _mm512_or_si512(of_both, _mm512_slli_epi32(of_both, 12));
        store<nontemporal>(y, _mm512_permutexvar_epi16(codes, results));
    }
};

// vpermps takes the low 4 bits of a lane.
struct floats {
    static constexpr int64_t code_bits = 4, bytes = 4;
    const __m512 results;

    explicit floats(const lookup_rows &rows) : results(_mm512_loadu_ps(rows.tables)) {}

    template<bool nontemporal> void look_up(const char *x, char *y) const {
        const __m512i shifts = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
        for (int64_t half = 0; half < 2; half++) {
            const char *const from = x + 8 * half;
            const __m512i first = _mm512_broadcastd_epi32(_mm_loadu_si32(from));
            const __m512i both = _mm512_mask_broadcastd_epi32(first, 0xff00, _mm_loadu_si32(from + 4));
            const __m512i codes = _mm512_srlv_epi32(both, shifts);
            store<nontemporal>(y + 64 * half, _mm512_castps_si512(_mm512_permutexvar_ps(codes, results)));
        }
    }
};

}  // namespace
}  // namespace qdq::runtime
