// Lines of the caches, and how they are fetched before they are read.
#pragma once

#include <cstdint>

namespace qdq::runtime {

constexpr int64_t line = 64;  // bytes

enum class cache { l2 = 2, l1 };  // as __builtin_prefetch counts

// Into a cache. GCC drops calls of functions that do nothing but prefetch, unless they are inlined.
template<cache into> [[gnu::always_inline]] inline void prefetch(const char *from, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += line) {
        __builtin_prefetch(from + i, 0, int(into));
    }
}

}  // namespace qdq::runtime
