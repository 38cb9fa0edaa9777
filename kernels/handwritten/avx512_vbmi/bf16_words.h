// How bf16 is quantized 32 words at a time: a register of bf16 is two of f32, of its even and of its odd words, and
// codes of both meet without a shuffle.
#pragma once

#include "handwritten/avx512_vbmi/float_encoder.h"

namespace qdq::kernels {
namespace {

constexpr int64_t words_of_a_register = 32;

// What a register of words is computed with. Magnitudes are bf16, the same in both words of a lane.
struct factors {
    __m512 scale, inverse;
    __m512i least, largest, nan;

    // Of even words, and of odd ones.
    template<bool multiplies> __m512 even_quotient(__m512 x) const { return quotient<multiplies>(x, scale, inverse); }
    template<bool multiplies> __m512 odd_quotient(__m512 x) const { return quotient<multiplies>(x, scale, inverse); }
};

// The same where each word has its own.
struct factors_of_columns {
    __m512 even_scale, odd_scale, even_inverse, odd_inverse;
    __m512i least, largest, nan;

    template<bool multiplies> __m512 even_quotient(__m512 x) const {
        return quotient<multiplies>(x, even_scale, even_inverse);
    }
    template<bool multiplies> __m512 odd_quotient(__m512 x) const {
        return quotient<multiplies>(x, odd_scale, odd_inverse);
    }
};

constexpr int32_t upper_half = static_cast<int32_t>(0xffff0000);

// Numbers truncated to bf16, those of the first in even words.
__m512i bf16_of(__m512 even, __m512 odd) {
    const int a_or_b_and_c = 0xf8;  // a | (b & c)
    return _mm512_ternarylogic_epi32(_mm512_srli_epi32(_mm512_castps_si512(even), 16), _mm512_castps_si512(odd),
                                     _mm512_set1_epi32(upper_half), a_or_b_and_c);
}

__m512i bf16_twice(__m512 number) { return bf16_of(number, number); }

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

// The even and the odd ones of 32 operands.
struct parted_operands {
    __m512 even, odd;

    explicit parted_operands(const float *of) {
        const __m512i evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const __m512 low = _mm512_loadu_ps(of), high = _mm512_loadu_ps(of + lanes);
        even = _mm512_permutex2var_ps(low, evens, high);
        odd = _mm512_permutex2var_ps(low, _mm512_or_si512(evens, _mm512_set1_epi32(1)), high);
    }
};

template<typename Code, bool multiplies>
factors_of_columns factors_of_words(const float *scales, const float *inverses) {
    const parted_operands scale(scales), inverse(multiplies ? scales : inverses);
    const auto bound = [&](float quotient) __attribute__((always_inline)) {
        return bf16_of(magnitude_of<multiplies>(quotient, scale.even), magnitude_of<multiplies>(quotient, scale.odd));
    };
    return {scale.even,           scale.odd,       inverse.even, inverse.odd, bound(Code::least),
            bound(Code::largest), bound(Code::nan)};
}

// What Code is to have: `stores`, and a function encode_64(code, std::bool_constant<multiplies>, x, y, factors of
// 32 words, those of the next).
template<typename Code, bool multiplies> class words_encoder {
    static constexpr std::bool_constant<multiplies> how{};

public:
    using element = uint16_t;
    using factors_of_operands = factors_of_16<Code, multiplies>;

    static factors factors_of_one(const float *scale, const float *inverse) {
        const __m512 scale_of = _mm512_set1_ps(*scale);
        return factors_of<Code, multiplies>(scale_of, multiplies ? scale_of : _mm512_set1_ps(*inverse));
    }

    // Not unrolled: 64 Mi elements, a piece of 512 at a time, take 19 ms if it is, 12 so; 64 Ki 5.5 us and 5.8.
    static void row(call_stores stores, const uint16_t *x, uint8_t *y, int64_t columns, const factors &f) {
        const Code code(stores);
        for (int64_t c = 0; c < columns; c += group_size, x += group_size, y += Code::bytes_of_64) {
            stores.fetch_ahead(x);
            encode_64(code, how, x, y, f, f);
        }
    }

    // 64 columns of some rows.
    static void columns(call_stores stores, const rows_of_bytes &some, int64_t count, int64_t first, const float *scale,
                        const float *inverse) {
        const Code code(stores);
        const auto low = factors_of_words<Code, multiplies>(scale + first, inverse + first);
        const auto high = factors_of_words<Code, multiplies>(scale + first + words_of_a_register,
                                                             inverse + first + words_of_a_register);
        for (int64_t r = 0; r < count; r++) {
            encode_64(code, how, some.elements<element>(r) + first,
                      some.codes(r) + first / group_size * Code::bytes_of_64, low, high);
        }
    }

    // Out of line: inlined into the loop over rows it takes 1.1 times as long past the caches (GCC 12, Zen 4).
    template<int64_t block>
    [[gnu::noinline]] static void blocks(call_stores stores, const uint16_t *x, uint8_t *y, int64_t columns,
                                         const float *scale, const float *inverse) {
        const Code code(stores);
        constexpr int64_t at_once = lanes * block / words_of_a_register, of_each = lanes / at_once;
        const int64_t registers = columns / words_of_a_register;
        for (int64_t first = 0; first < registers; first += at_once) {
            const int64_t operand = first * words_of_a_register / block;
            const factors_of_operands f(scale + operand, inverse + operand, columns / block - operand);
            for (int64_t i = 0; i < least_of(at_once, registers - first); i += 2) {
                stores.fetch_ahead(x);
                encode_64(code, how, x, y, f.template of_register<of_each>(i), f.template of_register<of_each>(i + 1));
                x += group_size;
                y += Code::bytes_of_64;
            }
        }
    }
};

}  // namespace
}  // namespace qdq::kernels
