#include "cpu/lookup_steps.h"

#include <immintrin.h>

namespace qdq::runtime {

namespace {

template<bool nontemporal> void store(__m256i *y, __m256i value) {
    nontemporal ? _mm256_stream_si256(y, value) : _mm256_storeu_si256(y, value);
}

// vpshufb looks bytes up, by the low 4 bits of bytes below 128: a table for either half of the results.
struct words {
    static constexpr int64_t code_bits = 4, bytes = 2;
    const __m256i low, high;

    explicit words(const lookup_rows &rows)
        : words(_mm_loadu_si128(reinterpret_cast<const __m128i *>(rows.tables)),
                _mm_loadu_si128(reinterpret_cast<const __m128i *>(rows.tables) + 1)) {}

    words(__m128i first, __m128i second)
        : low(_mm256_broadcastsi128_si256(_mm_packus_epi16(_mm_and_si128(first, _mm_set1_epi16(0xff)),
                                                           _mm_and_si128(second, _mm_set1_epi16(0xff))))),
          high(_mm256_broadcastsi128_si256(_mm_packus_epi16(_mm_srli_epi16(first, 8), _mm_srli_epi16(second, 8)))) {}

    template<bool nontemporal> void look_up(const char *x, char *y) const {
        // Each byte twice, in the order in which unpacking the halves of results, lane by lane, leaves codes in theirs.
        const __m256i twice =
            _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i *>(x))),
                                _mm256_setr_epi8(0, 0, 1, 1, 2, 2, 3, 3, 8, 8, 9, 9, 10, 10, 11, 11,  //
                                                 4, 4, 5, 5, 6, 6, 7, 7, 12, 12, 13, 13, 14, 14, 15, 15));
        const __m256i codes = _mm256_or_si256(_mm256_and_si256(twice, _mm256_set1_epi16(0x000f)),
                                              _mm256_and_si256(_mm256_srli_epi16(twice, 4), _mm256_set1_epi16(0x0f00)));
        const __m256i of_low = _mm256_shuffle_epi8(low, codes), of_high = _mm256_shuffle_epi8(high, codes);
        __m256i *const to = reinterpret_cast<__m256i *>(y);
        store<nontemporal>(to, _mm256_unpacklo_epi8(of_low, of_high));
        store<nontemporal>(to + 1, _mm256_unpackhi_epi8(of_low, of_high));
    }
};

// vpermps takes the low 3 bits of a lane; the fourth chooses between two tables of 8.
struct floats {
    static constexpr int64_t code_bits = 4, bytes = 4;
    const __m256 first, second;

    explicit floats(const lookup_rows &rows)
        : first(_mm256_loadu_ps(reinterpret_cast<const float *>(rows.tables))),
          second(_mm256_loadu_ps(reinterpret_cast<const float *>(rows.tables) + 8)) {}

    template<bool nontemporal> void look_up(const char *x, char *y) const {
        for (int64_t part = 0; part < 4; part++) {
            const __m256i of_both = _mm256_cvtepu8_epi64(_mm_loadu_si32(x + 4 * part));
            const __m256i codes = _mm256_or_si256(of_both, _mm256_slli_epi64(of_both, 28));
            const __m256 fourth_bit = _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28));
            const __m256 results = _mm256_blendv_ps(_mm256_permutevar8x32_ps(first, codes),
                                                    _mm256_permutevar8x32_ps(second, codes), fourth_bit);
            store<nontemporal>(reinterpret_cast<__m256i *>(y) + part, _mm256_castps_si256(results));
        }
    }
};

}  // namespace

const result_lookup qdq_lookup_avx2 = {look_up<words>, look_up<floats>, nullptr, nullptr, nullptr, nullptr};

}  // namespace qdq::runtime
