// Dequantizes 8-bit floats to 16 bits by looking up words of 128 codes without sign. vpermi2b takes the low 7 bits of a
// byte: a table for either half of the words. Rows look up their results, which are computed in registers: 64 codes
// take 14 instructions; words looked up in four registers take twice as long (Sapphire Rapids). Blocks, columns and
// short rows look up the codes' values as bf16, which all are, and multiply them: 64 Ki codes of f8e4m3 in blocks of 32
// take 2.1 us, by the generated kernel 3.1 (Zen 5).
#include "handwritten/avx512/repeated_operands.h"
#include "handwritten/handwritten.h"

namespace qdq::kernels {
namespace {

constexpr int64_t codes_at_once = 64;
constexpr int64_t shortest = 256;  // columns of a row that are worth its results

__m512i byte(uint32_t bits) { return _mm512_set1_epi8(static_cast<char>(bits)); }

struct words_of_64 {
    __m512i first, second;  // of the first 8 codes of each 128 bits, and of the second
};

// A table of a word for each code without sign.
template<typename Kernel> class words_of_codes {
public:
    explicit words_of_codes(const __m512i (&words)[4]) {
        for (int64_t i = 0; i < 2; i++) {
            const __m512i first = words[2 * i], second = words[2 * i + 1];
            low[i] = bytes_of(first, second);
            high[i] = bytes_of(_mm512_srli_epi16(first, 8), _mm512_srli_epi16(second, 8));
        }
    }

    words_of_64 look_up(__m512i codes) const {
        const __mmask64 is_nan =
            _mm512_cmple_epu8_mask(_mm512_sub_epi8(codes, byte(first_nan)), byte(last_nan - first_nan));
        const __m512i of_low = _mm512_permutex2var_epi8(low[0], codes, low[1]);
        const __m512i of_high = _mm512_permutex2var_epi8(high[0], codes, high[1]);
        const int xor_of_a_and_b_c = 0x78;  // a ^ (b & c)
        const __m512i with_sign = _mm512_ternarylogic_epi32(of_high, codes, byte(0x80), xor_of_a_and_b_c);
        const __m512i all_low = _mm512_mask_mov_epi8(of_low, is_nan, byte(nan));
        const __m512i all_high = _mm512_mask_mov_epi8(with_sign, is_nan, byte(nan >> 8));
        return {_mm512_unpacklo_epi8(all_low, all_high), _mm512_unpackhi_epi8(all_low, all_high)};
    }

private:
    // Codes that have the sign bit and are NaN; every NaN is positive. Without -0 its code, as numbers fill all others.
    static constexpr const float_layout &layout = Kernel::stored.layout;
    static constexpr uint32_t sign = 1u << layout.sign_bit(), first_nan = sign | (layout.last_number() + 1);
    static constexpr uint32_t last_nan = layout.has_negative_zero() ? sign | layout.magnitude_mask() : first_nan;
    static constexpr uint32_t nan = Kernel::words.nan();
    __m512i low[2], high[2];

    // The low bytes of words.
    static __m512i bytes_of(__m512i first, __m512i second) {
        return both_halves(_mm512_cvtepi16_epi8(first), _mm512_cvtepi16_epi8(second));
    }
};

// The values of 32 codes from one on, times a scale.
template<typename Kernel> __m512i words_from(int64_t code, float scale) {
    static constexpr code_values<128> values = values_of<128>(Kernel::stored);
    const __m512 s = _mm512_set1_ps(scale);
    return to_words<Kernel>(_mm512_mul_ps(_mm512_load_ps(values.of + code), s),
                            _mm512_mul_ps(_mm512_load_ps(values.of + code + 16), s));
}

template<typename Kernel> words_of_codes<Kernel> words_of(float scale) {
    return words_of_codes<Kernel>({words_from<Kernel>(0, scale), words_from<Kernel>(32, scale),
                                   words_from<Kernel>(64, scale), words_from<Kernel>(96, scale)});
}

// What is looked up: results, which are words of the floats, or values, which are bf16 whatever the floats are.
template<typename Kernel> struct results : Kernel {
    static constexpr const float_layout &words = Kernel::floats.layout;
};

template<typename Kernel> struct values : Kernel {
    static constexpr element_type floats = type_of(QDQ_BF16);
    static constexpr const float_layout &words = floats.layout;
};

template<typename Kernel> void look_up_row(const char *x, char *y, int64_t columns, float scale) {
    const auto table = words_of<results<Kernel>>(scale);
    // In which unpacking, 128 bits by 128, leaves codes in their order.
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    for (int64_t c = 0; c < columns; c += codes_at_once) {
        const words_of_64 words = table.look_up(_mm512_permutexvar_epi64(order, _mm512_loadu_si512(x + c)));
        store<Kernel::nontemporal>(y + 2 * c, words.first);
        store<Kernel::nontemporal>(y + 2 * c + 64, words.second);
    }
}

// 32 words, the even ones of which are those of the first 16 codes.
template<typename Kernel>
[[gnu::always_inline]] inline void multiply_32(__m512i words, char *y, __m512 first, __m512 second) {
    const __m512 even = _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
    const __m512 odd =
        _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32(static_cast<int32_t>(0xffff0000))));
    store<Kernel::nontemporal>(y, to_words<Kernel>(_mm512_mul_ps(even, first), _mm512_mul_ps(odd, second)));
}

// Scales of 16 codes or more, of a power of two of them.
class operands_of_long_blocks {
public:
    explicit operands_of_long_blocks(int shift)
        : shift(shift), places{0, lanes >> shift, 2 * lanes >> shift, 3 * lanes >> shift} {}

    int64_t place_of(int64_t column) const { return column >> shift; }
    [[gnu::always_inline]] __m512 of_register(const float *first, int64_t i) const {
        return _mm512_set1_ps(first[places[i]]);
    }

private:
    const int shift;
    const int64_t places[4];
};

template<typename Kernel, typename Operands>
[[gnu::noinline]] int multiply_values(const dequantize_arguments &all, int64_t operand_step, const Operands of) {
    const auto table = words_of<values<Kernel>>(1);
    // After unpacking, words of codes 0, 16, 1, 17, and so on.
    const __m512i order =
        _mm512_setr_epi64(0x1303120211011000, 0x3323322231213020, 0x1707160615051404, 0x3727362635253424,
                          0x1b0b1a0a19091808, 0x3b2b3a2a39293828, 0x1f0f1e0e1d0d1c0c, 0x3f2f3e2e3d2d3c2c);
    const int64_t columns = all.x->dim[0].extent;
    const float *scale = floats_of(all.scale);
    rows_of_bytes rows(all.x, all.y);
    for (int64_t r = 0; r < rows.count; r++, rows.advance(), scale += operand_step) {
        for (int64_t c = 0; c < columns; c += codes_at_once) {
            const words_of_64 words = table.look_up(_mm512_permutexvar_epi8(order, _mm512_loadu_si512(rows.x + c)));
            const float *const own = scale + of.place_of(c);
            multiply_32<Kernel>(words.first, rows.y + 2 * c, of.of_register(own, 0), of.of_register(own, 1));
            multiply_32<Kernel>(words.second, rows.y + 2 * c + 64, of.of_register(own, 2), of.of_register(own, 3));
        }
    }
    return 0;
}

// Short blocks are for the caches alone.
template<typename Kernel> int dequantize_blocks(const dequantize_arguments &all) {
    const int64_t block = all.x->dim[0].extent / all.scale->dim[0].extent;
    if (block < lanes) {
        return multiply_values<typename Kernel::in_caches>(all, 0,
                                                           operands_of_blocks<register_order::consecutive>(block));
    }
    return multiply_values<Kernel>(all, 0, operands_of_long_blocks(__builtin_ctzll(static_cast<uint64_t>(block))));
}

template<typename Kernel> int dequantize_rows(const dequantize_arguments &all) {
    const int64_t columns = all.x->dim[0].extent, operand_step = all.scale->dim[0].stride;
    if (columns < shortest) {
        constexpr int whole_row = 62;  // as a shift
        return multiply_values<typename Kernel::in_caches>(all, operand_step, operands_of_long_blocks(whole_row));
    }
    const float *scale = floats_of(all.scale);
    rows_of_bytes rows(all.x, all.y);
    for (int64_t r = 0; r < rows.count; r++, rows.advance(), scale += operand_step) {
        look_up_row<Kernel>(rows.x, rows.y, columns, *scale);
    }
    return 0;
}

template<typename Kernel> int dequantize(const dequantize_arguments &all, qdq_dequantize_kernel *generated) {
    if constexpr (Kernel::is_block) {
        return dequantize_blocks<Kernel>(all);
    } else if constexpr (Kernel::is_column) {
        return all.variant == int32_t(dequantize_variant::plain)
                   ? multiply_values<Kernel>(all, 0, operands_of_columns<register_order::consecutive>())
                   : all.run(generated);
    } else {
        return dequantize_rows<Kernel>(all);
    }
}

}  // namespace
}  // namespace qdq::kernels
