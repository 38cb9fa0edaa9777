// Hand loops from bf16 to i8, f8e4m3 and f4e2m1. A register of bf16 is two of f32, of its even and of its odd words,
// and codes of both meet without a shuffle. Magnitudes are bounded as bf16, 32 at a time, for which NaN counts as
// large: unlike qdq's, these loops do not treat it.
#if defined(__x86_64__)

#include "baselines_x86.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace baselines {

namespace {

enum class scaling { multiply, fma };

// What is done with elements of one scale. `bound` and `least` are magnitudes as bf16, twice in a lane.
struct factors {
    __m512 scale, reciprocal;
    __m512i bound, least;
};

// The same of 16 scales.
struct factors_of_16 {
    alignas(64) float scale[16];
    alignas(64) float reciprocal[16];
    alignas(64) int32_t bound[16];
    alignas(64) int32_t least[16];

    AVX512 INLINE factors operator[](int64_t i) const {
        return {_mm512_set1_ps(scale[i]), _mm512_set1_ps(reciprocal[i]), _mm512_set1_epi32(bound[i]),
                _mm512_set1_epi32(least[i])};
    }
};

struct i8 {
    static constexpr qdq_dtype dtype = QDQ_I8;
    static constexpr float bound = 256, least = 0;  // quotients: more than 127 saturates in the packs
};

// t + 2^(e + 23 - m), where e is the exponent of t but at least that of the least normal number and m the bits of a
// mantissa, rounds t to a code: the table has that power of two by the low bits of e, with the exponents passed since
// then as an even number of its last places. The sum's low bits are the code.
template<int mantissa_bits, int least_exponent, int size> struct alignas(64) aligner_table {
    float by_exponent[size] = {};

    constexpr aligner_table(int first_exponent, int last_exponent) {
        for (int e = first_exponent; e <= last_exponent; e++) {
            const int exponent = std::max(e, least_exponent), passed = (exponent - least_exponent) << mantissa_bits;
            const float last_place = std::bit_cast<float>((exponent - mantissa_bits + 127) << 23);
            by_exponent[(e + 127) % size] = last_place * static_cast<float>((1 << 23) + passed);
        }
    }
};

AVX512 INLINE __m512i exponents_of(__m512 t) { return _mm512_srli_epi32(_mm512_castps_si512(t), 23); }

struct e4m3 {
    static constexpr qdq_dtype dtype = QDQ_F8E4M3;
    static constexpr float bound = 448, least = 0x1p-12f;  // any quotient below half the least code will do
    static constexpr aligner_table<3, -6, 32> table{-13, 8};
    const __m512 low, high;

    AVX512 INLINE e4m3() : low(_mm512_load_ps(table.by_exponent)), high(_mm512_load_ps(table.by_exponent + 16)) {}
    AVX512 INLINE __m512i encode(__m512 t) const {
        return _mm512_castps_si512(_mm512_add_ps(t, _mm512_permutex2var_ps(low, exponents_of(t), high)));
    }
};

struct e2m1 {
    static constexpr qdq_dtype dtype = QDQ_F4E2M1;
    static constexpr float bound = 6, least = 0x1p-4f;
    static constexpr aligner_table<1, 0, 16> table{-5, 2};
    const __m512 aligners;

    AVX512 INLINE e2m1() : aligners(_mm512_load_ps(table.by_exponent)) {}
    AVX512 INLINE __m512i encode(__m512 t) const {
        return _mm512_castps_si512(_mm512_add_ps(t, _mm512_permutexvar_ps(exponents_of(t), aligners)));
    }
};

template<scaling how> AVX512 INLINE __m512 scaled(__m512i x, const factors &f) {
    const __m512 value = _mm512_castsi512_ps(x);
    if constexpr (how == scaling::multiply) {
        return _mm512_mul_ps(value, f.scale);
    } else {
        const __m512 guess = _mm512_mul_ps(value, f.reciprocal);
        return _mm512_fmadd_ps(_mm512_fnmadd_ps(guess, f.scale, value), f.reciprocal, guess);
    }
}

template<scaling how> AVX512 INLINE __m512 even(__m512i x, const factors &f) {
    return scaled<how>(_mm512_slli_epi32(x, 16), f);
}

template<scaling how> AVX512 INLINE __m512 odd(__m512i x, const factors &f) {
    return scaled<how>(_mm512_and_si512(x, _mm512_set1_epi32(static_cast<int32_t>(0xffff0000))), f);
}

// Truncated to bf16, and in both halves of a lane.
AVX512 INLINE __m512i bf16_twice(__m512 value) {
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i upper = _mm512_set1_epi32(static_cast<int32_t>(0xffff0000));
    return _mm512_or_si512(_mm512_and_si512(bits, upper), _mm512_srli_epi32(bits, 16));
}

// The x that `how` takes to a quotient, less what truncation takes away.
template<scaling how> AVX512 INLINE __m512i preimage(float quotient, __m512 scale) {
    const __m512 q = _mm512_set1_ps(quotient);
    return bf16_twice(_mm512_mul_ps(q, how == scaling::multiply ? _mm512_rcp14_ps(scale) : scale));
}

template<typename Code, scaling how> AVX512 INLINE factors factors_for(__m512 scale) {
    return {scale, how == scaling::fma ? _mm512_div_ps(_mm512_set1_ps(1.0f), scale) : _mm512_setzero_ps(),
            preimage<how>(Code::bound, scale), preimage<how>(Code::least, scale)};
}

template<typename Code, scaling how> AVX512 INLINE factors_of_16 factors_for(const float *scale, int64_t count) {
    const __mmask16 there = static_cast<__mmask16>((1u << std::min<int64_t>(count, 16)) - 1);
    const factors of_lanes = factors_for<Code, how>(_mm512_mask_loadu_ps(_mm512_set1_ps(1.0f), there, scale));
    factors_of_16 all;
    _mm512_store_ps(all.scale, of_lanes.scale);
    _mm512_store_ps(all.reciprocal, of_lanes.reciprocal);
    _mm512_store_si512(all.bound, of_lanes.bound);
    _mm512_store_si512(all.least, of_lanes.least);
    __asm__("" : "+m"(all));  // loads broadcast for nothing; GCC would rather permute the registers
    return all;
}

// Positive bf16 are ordered as integers; negative ones overflow to the integer indefinite value, which packs saturate.
template<scaling how> struct to_i8 {
    using code = i8;
    static constexpr int64_t bytes_of_64 = 64;
    // Of 32 words: a lane of 128 bits has 8, the four even ones and then the four odd ones.
    static constexpr byte_order in_order{
        64, [](int i) { return 16 * (i % 32 / 8) + 8 * (i / 32) + 4 * (i % 2) + i % 8 / 2; }};
    const __m512i order;

    AVX512_VBMI INLINE to_i8() : order(in_order.load()) {}
    // Words of each lane: those of even elements, then those of odd ones.
    AVX512_VBMI INLINE __m512i words(__m512i x, const factors &f) const {
        const __m512i bounded = _mm512_min_epi16(x, f.bound);
        return _mm512_packs_epi32(_mm512_cvtps_epi32(even<how>(bounded, f)), _mm512_cvtps_epi32(odd<how>(bounded, f)));
    }
    template<stores kind>
    AVX512_VBMI INLINE void encode(__m512i a, const factors &of_a, __m512i b, const factors &of_b, char *y) const {
        store<kind>(y, _mm512_permutexvar_epi8(order, _mm512_packs_epi16(words(a, of_a), words(b, of_b))));
    }
};

AVX512 INLINE __m512i bounded_magnitudes(__m512i x, const factors &f) {
    const __m512i magnitudes = _mm512_and_si512(x, _mm512_set1_epi16(0x7fff));
    return _mm512_max_epu16(_mm512_min_epu16(magnitudes, f.bound), f.least);
}

// Two codes without signs in the low bits of a lane.
template<scaling how, typename Code> AVX512 INLINE __m512i pairs(const Code &with, __m512i x, const factors &f) {
    const __m512i bounded = bounded_magnitudes(x, f);
    const __m512i first = with.encode(even<how>(bounded, f)), second = with.encode(odd<how>(bounded, f));
    return _mm512_ternarylogic_epi32(first, _mm512_slli_epi32(second, 8), _mm512_set1_epi32(0xffff), 0xa8);
}

// Codes without signs. Each lane of 128 bits has 8 of a, then 8 of b, as packs_epi16(a, b).
template<scaling how, typename Code>
AVX512 INLINE __m512i bytes_of_magnitudes(const Code &with, __m512i a, const factors &of_a, __m512i b,
                                          const factors &of_b) {
    return _mm512_packus_epi32(pairs<how>(with, a, of_a), pairs<how>(with, b, of_b));
}

template<scaling how> struct to_e4m3 {
    using code = e4m3;
    static constexpr int64_t bytes_of_64 = 64;
    const e4m3 with;
    const __m512i order;

    AVX512_VBMI INLINE to_e4m3() : order(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7)) {}
    template<stores kind>
    AVX512_VBMI INLINE void encode(__m512i a, const factors &of_a, __m512i b, const factors &of_b, char *y) const {
        const __m512i magnitudes = bytes_of_magnitudes<how>(with, a, of_a, b, of_b);
        const __m512i signs = _mm512_packs_epi16(a, b);  // saturation keeps them
        const __m512i codes =
            _mm512_ternarylogic_epi32(magnitudes, signs, _mm512_set1_epi8(static_cast<int8_t>(0x80)), 0xf8);
        store<kind>(y, _mm512_permutexvar_epi64(order, codes));
    }
};

template<scaling how> struct to_e2m1 {
    using code = e2m1;
    static constexpr int64_t bytes_of_64 = 32;
    static constexpr byte_order in_order{32, [](int i) { return 16 * (i % 16 / 4) + 8 * (i / 16) + 2 * (i % 4); }};
    const e2m1 with;
    const __m512i order;

    AVX512_VBMI INLINE to_e2m1() : order(in_order.load()) {}
    template<stores kind>
    AVX512_VBMI INLINE void encode(__m512i a, const factors &of_a, __m512i b, const factors &of_b, char *y) const {
        const __m512i magnitudes = bytes_of_magnitudes<how>(with, a, of_a, b, of_b);
        const __m512i signs = _mm512_srli_epi16(_mm512_packs_epi16(a, b), 4);
        const __m512i codes = _mm512_ternarylogic_epi32(magnitudes, signs, _mm512_set1_epi8(8), 0xf8);
        const __m512i pairs = _mm512_or_si512(codes, _mm512_srli_epi16(codes, 4));
        store<kind>(y, _mm512_castsi512_si256(_mm512_permutexvar_epi8(order, pairs)));
    }
};

template<template<scaling> class Encoder, granularity of_scale, scaling how, stores kind>
AVX512_VBMI void quantize(const operands &given) {
    const operands all = in_long_rows<of_scale>(given);
    const char *x = static_cast<const char *>(all.x);
    char *y = static_cast<char *>(all.y);
    const Encoder<how> encoder;
    using code = typename Encoder<how>::code;
    if constexpr (of_scale == granularity::tensor) {
        const factors f = factors_for<code, how>(_mm512_set1_ps(*all.scale));
#pragma GCC unroll 2
        for (int64_t c = 0; c < all.columns; c += 64, x += 128, y += Encoder<how>::bytes_of_64) {
            fetch_ahead<kind>(x, 128);
            encoder.template encode<kind>(_mm512_loadu_si512(x), f, _mm512_loadu_si512(x + 64), f, y);
        }
    } else {
        const int64_t blocks = all.columns / 32;
        for (int64_t first = 0; first < blocks; first += 16) {
            const factors_of_16 f = factors_for<code, how>(all.scale + first, blocks - first);
            for (int64_t b = 0; b < std::min<int64_t>(blocks - first, 16); b += 2) {
                fetch_ahead<kind>(x, 128);
                encoder.template encode<kind>(_mm512_loadu_si512(x), f[b], _mm512_loadu_si512(x + 64), f[b + 1], y);
                x += 128;
                y += Encoder<how>::bytes_of_64;
            }
        }
    }
    finish<kind>();
}

// bf16 to f4e2m1, one scale, without arithmetic: rounding is monotone in x, and doubling x doubles the quotient. So the
// place of |x| among the 128 bf16 from where quotients reach a power of two says, with the power, what its code is.

template<scaling how> AVX512_VBMI INLINE float quotient(int32_t magnitude, float scale) {
    const float x = std::bit_cast<float>(magnitude << 16);
    return how == scaling::multiply ? x * scale : x / scale;
}

struct e2m1_places {
    int32_t first;                   // the least magnitude whose quotient is at least 1/8
    alignas(64) int8_t passed[128];  // by the quotients of those that follow: of 1, 1.25, 1.5 and 1.75 times 1/8
};

template<scaling how> AVX512_VBMI INLINE e2m1_places places_for(float scale) {
    e2m1_places places;
    places.first = (std::bit_cast<int32_t>(how == scaling::multiply ? 0.125f / scale : 0.125f * scale) >> 16) - 1;
    while (quotient<how>(places.first, scale) < 0.125f) {
        places.first++;
    }
    for (int32_t i = 0; i < 128; i++) {
        // Ties are broken to even: at 1 and 1.25 down, at 1.5 and 1.75 up.
        const float t = quotient<how>(places.first + i, scale) * 8;
        places.passed[i] = static_cast<int8_t>((t > 1) + (t > 1.25f) + (t >= 1.5f) + (t >= 1.75f));
    }
    return places;
}

// By power of two, 1/8 to 4, and by what was passed.
alignas(64) constexpr int8_t e2m1_codes[64] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 2, 2, 0, 0,
                                               0, 2, 2, 3, 3, 4, 0, 0, 0, 4, 4, 5, 5, 6, 0, 0, 0, 6, 6, 7, 7, 7};

template<scaling how, stores kind> AVX512_VBMI void place_e2m1(const operands &given) {
    const operands all = in_long_rows<granularity::tensor>(given);
    const char *x = static_cast<const char *>(all.x);
    char *y = static_cast<char *>(all.y);
    const e2m1_places places = places_for<how>(*all.scale);
    const __m512i first = _mm512_set1_epi16(static_cast<int16_t>(places.first));
    const __m512i last = _mm512_set1_epi16(6 * 128 - 1);
    const __m512i passed_low = _mm512_load_si512(places.passed), passed_high = _mm512_load_si512(places.passed + 64);
    const __m512i codes_of = _mm512_load_si512(e2m1_codes);
    static constexpr byte_order in_order(32, [](int i) { return 4 * (i % 16) + i / 16; });
    const __m512i order = in_order.load();
    const __m512i magnitude = _mm512_set1_epi16(0x7fff), lower = _mm512_set1_epi16(0xff);
#pragma GCC unroll 2
    for (int64_t c = 0; c < all.columns; c += 64, x += 128, y += 32) {
        fetch_ahead<kind>(x, 128);
        const __m512i a = _mm512_loadu_si512(x), b = _mm512_loadu_si512(x + 64);
        const __m512i of_a = _mm512_min_epu16(_mm512_subs_epu16(_mm512_and_si512(a, magnitude), first), last);
        const __m512i of_b = _mm512_min_epu16(_mm512_subs_epu16(_mm512_and_si512(b, magnitude), first), last);
        // From here on bytes, those of a and b by turns.
        const __m512i place = _mm512_ternarylogic_epi32(of_a, _mm512_slli_epi16(of_b, 8), lower, 0xe4);
        const __m512i power =
            _mm512_ternarylogic_epi32(_mm512_srli_epi16(of_a, 4), _mm512_slli_epi16(of_b, 4), lower, 0xe4);
        const __m512i passed = _mm512_permutex2var_epi8(passed_low, place, passed_high);
        const __m512i entry = _mm512_ternarylogic_epi32(power, passed, _mm512_set1_epi8(0x38), 0xe4);
        const __m512i signs = _mm512_ternarylogic_epi32(_mm512_srli_epi16(a, 12), _mm512_srli_epi16(b, 4), lower, 0xe4);
        const __m512i codes =
            _mm512_ternarylogic_epi32(_mm512_permutexvar_epi8(entry, codes_of), signs, _mm512_set1_epi8(8), 0xf8);
        const __m512i pairs = _mm512_or_si512(codes, _mm512_srli_epi32(codes, 12));
        store<kind>(y, _mm512_castsi512_si256(_mm512_permutexvar_epi8(order, pairs)));
    }
    finish<kind>();
}

template<template<scaling> class Encoder, granularity of_scale, scaling how>
void add(std::vector<loop> &loops, const char *plain, const char *nontemporal) {
    constexpr qdq_scale_mode mode = how == scaling::multiply ? QDQ_MULTIPLY : QDQ_DIVIDE;
    constexpr qdq_dtype y = Encoder<how>::code::dtype;
    const auto add = [&](const char *name, void (*run)(const operands &)) {
        loops.push_back({name, "x86_avx512", operation::quantize, QDQ_BF16, y, of_scale, mode, run});
    };
    add(plain, quantize<Encoder, of_scale, how, stores::plain>);
    add(nontemporal, quantize<Encoder, of_scale, how, stores::nontemporal>);
}

template<template<scaling> class Encoder> void add_every(std::vector<loop> &loops) {
    add<Encoder, granularity::tensor, scaling::multiply>(loops, "multiply", "multiply_nt");
    add<Encoder, granularity::tensor, scaling::fma>(loops, "fma", "fma_nt");
    add<Encoder, granularity::block32, scaling::multiply>(loops, "multiply", "multiply_nt");
    add<Encoder, granularity::block32, scaling::fma>(loops, "fma", "fma_nt");
}

template<scaling how> void add_places(std::vector<loop> &loops) {
    constexpr qdq_scale_mode mode = how == scaling::multiply ? QDQ_MULTIPLY : QDQ_DIVIDE;
    const auto add = [&](const char *name, void (*run)(const operands &)) {
        loops.push_back(
            {name, "x86_avx512", operation::quantize, QDQ_BF16, QDQ_F4E2M1, granularity::tensor, mode, run});
    };
    add("places", place_e2m1<how, stores::plain>);
    add("places_nt", place_e2m1<how, stores::nontemporal>);
}

}  // namespace

void add_bf16_encoders(std::vector<loop> &loops, const abilities &has) {
    if (has.vbmi) {
        add_every<to_i8>(loops);
        add_every<to_e4m3>(loops);
        add_every<to_e2m1>(loops);
        add_places<scaling::multiply>(loops);
        add_places<scaling::fma>(loops);
    }
}

}  // namespace baselines

#endif
