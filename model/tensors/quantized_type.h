#pragma once

#include "tensors/dtype_table.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qdq::model {

// How a file keeps the scales.
enum class scale_form {
    f32,
    power_of_two,  // the biased exponent (e8m0), as U8
    two_level,     // e4m3fn, all divided by one F32 global scale
    in_blocks,     // among the codes, as ggml's types of the same names have them
};

// What --dtype names.
struct quantized_type {
    std::string_view option;
    std::array<std::string_view, 6> aliases;
    qdq_dtype codes;
    scale_form scales = scale_form::f32;
    int64_t block_size = 0;  // of the last axis, where the type fixes it

    const dtype &code_dtype() const { return dtype_of(codes); }
};

// Null when no type has this name or alias.
const quantized_type *find_quantized_type(std::string_view name);

// What a name means for a file of ggml's blocks: those of mxfp4 hold its scales among the codes.
const quantized_type *in_blocks(const quantized_type *type);

// The names of all types, in table order.
std::vector<std::string> quantized_type_names();

}  // namespace qdq::model
