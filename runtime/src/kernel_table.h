// The compiled kernels: a constant table generated from generators/kernels.cmake, targets best first.
#pragma once

#include "HalideRuntime.h"
#include "qdq/qdq.h"
#include "streams.h"

#include <cstdint>

namespace qdq {

enum class operation : uint8_t { quantize, dequantize };

// How a kernel's two dimensions meet the operands; generators/forms.h has the same.
enum class kernel_form { row, column, block };
constexpr int form_count = 3;

using quantize_kernel = int(halide_buffer_t *x, halide_buffer_t *scale, halide_buffer_t *inverse,
                            halide_buffer_t *zero_point, int32_t variant, int32_t before, int32_t rounding,
                            int32_t lowest, int32_t highest, int32_t no_saturate, halide_buffer_t *y);
using dequantize_kernel = int(halide_buffer_t *x, halide_buffer_t *scale, halide_buffer_t *zero_point, int32_t variant,
                              int32_t sign, halide_buffer_t *y);
using bytes_kernel = int(halide_buffer_t *x, halide_buffer_t *y);
using transpose_kernel = int(halide_buffer_t *x, halide_buffer_t *y);

// The kernels of one pair of element types.
template<typename Kernel>
struct kernel_row {
    qdq_dtype float_type;
    qdq_dtype stored_type;
    int32_t block;  // elements that share an operand in the block form
    Kernel *forms[form_count];
};

struct target {
    const char *name;
    uint32_t features;  // every cpu_feature it needs
    const kernel_row<quantize_kernel> *quantize;
    const kernel_row<dequantize_kernel> *dequantize;
    int quantize_count, dequantize_count;
    transpose_kernel *transpose[3];  // of 1, 2 and 4-byte elements
    bytes_kernel *swap_nibbles;
    bytes_kernel *split_halves;
    bytes_kernel *join_halves;
    const stream *streams;  // NULL for none
};

extern const target targets[];
extern const int target_count;

// NULL where the target has no kernel for the pair.
const kernel_row<quantize_kernel> *find_quantize(const target &t, qdq_dtype from, qdq_dtype to);
const kernel_row<dequantize_kernel> *find_dequantize(const target &t, qdq_dtype from, qdq_dtype to);

}  // namespace qdq
