#include "targets/nontemporal.h"

#include <immintrin.h>

#include <cstring>

namespace qdq::runtime {

namespace {

constexpr int64_t line = 64;

// Copies up to the first line boundary of `to`; returns how many bytes.
int64_t copy_head(char *to, const char *from, int64_t bytes) {
    const int64_t to_boundary = -reinterpret_cast<intptr_t>(to) & (line - 1);
    const int64_t head = to_boundary < bytes ? to_boundary : bytes;
    std::memcpy(to, from, head);
    return head;
}

void copy_sse2(void *to, const void *from, int64_t bytes) {
    char *d = static_cast<char *>(to);
    const char *s = static_cast<const char *>(from);
    int64_t i = copy_head(d, s, bytes);
    for (; i + 16 <= bytes; i += 16) {
        _mm_stream_si128(reinterpret_cast<__m128i *>(d + i), _mm_loadu_si128(reinterpret_cast<const __m128i *>(s + i)));
    }
    std::memcpy(d + i, s + i, bytes - i);
}

[[gnu::target("avx2")]] void copy_avx2(void *to, const void *from, int64_t bytes) {
    char *d = static_cast<char *>(to);
    const char *s = static_cast<const char *>(from);
    int64_t i = copy_head(d, s, bytes);
    for (; i + 32 <= bytes; i += 32) {
        _mm256_stream_si256(reinterpret_cast<__m256i *>(d + i),
                            _mm256_loadu_si256(reinterpret_cast<const __m256i *>(s + i)));
    }
    std::memcpy(d + i, s + i, bytes - i);
}

[[gnu::target("avx512f")]] void copy_avx512(void *to, const void *from, int64_t bytes) {
    char *d = static_cast<char *>(to);
    const char *s = static_cast<const char *>(from);
    int64_t i = copy_head(d, s, bytes);
    for (; i + line <= bytes; i += line) {
        _mm512_stream_si512(reinterpret_cast<__m512i *>(d + i), _mm512_loadu_si512(s + i));
    }
    std::memcpy(d + i, s + i, bytes - i);
}

void fence() { _mm_sfence(); }

}  // namespace

const nontemporal_stores qdq_nontemporal_sse2 = {copy_sse2, fence};
const nontemporal_stores qdq_nontemporal_avx2 = {copy_avx2, fence};
const nontemporal_stores qdq_nontemporal_avx512 = {copy_avx512, fence};

}  // namespace qdq::runtime
