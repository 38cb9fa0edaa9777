#pragma once

#include "tensors/dtype_table.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qdq_cli {

// How a file keeps the scales.
enum class scale_form {
    f32,
    power_of_two,  // the biased exponent (e8m0), as U8
    two_level,     // e4m3fn, all divided by one F32 global scale
};

// What --dtype names.
struct format {
    std::string_view option;
    std::array<std::string_view, 6> aliases;
    qdq_dtype codes;
    scale_form scales = scale_form::f32;
    int64_t block_size = 0;  // of the last axis, where the format fixes it

    const dtype &code_dtype() const { return dtype_of(codes); }
};

// Null when no format has this name or alias.
const format *find_format(std::string_view name);

// The names of all formats, in table order.
std::vector<std::string> format_names();

}  // namespace qdq_cli
