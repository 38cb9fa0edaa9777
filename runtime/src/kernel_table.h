// The compiled kernels: a constant table generated from generators/kernels.cmake, targets best first.
#pragma once

#include "HalideRuntime.h"
#include "qdq/qdq.h"

#include <cstdint>

namespace qdq {

enum class operation : uint8_t { quantize, dequantize };

using quantize_kernel = int(halide_buffer_t *x, halide_buffer_t *scale, halide_buffer_t *zero_point, int32_t variant,
                            int32_t before, int32_t rounding, int32_t lowest, int32_t highest, int32_t no_saturate,
                            halide_buffer_t *y);
using dequantize_kernel = int(halide_buffer_t *x, halide_buffer_t *scale, halide_buffer_t *zero_point, int32_t variant,
                              int32_t sign, halide_buffer_t *y);
using bytes_kernel = int(halide_buffer_t *x, halide_buffer_t *y);
using transpose_kernel = int(halide_buffer_t *x, halide_buffer_t *y);

// The kernels of one pair of element types, by form.
template<typename Kernel>
struct kernel_forms {
    Kernel *row;
    Kernel *column;
    Kernel *block16;
    Kernel *block32;
};

template<typename Kernel>
struct kernel_row {
    qdq_dtype float_type;
    qdq_dtype stored_type;
    kernel_forms<Kernel> forms;
};

struct target {
    const char *name;
    uint32_t features;  // every cpu_feature it needs
    const kernel_row<quantize_kernel> *quantize;
    const kernel_row<dequantize_kernel> *dequantize;
    int quantize_count, dequantize_count;
    transpose_kernel *transpose[3];  // of 1, 2 and 4-byte elements
    bytes_kernel *pack[3];           // by qdq_packing
    bytes_kernel *unpack[3];         // to unsigned codes
    bytes_kernel *unpack_signed[3];
    void (*stream_copy)(void *to, const void *from, int64_t bytes);
};

extern const target targets[];
extern const int target_count;

// NULL where the target has no kernel for the pair.
const kernel_forms<quantize_kernel> *find_quantize(const target &t, qdq_dtype from, qdq_dtype to);
const kernel_forms<dequantize_kernel> *find_dequantize(const target &t, qdq_dtype from, qdq_dtype to);

}  // namespace qdq
