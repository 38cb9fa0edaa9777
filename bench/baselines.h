// What qdq is measured against: loops written by hand with intrinsics, and copies.
#pragma once

#include <qdq/qdq.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace baselines {

// Which elements of an x of rows x columns have a scale in common.
enum class granularity { tensor, channel_rows, channel_columns, block32 };

enum class operation { quantize, dequantize };

// Dense operands. Columns are a multiple of 64, x and y are aligned to 64 bytes, scales are positive and normal.
struct operands {
    const void *x;
    void *y;
    const float *scale;
    int64_t rows, columns;
    int32_t zero_point;  // of the tensor, for loops with one
};

struct loop {
    const char *name;    // "fma", "multiply_nt", ...: the arithmetic, and _nt for non-temporal stores
    const char *target;  // the qdq target for the same instruction set
    operation op;
    qdq_dtype x, y;
    granularity of_scale;
    qdq_scale_mode mode;  // of a quantize loop
    void (*run)(const operands &);
    bool zero_point = false;  // one for the tensor, added to a quantize loop's integers
};

// The loops this machine can run.
std::span<const loop> hand_loops();

void copy(void *to, const void *from, size_t bytes);  // memcpy

// What no kernel can do without: reads x and writes y past the caches, with next to no arithmetic between. Both are
// aligned to 64 bytes; their sizes are multiples of `steps` times 64 bytes. `prefetches` as qdq does, 2 KiB ahead.
struct traffic {
    const void *x;
    void *y;
    size_t steps;
    int x_lines, y_lines;  // cache lines of 64 bytes that a step reads and writes
    bool prefetches;
};
void stream(const traffic &t);
bool can_stream();

}  // namespace baselines
