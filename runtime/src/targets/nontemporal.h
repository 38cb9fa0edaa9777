// Copies that bypass the caches, for results too large to be read again soon. A target without one stores as usual.
#pragma once

#include <cstdint>

struct qdq_nontemporal_stores {
    // Whole cache lines of `to` are written with non-temporal stores; the ends with plain ones.
    void (*copy)(void *to, const void *from, int64_t bytes);
    // Orders every non-temporal store of this thread before what follows.
    void (*fence)();
};

namespace qdq::runtime {

using nontemporal_stores = qdq_nontemporal_stores;

// Tables of kernels name them, and may be in C.
extern "C" const nontemporal_stores qdq_nontemporal_sse2, qdq_nontemporal_avx2, qdq_nontemporal_avx512;

}  // namespace qdq::runtime
