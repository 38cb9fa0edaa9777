// Quantizes bf16 to floats of 8 and 4 bits. What rounds a value to a code is the addition of a power of two that its
// exponent chooses; a permute of registers finds it in one instruction, where arithmetic takes five. A register of bf16
// is two of f32, of its even and of its odd words, and codes of both meet without a shuffle; magnitudes are bounded as
// bf16, 32 at a time. 64 codes of f8e4m3 take 47 instructions, those of the generated kernel 68.
#include "handwritten/avx512/intrinsics.h"
#include "handwritten/handwritten.h"

#include <bit>

namespace qdq::kernels {
namespace {

constexpr int64_t words_of_a_register = 32, lanes = 16;

constexpr int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }

// By the low bits of an f32's exponent, the power of two whose sum with t is t rounded to a code: 2^(e + 23 - m), e the
// exponent but at least that of the least normal code, m the bits of a mantissa. The low bits of the sum are to be the
// code, so the exponents passed since the least normal stand in the low bits of the entry.
template<int mantissa_bits, int least_exponent, int size> struct alignas(64) rounding_table {
    float by_exponent[size] = {};

    constexpr rounding_table(int first_exponent, int last_exponent) {
        for (int e = first_exponent; e <= last_exponent; e++) {
            const int exponent = e < least_exponent ? least_exponent : e, passed = (exponent - least_exponent)
                                                                                   << mantissa_bits;
            const float last_place = std::bit_cast<float>((exponent - mantissa_bits + 127) << 23);
            by_exponent[(e + 127) % size] = last_place * static_cast<float>((1 << 23) + passed);
        }
    }
};

__m512i exponents_of(__m512 t) { return _mm512_srli_epi32(_mm512_castps_si512(t), 23); }
__m512i bits_of_sum(__m512 a, __m512 b) { return _mm512_castps_si512(_mm512_add_ps(a, b)); }

// `least` is a quotient that rounds to zero, `largest` the last number; truncated to bf16, both still do. So does `nan`
// to the code of NaN.
class f8e4m3_code {
public:
    static constexpr int64_t bytes_of_64 = 64;
    static constexpr float least = 0x1p-12f, largest = 448, nan = 480;
    static constexpr bool has_nan = true;

    __m512i code_of(__m512 t) const { return bits_of_sum(t, _mm512_permutex2var_ps(low, exponents_of(t), high)); }

    // Lanes of 128 bits have 8 codes of the first register, then 8 of the second.
    void store(uint8_t *y, __m512i magnitudes, __m512i signs) const {
        const __m512i codes = _mm512_ternarylogic_epi32(magnitudes, signs, _mm512_set1_epi8(static_cast<char>(0x80)),
                                                        0xf8);  // a | b & c
        const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
        _mm512_storeu_si512(y, _mm512_permutexvar_epi64(order, codes));
    }

private:
    static constexpr rounding_table<3, -6, 32> table{-13, 8};
    const __m512 low = _mm512_load_ps(table.by_exponent), high = _mm512_load_ps(table.by_exponent + lanes);
};

class f4e2m1_code {
public:
    static constexpr int64_t bytes_of_64 = 32;
    static constexpr float least = 0x1p-4f, largest = 6, nan = 6;
    static constexpr bool has_nan = false;

    __m512i code_of(__m512 t) const { return bits_of_sum(t, _mm512_permutexvar_ps(exponents_of(t), powers)); }

    void store(uint8_t *y, __m512i magnitudes, __m512i signs) const {
        const __m512i codes = _mm512_ternarylogic_epi32(magnitudes, _mm512_srli_epi16(signs, 4), _mm512_set1_epi8(8),
                                                        0xf8);                      // a | b & c
        const __m512i pairs = _mm512_or_si512(codes, _mm512_srli_epi16(codes, 4));  // in every other byte
        const __m512i order = _mm512_setr_epi64(0x1614121006040200, 0x3634323026242220, 0x1e1c1a180e0c0a08,
                                                0x3e3c3a382e2c2a28, 0, 0, 0, 0);
        const __m512i in_order = _mm512_permutexvar_epi8(order, pairs);
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(y), _mm512_castsi512_si256(in_order));
    }

private:
    static constexpr rounding_table<1, 0, 16> table{-5, 2};
    const __m512 powers = _mm512_load_ps(table.by_exponent);
};

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

// The magnitude of x with about that quotient: 2^-14 off, and what truncation takes.
template<bool multiplies> __m512i magnitude_of(float quotient, __m512 scale) {
    const __m512 divisor = multiplies ? _mm512_rcp14_ps(scale) : scale;
    return bf16_twice(_mm512_mul_ps(_mm512_set1_ps(quotient), divisor));
}

template<typename Code, bool multiplies> factors factors_of(__m512 scale, __m512 inverse) {
    return {scale, inverse, magnitude_of<multiplies>(Code::least, scale),
            magnitude_of<multiplies>(Code::largest, scale), magnitude_of<multiplies>(Code::nan, scale)};
}

// Factors of 16 operands, and those of one register of words in their order.
template<typename Code, bool multiplies, int64_t block> class factors_of_blocks {
public:
    factors_of_blocks(const float *scales, const float *inverses, int64_t count) {
        const __mmask16 there = static_cast<__mmask16>((1u << least_of(count, lanes)) - 1);
        const __m512 one = _mm512_set1_ps(1), scale_of = _mm512_mask_loadu_ps(one, there, scales);
        const factors of =
            factors_of<Code, multiplies>(scale_of, multiplies ? one : _mm512_mask_loadu_ps(one, there, inverses));
        _mm512_store_ps(scale, of.scale);
        _mm512_store_ps(inverse, of.inverse);
        _mm512_store_si512(least, of.least);
        _mm512_store_si512(largest, of.largest);
        _mm512_store_si512(nan, of.nan);
        // Loads that broadcast cost nothing beside the permutes that GCC 12 would make of them.
        __asm__("" : "+m"(*this));
    }

    factors of_register(int64_t i) const {
        return {floats(scale, i), floats(inverse, i), words(least, i), words(largest, i), words(nan, i)};
    }

private:
    static constexpr int64_t of_each = words_of_a_register / block;  // 1, or 2
    static constexpr __mmask16 second = 0xff00;
    alignas(64) float scale[lanes], inverse[lanes];
    alignas(64) int32_t least[lanes], largest[lanes], nan[lanes];

    static __m512 floats(const float *values, int64_t i) {
        const __m512 first = _mm512_set1_ps(values[of_each * i]);
        return of_each == 1 ? first : _mm512_mask_mov_ps(first, second, _mm512_set1_ps(values[of_each * i + 1]));
    }
    static __m512i words(const int32_t *values, int64_t i) {
        const __m512i first = _mm512_set1_epi32(values[of_each * i]);
        return of_each == 1 ? first : _mm512_mask_set1_epi32(first, second, values[of_each * i + 1]);
    }
};

// x times the scale, or divided by it as divide_by_reciprocal in generators/arithmetic.h proves.
template<bool multiplies> __m512 quotient(__m512i bits, const factors &with) {
    const __m512 x = _mm512_castsi512_ps(bits);
    if constexpr (multiplies) {
        return _mm512_mul_ps(x, with.scale);
    }
    const __m512 guess = _mm512_mul_ps(x, with.inverse);
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(guess, with.scale, x), with.inverse, guess);
}

// Codes of 32 words without their signs, a pair in the low half of each lane, and words with their signs. GCC 12 would
// not inline what follows: 1.25 times as long.
struct encoded_words {
    __m512i pairs, signs;
};

template<bool multiplies, typename Code>
[[gnu::always_inline]] inline encoded_words encode(const Code &code, __m512i x, const factors &with) {
    const __m512i magnitudes = _mm512_and_si512(x, _mm512_set1_epi16(0x7fff));
    const __mmask32 is_nan = _mm512_cmpgt_epi16_mask(magnitudes, _mm512_set1_epi16(0x7f80));
    __m512i bounded = _mm512_max_epu16(_mm512_min_epu16(magnitudes, with.largest), with.least);
    __m512i signs = x;
    if constexpr (Code::has_nan) {
        bounded = _mm512_mask_mov_epi16(bounded, is_nan, with.nan);
    } else {  // the positive largest number
        signs = _mm512_maskz_mov_epi16(~is_nan, x);
    }
    const __m512i upper = _mm512_set1_epi32(static_cast<int32_t>(0xffff0000));
    const __m512i first = code.code_of(quotient<multiplies>(_mm512_slli_epi32(bounded, 16), with));
    const __m512i second = code.code_of(quotient<multiplies>(_mm512_and_si512(bounded, upper), with));
    const int a_or_b_and_c = 0xa8;  // (a | b) & c
    return {_mm512_ternarylogic_epi32(first, _mm512_slli_epi32(second, 8), _mm512_set1_epi32(0xffff), a_or_b_and_c),
            signs};
}

template<bool multiplies, typename Code>
[[gnu::always_inline]] inline void encode_64(const Code &code, const uint16_t *x, uint8_t *y, const factors &first,
                                             const factors &second) {
    const encoded_words a = encode<multiplies>(code, _mm512_loadu_si512(x), first);
    const encoded_words b = encode<multiplies>(code, _mm512_loadu_si512(x + words_of_a_register), second);
    code.store(y, _mm512_packus_epi32(a.pairs, b.pairs), _mm512_packs_epi16(a.signs, b.signs));  // signs survive
}

// Not unrolled: 64 Mi elements, a piece of 512 at a time, take 19 ms if it is, 12 so; 64 Ki 5.5 us and 5.8.
template<typename Code, bool multiplies>
void encode_row(const Code &code, const uint16_t *x, uint8_t *y, int64_t columns, float scale, float inverse) {
    const factors f = factors_of<Code, multiplies>(_mm512_set1_ps(scale), _mm512_set1_ps(inverse));
    for (int64_t c = 0; c < columns; c += group_size, x += group_size, y += Code::bytes_of_64) {
        encode_64<multiplies>(code, x, y, f, f);
    }
}

// Out of line: inlined into the loop over rows it takes 1.1 times as long past the caches (GCC 12, Zen 4).
template<int64_t block, typename Code, bool multiplies>
[[gnu::noinline]] void encode_blocks(const Code &code, const uint16_t *x, uint8_t *y, int64_t columns,
                                     const float *scale, const float *inverse) {
    const int64_t registers = columns / words_of_a_register, at_once = lanes * block / words_of_a_register;
    for (int64_t first = 0; first < registers; first += at_once) {
        const int64_t operand = first * words_of_a_register / block;
        const factors_of_blocks<Code, multiplies, block> f(scale + operand, inverse + operand,
                                                           columns / block - operand);
        for (int64_t i = 0; i < least_of(at_once, registers - first); i += 2) {
            encode_64<multiplies>(code, x, y, f.of_register(i), f.of_register(i + 1));
            x += group_size;
            y += Code::bytes_of_64;
        }
    }
}

template<typename Code, bool multiplies, bool is_block> void encode_rows(const quantize_arguments &all, int64_t block) {
    const Code code;
    const int64_t columns = all.x->dim[0].extent, operand_step = all.scale->dim[0].stride;
    const float *scale = floats_of(all.scale), *inverse = floats_of(all.inverse);
    rows_of_bytes rows(all.x, all.y);
    for (int64_t r = 0; r < rows.count; r++, rows.advance()) {
        const uint16_t *const x = reinterpret_cast<const uint16_t *>(rows.x);
        uint8_t *const y = reinterpret_cast<uint8_t *>(rows.y);
        if constexpr (!is_block) {
            const int64_t operand = r * operand_step;
            encode_row<Code, multiplies>(code, x, y, columns, scale[operand], multiplies ? 1 : inverse[operand]);
        } else if (block == words_of_a_register) {
            encode_blocks<words_of_a_register, Code, multiplies>(code, x, y, columns, scale, inverse);
        } else {
            encode_blocks<words_of_a_register / 2, Code, multiplies>(code, x, y, columns, scale, inverse);
        }
    }
}

// Whether bounds by these scales are numbers.
bool all_are_divisors(const halide_buffer_t *scale) {
    const int64_t count = scale->dim[0].stride == 0 ? 1 : scale->dim[0].extent;
    uint32_t outside = 0;
    for (int64_t i = 0; i < count; i++) {
        outside |=
            __builtin_bit_cast(uint32_t, floats_of(scale)[i]) - smallest_divisor > largest_divisor - smallest_divisor;
    }
    return outside == 0;
}

// Blocks twice as long as the generated kernel takes them, by groups.
int run_in_halves(const quantize_arguments &all, int64_t half, qdq_quantize_kernel *generated) {
    halide_buffer_t x = *all.x, y = *all.y, scale = *all.scale;
    halide_dimension_t x_shape[2] = {x.dim[0], x.dim[1]}, y_shape[2] = {y.dim[0], y.dim[1]}, operands = scale.dim[0];
    float twice[group_size];
    x.dim = x_shape;
    y.dim = y_shape;
    scale.dim = &operands;
    scale.host = reinterpret_cast<uint8_t *>(twice);
    const int64_t groups = x_shape[0].extent / group_size;
    x_shape[0].extent = group_size;
    y_shape[0].extent = int32_t(y_shape[0].extent / groups);
    operands.extent = int32_t(group_size / half);
    for (int64_t i = 0; i < groups; i++) {
        for (int64_t k = 0; k < operands.extent; k++) {
            twice[k] = floats_of(all.scale)[(i * operands.extent + k) / 2];
        }
        quantize_arguments part = all;
        part.x = &x;
        part.scale = &scale;
        part.y = &y;
        part.run(generated);
        x.host += group_size * sizeof(uint16_t);
        y.host += y_shape[0].extent;
    }
    return 0;
}

template<typename Kernel> int quantize(const quantize_arguments &all, qdq_quantize_kernel *generated) {
    using code = std::conditional_t<Kernel::stored.dtype == QDQ_F8E4M3, f8e4m3_code, f4e2m1_code>;
    static_assert(Kernel::floats.dtype == QDQ_BF16 &&
                  (std::is_same_v<code, f8e4m3_code> || Kernel::stored.dtype == QDQ_F4E2M1));
    const int64_t block = all.x->dim[0].extent / all.scale->dim[0].extent;
    if (all.variant == int32_t(quantize_variant::divide)) {
        encode_rows<code, false, Kernel::is_block>(all, block);
    } else if (all_are_divisors(all.scale)) {
        encode_rows<code, true, Kernel::is_block>(all, block);
    } else if (Kernel::is_block && block != Kernel::stored.block) {
        return run_in_halves(all, Kernel::stored.block, generated);
    } else {
        return all.run(generated);
    }
    return 0;
}

}  // namespace
}  // namespace qdq::kernels
