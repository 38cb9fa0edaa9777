// A call on ggml's blocks, validated: loops over blocks, and where their elements and bytes are.
#pragma once

#include "plan/plan.h"
#include "qdq/blocks.h"
#include "targets/block_table.h"

namespace qdq::runtime {

// Strides count elements of the floats, and bytes of the blocks.
struct block_loop {
    int64_t extent, floats, blocks;
};

struct block_plan {
    const target *on;
    const dispatch_parameters *tuned;
    block_kernel *kernel;
    bool quantizes;
    int32_t block_bytes;
    qdq_dtype float_type;
    int64_t count;                        // of blocks
    int64_t element_stride, byte_stride;  // within a block
    int loop_count;                       // at least one, innermost first
    block_loop loops[most_dimensions];
};

struct block_arguments {
    const char *function;  // for messages
    bool quantizes;
    const qdq_tensor *x, *y;
    qdq_block_format format;
};

// Fills `result`, or says what is wrong. Without blocks its count is 0.
qdq_status make_block_plan(const block_arguments &given, block_plan &result);

}  // namespace qdq::runtime
