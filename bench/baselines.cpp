#include "baselines.h"

#include <cstring>
#include <type_traits>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace baselines {

void copy(void *to, const void *from, size_t bytes) { std::memcpy(to, from, bytes); }

#if defined(__x86_64__)

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#define AVX2 __attribute__((target("avx2,fma")))
#define INLINE __attribute__((always_inline)) inline

namespace {

// How x becomes x / scale or x * scale. `fma` is exact: with r = 1/s, q0 = x*r is off by at most one unit and one fused
// step corrects it. x is bounded above first; below, as for NaN, every overflow ends in the integer indefinite value,
// -2^31, which the packs saturate to the lowest code.
enum class scaling { multiply, fma, vdivps };

enum class stores { plain, nontemporal };

template<typename Code> struct limits;
template<> struct limits<int8_t> {
    static constexpr float highest = 127;
};
template<> struct limits<uint8_t> {
    static constexpr float highest = 255;
};

constexpr int64_t most_columns = 8192;
alignas(64) float reciprocals[most_columns];  // per-column scales: inverted once a call, not once a row

// AVX-512: 64 elements at a time, as four vectors of 16.

struct scale_512 {
    __m512 scale, reciprocal, highest;
};

template<scaling how, typename Code> AVX512 INLINE scale_512 with_bound(__m512 scale, __m512 reciprocal) {
    scale_512 s{scale, reciprocal, {}};
    if constexpr (how == scaling::fma) {
        s.highest = _mm512_mul_ps(scale, _mm512_set1_ps(limits<Code>::highest));
    }
    return s;
}

template<scaling how, typename Code> AVX512 INLINE scale_512 broadcast_512(float scale) {
    return with_bound<how, Code>(_mm512_set1_ps(scale), _mm512_set1_ps(how == scaling::fma ? 1.0f / scale : 0.0f));
}

template<scaling how, typename Code> AVX512 INLINE scale_512 load_512(const float *scale, const float *reciprocal) {
    return with_bound<how, Code>(_mm512_loadu_ps(scale),
                                 how == scaling::fma ? _mm512_load_ps(reciprocal) : _mm512_setzero_ps());
}

template<scaling how, typename Code> AVX512 INLINE __m512i to_integers(__m512 x, const scale_512 &s) {
    const __m512 highest = _mm512_set1_ps(limits<Code>::highest);
    if constexpr (how == scaling::multiply) {
        return _mm512_cvtps_epi32(_mm512_min_ps(highest, _mm512_mul_ps(x, s.scale)));
    } else if constexpr (how == scaling::vdivps) {
        return _mm512_cvtps_epi32(_mm512_min_ps(highest, _mm512_div_ps(x, s.scale)));
    } else {
        const __m512 inside = _mm512_min_ps(s.highest, x);
        const __m512 guess = _mm512_mul_ps(inside, s.reciprocal);
        const __m512 error = _mm512_fnmadd_ps(guess, s.scale, inside);
        return _mm512_cvtps_epi32(_mm512_fmadd_ps(error, s.reciprocal, guess));
    }
}

template<typename Code> AVX512 INLINE __m512i pack(__m512i a, __m512i b, __m512i c, __m512i d) {
    const __m512i ab = _mm512_packs_epi32(a, b), cd = _mm512_packs_epi32(c, d);
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i packed = std::is_signed_v<Code> ? _mm512_packs_epi16(ab, cd) : _mm512_packus_epi16(ab, cd);
    return _mm512_permutexvar_epi32(order, packed);
}

template<stores kind> AVX512 INLINE void store(void *to, __m512i value) {
    if constexpr (kind == stores::nontemporal) {
        _mm512_stream_si512(static_cast<__m512i *>(to), value);
    } else {
        _mm512_storeu_si512(to, value);
    }
}

// The scales of the four vectors from `column` on. `row_scale` serves the whole row.
template<scaling how, typename Code, granularity of_scale>
AVX512 INLINE void scales_of_64(scale_512 *s, const scale_512 &row_scale, const float *scale, int64_t column) {
    for (int64_t v = 0; v < 4; v++) {
        if constexpr (of_scale == granularity::channel_columns) {
            s[v] = load_512<how, Code>(scale + column + 16 * v, reciprocals + column + 16 * v);
        } else if constexpr (of_scale == granularity::block32) {
            s[v] = v % 2 == 0 ? broadcast_512<how, Code>(scale[column / 32 + v / 2]) : s[v - 1];
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

// Past the caches the hardware's own prefetching stays behind; 2 KiB ahead into the L1 cache is what helps most.
template<stores kind> INLINE void fetch_ahead(const void *from, int64_t bytes) {
    for (int64_t line = 0; kind == stores::nontemporal && line < bytes; line += 64) {
        _mm_prefetch(static_cast<const char *>(from) + 2048 + line, _MM_HINT_T0);
    }
}

template<typename Code, granularity of_scale, scaling how, stores kind> AVX512 void quantize_512(const operands &all) {
    invert_columns<how, of_scale>(all);
    for (int64_t row = 0; row < all.rows; row++) {
        const float *x = static_cast<const float *>(all.x) + row * all.columns;
        Code *y = static_cast<Code *>(all.y) + row * all.columns;
        const float *scale = scales_of_row<of_scale>(all, row);
        const scale_512 row_scale = broadcast_512<how, Code>(*scale);
#pragma GCC unroll 2
        for (int64_t c = 0; c < all.columns; c += 64) {
            fetch_ahead<kind>(x + c, 256);
            scale_512 s[4];
            scales_of_64<how, Code, of_scale>(s, row_scale, scale, c);
            store<kind>(y + c, pack<Code>(to_integers<how, Code>(_mm512_loadu_ps(x + c), s[0]),
                                          to_integers<how, Code>(_mm512_loadu_ps(x + c + 16), s[1]),
                                          to_integers<how, Code>(_mm512_loadu_ps(x + c + 32), s[2]),
                                          to_integers<how, Code>(_mm512_loadu_ps(x + c + 48), s[3])));
        }
    }
    if (kind == stores::nontemporal) {
        _mm_sfence();
    }
}

template<typename Code, granularity of_scale, stores kind> AVX512 void dequantize_512(const operands &all) {
    for (int64_t row = 0; row < all.rows; row++) {
        const Code *x = static_cast<const Code *>(all.x) + row * all.columns;
        float *y = static_cast<float *>(all.y) + row * all.columns;
        const float *scale = scales_of_row<of_scale>(all, row);
        const scale_512 row_scale = broadcast_512<scaling::multiply, Code>(*scale);
#pragma GCC unroll 2
        for (int64_t c = 0; c < all.columns; c += 64) {
            fetch_ahead<kind>(x + c, 64);
            scale_512 s[4];
            scales_of_64<scaling::multiply, Code, of_scale>(s, row_scale, scale, c);
            for (int64_t v = 0; v < 4; v++) {
                const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i *>(x + c + 16 * v));
                const __m512i wide = std::is_signed_v<Code> ? _mm512_cvtepi8_epi32(codes) : _mm512_cvtepu8_epi32(codes);
                store<kind>(y + c + 16 * v, _mm512_castps_si512(_mm512_mul_ps(_mm512_cvtepi32_ps(wide), s[v].scale)));
            }
        }
    }
    if (kind == stores::nontemporal) {
        _mm_sfence();
    }
}

// 4-bit codes to bf16: the 16 results of a scale, then a permute for 32 codes.

struct i4 {
    static constexpr qdq_dtype dtype = QDQ_I4;
    static constexpr float values[16] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};
};
struct f4e2m1 {
    static constexpr qdq_dtype dtype = QDQ_F4E2M1;
    static constexpr float values[16] = {0, .5, 1, 1.5, 2, 3, 4, 6, -0.f, -.5, -1, -1.5, -2, -3, -4, -6};
};

template<typename Code> AVX512 INLINE __m512i results_512(float scale) {
    const __m512i bits = _mm512_castps_si512(_mm512_mul_ps(_mm512_loadu_ps(Code::values), _mm512_set1_ps(scale)));
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));
    return _mm512_broadcast_i64x4(_mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
}

template<typename Code, granularity of_scale, stores kind> AVX512 void look_up_512(const operands &all) {
    for (int64_t row = 0; row < all.rows; row++) {
        const char *x = static_cast<const char *>(all.x) + row * all.columns / 2;
        uint16_t *y = static_cast<uint16_t *>(all.y) + row * all.columns;
        const float *scale = scales_of_row<of_scale>(all, row);
        __m512i results = results_512<Code>(*scale);
#pragma GCC unroll 4
        for (int64_t c = 0; c < all.columns; c += 32) {
            if constexpr (of_scale == granularity::block32) {
                results = results_512<Code>(scale[c / 32]);
            }
            fetch_ahead<kind>(x + c / 2, 16);
            const __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(x + c / 2)));
            const __m512i codes = _mm512_or_si512(bytes, _mm512_slli_epi32(bytes, 12));
            store<kind>(y + c, _mm512_permutexvar_epi16(codes, results));
        }
    }
    if (kind == stores::nontemporal) {
        _mm_sfence();
    }
}

// AVX2: 32 elements at a time, as four vectors of 8.

struct scale_256 {
    __m256 scale, reciprocal, highest;
};

template<scaling how, typename Code> AVX2 INLINE scale_256 with_bound(__m256 scale, __m256 reciprocal) {
    scale_256 s{scale, reciprocal, {}};
    if constexpr (how == scaling::fma) {
        s.highest = _mm256_mul_ps(scale, _mm256_set1_ps(limits<Code>::highest));
    }
    return s;
}

template<scaling how, typename Code> AVX2 INLINE scale_256 broadcast_256(float scale) {
    return with_bound<how, Code>(_mm256_set1_ps(scale), _mm256_set1_ps(how == scaling::fma ? 1.0f / scale : 0.0f));
}

template<scaling how, typename Code> AVX2 INLINE scale_256 load_256(const float *scale, const float *reciprocal) {
    return with_bound<how, Code>(_mm256_loadu_ps(scale),
                                 how == scaling::fma ? _mm256_load_ps(reciprocal) : _mm256_setzero_ps());
}

template<scaling how, typename Code> AVX2 INLINE __m256i to_integers(__m256 x, const scale_256 &s) {
    const __m256 highest = _mm256_set1_ps(limits<Code>::highest);
    if constexpr (how == scaling::multiply) {
        return _mm256_cvtps_epi32(_mm256_min_ps(highest, _mm256_mul_ps(x, s.scale)));
    } else if constexpr (how == scaling::vdivps) {
        return _mm256_cvtps_epi32(_mm256_min_ps(highest, _mm256_div_ps(x, s.scale)));
    } else {
        const __m256 inside = _mm256_min_ps(s.highest, x);
        const __m256 guess = _mm256_mul_ps(inside, s.reciprocal);
        const __m256 error = _mm256_fnmadd_ps(guess, s.scale, inside);
        return _mm256_cvtps_epi32(_mm256_fmadd_ps(error, s.reciprocal, guess));
    }
}

template<typename Code> AVX2 INLINE __m256i pack(__m256i a, __m256i b, __m256i c, __m256i d) {
    const __m256i ab = _mm256_packs_epi32(a, b), cd = _mm256_packs_epi32(c, d);
    const __m256i packed = std::is_signed_v<Code> ? _mm256_packs_epi16(ab, cd) : _mm256_packus_epi16(ab, cd);
    return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

template<stores kind> AVX2 INLINE void store(void *to, __m256i value) {
    if constexpr (kind == stores::nontemporal) {
        _mm256_stream_si256(static_cast<__m256i *>(to), value);
    } else {
        _mm256_storeu_si256(static_cast<__m256i *>(to), value);
    }
}

template<scaling how, typename Code, granularity of_scale>
AVX2 INLINE void scales_of_32(scale_256 *s, const scale_256 &row_scale, const float *scale, int64_t column) {
    for (int64_t v = 0; v < 4; v++) {
        if constexpr (of_scale == granularity::channel_columns) {
            s[v] = load_256<how, Code>(scale + column + 8 * v, reciprocals + column + 8 * v);
        } else if constexpr (of_scale == granularity::block32) {
            s[v] = v == 0 ? broadcast_256<how, Code>(scale[column / 32]) : s[0];
        } else {
            s[v] = row_scale;
        }
    }
}

template<typename Code, granularity of_scale, scaling how, stores kind> AVX2 void quantize_256(const operands &all) {
    invert_columns<how, of_scale>(all);
    for (int64_t row = 0; row < all.rows; row++) {
        const float *x = static_cast<const float *>(all.x) + row * all.columns;
        Code *y = static_cast<Code *>(all.y) + row * all.columns;
        const float *scale = scales_of_row<of_scale>(all, row);
        const scale_256 row_scale = broadcast_256<how, Code>(*scale);
#pragma GCC unroll 4
        for (int64_t c = 0; c < all.columns; c += 32) {
            fetch_ahead<kind>(x + c, 128);
            scale_256 s[4];
            scales_of_32<how, Code, of_scale>(s, row_scale, scale, c);
            store<kind>(y + c, pack<Code>(to_integers<how, Code>(_mm256_loadu_ps(x + c), s[0]),
                                          to_integers<how, Code>(_mm256_loadu_ps(x + c + 8), s[1]),
                                          to_integers<how, Code>(_mm256_loadu_ps(x + c + 16), s[2]),
                                          to_integers<how, Code>(_mm256_loadu_ps(x + c + 24), s[3])));
        }
    }
    if (kind == stores::nontemporal) {
        _mm_sfence();
    }
}

template<typename Code, granularity of_scale, stores kind> AVX2 void dequantize_256(const operands &all) {
    for (int64_t row = 0; row < all.rows; row++) {
        const Code *x = static_cast<const Code *>(all.x) + row * all.columns;
        float *y = static_cast<float *>(all.y) + row * all.columns;
        const float *scale = scales_of_row<of_scale>(all, row);
        const scale_256 row_scale = broadcast_256<scaling::multiply, Code>(*scale);
#pragma GCC unroll 4
        for (int64_t c = 0; c < all.columns; c += 32) {
            fetch_ahead<kind>(x + c, 32);
            scale_256 s[4];
            scales_of_32<scaling::multiply, Code, of_scale>(s, row_scale, scale, c);
            for (int64_t v = 0; v < 4; v++) {
                const __m128i codes = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(x + c + 8 * v));
                const __m256i wide = std::is_signed_v<Code> ? _mm256_cvtepi8_epi32(codes) : _mm256_cvtepu8_epi32(codes);
                store<kind>(y + c + 8 * v, _mm256_castps_si256(_mm256_mul_ps(_mm256_cvtepi32_ps(wide), s[v].scale)));
            }
        }
    }
    if (kind == stores::nontemporal) {
        _mm_sfence();
    }
}

template<typename Code> constexpr qdq_dtype dtype_of = std::is_signed_v<Code> ? QDQ_I8 : QDQ_U8;

template<typename Code, granularity of_scale, scaling how>
void add_quantize(std::vector<loop> &loops, bool avx512, const char *plain, const char *nontemporal) {
    constexpr qdq_scale_mode mode = how == scaling::multiply ? QDQ_MULTIPLY : QDQ_DIVIDE;
    const auto add = [&](const char *name, const char *target, void (*run)(const operands &)) {
        loops.push_back({name, target, operation::quantize, QDQ_F32, dtype_of<Code>, of_scale, mode, run});
    };
    if (avx512) {
        add(plain, "x86_avx512", quantize_512<Code, of_scale, how, stores::plain>);
        add(nontemporal, "x86_avx512", quantize_512<Code, of_scale, how, stores::nontemporal>);
    }
    add(plain, "x86_avx2", quantize_256<Code, of_scale, how, stores::plain>);
    add(nontemporal, "x86_avx2", quantize_256<Code, of_scale, how, stores::nontemporal>);
}

template<typename Code, granularity of_scale> void add_dequantize(std::vector<loop> &loops, bool avx512) {
    const auto add = [&](const char *name, const char *target, void (*run)(const operands &)) {
        loops.push_back({name, target, operation::dequantize, dtype_of<Code>, QDQ_F32, of_scale, QDQ_DIVIDE, run});
    };
    if (avx512) {
        add("multiply", "x86_avx512", dequantize_512<Code, of_scale, stores::plain>);
        add("multiply_nt", "x86_avx512", dequantize_512<Code, of_scale, stores::nontemporal>);
    }
    add("multiply", "x86_avx2", dequantize_256<Code, of_scale, stores::plain>);
    add("multiply_nt", "x86_avx2", dequantize_256<Code, of_scale, stores::nontemporal>);
}

template<typename Code, granularity of_scale> void add_all(std::vector<loop> &loops, bool avx512) {
    add_quantize<Code, of_scale, scaling::multiply>(loops, avx512, "multiply", "multiply_nt");
    add_quantize<Code, of_scale, scaling::fma>(loops, avx512, "fma", "fma_nt");
    add_quantize<Code, of_scale, scaling::vdivps>(loops, avx512, "vdivps", "vdivps_nt");
    add_dequantize<Code, of_scale>(loops, avx512);
}

template<typename Code> void add_every_granularity(std::vector<loop> &loops, bool avx512) {
    add_all<Code, granularity::tensor>(loops, avx512);
    add_all<Code, granularity::channel_rows>(loops, avx512);
    add_all<Code, granularity::channel_columns>(loops, avx512);
    add_all<Code, granularity::block32>(loops, avx512);
}

template<typename Code, granularity of_scale> void add_lookup(std::vector<loop> &loops) {
    const auto add = [&](const char *name, void (*run)(const operands &)) {
        loops.push_back({name, "x86_avx512", operation::dequantize, Code::dtype, QDQ_BF16, of_scale, QDQ_DIVIDE, run});
    };
    add("lookup", look_up_512<Code, of_scale, stores::plain>);
    add("lookup_nt", look_up_512<Code, of_scale, stores::nontemporal>);
}

std::vector<loop> loops_of_this_machine() {
    std::vector<loop> loops;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        return loops;
    }
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    add_every_granularity<int8_t>(loops, avx512);
    add_every_granularity<uint8_t>(loops, avx512);
    if (avx512) {
        add_lookup<i4, granularity::tensor>(loops);
        add_lookup<i4, granularity::block32>(loops);
        add_lookup<f4e2m1, granularity::tensor>(loops);
        add_lookup<f4e2m1, granularity::block32>(loops);
    }
    return loops;
}

}  // namespace

std::span<const loop> hand_loops() {
    static const std::vector<loop> loops = loops_of_this_machine();
    return loops;
}

namespace {

template<bool prefetches> AVX512 void stream_512(const traffic &t) {
    const char *x = static_cast<const char *>(t.x);
    char *y = static_cast<char *>(t.y);
    __m512i mixed = _mm512_setzero_si512();
    for (size_t i = 0; i < t.steps; i++) {
        for (int k = 0; k < t.x_lines; k++, x += 64) {
            if constexpr (prefetches) {
                _mm_prefetch(x + 2048, _MM_HINT_T0);
            }
            mixed = _mm512_xor_si512(mixed, _mm512_load_si512(x));
        }
        for (int k = 0; k < t.y_lines; k++, y += 64) {
            _mm512_stream_si512(reinterpret_cast<__m512i *>(y), mixed);
        }
    }
    _mm_sfence();
}

template<bool prefetches> AVX2 void stream_256(const traffic &t) {
    const char *x = static_cast<const char *>(t.x);
    char *y = static_cast<char *>(t.y);
    __m256i mixed = _mm256_setzero_si256();
    for (size_t i = 0; i < t.steps; i++) {
        for (int k = 0; k < 2 * t.x_lines; k++, x += 32) {
            if constexpr (prefetches) {
                _mm_prefetch(x + 2048, _MM_HINT_T0);
            }
            mixed = _mm256_xor_si256(mixed, _mm256_load_si256(reinterpret_cast<const __m256i *>(x)));
        }
        for (int k = 0; k < 2 * t.y_lines; k++, y += 32) {
            _mm256_stream_si256(reinterpret_cast<__m256i *>(y), mixed);
        }
    }
    _mm_sfence();
}

}  // namespace

void stream(const traffic &t) {
    if (__builtin_cpu_supports("avx512bw")) {
        t.prefetches ? stream_512<true>(t) : stream_512<false>(t);
    } else {
        t.prefetches ? stream_256<true>(t) : stream_256<false>(t);
    }
}

bool can_stream() { return __builtin_cpu_supports("avx2"); }

#else

std::span<const loop> hand_loops() { return {}; }
void stream(const traffic &) {}
bool can_stream() { return false; }

#endif

}  // namespace baselines
