#pragma once

#include <qdq/qdq.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qdq_cli {

// One row per element type a file may hold.
struct dtype {
    std::string_view name;          // in a safetensors header
    std::string_view npy;           // in an .npy header; empty: numpy has no such type
    int bits;                       // of one element; 4-bit types are packed two to a byte
    std::optional<qdq_dtype> core;  // none: such tensors are only copied
    std::string_view option;        // the value of --dtype that quantizes to it; empty: not a quantized type
    double lowest, highest;         // the codes of a quantized type

    bool is_code() const { return !option.empty(); }
    bool is_float() const { return core == QDQ_F32 || core == QDQ_F16 || core == QDQ_BF16; }
};

// These return null for a type that is not in the table.
const dtype *find_dtype(std::string_view name);
const dtype *find_npy_dtype(std::string_view descr);
const dtype *find_code_dtype(std::string_view option);

const dtype &f32_dtype();

// The values of --dtype, in table order.
std::vector<std::string> code_options();

}  // namespace qdq_cli
