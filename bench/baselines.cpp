#include "baselines.h"

#include <cstring>

#if defined(__x86_64__)
#include "baselines_x86.h"
#endif

namespace baselines {

void copy(void *to, const void *from, size_t bytes) { std::memcpy(to, from, bytes); }

#if defined(__x86_64__)

namespace {

abilities abilities_of_this_machine() {
    abilities has{};
    has.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    has.avx512 = has.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    has.vbmi = has.avx512 && __builtin_cpu_supports("avx512vbmi");
    has.bf16 = has.vbmi && __builtin_cpu_supports("avx512bf16");
    return has;
}

std::vector<loop> loops_of_this_machine() {
    const abilities has = abilities_of_this_machine();
    std::vector<loop> loops;
    add_integers(loops, has);
    add_lookups(loops, has);
    add_bf16_encoders(loops, has);
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
