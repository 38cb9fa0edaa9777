// To 16 bits vpshufb looks bytes up, by the low 4 bits of bytes below 128, in a table for either half of the results.
// It does so by 128 bits, so that two operands' results are those of two lanes.
#include "handwritten/dequantize_4_bits.h"
#include "handwritten/x86_stores.h"

#include <immintrin.h>

namespace qdq::kernels {
namespace {

// Of codes 0, 2, 4 and so on, or 1, 3, 5.
template<typename Kernel> struct alignas(32) every_other_value {
    float of[8] = {};

    constexpr explicit every_other_value(int first) {
        for (int i = 0; i < 8; i++) {
            of[i] = values_of<16>(Kernel::stored).of[2 * i + first];
        }
    }
};

template<typename Kernel, bool has_offset> __m256 products(const float *values, const scale_and_offset &with) {
    __m256 value = _mm256_load_ps(values);
    if constexpr (has_offset) {
        value = _mm256_add_ps(value, _mm256_set1_ps(with.offset));
    }
    return _mm256_mul_ps(value, _mm256_set1_ps(with.scale));
}

// To nearest even, in the upper half of a lane; there is no NaN.
inline __m256i bf16_above(__m256 product) {
    const __m256i bits = _mm256_castps_si256(product);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    return _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
}

// The results of an operand's 16 codes: in each half of 128 bits the low bytes of 8, then the high ones.
template<typename Kernel, bool has_offset> __m256i results_of(const scale_and_offset &with) {
    static constexpr every_other_value<Kernel> even_values(0), odd_values(1);
    const __m256 even = products<Kernel, has_offset>(even_values.of, with);
    const __m256 odd = products<Kernel, has_offset>(odd_values.of, with);
    __m256i words;
    if constexpr (Kernel::floats.dtype == QDQ_F16) {
        const __m128i even_words = _mm256_cvtps_ph(even, _MM_FROUND_TO_NEAREST_INT);
        const __m128i odd_words = _mm256_cvtps_ph(odd, _MM_FROUND_TO_NEAREST_INT);
        words = _mm256_set_m128i(_mm_unpackhi_epi16(even_words, odd_words), _mm_unpacklo_epi16(even_words, odd_words));
    } else {
        words = _mm256_blend_epi16(_mm256_srli_epi32(bf16_above(even), 16), bf16_above(odd), 0xaa);
    }
    return _mm256_shuffle_epi8(words, _mm256_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15,  //
                                                       0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
}

template<typename Kernel, bool has_offset, bool of_two> class words_of_codes {
public:
    words_of_codes(const scale_and_offset &first, const scale_and_offset &second) {
        const __m256i a = results_of<Kernel, has_offset>(first);
        if constexpr (of_two) {
            const __m256i b = results_of<Kernel, has_offset>(second);
            low = _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(a, b), _MM_SHUFFLE(3, 1, 2, 0));
            high = _mm256_permute4x64_epi64(_mm256_unpackhi_epi64(a, b), _MM_SHUFFLE(3, 1, 2, 0));
        } else {
            low = _mm256_permute4x64_epi64(a, _MM_SHUFFLE(2, 0, 2, 0));
            high = _mm256_permute4x64_epi64(a, _MM_SHUFFLE(3, 1, 3, 1));
        }
    }

    void look_up(const char *x, char *y) const {
        // Each byte twice, in the order in which unpacking the halves of results, lane by lane, leaves codes in theirs;
        // of two operands those of each in its lane.
        const __m256i order = of_two ? _mm256_setr_epi8(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7,  //
                                                        8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15)
                                     : _mm256_setr_epi8(0, 0, 1, 1, 2, 2, 3, 3, 8, 8, 9, 9, 10, 10, 11, 11,  //
                                                        4, 4, 5, 5, 6, 6, 7, 7, 12, 12, 13, 13, 14, 14, 15, 15);
        const __m256i twice = _mm256_shuffle_epi8(
            _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i *>(x))), order);
        const __m256i codes = _mm256_or_si256(_mm256_and_si256(twice, _mm256_set1_epi16(0x000f)),
                                              _mm256_and_si256(_mm256_srli_epi16(twice, 4), _mm256_set1_epi16(0x0f00)));
        const __m256i of_low = _mm256_shuffle_epi8(low, codes), of_high = _mm256_shuffle_epi8(high, codes);
        const __m256i first = _mm256_unpacklo_epi8(of_low, of_high), second = _mm256_unpackhi_epi8(of_low, of_high);
        store<Kernel::nontemporal>(y, of_two ? _mm256_permute2x128_si256(first, second, 0x20) : first);
        store<Kernel::nontemporal>(y + 32, of_two ? _mm256_permute2x128_si256(first, second, 0x31) : second);
    }

private:
    __m256i low, high;
};

// To 32 bits: vpermps takes the low 3 bits of a lane; the fourth chooses between two registers of 8 results.
template<typename Kernel, bool has_offset, bool of_two> class floats_of_codes {
public:
    floats_of_codes(const scale_and_offset &first, const scale_and_offset &second)
        : results{
              {products<Kernel, has_offset>(values.of, first), products<Kernel, has_offset>(values.of + 8, first)},
              {products<Kernel, has_offset>(values.of, second), products<Kernel, has_offset>(values.of + 8, second)}} {}

    void look_up(const char *x, char *y) const {
        for (int64_t part = 0; part < 4; part++) {
            const __m256i of_both = _mm256_cvtepu8_epi64(_mm_loadu_si32(x + 4 * part));
            const __m256i codes = _mm256_or_si256(of_both, _mm256_slli_epi64(of_both, 28));
            const __m256 fourth_bit = _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28));
            const __m256 *const own = results[part / 2];
            const __m256 looked_up = _mm256_blendv_ps(_mm256_permutevar8x32_ps(own[0], codes),
                                                      _mm256_permutevar8x32_ps(own[1], codes), fourth_bit);
            store<Kernel::nontemporal>(y + 32 * part, _mm256_castps_si256(looked_up));
        }
    }

private:
    static constexpr code_values<16> values = values_of<16>(Kernel::stored);
    const __m256 results[2][2];
};

template<typename Kernel> int dequantize(const dequantize_arguments &all, qdq_dequantize_kernel *generated) {
    if constexpr (Kernel::floats.bits == 16) {
        // Past the caches loops wait for memory, and four blocks at a time are 6 KB more code.
        return dequantize_4_bits<Kernel, words_of_codes, !Kernel::nontemporal>(all);
    } else if constexpr (Kernel::stored.is_integer() && !Kernel::nontemporal) {
        return all.run(generated);  // 1 Mi codes of i4 take 50 us so, and 80 us to look them up (Zen 3)
    } else {
        return dequantize_4_bits<Kernel, floats_of_codes>(all);
    }
}

}  // namespace
}  // namespace qdq::kernels
