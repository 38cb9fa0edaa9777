// Quantizes f32 and f16 to floats of 8 and 4 bits: four registers of f32, whose codes are each the low byte of a lane
// and meet by shifts. 64 codes of f8e4m3 take 55 instructions, 60 where f32 is divided, those of the generated kernel
// 72 to 80.
#include "handwritten/avx512_vbmi/float_encoder.h"

namespace qdq::kernels {
namespace {

// What a register of f32 is computed with: magnitudes of x are put between the bounds.
struct factors {
    __m512 scale, inverse, least, largest;
};

template<typename Code, bool multiplies> factors factors_of(__m512 scale, __m512 inverse) {
    return {scale, inverse, magnitude_of<multiplies>(Code::least, scale),
            magnitude_of<multiplies>(Code::largest, scale)};
}

// Factors of 16 operands.
template<typename Code, bool multiplies> class factors_of_16 {
public:
    factors_of_16(const float *scales, const float *inverses, int64_t count) {
        const __m512 scale_of = operands_of(scales, count);
        const factors of = factors_of<Code, multiplies>(scale_of, multiplies ? scale_of : operands_of(inverses, count));
        _mm512_store_ps(scale, of.scale);
        _mm512_store_ps(inverse, of.inverse);
        _mm512_store_ps(least, of.least);
        _mm512_store_ps(largest, of.largest);
        // Loads that broadcast cost nothing beside the permutes that GCC 12 would make of them.
        __asm__("" : "+m"(*this));
    }

    factors of_operand(int64_t i) const {
        return {_mm512_set1_ps(scale[i]), _mm512_set1_ps(inverse[i]), _mm512_set1_ps(least[i]),
                _mm512_set1_ps(largest[i])};
    }

private:
    alignas(64) float scale[lanes], inverse[lanes], least[lanes], largest[lanes];
};

// A register for each byte of a lane.
struct four_registers {
    __m512i of[4];
};

constexpr int a_where_c_else_b = 0xe4;  // of ternary logic

[[gnu::always_inline]] inline __m512i select(uint32_t mask, __m512i a, __m512i b) {
    return _mm512_ternarylogic_epi32(a, b, _mm512_set1_epi32(static_cast<int32_t>(mask)), a_where_c_else_b);
}

// The low bytes of lanes, those of the first register lowest.
[[gnu::always_inline]] inline __m512i low_bytes(const four_registers &r) {
    const __m512i first = select(0xff, r.of[0], _mm512_slli_epi32(r.of[1], 8));
    const __m512i second = select(0xff, r.of[2], _mm512_slli_epi32(r.of[3], 8));
    return select(0xffff, first, _mm512_slli_epi32(second, 16));
}

// The same of the high bytes.
[[gnu::always_inline]] inline __m512i high_bytes(const four_registers &r) {
    const __m512i first = select(0xff000000, r.of[1], _mm512_srli_epi32(r.of[0], 8));
    const __m512i second = select(0xff000000, r.of[3], _mm512_srli_epi32(r.of[2], 8));
    return select(0xffff0000, second, _mm512_srli_epi32(first, 16));
}

// Where bytes come from: byte b of lane l belongs to element 16 b + l. `strided`: even elements, then odd ones.
struct alignas(64) byte_order {
    uint8_t of[64] = {};

    constexpr byte_order(bool strided) {
        for (int i = 0; i < 64; i++) {
            const int element = strided ? i % 32 * 2 + i / 32 : i;
            of[i] = static_cast<uint8_t>(element % 16 * 4 + element / 16);
        }
    }
    __m512i load() const { return _mm512_load_si512(of); }
};

[[gnu::always_inline]] inline void store_codes(const stored_code<f8e4m3_code> &code, uint8_t *y, __m512i magnitudes,
                                               __m512i signs) {
    static constexpr byte_order order(false);
    code.stores.store(reinterpret_cast<char *>(y),
                      _mm512_permutexvar_epi8(order.load(), select(0x80808080, signs, magnitudes)));
}

[[gnu::always_inline]] inline void store_codes(const stored_code<f4e2m1_code> &code, uint8_t *y, __m512i magnitudes,
                                               __m512i signs) {
    static constexpr byte_order order(true);
    const __m512i own = select(0x08080808, _mm512_srli_epi16(signs, 4), magnitudes);
    const __m512i in_order = _mm512_permutexvar_epi8(order.load(), own);
    const __m256i even = _mm512_castsi512_si256(in_order), odd = _mm512_extracti64x4_epi64(in_order, 1);
    code.stores.store(reinterpret_cast<char *>(y), _mm256_ternarylogic_epi32(even, _mm256_slli_epi16(odd, 4),
                                                                             _mm256_set1_epi8(0x0f), a_where_c_else_b));
}

[[gnu::always_inline]] inline __m512 load(const float *x) {
    __m512 values = _mm512_loadu_ps(x);
    __asm__("" : "+v"(values));  // GCC 12 loads them again for each use else
    return values;
}

template<typename Element, typename Code, bool multiplies> class lanes_encoder {
public:
    using element = Element;
    using factors_of_operands = factors_of_16<Code, multiplies>;

    static factors factors_of_one(const float *scale, const float *inverse) {
        const __m512 scale_of = _mm512_set1_ps(*scale);
        return factors_of<Code, multiplies>(scale_of, multiplies ? scale_of : _mm512_set1_ps(*inverse));
    }

    static void row(call_stores stores, const Element *x, uint8_t *y, int64_t columns, const factors &f) {
        const Code code(stores);
        for (int64_t c = 0; c < columns; c += group_size) {
            stores.fetch_ahead(x + c);
            encode_64(code, x + c, y + c / group_size * Code::bytes_of_64, [&](int64_t) { return f; });
        }
    }

    // 64 columns of some rows.
    static void columns(call_stores stores, const rows_of_bytes &some, int64_t count, int64_t first, const float *scale,
                        const float *inverse) {
        const Code code(stores);
        factors f[group_size / lanes];
        for (int64_t i = 0; i < group_size / lanes; i++) {
            const __m512 scale_of = _mm512_loadu_ps(scale + first + i * lanes);
            f[i] = factors_of<Code, multiplies>(scale_of,
                                                multiplies ? scale_of : _mm512_loadu_ps(inverse + first + i * lanes));
        }
        for (int64_t r = 0; r < count; r++) {
            encode_64(code, some.elements<Element>(r) + first, some.codes(r) + first / group_size * Code::bytes_of_64,
                      [&](int64_t i) { return f[i]; });
        }
    }

    template<int64_t block>
    [[gnu::noinline]] static void blocks(call_stores stores, const Element *x, uint8_t *y, int64_t columns,
                                         const float *scale, const float *inverse) {
        const Code code(stores);
        for (int64_t first = 0; first < columns; first += lanes * block) {
            const int64_t operand = first / block, count = least_of(lanes * block, columns - first);
            const factors_of_operands f(scale + operand, inverse + operand, columns / block - operand);
            for (int64_t c = 0; c < count; c += group_size, y += Code::bytes_of_64) {
                stores.fetch_ahead(x + first + c);
                encode_64(code, x + first + c, y,
                          [&](int64_t i) { return f.of_operand(c / block + i * lanes / block); });
            }
        }
    }

private:
    // A code without its sign in the low byte of each lane. The low bits of FLT_MAX are those of NaN's code, or of the
    // largest number's.
    [[gnu::always_inline]] static __m512i code_of(const Code &code, __m512 x, const factors &with) {
        constexpr int least_magnitude_without_sign = 0xa, flt_max_of_nan = 0xee, other_kept = 0;
        const __m512 bounded =
            _mm512_max_ps(_mm512_range_ps(x, with.largest, least_magnitude_without_sign), with.least);
        const __m512i sum = code.code_of(quotient<multiplies>(bounded, with.scale, with.inverse));
        return _mm512_castps_si512(
            _mm512_fixupimm_ps(_mm512_castsi512_ps(sum), x, _mm512_set1_epi32(flt_max_of_nan), other_kept));
    }

    // What has the sign of a code: x, but 0 of a NaN where no code is one.
    [[gnu::always_inline]] static __m512i sign_of(__m512 x) {
        constexpr int zero_of_nan_else_x = 0x11111188;
        const __m512 number = Code::has_nan ? x : _mm512_fixupimm_ps(x, x, _mm512_set1_epi32(zero_of_nan_else_x), 0);
        return _mm512_castps_si512(number);
    }

    template<typename Factors>
    [[gnu::always_inline]] static void encode_64(const Code &code, const Element *x, uint8_t *y,
                                                 Factors factors_of_register) {
        four_registers codes, signs;
#pragma GCC unroll 4
        for (int64_t i = 0; i < 4; i++) {
            const __m512 some = load(x + i * lanes);
            codes.of[i] = code_of(code, some, factors_of_register(i));
            signs.of[i] = sign_of(some);
        }
        store_codes(code, y, low_bytes(codes), high_bytes(signs));
    }
};

template<typename Code, bool multiplies> using f32_encoder = lanes_encoder<float, Code, multiplies>;
template<typename Code, bool multiplies> using f16_encoder = lanes_encoder<uint16_t, Code, multiplies>;

template<typename Kernel> int quantize(const quantize_arguments &all, qdq_quantize_kernel *generated) {
    static_assert(Kernel::floats.dtype == QDQ_F32 || Kernel::floats.dtype == QDQ_F16);
    if constexpr (Kernel::floats.dtype == QDQ_F32) {
        return encode<Kernel, f32_encoder>(all, generated);
    } else {
        return encode<Kernel, f16_encoder>(all, generated);
    }
}

}  // namespace
}  // namespace qdq::kernels
