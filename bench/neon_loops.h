// The inner loops of qdq's kernels as one would write them by hand for 64-bit Arm, under the same contract.
#pragma once

#include <qdq/qdq.h>

#include <cstdint>
#include <span>

namespace neon {

// Of one call, per tensor. `elements` is a multiple of 32; the scale is ordinary.
struct call {
    const void *x;
    void *y;
    int64_t elements;
    float scale;
    float zero_point;
    int32_t lowest, highest;  // the range of i32
};

struct loop {
    const char *family;
    qdq_dtype x, y;
    qdq_options options;
    float zero_point;
    void (*run)(call c);  // a copy: stores of bytes might alias one they share
};

std::span<const loop> loops();

}  // namespace neon
