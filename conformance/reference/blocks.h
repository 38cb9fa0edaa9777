// Blocks of ggml's formats, one at a time, by the formulas of qdq/blocks.h.
#pragma once

#include <qdq/blocks.h>

#include <array>
#include <cstdint>

namespace reference {

constexpr int64_t block_elements = 32;

using block_values = std::array<float, block_elements>;

int64_t bytes_of(qdq_block_format format);

// Of values of any type as f32.
void quantize_block(qdq_block_format format, const block_values &x, uint8_t *y);

// NaN is the positive quiet one.
block_values dequantize_block(qdq_block_format format, const uint8_t *x);

// qdq_quantize_blocks and qdq_dequantize_blocks for valid calls.
void quantize_blocks(const qdq_tensor &x, const qdq_tensor &y, qdq_block_format format);
void dequantize_blocks(const qdq_tensor &x, const qdq_tensor &y, qdq_block_format format);

}  // namespace reference
