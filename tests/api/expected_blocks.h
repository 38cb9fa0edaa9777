// What ggml's blocks are of a tensor, and what their values are, by the oracle.
#pragma once

#include "tensor_memory.h"

#include "reference/blocks.h"

namespace api_test {

inline dimensions shape_of_blocks(dimensions shape, qdq_block_format format) {
    shape.back() = shape.back() / reference::block_elements * reference::bytes_of(format);
    return shape;
}

// `y`, of blocks, with those of x.
inline tensor_memory expected_blocks(const tensor_memory &x, qdq_block_format format, tensor_memory y) {
    reference::quantize_blocks(x.view(), y.view(), format);
    return y;
}

// `y`, of floats, with the values of blocks.
inline tensor_memory expected_values(const tensor_memory &x, qdq_block_format format, tensor_memory y) {
    reference::dequantize_blocks(x.view(), y.view(), format);
    return y;
}

}  // namespace api_test
