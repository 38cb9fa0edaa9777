// The threads of large work: the library's own, or the caller's pool.
#pragma once

#include "qdq/qdq.h"

#include <cstdint>

namespace qdq::runtime {

constexpr int64_t most_threads = 256;  // that work on one call, the caller's among them; qdq.h states it

// Calls task(i, context) once for each i in [0, count), in any order, and returns when all have returned. The caller's
// pool does so where one is set. Else the calling thread works and up to threads - 1 of the pool help, as many as the
// system lets it create: none is enough.
void run_on_pool(int64_t count, qdq_task task, void *context, int64_t threads);

// NULL for the library's own. A call that has begun may go on with the former one.
void use_parallel_for(qdq_parallel_for parallel_for, void *context);

}  // namespace qdq::runtime
