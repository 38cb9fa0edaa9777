// Copies that bypass the caches, for results too large to be read again soon. A target without one stores as usual.
#pragma once

#include <cstdint>

namespace qdq::runtime {

struct nontemporal_stores {
    // Whole cache lines of `to` are written with non-temporal stores; the ends with plain ones.
    void (*copy)(void *to, const void *from, int64_t bytes);
    // Orders every non-temporal store of this thread before what follows.
    void (*fence)();
};

extern const nontemporal_stores nontemporal_sse2, nontemporal_avx2, nontemporal_avx512;

}  // namespace qdq::runtime
