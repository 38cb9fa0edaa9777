// Quantizes bf16 to floats of 8 and 4 bits. Magnitudes are bounded as bf16, 32 at a time. 64 codes of f8e4m3 take 47
// instructions, those of the generated kernel 68.
#include "handwritten/avx512_vbmi/bf16_words.h"

namespace qdq::kernels {
namespace {

// Codes of 32 words without their signs, a pair in the low half of each lane, and words with their signs. GCC 12 would
// not inline what follows: 1.25 times as long.
struct encoded_words {
    __m512i pairs, signs;
};

template<bool multiplies, typename Code, typename Factors>
[[gnu::always_inline]] inline encoded_words encode_words(const Code &code, __m512i x, const Factors &with) {
    const __m512i magnitudes = _mm512_and_si512(x, _mm512_set1_epi16(0x7fff));
    const __mmask32 is_nan = _mm512_cmpgt_epi16_mask(magnitudes, _mm512_set1_epi16(0x7f80));
    __m512i bounded = _mm512_max_epu16(_mm512_min_epu16(magnitudes, with.largest), with.least);
    __m512i signs = x;
    if constexpr (Code::has_nan) {
        bounded = _mm512_mask_mov_epi16(bounded, is_nan, with.nan);
    } else {  // the positive largest number
        signs = _mm512_maskz_mov_epi16(~is_nan, x);
    }
    const __m512 even = _mm512_castsi512_ps(_mm512_slli_epi32(bounded, 16));
    const __m512 odd = _mm512_castsi512_ps(_mm512_and_si512(bounded, _mm512_set1_epi32(upper_half)));
    const __m512i first = code.code_of(with.template even_quotient<multiplies>(even));
    const __m512i second = code.code_of(with.template odd_quotient<multiplies>(odd));
    const int a_or_b_and_c = 0xa8;  // (a | b) & c
    return {_mm512_ternarylogic_epi32(first, _mm512_slli_epi32(second, 8), _mm512_set1_epi32(0xffff), a_or_b_and_c),
            signs};
}

// Lanes of 128 bits have 8 codes of the first register, then 8 of the second.
inline void store_codes(const stored_code<f8e4m3_code> &code, uint8_t *y, __m512i magnitudes, __m512i signs) {
    const __m512i codes =
        _mm512_ternarylogic_epi32(magnitudes, signs, _mm512_set1_epi8(static_cast<char>(0x80)), 0xf8);  // a | b & c
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    code.stores.store(reinterpret_cast<char *>(y), _mm512_permutexvar_epi64(order, codes));
}

inline void store_codes(const stored_code<f4e2m1_code> &code, uint8_t *y, __m512i magnitudes, __m512i signs) {
    const __m512i codes = _mm512_ternarylogic_epi32(magnitudes, _mm512_srli_epi16(signs, 4), _mm512_set1_epi8(8),
                                                    0xf8);                      // a | b & c
    const __m512i pairs = _mm512_or_si512(codes, _mm512_srli_epi16(codes, 4));  // in every other byte
    const __m512i order =
        _mm512_setr_epi64(0x1614121006040200, 0x3634323026242220, 0x1e1c1a180e0c0a08, 0x3e3c3a382e2c2a28, 0, 0, 0, 0);
    const __m256i in_order = _mm512_castsi512_si256(_mm512_permutexvar_epi8(order, pairs));
    code.stores.store(reinterpret_cast<char *>(y), in_order);
}

template<typename Code, bool multiplies, typename Factors>
[[gnu::always_inline]] inline void encode_64(const Code &code, std::bool_constant<multiplies>, const uint16_t *x,
                                             uint8_t *y, const Factors &first, const Factors &second) {
    const encoded_words a = encode_words<multiplies>(code, _mm512_loadu_si512(x), first);
    const encoded_words b = encode_words<multiplies>(code, _mm512_loadu_si512(x + words_of_a_register), second);
    // Signs survive saturation.
    store_codes(code, y, _mm512_packus_epi32(a.pairs, b.pairs), _mm512_packs_epi16(a.signs, b.signs));
}

template<typename Kernel> int quantize(const quantize_arguments &all, qdq_quantize_kernel *generated) {
    static_assert(Kernel::floats.dtype == QDQ_BF16);
    return encode<Kernel, words_encoder>(all, generated);
}

}  // namespace
}  // namespace qdq::kernels
