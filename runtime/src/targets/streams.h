// Copies that bypass the caches, for results too large to be read again soon. A target without one stores as usual.
#pragma once

#include <cstdint>

namespace qdq::runtime {

struct stream {
    // Whole cache lines of `to` are written with non-temporal stores; the ends with plain ones.
    void (*copy)(void *to, const void *from, int64_t bytes);
    // Orders every streamed store of this thread before what follows.
    void (*fence)();
};

extern const stream stream_sse2, stream_avx2, stream_avx512;

}  // namespace qdq::runtime
