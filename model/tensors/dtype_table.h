#pragma once

#include <qdq/qdq.h>

#include <optional>
#include <string_view>

namespace qdq::model {

// One row per element type of a tensor.
struct dtype {
    std::string_view name;          // in a safetensors header
    std::string_view npy;           // in an .npy header; empty: numpy has no such type
    int bits;                       // of one element; 4-bit types are packed two to a byte
    std::optional<qdq_dtype> core;  // none: such tensors are only copied
    double lowest, highest;         // the codes of a quantized type; both 0: not one
    double last_step;               // between the two highest codes: 1 for integers
    // Of ggml's types: elements of a row that are kept together, with their scale, and the bytes of them; 0: no blocks.
    int block_elements = 1, block_bytes = 0;

    bool is_code() const { return highest != 0; }
    bool is_integer_code() const { return last_step == 1; }
    bool is_float() const { return core == QDQ_F32 || core == QDQ_F16 || core == QDQ_BF16; }
};

// These return null for a type that files do not hold.
const dtype *find_dtype(std::string_view name);
const dtype *find_npy_dtype(std::string_view descr);

// The type of this library's, which a file may be unable to hold, I4 and U4, or hold in fewer bits: F6_E2M3 and F6_E3M2
// are packed densely there, and one to a byte here.
const dtype &dtype_of(qdq_dtype core);

// The type of codes in memory for that in a file, and the other way round: of F6 another one.
const dtype &in_memory(const dtype &stored);
const dtype &in_file(const dtype &code);
bool is_dense(const dtype &code);  // in files four to three bytes

// The type of zero points of codes: their own, or that of one byte.
const dtype &zero_point_dtype(const dtype &code);

inline const dtype &f32_dtype() { return dtype_of(QDQ_F32); }

}  // namespace qdq::model
