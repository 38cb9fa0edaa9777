// The kernels that reduce elements to the extremes of which scales are computed. Their table is not part of a target
// (qdq/link/kernels.h): only what computes scales refers to it.
#pragma once

#include "HalideRuntime.h"
#include "reductions.h"
#include "targets/entry_of_target.h"

#include <cstdint>

namespace qdq::runtime {

// Of rows or columns of x: generators/reduce_generator.cpp.
using reduce_kernel = int(halide_buffer_t *x, halide_buffer_t *above, halide_buffer_t *below);

// By kernels::reduction, and how many elements of a row, and columns, are reduced at once. Those that find magnitudes
// write a `below` of 0. No kernels: no row of the build quantizes such elements.
struct reductions_of_size {
    reduce_kernel *row, *short_rows, *column;
    int32_t row_elements, columns;
};

struct reductions {
    const char *target;
    reductions_of_size of[2][2];  // of elements of 16 and 32 bits, by kernels::reduced_numbers
};

extern const reductions linked_reductions[];

// The kernels of a target for elements of so many bits. Every target of the processor has some.
inline const reductions_of_size &find_reductions(const target &t, int bits, kernels::reduced_numbers numbers) {
    return entry_of(t, linked_reductions).of[bits == 32][int(numbers)];
}

}  // namespace qdq::runtime
