// Words in an instruction less than by AVX-512 alone, and half as many for the port of permutes: loads broadcast eight
// codes to each quadword of theirs, and vpmultishiftqb takes a byte from any bit on.
#include "handwritten/avx512/results_of_4_bits.h"

namespace qdq::kernels {
namespace {

// vcvtne2ps2bf16 makes zeros of subnormals, which the products of the fast variants are not.
template<typename Kernel> __m512i words(__m512 low, __m512 high) {
    return Kernel::floats.dtype == QDQ_F16 ? to_f16(low, high)
                                           : reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

template<typename Kernel, bool has_offset, bool of_two> class words_of_codes {
public:
    words_of_codes(const scale_and_offset &first, const scale_and_offset &second)
        : results(words<Kernel>(products<Kernel, has_offset>(first), products<Kernel, has_offset>(second))) {}

    void look_up(const char *x, char *y) const {
        // Of quadword q the codes at bits 16 q, 16 q + 4, 16 q + 8 and 16 q + 12 of eight bytes.
        const __m512i shifts =
            _mm512_setr_epi64(0x000c000800040000, 0x001c001800140010, 0x002c002800240020, 0x003c003800340030,
                              0x000c000800040000, 0x001c001800140010, 0x002c002800240020, 0x003c003800340030);
        const __m512i low = _mm512_broadcastq_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(x)));
        const __m512i both =
            _mm512_mask_broadcastq_epi64(low, 0xf0, _mm_loadl_epi64(reinterpret_cast<const __m128i *>(x + 8)));
        store<Kernel::nontemporal>(y, look_up_words<of_two>(_mm512_multishift_epi64_epi8(shifts, both), results));
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
