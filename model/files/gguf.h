#pragma once

#include "tensors/tensor_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace qdq::model {

// Values of metadata one after another, as a file of GGUF version 2 or 3 has them: key, type, value.
struct gguf_values {
    uint64_t count = 0;
    std::vector<std::byte> bytes;

    void add(std::string_view key, uint32_t value);
    void add(std::string_view key, std::string_view value);
};

// Numbers of the types of values in a file's metadata.
inline constexpr uint32_t gguf_u32 = 4, gguf_string = 8;

// An f16, which is first in blocks of ggml's that have one scale.
inline constexpr uint64_t block_scale_bytes = 2;

// Data of tensors in a new file begin at multiples of this, as in a file that tells no other.
inline constexpr uint64_t gguf_alignment = 32;

// A file of version 3 with these values, and what it says of its types. Tensors x or x_packed with F16 scales of blocks
// of 32 become Q8_0 and Q4_0, as they are read; those of block_dtype() are such blocks already. Throws failure where
// ggml has no such tensor.
std::unique_ptr<tensor_writer> create_gguf(const output_options &output, gguf_values values,
                                           const tensor_list &tensors);

}  // namespace qdq::model
