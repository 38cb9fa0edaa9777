// Stores of x86's registers that may bypass the caches.
#pragma once

#include "handwritten/handwritten.h"

#include <immintrin.h>

namespace qdq::kernels {
namespace {

template<bool nontemporal> void store(char *y, __m128i value) {
    auto *const to = reinterpret_cast<__m128i *>(y);
    nontemporal ? _mm_stream_si128(to, value) : _mm_storeu_si128(to, value);
}

template<bool nontemporal> void store(char *y, __m256i value) {
    auto *const to = reinterpret_cast<__m256i *>(y);
    nontemporal ? _mm256_stream_si256(to, value) : _mm256_storeu_si256(to, value);
}

#if defined(__AVX512F__)
template<bool nontemporal> void store(char *y, __m512i value) {
    nontemporal ? _mm512_stream_si512(reinterpret_cast<__m512i *>(y), value) : _mm512_storeu_si512(y, value);
}
#endif

// Into the L1 cache, 64 elements that come so many bytes later.
template<typename Element> inline void fetch_ahead(const Element *x, int64_t distance) {
    constexpr int64_t line = 64;
    for (int64_t i = 0; i < group_size * int64_t{sizeof(Element)}; i += line) {
        _mm_prefetch(reinterpret_cast<const char *>(x) + distance + i, _MM_HINT_T0);
    }
}

// Stores and fetches as the call says. All ways share one loop, which costs an encoder 1 to 2 %; the empty asm keeps
// compilers from making several of it.
class call_stores {
public:
    call_stores(bool are_nontemporal, int64_t fetch_distance)
        : are_nontemporal(are_nontemporal), fetch_distance(fetch_distance) {}

    bool bypass_caches() const { return are_nontemporal; }

    template<typename Vector> [[gnu::always_inline]] void store(char *y, Vector value) const {
        unknown(are_nontemporal) ? kernels::store<true>(y, value) : kernels::store<false>(y, value);
    }
    template<typename Element> [[gnu::always_inline]] void fetch_ahead(const Element *x) const {
        if (const int64_t distance = unknown(fetch_distance)) {
            kernels::fetch_ahead(x, distance);
        }
    }

private:
    const bool are_nontemporal;
    const int64_t fetch_distance;

    template<typename T> [[gnu::always_inline]] static T unknown(T own) {
        __asm__("" : "+r"(own));
        return own;
    }
};

}  // namespace
}  // namespace qdq::kernels
