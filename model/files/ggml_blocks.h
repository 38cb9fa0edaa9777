#pragma once

#include <cstddef>
#include <cstdint>

namespace qdq::model {

// A type of ggml's tensors, and how many elements and bytes its blocks have.
struct ggml_type {
    uint32_t number;
    const char *name;  // null: qdq does not know it
    uint32_t block_elements, block_bytes;
    const char *dtype;                                          // what it is elsewhere; null: blocks, or nothing
    void (*decode)(const std::byte *block, std::byte *values);  // to F32; null: qdq does not
};

ggml_type ggml_type_of(uint32_t number);

}  // namespace qdq::model
