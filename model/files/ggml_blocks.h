#pragma once

#include "tensors/dtype_table.h"

#include <qdq/blocks.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace qdq::model {

// A type of ggml's tensors, and how many elements and bytes its blocks have.
struct ggml_type {
    uint32_t number;
    const char *name;  // null: qdq does not know it
    uint32_t block_elements, block_bytes;
    const char *dtype;                                          // what it is elsewhere; null: blocks, or nothing
    void (*decode)(const std::byte *block, std::byte *values);  // to F32; null: qdq does not
    std::optional<qdq_block_format> format = std::nullopt;      // in which it is written; none: qdq does not
};

// Writes whole blocks of finite values, of a type with a format.
void encode_blocks(const ggml_type &type, std::span<const float> values, std::byte *blocks);

ggml_type ggml_type_of(uint32_t number);

// That which qdq writes of a dtype, which may be one of block_dtype(); null: there is none.
const ggml_type *ggml_type_of(const dtype &type);

// The blocks of a type by its name in lower case, as --dtype names it, as the type of a tensor.
const dtype &block_dtype(std::string_view name);

}  // namespace qdq::model
