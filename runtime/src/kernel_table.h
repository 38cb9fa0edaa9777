// The compiled kernels: a constant table generated from generators/kernels.cmake, targets best first.
#pragma once

#include "HalideRuntime.h"
#include "qdq/qdq.h"
#include "streams.h"

#include <cstdint>

namespace qdq::runtime {

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

// A device's kernel: an array of pointers to its arguments, in the order of generators/device_*_generator.cpp.
using device_kernel = int(void **arguments);

struct device_row {
    qdq_dtype float_type;
    qdq_dtype stored_type;
    device_kernel *quantize[3], *dequantize[3];  // in the order of device_form
};

struct device_backend;

struct target {
    const char *name;
    uint32_t features = 0;  // every cpu_feature it needs
    const kernel_row<quantize_kernel> *quantize = nullptr;
    const kernel_row<dequantize_kernel> *dequantize = nullptr;
    int quantize_count = 0, dequantize_count = 0;
    transpose_kernel *transpose[3] = {};  // of 1, 2 and 4-byte elements
    bytes_kernel *swap_nibbles = nullptr;
    bytes_kernel *split_halves = nullptr;
    bytes_kernel *join_halves = nullptr;
    const stream *streams = nullptr;         // NULL for none
    const device_backend *device = nullptr;  // NULL for the processor, which has no device_rows
    const device_row *device_rows = nullptr;
    int device_count = 0;
};

extern const target targets[];
extern const int target_count;

// NULL where the target has no kernel for the pair.
const kernel_row<quantize_kernel> *find_quantize(const target &t, qdq_dtype from, qdq_dtype to);
const kernel_row<dequantize_kernel> *find_dequantize(const target &t, qdq_dtype from, qdq_dtype to);
const device_row *find_device_row(const target &t, qdq_dtype float_type, qdq_dtype stored_type);

}  // namespace qdq::runtime
