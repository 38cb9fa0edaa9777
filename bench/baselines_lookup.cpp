// Hand loops from 4-bit codes and f8e4m3 to bf16 and f32: the results of a scale are computed once, and a permute takes
// each code's from registers. bf16 results are taken to be normal or zero, as those of the benchmark are.
#if defined(__x86_64__)

#include "baselines_x86.h"

#include <array>
#include <cmath>
#include <utility>

namespace baselines {

namespace {

struct i4 {
    static constexpr qdq_dtype dtype = QDQ_I4;
    static constexpr float values[16] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};
};
struct f4e2m1 {
    static constexpr qdq_dtype dtype = QDQ_F4E2M1;
    static constexpr float values[16] = {0, .5, 1, 1.5, 2, 3, 4, 6, -0.f, -.5, -1, -1.5, -2, -3, -4, -6};
};

// Sixteen products as bf16 in the lower halves of lanes, rounded to nearest even; NaN is canonical already.
AVX512 INLINE __m512i to_bf16(__m512 products) {
    const __m512i bits = _mm512_castps_si512(products);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    return _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff)), 16);
}

AVX512 INLINE __m512 products_of(const float *values, float scale) {
    return _mm512_mul_ps(_mm512_loadu_ps(values), _mm512_set1_ps(scale));
}

// 4-bit codes to bf16: 32 by a permute. AVX512-BF16 rounds the table and doubles it, and bytes of eight codes each are
// spread by broadcasting loads and vpmultishiftqb, which takes a byte from any bit on.

template<typename Code> AVX512_BF16 INLINE __m512i native_words_of(float scale) {
    const __m512 products = products_of(Code::values, scale);
    return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(products, products));
}

AVX512 INLINE __m512i two_quadwords(const char *from) {
    const __m512i first = _mm512_broadcastq_epi64(_mm_loadu_si64(from));
    return _mm512_mask_broadcastq_epi64(first, 0xf0, _mm_loadu_si64(from + 8));
}

template<typename Code, granularity of_scale, stores kind> AVX512_BF16 void shift_words(const operands &given) {
    const operands all = in_long_rows<of_scale>(given);
    const char *x = static_cast<const char *>(all.x);
    uint16_t *y = static_cast<uint16_t *>(all.y);
    // Each quadword of the result: the codes at bits 16 q, 16 q + 4, 16 q + 8 and 16 q + 12.
    const __m512i shifts = _mm512_add_epi64(
        _mm512_set1_epi64(0x000c000800040000),
        _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 0, 1, 2, 3), _mm512_set1_epi64(0x0010001000100010)));
    const float *scale = all.scale;
    __m512i results = native_words_of<Code>(*scale);
#pragma GCC unroll 4
    for (const char *end = x + all.columns / 2; x < end; x += 16, y += 32, scale++) {
        if constexpr (of_scale == granularity::block32) {
            results = native_words_of<Code>(*scale);
        }
        fetch_ahead<kind>(x, 16);
        const __m512i codes = _mm512_multishift_epi64_epi8(shifts, two_quadwords(x));
        store<kind>(y, _mm512_permutexvar_epi16(codes, results));
    }
    finish<kind>();
}

// 4-bit codes to f32: 16 by a permute, which takes the low 4 bits of a lane. Broadcasting loads bring eight codes to
// eight lanes without a port for permutes.

AVX512 INLINE __m512i two_doublewords(const char *from) {
    const __m512i first = _mm512_broadcastd_epi32(_mm_loadu_si32(from));
    return _mm512_mask_broadcastd_epi32(first, 0xff00, _mm_loadu_si32(from + 4));
}

template<typename Code, granularity of_scale, stores kind> AVX512 void look_up_floats(const operands &given) {
    const operands all = in_long_rows<of_scale>(given);
    const char *x = static_cast<const char *>(all.x);
    float *y = static_cast<float *>(all.y);
    const __m512i shifts = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    const float *scale = all.scale;
    __m512 results = products_of(Code::values, *scale);
#pragma GCC unroll 4
    for (const char *end = x + all.columns / 2; x < end; x += 16, y += 32, scale++) {
        if constexpr (of_scale == granularity::block32) {
            results = products_of(Code::values, *scale);
        }
        fetch_ahead<kind>(x, 16);
        for (int64_t half = 0; half < 32; half += 16) {
            const __m512i codes = _mm512_srlv_epi32(two_doublewords(x + half / 2), shifts);
            store<kind>(y + half, _mm512_castps_si512(_mm512_permutexvar_ps(codes, results)));
        }
    }
    finish<kind>();
}

// f8e4m3 to bf16, one scale: the results of all codes that have no sign, NaN the last of them.

const std::array<float, 128> e4m3_values = [] {
    std::array<float, 128> values{};
    for (int code = 0; code < 127; code++) {
        const int exponent = code >> 3, mantissa = code & 7;
        values[static_cast<size_t>(code)] = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                                          : std::ldexp(static_cast<float>(mantissa + 8), exponent - 10);
    }
    values[127] = NAN;
    return values;
}();

// Of 32 codes that follow `first`.
AVX512 INLINE __m512i e4m3_results(int first, float scale) {
    const float *values = e4m3_values.data() + first;
    const __m256i low = _mm512_cvtepi32_epi16(to_bf16(products_of(values, scale)));
    const __m256i high = _mm512_cvtepi32_epi16(to_bf16(products_of(values + 16, scale)));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

// Codes with their signs, but NaN, which has none.
AVX512 INLINE __m512i signs_of_numbers(__m512i codes) { return _mm512_adds_epi8(codes, _mm512_set1_epi8(1)); }

// Bytes: the upper and the lower bytes of 128 results, two registers each. Codes are fetched such that unpacking puts
// results in order.
template<stores kind> AVX512_VBMI void look_up_e4m3_bytes(const operands &given) {
    const operands all = in_long_rows<granularity::tensor>(given);
    const char *x = static_cast<const char *>(all.x);
    uint16_t *y = static_cast<uint16_t *>(all.y);
    __m512i low[2], high[2];
    for (int i = 0; i < 2; i++) {
        const __m512i first = e4m3_results(64 * i, *all.scale), second = e4m3_results(64 * i + 32, *all.scale);
        low[i] =
            _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(first)), _mm512_cvtepi16_epi8(second), 1);
        high[i] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(_mm512_srli_epi16(first, 8))),
                                     _mm512_cvtepi16_epi8(_mm512_srli_epi16(second, 8)), 1);
    }
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    const __m512i sign = _mm512_set1_epi8(static_cast<int8_t>(0x80));
#pragma GCC unroll 2
    for (int64_t c = 0; c < all.columns; c += 64) {
        fetch_ahead<kind>(x + c, 64);
        const __m512i codes = _mm512_permutexvar_epi64(order, _mm512_loadu_si512(x + c));
        const __m512i lower = _mm512_permutex2var_epi8(low[0], codes, low[1]);
        const __m512i upper = _mm512_ternarylogic_epi32(_mm512_permutex2var_epi8(high[0], codes, high[1]),
                                                        signs_of_numbers(codes), sign, 0xf8);
        store<kind>(y + c, _mm512_unpacklo_epi8(lower, upper));
        store<kind>(y + c + 32, _mm512_unpackhi_epi8(lower, upper));
    }
    finish<kind>();
}

// f8e4m3 to bf16 in blocks: a table of 17 results a block, of subnormal codes, of the mantissas of normal ones at the
// exponent 0, and NaN. A code's exponent is added to the result's. 64 codes at a time, as bytes of two blocks by turns.

constexpr float nan_before_exponent = 0x1p+113f * 1.5f;  // 0x7840 as bf16: with the exponent 15, 0x7fc0

// Mantissas of normal codes as if their exponent were 0.
constexpr float e4m3_bases[16] = {0x0p-9f,  0x1p-9f,  0x2p-9f,  0x3p-9f,  0x4p-9f,  0x5p-9f,  0x6p-9f,  0x7p-9f,
                                  0x8p-10f, 0x9p-10f, 0xap-10f, 0xbp-10f, 0xcp-10f, 0xdp-10f, 0xep-10f, 0xfp-10f};

AVX512_BF16 INLINE __m512i e4m3_table(float scale) {
    return reinterpret_cast<__m512i>(
        _mm512_cvtne2ps_pbh(_mm512_set1_ps(nan_before_exponent), products_of(e4m3_bases, scale)));
}

template<stores kind> AVX512_BF16 void look_up_e4m3_blocks(const operands &given) {
    const operands all = in_long_rows<granularity::block32>(given);
    const char *x = static_cast<const char *>(all.x);
    uint16_t *y = static_cast<uint16_t *>(all.y);
    static constexpr byte_order by_turns(64, [](int i) { return i / 2 + i % 2 * 32; });
    const __m512i order = by_turns.load();
    const __m512i magnitude = _mm512_set1_epi8(0x7f), mantissa = _mm512_set1_epi8(7), normal = _mm512_set1_epi8(8);
    const __m512i sign_and_exponent = _mm512_set1_epi16(static_cast<int16_t>(0x8780));
#pragma GCC unroll 2
    for (int64_t c = 0; c < all.columns; c += 64) {
        fetch_ahead<kind>(x + c, 64);
        const __m512i bytes = _mm512_permutexvar_epi8(order, _mm512_loadu_si512(x + c));
        const __m512i codes = _mm512_ternarylogic_epi32(magnitude, bytes, signs_of_numbers(bytes), 0xca);
        const __m512i numbers = _mm512_and_si512(codes, magnitude);
        const __m512i is_nan = _mm512_subs_epu8(numbers, _mm512_set1_epi8(0x7e));
        const __m512i entries =
            _mm512_add_epi8(_mm512_min_epu8(numbers, _mm512_ternarylogic_epi32(codes, mantissa, normal, 0xea)), is_nan);
        const __m512i first = _mm512_permutexvar_epi16(entries, e4m3_table(all.scale[c / 32]));
        const __m512i second =
            _mm512_permutexvar_epi16(_mm512_srli_epi16(entries, 8), e4m3_table(all.scale[c / 32 + 1]));
        const __m512i first_top = _mm512_srai_epi16(_mm512_slli_epi16(codes, 8), 4);
        const __m512i second_top = _mm512_srai_epi16(codes, 4);
        store<kind>(y + c, _mm512_add_epi16(first, _mm512_and_si512(first_top, sign_and_exponent)));
        store<kind>(y + c + 32, _mm512_add_epi16(second, _mm512_and_si512(second_top, sign_and_exponent)));
    }
    finish<kind>();
}

using run = void (*)(const operands &);

void add(std::vector<loop> &loops, const char *name, const char *nontemporal_name, qdq_dtype x, qdq_dtype y,
         granularity of_scale, run plain, run nontemporal) {
    for (const auto &[own_name, work] : {std::pair{name, plain}, std::pair{nontemporal_name, nontemporal}}) {
        loops.push_back({own_name, "x86_avx512", operation::dequantize, x, y, of_scale, QDQ_DIVIDE, work});
    }
}

template<typename Code, granularity of_scale> void add_nibbles(std::vector<loop> &loops, const abilities &has) {
    if (has.bf16) {
        add(loops, "multishift", "multishift_nt", Code::dtype, QDQ_BF16, of_scale,
            shift_words<Code, of_scale, stores::plain>, shift_words<Code, of_scale, stores::nontemporal>);
    }
    add(loops, "lookup", "lookup_nt", Code::dtype, QDQ_F32, of_scale, look_up_floats<Code, of_scale, stores::plain>,
        look_up_floats<Code, of_scale, stores::nontemporal>);
}

}  // namespace

void add_lookups(std::vector<loop> &loops, const abilities &has) {
    if (!has.avx512) {
        return;
    }
    add_nibbles<i4, granularity::tensor>(loops, has);
    add_nibbles<i4, granularity::block32>(loops, has);
    add_nibbles<f4e2m1, granularity::tensor>(loops, has);
    add_nibbles<f4e2m1, granularity::block32>(loops, has);
    if (has.vbmi) {
        add(loops, "byte_lookup", "byte_lookup_nt", QDQ_F8E4M3, QDQ_BF16, granularity::tensor,
            look_up_e4m3_bytes<stores::plain>, look_up_e4m3_bytes<stores::nontemporal>);
    }
    if (has.bf16) {
        add(loops, "lookup", "lookup_nt", QDQ_F8E4M3, QDQ_BF16, granularity::block32,
            look_up_e4m3_blocks<stores::plain>, look_up_e4m3_blocks<stores::nontemporal>);
    }
}

}  // namespace baselines

#endif
