#include "cpu/lookup_avx512.h"

namespace qdq::runtime {

namespace {

// Which makes zeros of subnormals.
struct to_bf16_by_instruction {
    static __m512i words(__m512 low, __m512 high) { return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)); }
};

// Words of 4-bit codes in an instruction less than by AVX-512 alone, and half as many for the port of permutes: loads
// broadcast eight codes to each quadword of theirs, and vpmultishiftqb takes a byte from any bit on.
template<typename Results> struct multishifted_words {
    static constexpr int64_t code_bits = 4, bytes = 2;
    const __m512i results;

    explicit multishifted_words(const lookup_rows &row) : results(Results::words(row)) {}

    template<bool nontemporal> void look_up(const char *x, char *y) const {
        // Of quadword q the codes at bits 16 q, 16 q + 4, 16 q + 8 and 16 q + 12 of eight bytes.
        const __m512i shifts =
            _mm512_setr_epi64(0x000c000800040000, 0x001c001800140010, 0x002c002800240020, 0x003c003800340030,
                              0x000c000800040000, 0x001c001800140010, 0x002c002800240020, 0x003c003800340030);
        const __m512i first = _mm512_broadcastq_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(x)));
        const __m512i both =
            _mm512_mask_broadcastq_epi64(first, 0xf0, _mm_loadl_epi64(reinterpret_cast<const __m128i *>(x + 8)));
        store<nontemporal>(y, look_up_words<Results>(_mm512_multishift_epi64_epi8(shifts, both), results));
    }
};

// vpermi2b takes the low 7 bits of a byte: a table for either half of the results. 64 codes take 14 instructions; words
// looked up in four registers take twice as long (Sapphire Rapids).
class words_of_floats {
public:
    static constexpr int64_t code_bits = 8, bytes = 2;

    explicit words_of_floats(const lookup_rows &rows) {
        const __m512i *const table = reinterpret_cast<const __m512i *>(rows.tables);
        for (int64_t i = 0; i < 2; i++) {
            const __m512i first = _mm512_loadu_si512(table + 2 * i), second = _mm512_loadu_si512(table + 2 * i + 1);
            low[i] = bytes_of(first, second);
            high[i] = bytes_of(_mm512_srli_epi16(first, 8), _mm512_srli_epi16(second, 8));
        }
        const nan_codes &nan = rows.negative_nan;
        first_nan = _mm512_set1_epi8(static_cast<char>(nan.first));
        nans_after = _mm512_set1_epi8(static_cast<char>(nan.last - nan.first));
        nan_low = _mm512_set1_epi8(static_cast<char>(nan.result));
        nan_high = _mm512_set1_epi8(static_cast<char>(nan.result >> 8));
    }

    template<bool nontemporal> void look_up(const char *x, char *y) const {
        // In the order in which unpacking the halves of results, lane by lane, leaves codes in theirs.
        const __m512i codes =
            _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), _mm512_loadu_si512(x));
        const __mmask64 is_nan = _mm512_cmple_epu8_mask(_mm512_sub_epi8(codes, first_nan), nans_after);
        const __m512i of_low = _mm512_permutex2var_epi8(low[0], codes, low[1]);
        const __m512i of_high = _mm512_permutex2var_epi8(high[0], codes, high[1]);
        const int xor_of_a_and_b_c = 0x78;  // a ^ (b & c)
        const __m512i with_sign =
            _mm512_ternarylogic_epi32(of_high, codes, _mm512_set1_epi8(static_cast<char>(0x80)), xor_of_a_and_b_c);
        const __m512i all_low = _mm512_mask_mov_epi8(of_low, is_nan, nan_low);
        const __m512i all_high = _mm512_mask_mov_epi8(with_sign, is_nan, nan_high);
        store<nontemporal>(y, _mm512_unpacklo_epi8(all_low, all_high));
        store<nontemporal>(y + 64, _mm512_unpackhi_epi8(all_low, all_high));
    }

private:
    __m512i low[2], high[2];
    __m512i first_nan, nans_after, nan_low, nan_high;

    // The low bytes of words.
    static __m512i bytes_of(__m512i first, __m512i second) {
        return both_halves(_mm512_cvtepi16_epi8(first), _mm512_cvtepi16_epi8(second));
    }
};

}  // namespace

const result_lookup qdq_lookup_avx512_vbmi = {look_up<multishifted_words<from_table>>,
                                              look_up<floats<from_table>>,
                                              look_up<words_of_floats>,
                                              look_up_rounded_products<multishifted_words, to_bf16_by_instruction>,
                                              look_up_rounded_products<multishifted_words, to_f16>,
                                              look_up_float_products};

}  // namespace qdq::runtime
