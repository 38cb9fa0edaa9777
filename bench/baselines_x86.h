// What the hand loops of x86 share. Each file of them adds its loops to those of the machine.
#pragma once

#include "baselines.h"

#include <immintrin.h>

#include <vector>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#define AVX512_VBMI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,avx512vbmi")))
#define AVX512_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,avx512vbmi,avx512bf16")))
#define AVX2 __attribute__((target("avx2,fma")))
#define INLINE __attribute__((always_inline)) inline

namespace baselines {

// The instructions that loops may need; each includes those above it.
struct abilities {
    bool avx2;  // and fma
    bool avx512;
    bool vbmi;
    bool bf16;
};

void add_integers(std::vector<loop> &loops, const abilities &has);
void add_lookups(std::vector<loop> &loops, const abilities &has);
void add_bf16_encoders(std::vector<loop> &loops, const abilities &has);

enum class stores { plain, nontemporal };

template<stores kind> AVX512 INLINE void store(void *to, __m512i value) {
    if constexpr (kind == stores::nontemporal) {
        _mm512_stream_si512(static_cast<__m512i *>(to), value);
    } else {
        _mm512_storeu_si512(to, value);
    }
}

template<stores kind> AVX2 INLINE void store(void *to, __m256i value) {
    if constexpr (kind == stores::nontemporal) {
        _mm256_stream_si256(static_cast<__m256i *>(to), value);
    } else {
        _mm256_storeu_si256(static_cast<__m256i *>(to), value);
    }
}

// Non-temporal stores are ordered with nothing: a caller would not find them.
template<stores kind> INLINE void finish() {
    if constexpr (kind == stores::nontemporal) {
        _mm_sfence();
    }
}

// Past the caches the hardware's own prefetching stays behind; 2 KiB ahead into the L1 cache is what helps most.
template<stores kind> INLINE void fetch_ahead(const void *from, int64_t bytes) {
    for (int64_t line = 0; kind == stores::nontemporal && line < bytes; line += 64) {
        _mm_prefetch(static_cast<const char *>(from) + 2048 + line, _MM_HINT_T0);
    }
}

// An operand of byte permutes: which byte goes to each place.
struct alignas(64) byte_order {
    int8_t from[64] = {};

    template<typename From> constexpr byte_order(int places, From &&from_place) {
        for (int i = 0; i < places; i++) {
            from[i] = static_cast<int8_t>(from_place(i));
        }
    }
    AVX512 INLINE __m512i load() const { return _mm512_load_si512(from); }
};

// Dense rows are one long row wherever a scale does not depend on where a row ends.
template<granularity of_scale> INLINE operands in_long_rows(operands all) {
    if constexpr (of_scale == granularity::tensor || of_scale == granularity::block32) {
        all.columns *= all.rows;
        all.rows = 1;
    }
    return all;
}

}  // namespace baselines
