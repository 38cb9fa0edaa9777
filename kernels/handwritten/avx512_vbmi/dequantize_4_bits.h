// Words in an instruction less than by AVX-512 alone, and half as many for the port of permutes: loads broadcast eight
// codes to each quadword of theirs, and vpmultishiftqb takes a byte from any bit on.
#include "handwritten/avx512/results_of_4_bits.h"

namespace qdq::kernels {
namespace {

struct avx512_vbmi {
    // Of quadword q the codes at bits 16 q, 16 q + 4, 16 q + 8 and 16 q + 12 of eight bytes.
    static __m512i codes(const char *x) {
        const __m512i shifts =
            _mm512_setr_epi64(0x000c000800040000, 0x001c001800140010, 0x002c002800240020, 0x003c003800340030,
                              0x000c000800040000, 0x001c001800140010, 0x002c002800240020, 0x003c003800340030);
        const __m512i low = _mm512_broadcastq_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(x)));
        const __m512i both =
            _mm512_mask_broadcastq_epi64(low, 0xf0, _mm_loadl_epi64(reinterpret_cast<const __m128i *>(x + 8)));
        return _mm512_multishift_epi64_epi8(shifts, both);
    }
};

template<typename Kernel> int dequantize(const dequantize_arguments &all, qdq_dequantize_kernel *generated) {
    return dequantize_4_bits_by<Kernel, avx512_vbmi>(all, generated);
}

}  // namespace
}  // namespace qdq::kernels
