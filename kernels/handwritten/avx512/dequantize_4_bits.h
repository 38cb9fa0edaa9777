// A byte of two codes goes to the lanes of both, shifted so that the second begins at the second lane. vpshufb and a
// shift by lane would be an instruction less, and take 1.3 times as long (Zen 4).
#include "handwritten/avx512/results_of_4_bits.h"

namespace qdq::kernels {
namespace {

// To nearest even; there is no NaN.
inline __m256i bf16_words(__m512 t) {
    const __m512i bits = _mm512_castps_si512(t);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(up, 16));
}

template<typename Kernel> __m512i words(__m512 low, __m512 high) {
    return Kernel::floats.dtype == QDQ_F16 ? to_f16(low, high) : both_halves(bf16_words(low), bf16_words(high));
}

template<typename Kernel, bool has_offset, bool of_two> class words_of_codes {
public:
    words_of_codes(const scale_and_offset &first, const scale_and_offset &second)
        : results(words<Kernel>(products<Kernel, has_offset>(first), products<Kernel, has_offset>(second))) {}

    void look_up(const char *x, char *y) const {
        const __m512i of_both = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(x)));
        const __m512i codes = _mm512_or_si512(of_both, _mm512_slli_epi32(of_both, 12));
        store<Kernel::nontemporal>(y, look_up_words<of_two>(codes, results));
    }

private:
    const __m512i results;
};

template<typename Kernel> int dequantize(const dequantize_arguments &all, qdq_dequantize_kernel * /*generated*/) {
    return Kernel::floats.bits == 16 ? dequantize_4_bits<Kernel, words_of_codes>(all)
                                     : dequantize_4_bits<Kernel, floats_of_codes>(all);
}

}  // namespace
}  // namespace qdq::kernels
