// The kernels of ggml's blocks. Their table is not part of a target, as that of reduction_table.h.
#pragma once

#include "block_formats.h"
#include "targets/entry_of_target.h"

namespace qdq::runtime {

// x to y, elements and blocks of a format: generators/quantize_blocks_generator.cpp, dequantize_blocks_generator.cpp.
using block_kernel = bytes_kernel;

struct block_kernels {
    const char *target;
    dispatch_parameters tuned;
    // By qdq_dtype, QDQ_F32, QDQ_F16, QDQ_BF16, and by qdq_block_format. No kernels: no row of the build has such
    // floats.
    block_kernel *quantize[3][std::size(kernels::block_formats)];
    block_kernel *dequantize[3][std::size(kernels::block_formats)];
};

extern const block_kernels linked_block_kernels[];

// Every target of the processor has some.
inline const block_kernels &find_block_kernels(const target &t) { return entry_of(t, linked_block_kernels); }

}  // namespace qdq::runtime
