// Lookups of 4-bit codes by AVX-512, which its targets share.
#pragma once

#include "cpu/avx512_intrinsics.h"
#include "cpu/lookup_steps.h"

namespace qdq::runtime {
namespace {

// A byte of two codes goes to the lanes of both, shifted so that the second begins at the second lane. vpshufb and a
// shift by lane would be an instruction less, and take 1.3 times as long (Zen 4).

template<bool nontemporal> void store(char *y, __m512i value) {
    nontemporal ? _mm512_stream_si512(reinterpret_cast<__m512i *>(y), value) : _mm512_storeu_si512(y, value);
}

// Where results come from: words(row), for the low and the high half of 32 codes, and floats(row, half). `of_two`: each
// half is a row of its own.
struct from_table {
    static constexpr bool of_two = false;
    static __m512i words(const lookup_rows &row) {
        return _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(row.tables)));
    }
    static __m512 floats(const lookup_rows &row, int64_t /*half*/) { return _mm512_loadu_ps(row.tables); }
};

template<bool two> struct products {
    static constexpr bool of_two = two;
    static __m512 floats(const lookup_rows &row, int64_t half) {
        return _mm512_mul_ps(_mm512_loadu_ps(row.values), _mm512_set1_ps(row.scales[two ? half : 0]));
    }
};

template<typename Rounding, bool two> struct rounded_products {
    static constexpr bool of_two = two;
    static __m512i words(const lookup_rows &row) {
        return Rounding::words(products<two>::floats(row, 0), products<two>::floats(row, 1));
    }
};

inline __m512i both_halves(__m256i low, __m256i high) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

struct to_f16 {
    static __m512i words(__m512 low, __m512 high) {
        constexpr int nearest = _MM_FROUND_TO_NEAREST_INT;
        return both_halves(_mm512_cvtps_ph(low, nearest), _mm512_cvtps_ph(high, nearest));
    }
};

// To nearest even; there is no NaN.
struct to_bf16 {
    static __m256i words(__m512 t) {
        const __m512i bits = _mm512_castps_si512(t);
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
        const __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));
        return _mm512_cvtepi32_epi16(_mm512_srli_epi32(up, 16));
    }
    static __m512i words(__m512 low, __m512 high) { return both_halves(words(low), words(high)); }
};

// vpermw takes the low 5 bits of a word: a code, and a bit of the next, or which half of the results.
template<typename Results> __m512i look_up_words(__m512i codes, __m512i results) {
    if constexpr (Results::of_two) {
        const __m512i half = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(16), 1);
        const int a_and_b_or_c = 0xea;  // (a & b) | c
        codes = _mm512_ternarylogic_epi32(codes, _mm512_set1_epi16(15), half, a_and_b_or_c);
    }
    return _mm512_permutexvar_epi16(codes, results);
}

template<typename Results> struct words {
    static constexpr int64_t code_bits = 4, bytes = 2;
    const __m512i results;

    explicit words(const lookup_rows &row) : results(Results::words(row)) {}

    template<bool nontemporal> void look_up(const char *x, char *y) const {
        const __m512i of_both = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(x)));
        const __m512i codes = _mm512_or_si512(of_both, _mm512_slli_epi32(of_both, 12));
        store<nontemporal>(y, look_up_words<Results>(codes, results));
    }
};

// vpermps takes the low 4 bits of a lane.
template<typename Results> struct floats {
    static constexpr int64_t code_bits = 4, bytes = 4;
    const __m512 results[2];

    explicit floats(const lookup_rows &row) : results{Results::floats(row, 0), Results::floats(row, 1)} {}

    template<bool nontemporal> void look_up(const char *x, char *y) const {
        const __m512i shifts = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
        for (int64_t half = 0; half < 2; half++) {
            const char *const from = x + 8 * half;
            const __m512i first = _mm512_broadcastd_epi32(_mm_loadu_si32(from));
            const __m512i both = _mm512_mask_broadcastd_epi32(first, 0xff00, _mm_loadu_si32(from + 4));
            const __m512i codes = _mm512_srlv_epi32(both, shifts);
            store<nontemporal>(y + 64 * half, _mm512_castps_si512(_mm512_permutexvar_ps(codes, results[half])));
        }
    }
};

template<template<typename> class Words, typename Rounding> void look_up_rounded_products(const lookup_rows &all) {
    look_up_products<Words<rounded_products<Rounding, false>>, Words<rounded_products<Rounding, true>>>(all);
}

inline constexpr auto look_up_float_products = look_up_products<floats<products<false>>, floats<products<true>>>;

}  // namespace
}  // namespace qdq::runtime
