// A byte of two codes goes to the lanes of both, shifted so that the second begins at the second lane. vpshufb and a
// shift by lane would be an instruction less, and take 1.3 times as long (Zen 4).
#include "handwritten/avx512/results_of_4_bits.h"

namespace qdq::kernels {
namespace {

// To nearest even; there is no NaN.
inline __m256i rounded_to_bf16(__m512 t) {
    const __m512i bits = _mm512_castps_si512(t);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(up, 16));
}

struct avx512 {
    static __m512i bf16_words(__m512 low, __m512 high) {
        return both_halves(rounded_to_bf16(low), rounded_to_bf16(high));
    }

    static __m512i codes(const char *x) {
        const __m512i of_both = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(x)));
        return _mm512_or_si512(of_both, _mm512_slli_epi32(of_both, 12));
    }
};

template<typename Kernel> int dequantize(const dequantize_arguments &all, qdq_dequantize_kernel *generated) {
    return dequantize_4_bits_by<Kernel, avx512>(all, generated);
}

}  // namespace
}  // namespace qdq::kernels
