// Large work is split over the caller's thread pool, or the library's own.
#pragma once

#include <cstdint>

namespace qdq::runtime {

// How many parts work of this many elements is worth, each of `least` or more; 1 for none.
int64_t useful_parts(int64_t elements, int64_t least);

// Calls task(i, context) for every i in [0, count), in any order, and returns when all have returned.
void run_in_parallel(int64_t count, void (*task)(int64_t i, void *context), void *context);

}  // namespace qdq::runtime
