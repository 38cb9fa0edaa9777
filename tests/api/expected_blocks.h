// What ggml's blocks are of a tensor, and what their values are, by the oracle.
#pragma once

#include "tensor_memory.h"

#include "reference/blocks.h"
#include "reference/formats.h"

#include <bit>

namespace api_test {

inline dimensions shape_of_blocks(dimensions shape, qdq_block_format format) {
    shape.back() = shape.back() / reference::block_elements * reference::bytes_of(format);
    return shape;
}

// `y`, of blocks, with those of x.
inline tensor_memory expected_blocks(const tensor_memory &x, qdq_block_format format, tensor_memory y) {
    const std::vector<uint32_t> codes = x.codes();
    const qdq_dtype type = x.view().dtype;
    std::vector<uint8_t> bytes;
    for (size_t first = 0; first < codes.size(); first += 32) {
        reference::block_values values{};
        for (size_t i = 0; i < 32; i++) {
            const uint32_t code = codes[first + i];
            values[i] = type == QDQ_F32 ? std::bit_cast<float>(code) : reference::decode_float(type, code);
        }
        bytes.resize(bytes.size() + static_cast<size_t>(reference::bytes_of(format)));
        reference::quantize_block(format, values, bytes.data() + bytes.size() - reference::bytes_of(format));
    }
    y.fill([&](int64_t i) { return bytes[static_cast<size_t>(i)]; });
    return y;
}

// `y`, of floats, with the values of blocks.
inline tensor_memory expected_values(const tensor_memory &x, qdq_block_format format, tensor_memory y) {
    const std::vector<uint32_t> codes = x.codes();
    const std::vector<uint8_t> bytes(codes.begin(), codes.end());
    const qdq_dtype type = y.view().dtype;
    std::vector<uint32_t> values;
    for (size_t first = 0; first < bytes.size(); first += static_cast<size_t>(reference::bytes_of(format))) {
        for (const float value : reference::dequantize_block(format, &bytes[first])) {
            const auto &narrow = type == QDQ_F16 ? reference::f16_format : reference::bf16_format;
            values.push_back(type == QDQ_F32 ? reference::encode_f32(value) : reference::encode_ieee(narrow, value));
        }
    }
    y.fill([&](int64_t i) { return values[static_cast<size_t>(i)]; });
    return y;
}

}  // namespace api_test
