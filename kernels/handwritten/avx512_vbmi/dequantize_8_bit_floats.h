// Dequantizes 8-bit floats to 16 bits by looking up the results of an operand's 128 codes without sign, which are
// computed in registers. vpermi2b takes the low 7 bits of a byte: a table for either half of the results. 64 codes take
// 14 instructions; words looked up in four registers take twice as long (Sapphire Rapids).
#include "handwritten/avx512/intrinsics.h"
#include "handwritten/handwritten.h"

namespace qdq::kernels {
namespace {

constexpr int64_t codes_at_once = 64;
constexpr int64_t shortest = 256;  // columns of a row that are worth its results

template<typename Kernel> class results_of {
public:
    explicit results_of(float scale) {
        const __m512i words[4] = {words_from(0, scale), words_from(32, scale), words_from(64, scale),
                                  words_from(96, scale)};
        for (int64_t i = 0; i < 2; i++) {
            const __m512i first = words[2 * i], second = words[2 * i + 1];
            low[i] = bytes_of(first, second);
            high[i] = bytes_of(_mm512_srli_epi16(first, 8), _mm512_srli_epi16(second, 8));
        }
    }

    void look_up(const char *x, char *y) const {
        // In the order in which unpacking the halves of results, lane by lane, leaves codes in theirs.
        const __m512i codes =
            _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), _mm512_loadu_si512(x));
        const __mmask64 is_nan =
            _mm512_cmple_epu8_mask(_mm512_sub_epi8(codes, byte(first_nan)), byte(last_nan - first_nan));
        const __m512i of_low = _mm512_permutex2var_epi8(low[0], codes, low[1]);
        const __m512i of_high = _mm512_permutex2var_epi8(high[0], codes, high[1]);
        const int xor_of_a_and_b_c = 0x78;  // a ^ (b & c)
        const __m512i with_sign = _mm512_ternarylogic_epi32(of_high, codes, byte(0x80), xor_of_a_and_b_c);
        const __m512i all_low = _mm512_mask_mov_epi8(of_low, is_nan, byte(nan));
        const __m512i all_high = _mm512_mask_mov_epi8(with_sign, is_nan, byte(nan >> 8));
        store<Kernel::nontemporal>(y, _mm512_unpacklo_epi8(all_low, all_high));
        store<Kernel::nontemporal>(y + 64, _mm512_unpackhi_epi8(all_low, all_high));
    }

private:
    // Codes that have the sign bit and are NaN; every NaN is positive. Without -0 its code, as numbers fill all others.
    static constexpr const float_layout &layout = Kernel::stored.layout;
    static constexpr uint32_t sign = 1u << layout.sign_bit(), first_nan = sign | (layout.last_number() + 1);
    static constexpr uint32_t last_nan = layout.has_negative_zero() ? sign | layout.magnitude_mask() : first_nan;
    static constexpr uint32_t nan = Kernel::floats.layout.nan();
    __m512i low[2], high[2];

    static __m512i byte(uint32_t bits) { return _mm512_set1_epi8(static_cast<char>(bits)); }

    // Of 32 codes from one on.
    static __m512i words_from(int64_t code, float scale) {
        static constexpr code_values<128> values = values_of<128>(Kernel::stored);
        const __m512 s = _mm512_set1_ps(scale);
        const __m512 first = _mm512_mul_ps(_mm512_load_ps(values.of + code), s);
        const __m512 second = _mm512_mul_ps(_mm512_load_ps(values.of + code + 16), s);
        return Kernel::floats.dtype == QDQ_F16 ? to_f16(first, second)
                                               : reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first));
    }

    // The low bytes of words.
    static __m512i bytes_of(__m512i first, __m512i second) {
        return both_halves(_mm512_cvtepi16_epi8(first), _mm512_cvtepi16_epi8(second));
    }
};

template<typename Kernel> int dequantize(const dequantize_arguments &all, qdq_dequantize_kernel *generated) {
    const int64_t columns = all.x->dim[0].extent;
    if (columns < shortest && !Kernel::nontemporal) {
        return all.run(generated);
    }
    const float *const scale = floats_of(all.scale);
    const int64_t operand_step = all.scale->dim[0].stride;
    rows_of_bytes rows(all.x, all.y);
    for (int64_t r = 0; r < rows.count; r++, rows.advance()) {
        const results_of<Kernel> results(scale[r * operand_step]);
        for (int64_t c = 0; c < columns; c += codes_at_once) {
            results.look_up(rows.x + c, rows.y + 2 * c);
        }
    }
    return 0;
}

}  // namespace
}  // namespace qdq::kernels
