// Quantizes bf16 to 8-bit integers. Quotients below those of int32 become its least, which packs saturate; so does NaN.
// 64 Ki elements take 1.52 us, and 2.16 where x is divided; by the generated kernel 2.28 and 2.91 (Zen 5). Past the
// caches 64 Mi take 3.7 ms, and 5.0 by pieces that the dispatcher copies.
#include "handwritten/avx512_vbmi/bf16_words.h"

namespace qdq::kernels {
namespace {

// `largest`: a quotient that saturates as a word; 2^-8 off, it does, too. The other bounds are of no use.
template<bool is_signed> struct integer_code {
    static constexpr int64_t bytes_of_64 = 64;
    static constexpr float least = 0, largest = 0x1p16f, nan = 0;

    const call_stores stores;
    explicit integer_code(call_stores stores) : stores(stores) {}

    static __m512i bytes(__m512i a, __m512i b) {
        return is_signed ? _mm512_packs_epi16(a, b) : _mm512_packus_epi16(a, b);
    }
};

// Quotients of 32 words, as words: of each 128 bits first those of even ones.
template<bool multiplies> [[gnu::always_inline]] inline __m512i quotients_of_words(__m512i x, const factors &with) {
    const __m512 largest = _mm512_castsi512_ps(with.largest);
    const auto rounded = [&](__m512i bits) __attribute__((always_inline)) {
        const __m512 bounded = _mm512_min_ps(largest, _mm512_castsi512_ps(bits));  // NaN stays
        return _mm512_cvtps_epi32(quotient<multiplies>(bounded, with.scale, with.inverse));
    };
    return _mm512_packs_epi32(rounded(_mm512_slli_epi32(x, 16)),
                              rounded(_mm512_and_si512(x, _mm512_set1_epi32(upper_half))));
}

template<typename Code, bool multiplies>
[[gnu::always_inline]] inline void encode_64(const Code &code, std::bool_constant<multiplies>, const uint16_t *x,
                                             uint8_t *y, const factors &first, const factors &second) {
    const __m512i a = quotients_of_words<multiplies>(_mm512_loadu_si512(x), first);
    const __m512i b = quotients_of_words<multiplies>(_mm512_loadu_si512(x + words_of_a_register), second);
    // 128 bits have 8 codes of the first register, then 8 of the second.
    const __m512i order =
        _mm512_setr_epi64(0x0703060205010400, 0x1713161215111410, 0x2723262225212420, 0x3733363235313430,
                          0x0f0b0e0a0d090c08, 0x1f1b1e1a1d191c18, 0x2f2b2e2a2d292c28, 0x3f3b3e3a3d393c38);
    code.stores.store(reinterpret_cast<char *>(y), _mm512_permutexvar_epi8(order, code.bytes(a, b)));
}

template<typename Kernel> int quantize(const quantize_arguments &all, qdq_quantize_kernel *generated) {
    using code = integer_code<Kernel::stored.is_signed()>;
    static_assert(Kernel::floats.dtype == QDQ_BF16 && Kernel::stored.bits == 8 && Kernel::stored.is_integer());
    const call_stores stores(Kernel::nontemporal, fetch_distance_of(Kernel::nontemporal, all.x));
    return encodes<typename Kernel::in_caches, code, words_encoder>(all, block_of(all), stores) ? 0
                                                                                                : all.run(generated);
}

}  // namespace
}  // namespace qdq::kernels
