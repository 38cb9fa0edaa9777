// Quantizes bf16 to floats of 8 and 4 bits. A register of bf16 is two of f32, of its even and of its odd words, and
// codes of both meet without a shuffle; magnitudes are bounded as bf16, 32 at a time. 64 codes of f8e4m3 take 47
// instructions, those of the generated kernel 68.
#include "handwritten/avx512_vbmi/float_encoder.h"

namespace qdq::kernels {
namespace {

constexpr int64_t words_of_a_register = 32;

// What a register of words is computed with. Magnitudes are bf16, the same in both words of a lane.
struct factors {
    __m512 scale, inverse;
    __m512i least, largest, nan;
};

// A number truncated to bf16.
__m512i bf16_twice(__m512 number) {
    const __m512i bits = _mm512_castps_si512(number), upper = _mm512_srli_epi32(bits, 16);
    return _mm512_or_si512(upper, _mm512_slli_epi32(upper, 16));
}

template<typename Code, bool multiplies> factors factors_of(__m512 scale, __m512 inverse) {
    return {scale, inverse, bf16_twice(magnitude_of<multiplies>(Code::least, scale)),
            bf16_twice(magnitude_of<multiplies>(Code::largest, scale)),
            bf16_twice(magnitude_of<multiplies>(Code::nan, scale))};
}

// Factors of 16 operands, and those of one register of words in the order of blocks.
template<typename Code, bool multiplies> class factors_of_16 {
public:
    factors_of_16(const float *scales, const float *inverses, int64_t count) {
        const __m512 scale_of = operands_of(scales, count);
        const factors of = factors_of<Code, multiplies>(scale_of, multiplies ? scale_of : operands_of(inverses, count));
        _mm512_store_ps(scale, of.scale);
        _mm512_store_ps(inverse, of.inverse);
        _mm512_store_si512(least, of.least);
        _mm512_store_si512(largest, of.largest);
        _mm512_store_si512(nan, of.nan);
        // Loads that broadcast cost nothing beside the permutes that GCC 12 would make of them.
        __asm__("" : "+m"(*this));
    }

    factors of_operand(int64_t i) const { return of_register<1>(i); }

    // `of_each`: blocks that a register has, 1 or 2.
    template<int64_t of_each> factors of_register(int64_t i) const {
        return {floats<of_each>(scale, i), floats<of_each>(inverse, i), words<of_each>(least, i),
                words<of_each>(largest, i), words<of_each>(nan, i)};
    }

private:
    static constexpr __mmask16 second = 0xff00;
    alignas(64) float scale[lanes], inverse[lanes];
    alignas(64) int32_t least[lanes], largest[lanes], nan[lanes];

    template<int64_t of_each> static __m512 floats(const float *values, int64_t i) {
        const __m512 first = _mm512_set1_ps(values[of_each * i]);
        return of_each == 1 ? first : _mm512_mask_mov_ps(first, second, _mm512_set1_ps(values[of_each * i + 1]));
    }
    template<int64_t of_each> static __m512i words(const int32_t *values, int64_t i) {
        const __m512i first = _mm512_set1_epi32(values[of_each * i]);
        return of_each == 1 ? first : _mm512_mask_set1_epi32(first, second, values[of_each * i + 1]);
    }
};

// Codes of 32 words without their signs, a pair in the low half of each lane, and words with their signs. GCC 12 would
// not inline what follows: 1.25 times as long.
struct encoded_words {
    __m512i pairs, signs;
};

template<bool multiplies, typename Code>
[[gnu::always_inline]] inline encoded_words encode_words(const Code &code, __m512i x, const factors &with) {
    const __m512i magnitudes = _mm512_and_si512(x, _mm512_set1_epi16(0x7fff));
    const __mmask32 is_nan = _mm512_cmpgt_epi16_mask(magnitudes, _mm512_set1_epi16(0x7f80));
    __m512i bounded = _mm512_max_epu16(_mm512_min_epu16(magnitudes, with.largest), with.least);
    __m512i signs = x;
    if constexpr (Code::has_nan) {
        bounded = _mm512_mask_mov_epi16(bounded, is_nan, with.nan);
    } else {  // the positive largest number
        signs = _mm512_maskz_mov_epi16(~is_nan, x);
    }
    const auto code_of = [&](__m512i bits) __attribute__((always_inline)) {
        return code.code_of(quotient<multiplies>(_mm512_castsi512_ps(bits), with.scale, with.inverse));
    };
    const __m512i first = code_of(_mm512_slli_epi32(bounded, 16));
    const __m512i second = code_of(_mm512_and_si512(bounded, _mm512_set1_epi32(static_cast<int32_t>(0xffff0000))));
    const int a_or_b_and_c = 0xa8;  // (a | b) & c
    return {_mm512_ternarylogic_epi32(first, _mm512_slli_epi32(second, 8), _mm512_set1_epi32(0xffff), a_or_b_and_c),
            signs};
}

// Lanes of 128 bits have 8 codes of the first register, then 8 of the second.
inline void store(const f8e4m3_code &, uint8_t *y, __m512i magnitudes, __m512i signs) {
    const __m512i codes =
        _mm512_ternarylogic_epi32(magnitudes, signs, _mm512_set1_epi8(static_cast<char>(0x80)), 0xf8);  // a | b & c
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    _mm512_storeu_si512(y, _mm512_permutexvar_epi64(order, codes));
}

inline void store(const f4e2m1_code &, uint8_t *y, __m512i magnitudes, __m512i signs) {
    const __m512i codes = _mm512_ternarylogic_epi32(magnitudes, _mm512_srli_epi16(signs, 4), _mm512_set1_epi8(8),
                                                    0xf8);                      // a | b & c
    const __m512i pairs = _mm512_or_si512(codes, _mm512_srli_epi16(codes, 4));  // in every other byte
    const __m512i order =
        _mm512_setr_epi64(0x1614121006040200, 0x3634323026242220, 0x1e1c1a180e0c0a08, 0x3e3c3a382e2c2a28, 0, 0, 0, 0);
    const __m512i in_order = _mm512_permutexvar_epi8(order, pairs);
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(y), _mm512_castsi512_si256(in_order));
}

template<typename Code, bool multiplies> class words_encoder {
public:
    using element = uint16_t;
    using factors_of_operands = factors_of_16<Code, multiplies>;

    static factors factors_of_one(const float *scale, const float *inverse) {
        const __m512 scale_of = _mm512_set1_ps(*scale);
        return factors_of<Code, multiplies>(scale_of, multiplies ? scale_of : _mm512_set1_ps(*inverse));
    }

    // Not unrolled: 64 Mi elements, a piece of 512 at a time, take 19 ms if it is, 12 so; 64 Ki 5.5 us and 5.8.
    static void row(const uint16_t *x, uint8_t *y, int64_t columns, const factors &f) {
        const Code code;
        for (int64_t c = 0; c < columns; c += group_size, x += group_size, y += Code::bytes_of_64) {
            encode_64(code, x, y, f, f);
        }
    }

    // Out of line: inlined into the loop over rows it takes 1.1 times as long past the caches (GCC 12, Zen 4).
    template<int64_t block>
    [[gnu::noinline]] static void blocks(const uint16_t *x, uint8_t *y, int64_t columns, const float *scale,
                                         const float *inverse) {
        const Code code;
        constexpr int64_t at_once = lanes * block / words_of_a_register, of_each = lanes / at_once;
        const int64_t registers = columns / words_of_a_register;
        for (int64_t first = 0; first < registers; first += at_once) {
            const int64_t operand = first * words_of_a_register / block;
            const factors_of_operands f(scale + operand, inverse + operand, columns / block - operand);
            for (int64_t i = 0; i < least_of(at_once, registers - first); i += 2) {
                encode_64(code, x, y, f.template of_register<of_each>(i), f.template of_register<of_each>(i + 1));
                x += group_size;
                y += Code::bytes_of_64;
            }
        }
    }

private:
    [[gnu::always_inline]] static void encode_64(const Code &code, const uint16_t *x, uint8_t *y, const factors &first,
                                                 const factors &second) {
        const encoded_words a = encode_words<multiplies>(code, _mm512_loadu_si512(x), first);
        const encoded_words b = encode_words<multiplies>(code, _mm512_loadu_si512(x + words_of_a_register), second);
        // Signs survive saturation.
        store(code, y, _mm512_packus_epi32(a.pairs, b.pairs), _mm512_packs_epi16(a.signs, b.signs));
    }
};

template<typename Kernel> int quantize(const quantize_arguments &all, qdq_quantize_kernel *generated) {
    static_assert(Kernel::floats.dtype == QDQ_BF16);
    return encode<Kernel, words_encoder>(all, generated);
}

}  // namespace
}  // namespace qdq::kernels
