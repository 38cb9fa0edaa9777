// Copies of less than kernels take at once. Where processors have masks, each cache line is one load and one store:
// what a kernel loads then waits for no smaller stores. 1 to 63 f32 to i8 take 33 ns so, and 37 to 48 otherwise (Zen
// 5).
#pragma once

#include "targets/kernel_table.h"

#include <cstdint>

namespace qdq::runtime {

// And zeros after them, up to `whole` bytes of `to`, which begins at a cache line, or to the end of the line that they
// end in.
void copy_padded(const target &on, const char *from, int64_t bytes, char *to, int64_t whole);

// What a kernel has stored from a cache line's begin on.
void copy_results(const target &on, const char *from, int64_t bytes, char *to);

}  // namespace qdq::runtime
