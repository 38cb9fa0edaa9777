// A byte of two codes goes to the lanes of both, shifted so that the second begins at the second lane. vpshufb and a
// shift by lane would be an instruction less, and take 1.3 times as long (Zen 4).
#include "handwritten/avx512/results_of_4_bits.h"

namespace qdq::kernels {
namespace {

struct avx512 {
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
