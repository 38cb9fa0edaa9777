// Hand loops from f32 to 8-bit integers and back.
#if defined(__x86_64__)

#include "baselines_x86.h"

#include <type_traits>

namespace baselines {

namespace {

// How x becomes x / scale or x * scale. `fma` is exact: with r = 1/s, q0 = x*r is off by at most one unit and one fused
// step corrects it. x is bounded above first; below, as for NaN, every overflow ends in the integer indefinite value,
// -2^31, which the packs saturate to the lowest code.
enum class scaling { multiply, fma };

// A zero point is added to 16-bit integers, between the saturating packs.
enum class zero { none, added };

// The integer that with all above it becomes the highest code.
template<typename Code, zero point>
constexpr float highest_integer = point == zero::added     ? 32767
                                  : std::is_signed_v<Code> ? 127
                                                           : 255;

constexpr int64_t most_columns = 8192;
alignas(64) float reciprocals[most_columns];  // per-column scales: inverted once a call, not once a row

// AVX-512: 64 elements at a time, as four vectors of 16.

struct scale_512 {
    __m512 scale, reciprocal, highest;
};

template<scaling how, typename Code, zero point> AVX512 INLINE scale_512 with_bound(__m512 scale, __m512 reciprocal) {
    scale_512 s{scale, reciprocal, {}};
    if constexpr (how == scaling::fma) {
        s.highest = _mm512_mul_ps(scale, _mm512_set1_ps(highest_integer<Code, point>));
    }
    return s;
}

template<scaling how, typename Code, zero point> AVX512 INLINE scale_512 broadcast_512(float scale) {
    return with_bound<how, Code, point>(_mm512_set1_ps(scale),
                                        _mm512_set1_ps(how == scaling::fma ? 1.0f / scale : 0.0f));
}

template<scaling how, typename Code, zero point>
AVX512 INLINE scale_512 load_512(const float *scale, const float *reciprocal) {
    return with_bound<how, Code, point>(_mm512_loadu_ps(scale),
                                        how == scaling::fma ? _mm512_load_ps(reciprocal) : _mm512_setzero_ps());
}

template<scaling how, typename Code, zero point> AVX512 INLINE __m512i to_integers(__m512 x, const scale_512 &s) {
    const __m512 highest = _mm512_set1_ps(highest_integer<Code, point>);
    if constexpr (how == scaling::multiply) {
        return _mm512_cvtps_epi32(_mm512_min_ps(highest, _mm512_mul_ps(x, s.scale)));
    } else {
        const __m512 inside = _mm512_min_ps(s.highest, x);
        const __m512 guess = _mm512_mul_ps(inside, s.reciprocal);
        const __m512 error = _mm512_fnmadd_ps(guess, s.scale, inside);
        return _mm512_cvtps_epi32(_mm512_fmadd_ps(error, s.reciprocal, guess));
    }
}

template<typename Code, zero point>
AVX512 INLINE __m512i pack(__m512i a, __m512i b, __m512i c, __m512i d, __m512i zero_point) {
    __m512i ab = _mm512_packs_epi32(a, b), cd = _mm512_packs_epi32(c, d);
    if constexpr (point == zero::added) {
        ab = _mm512_adds_epi16(ab, zero_point);
        cd = _mm512_adds_epi16(cd, zero_point);
    }
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i packed = std::is_signed_v<Code> ? _mm512_packs_epi16(ab, cd) : _mm512_packus_epi16(ab, cd);
    return _mm512_permutexvar_epi32(order, packed);
}

// The scales of the four vectors from `column` on. `row_scale` serves the whole row.
template<scaling how, typename Code, zero point, granularity of_scale>
AVX512 INLINE void scales_of_64(scale_512 *s, const scale_512 &row_scale, const float *scale, int64_t column) {
    for (int64_t v = 0; v < 4; v++) {
        if constexpr (of_scale == granularity::channel_columns) {
            s[v] = load_512<how, Code, point>(scale + column + 16 * v, reciprocals + column + 16 * v);
        } else if constexpr (of_scale == granularity::block32) {
            s[v] = v % 2 == 0 ? broadcast_512<how, Code, point>(scale[column / 32 + v / 2]) : s[v - 1];
        } else {
            s[v] = row_scale;
        }
    }
}

template<granularity of_scale> INLINE const float *scales_of_row(const operands &all, int64_t row) {
    switch (of_scale) {
    case granularity::channel_rows: return all.scale + row;
    case granularity::block32: return all.scale + row * (all.columns / 32);
    default: return all.scale;
    }
}

template<scaling how, granularity of_scale> INLINE void invert_columns(const operands &all) {
    if constexpr (how == scaling::fma && of_scale == granularity::channel_columns) {
        for (int64_t c = 0; c < all.columns; c++) {
            reciprocals[c] = 1.0f / all.scale[c];
        }
    }
}

template<typename Code, zero point, granularity of_scale, scaling how, stores kind>
AVX512 void quantize_512(const operands &given) {
    const operands all = in_long_rows<of_scale>(given);
    const __m512i zero_point = _mm512_set1_epi16(static_cast<int16_t>(all.zero_point));
    invert_columns<how, of_scale>(all);
    for (int64_t row = 0; row < all.rows; row++) {
        const float *x = static_cast<const float *>(all.x) + row * all.columns;
        Code *y = static_cast<Code *>(all.y) + row * all.columns;
        const float *scale = scales_of_row<of_scale>(all, row);
        const scale_512 row_scale = broadcast_512<how, Code, point>(*scale);
#pragma GCC unroll 2
        for (int64_t c = 0; c < all.columns; c += 64) {
            fetch_ahead<kind>(x + c, 256);
            scale_512 s[4];
            scales_of_64<how, Code, point, of_scale>(s, row_scale, scale, c);
            store<kind>(
                y + c, pack<Code, point>(to_integers<how, Code, point>(_mm512_loadu_ps(x + c), s[0]),
                                         to_integers<how, Code, point>(_mm512_loadu_ps(x + c + 16), s[1]),
                                         to_integers<how, Code, point>(_mm512_loadu_ps(x + c + 32), s[2]),
                                         to_integers<how, Code, point>(_mm512_loadu_ps(x + c + 48), s[3]), zero_point));
        }
    }
    finish<kind>();
}

template<typename Code, granularity of_scale, stores kind> AVX512 void dequantize_512(const operands &given) {
    const operands all = in_long_rows<of_scale>(given);
    for (int64_t row = 0; row < all.rows; row++) {
        const Code *x = static_cast<const Code *>(all.x) + row * all.columns;
        float *y = static_cast<float *>(all.y) + row * all.columns;
        const float *scale = scales_of_row<of_scale>(all, row);
        const scale_512 row_scale = broadcast_512<scaling::multiply, Code, zero::none>(*scale);
#pragma GCC unroll 2
        for (int64_t c = 0; c < all.columns; c += 64) {
            fetch_ahead<kind>(x + c, 64);
            scale_512 s[4];
            scales_of_64<scaling::multiply, Code, zero::none, of_scale>(s, row_scale, scale, c);
            for (int64_t v = 0; v < 4; v++) {
                const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i *>(x + c + 16 * v));
                const __m512i wide = std::is_signed_v<Code> ? _mm512_cvtepi8_epi32(codes) : _mm512_cvtepu8_epi32(codes);
                store<kind>(y + c + 16 * v, _mm512_castps_si512(_mm512_mul_ps(_mm512_cvtepi32_ps(wide), s[v].scale)));
            }
        }
    }
    finish<kind>();
}

// AVX2: 32 elements at a time, as four vectors of 8.

struct scale_256 {
    __m256 scale, reciprocal, highest;
};

template<scaling how, typename Code, zero point> AVX2 INLINE scale_256 with_bound(__m256 scale, __m256 reciprocal) {
    scale_256 s{scale, reciprocal, {}};
    if constexpr (how == scaling::fma) {
        s.highest = _mm256_mul_ps(scale, _mm256_set1_ps(highest_integer<Code, point>));
    }
    return s;
}

template<scaling how, typename Code, zero point> AVX2 INLINE scale_256 broadcast_256(float scale) {
    return with_bound<how, Code, point>(_mm256_set1_ps(scale),
                                        _mm256_set1_ps(how == scaling::fma ? 1.0f / scale : 0.0f));
}

template<scaling how, typename Code, zero point>
AVX2 INLINE scale_256 load_256(const float *scale, const float *reciprocal) {
    return with_bound<how, Code, point>(_mm256_loadu_ps(scale),
                                        how == scaling::fma ? _mm256_load_ps(reciprocal) : _mm256_setzero_ps());
}

template<scaling how, typename Code, zero point> AVX2 INLINE __m256i to_integers(__m256 x, const scale_256 &s) {
    const __m256 highest = _mm256_set1_ps(highest_integer<Code, point>);
    if constexpr (how == scaling::multiply) {
        return _mm256_cvtps_epi32(_mm256_min_ps(highest, _mm256_mul_ps(x, s.scale)));
    } else {
        const __m256 inside = _mm256_min_ps(s.highest, x);
        const __m256 guess = _mm256_mul_ps(inside, s.reciprocal);
        const __m256 error = _mm256_fnmadd_ps(guess, s.scale, inside);
        return _mm256_cvtps_epi32(_mm256_fmadd_ps(error, s.reciprocal, guess));
    }
}

template<typename Code, zero point>
AVX2 INLINE __m256i pack(__m256i a, __m256i b, __m256i c, __m256i d, __m256i zero_point) {
    __m256i ab = _mm256_packs_epi32(a, b), cd = _mm256_packs_epi32(c, d);
    if constexpr (point == zero::added) {
        ab = _mm256_adds_epi16(ab, zero_point);
        cd = _mm256_adds_epi16(cd, zero_point);
    }
    const __m256i packed = std::is_signed_v<Code> ? _mm256_packs_epi16(ab, cd) : _mm256_packus_epi16(ab, cd);
    return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

template<scaling how, typename Code, zero point, granularity of_scale>
AVX2 INLINE void scales_of_32(scale_256 *s, const scale_256 &row_scale, const float *scale, int64_t column) {
    for (int64_t v = 0; v < 4; v++) {
        if constexpr (of_scale == granularity::channel_columns) {
            s[v] = load_256<how, Code, point>(scale + column + 8 * v, reciprocals + column + 8 * v);
        } else if constexpr (of_scale == granularity::block32) {
            s[v] = v == 0 ? broadcast_256<how, Code, point>(scale[column / 32]) : s[0];
        } else {
            s[v] = row_scale;
        }
    }
}

template<typename Code, zero point, granularity of_scale, scaling how, stores kind>
AVX2 void quantize_256(const operands &given) {
    const operands all = in_long_rows<of_scale>(given);
    const __m256i zero_point = _mm256_set1_epi16(static_cast<int16_t>(all.zero_point));
    invert_columns<how, of_scale>(all);
    for (int64_t row = 0; row < all.rows; row++) {
        const float *x = static_cast<const float *>(all.x) + row * all.columns;
        Code *y = static_cast<Code *>(all.y) + row * all.columns;
        const float *scale = scales_of_row<of_scale>(all, row);
        const scale_256 row_scale = broadcast_256<how, Code, point>(*scale);
#pragma GCC unroll 4
        for (int64_t c = 0; c < all.columns; c += 32) {
            fetch_ahead<kind>(x + c, 128);
            scale_256 s[4];
            scales_of_32<how, Code, point, of_scale>(s, row_scale, scale, c);
            store<kind>(
                y + c, pack<Code, point>(to_integers<how, Code, point>(_mm256_loadu_ps(x + c), s[0]),
                                         to_integers<how, Code, point>(_mm256_loadu_ps(x + c + 8), s[1]),
                                         to_integers<how, Code, point>(_mm256_loadu_ps(x + c + 16), s[2]),
                                         to_integers<how, Code, point>(_mm256_loadu_ps(x + c + 24), s[3]), zero_point));
        }
    }
    finish<kind>();
}

template<typename Code, granularity of_scale, stores kind> AVX2 void dequantize_256(const operands &given) {
    const operands all = in_long_rows<of_scale>(given);
    for (int64_t row = 0; row < all.rows; row++) {
        const Code *x = static_cast<const Code *>(all.x) + row * all.columns;
        float *y = static_cast<float *>(all.y) + row * all.columns;
        const float *scale = scales_of_row<of_scale>(all, row);
        const scale_256 row_scale = broadcast_256<scaling::multiply, Code, zero::none>(*scale);
#pragma GCC unroll 4
        for (int64_t c = 0; c < all.columns; c += 32) {
            fetch_ahead<kind>(x + c, 32);
            scale_256 s[4];
            scales_of_32<scaling::multiply, Code, zero::none, of_scale>(s, row_scale, scale, c);
            for (int64_t v = 0; v < 4; v++) {
                const __m128i codes = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(x + c + 8 * v));
                const __m256i wide = std::is_signed_v<Code> ? _mm256_cvtepi8_epi32(codes) : _mm256_cvtepu8_epi32(codes);
                store<kind>(y + c + 8 * v, _mm256_castps_si256(_mm256_mul_ps(_mm256_cvtepi32_ps(wide), s[v].scale)));
            }
        }
    }
    finish<kind>();
}

template<typename Code> constexpr qdq_dtype dtype_of = std::is_signed_v<Code> ? QDQ_I8 : QDQ_U8;

template<typename Code, zero point, granularity of_scale, scaling how>
void add_quantize(std::vector<loop> &loops, const abilities &has, const char *plain, const char *nontemporal) {
    constexpr qdq_scale_mode mode = how == scaling::multiply ? QDQ_MULTIPLY : QDQ_DIVIDE;
    constexpr bool zero_point = point == zero::added;
    const auto add = [&](const char *name, const char *target, void (*run)(const operands &)) {
        loops.push_back({name, target, operation::quantize, QDQ_F32, dtype_of<Code>, of_scale, mode, run, zero_point});
    };
    if (has.avx512) {
        add(plain, "x86_avx512", quantize_512<Code, point, of_scale, how, stores::plain>);
        add(nontemporal, "x86_avx512", quantize_512<Code, point, of_scale, how, stores::nontemporal>);
    }
    add(plain, "x86_avx2", quantize_256<Code, point, of_scale, how, stores::plain>);
    add(nontemporal, "x86_avx2", quantize_256<Code, point, of_scale, how, stores::nontemporal>);
}

template<typename Code, granularity of_scale> void add_dequantize(std::vector<loop> &loops, const abilities &has) {
    const auto add = [&](const char *name, const char *target, void (*run)(const operands &)) {
        loops.push_back({name, target, operation::dequantize, dtype_of<Code>, QDQ_F32, of_scale, QDQ_DIVIDE, run});
    };
    if (has.avx512) {
        add("multiply", "x86_avx512", dequantize_512<Code, of_scale, stores::plain>);
        add("multiply_nt", "x86_avx512", dequantize_512<Code, of_scale, stores::nontemporal>);
    }
    add("multiply", "x86_avx2", dequantize_256<Code, of_scale, stores::plain>);
    add("multiply_nt", "x86_avx2", dequantize_256<Code, of_scale, stores::nontemporal>);
}

template<typename Code, zero point, granularity of_scale>
void add_every_scaling(std::vector<loop> &loops, const abilities &has) {
    add_quantize<Code, point, of_scale, scaling::multiply>(loops, has, "multiply", "multiply_nt");
    add_quantize<Code, point, of_scale, scaling::fma>(loops, has, "fma", "fma_nt");
}

template<typename Code, granularity of_scale> void add_granularity(std::vector<loop> &loops, const abilities &has) {
    add_every_scaling<Code, zero::none, of_scale>(loops, has);
    add_dequantize<Code, of_scale>(loops, has);
}

template<typename Code> void add_codes(std::vector<loop> &loops, const abilities &has) {
    add_granularity<Code, granularity::tensor>(loops, has);
    add_granularity<Code, granularity::channel_rows>(loops, has);
    add_granularity<Code, granularity::channel_columns>(loops, has);
    add_granularity<Code, granularity::block32>(loops, has);
    add_every_scaling<Code, zero::added, granularity::tensor>(loops, has);
}

}  // namespace

void add_integers(std::vector<loop> &loops, const abilities &has) {
    if (has.avx2) {
        add_codes<int8_t>(loops, has);
        add_codes<uint8_t>(loops, has);
    }
}

}  // namespace baselines

#endif
