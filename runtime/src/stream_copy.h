// Copies that bypass the caches, for results too large to be read again soon.
#pragma once

#include <cstdint>

namespace qdq {

// Whole cache lines of `to` are written with non-temporal stores; the ends with plain ones.
void stream_copy_sse2(void *to, const void *from, int64_t bytes);
void stream_copy_avx2(void *to, const void *from, int64_t bytes);
void stream_copy_avx512(void *to, const void *from, int64_t bytes);

// Orders every streamed store of this thread before what follows.
void stream_fence();

}  // namespace qdq
