// Quantizes bf16 to 8-bit integers. Quotients below those of int32 become its least, which packs saturate; so does NaN.
// 64 Ki elements take 1.52 us, and 2.16 where x is divided; by the generated kernel 2.28 and 2.91 (Zen 5). Past the
// caches 64 Mi take 3.7 ms, and 5.0 by pieces that the dispatcher copies.
#include "handwritten/avx512/rounding.h"
#include "handwritten/avx512_vbmi/bf16_words.h"

namespace qdq::kernels {
namespace {

// `largest`: a quotient that saturates as a word; 2^-8 off, it does, too. The other bounds are of no use.
template<bool is_signed, qdq_rounding its_rounding> struct integer_code {
    static constexpr qdq_rounding rounding = its_rounding;
    static constexpr int64_t bytes_of_64 = 64;
    static constexpr float least = 0, largest = 0x1p16f, nan = 0;

    const call_stores stores;
    explicit integer_code(call_stores stores) : stores(stores) {}

    static __m512i bytes(__m512i a, __m512i b) {
        return is_signed ? _mm512_packs_epi16(a, b) : _mm512_packus_epi16(a, b);
    }
};

// Quotients of 32 words, as words: of each 128 bits first those of even ones.
template<qdq_rounding rounding, bool multiplies>
[[gnu::always_inline]] inline __m512i quotients_of_words(__m512i words, const factors &with) {
    const __m512 largest = _mm512_castsi512_ps(with.largest);
    const __m512i largest_of_zero = largest_with_quotient_zero(with.scale);
    const auto integers = [&](__m512i bits) __attribute__((always_inline)) {
        const __m512 x = _mm512_castsi512_ps(bits), bounded = _mm512_min_ps(largest, x);  // NaN stays
        return rounded<rounding, !multiplies>(quotient<multiplies>(bounded, with.scale, with.inverse), x,
                                              largest_of_zero);
    };
    return _mm512_packs_epi32(integers(_mm512_slli_epi32(words, 16)),
                              integers(_mm512_and_si512(words, _mm512_set1_epi32(upper_half))));
}

template<typename Code, bool multiplies>
[[gnu::always_inline]] inline void encode_64(const Code &code, std::bool_constant<multiplies>, const uint16_t *x,
                                             uint8_t *y, const factors &first, const factors &second) {
    const __m512i a = quotients_of_words<Code::rounding, multiplies>(_mm512_loadu_si512(x), first);
    const __m512i b =
        quotients_of_words<Code::rounding, multiplies>(_mm512_loadu_si512(x + words_of_a_register), second);
    // 128 bits have 8 codes of the first register, then 8 of the second.
    const __m512i order =
        _mm512_setr_epi64(0x0703060205010400, 0x1713161215111410, 0x2723262225212420, 0x3733363235313430,
                          0x0f0b0e0a0d090c08, 0x1f1b1e1a1d191c18, 0x2f2b2e2a2d292c28, 0x3f3b3e3a3d393c38);
    code.stores.store(reinterpret_cast<char *>(y), _mm512_permutexvar_epi8(order, code.bytes(a, b)));
}

// Whether this file has the codes of that rounding.
template<typename Kernel, qdq_rounding rounding> bool quantizes(const quantize_arguments &all) {
    using code = integer_code<Kernel::stored.is_signed(), rounding>;
    const call_stores stores(Kernel::nontemporal, fetch_distance_of(Kernel::nontemporal, all.x));
    return encodes<typename Kernel::in_caches, code, words_encoder>(all, block_of(all), stores);
}

// Whether it neither adds a zero point nor has another range than the type's, as variants of other roundings may.
template<typename Kernel> bool is_plain(const quantize_arguments &all) {
    const int64_t count = all.zero_point->dim[0].stride == 0 ? 1 : all.zero_point->dim[0].extent;
    bool is_plain = all.lowest == Kernel::stored.lowest() && all.highest == Kernel::stored.highest();
    for (int64_t i = 0; i < count; i++) {
        is_plain &= floats_of(all.zero_point)[i] == 0;
    }
    return is_plain;
}

// The same of the other roundings.
template<typename Kernel> bool quantizes_otherwise(quantize_arguments all) {
    const bool multiplies = all.variant == static_cast<int32_t>(quantize_variant::rounded_multiply);
    if (!(multiplies || all.variant == static_cast<int32_t>(quantize_variant::rounded_divide)) ||
        !is_plain<Kernel>(all)) {
        return false;
    }
    all.variant = static_cast<int32_t>(multiplies ? quantize_variant::multiply : quantize_variant::divide);
    switch (all.rounding) {
    case QDQ_NEAREST_AWAY: return quantizes<Kernel, QDQ_NEAREST_AWAY>(all);
    case QDQ_TOWARD_ZERO: return quantizes<Kernel, QDQ_TOWARD_ZERO>(all);
    case QDQ_DOWN: return quantizes<Kernel, QDQ_DOWN>(all);
    default: return quantizes<Kernel, QDQ_UP>(all);
    }
}

template<typename Kernel> int quantize(const quantize_arguments &all, qdq_quantize_kernel *generated) {
    static_assert(Kernel::floats.dtype == QDQ_BF16 && Kernel::stored.bits == 8 && Kernel::stored.is_integer());
    if (quantizes<Kernel, QDQ_NEAREST_EVEN>(all)) {
        return 0;
    }
    if constexpr (!Kernel::is_block) {  // blocks round to nearest even
        if (quantizes_otherwise<Kernel>(all)) {
            return 0;
        }
    }
    return all.run(generated);
}

}  // namespace
}  // namespace qdq::kernels
