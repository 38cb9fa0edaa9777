// How a kernel's two dimensions, c (contiguous) and r, meet the operands: scale and zero point. The dispatcher reshapes
// every call to these.
#pragma once

namespace qdq::kernels {

enum class form {
    row,     // one operand for each r: per tensor, channels before the last axis, long blocks
    column,  // one operand for each c: channels along the last axis, and anything else the dispatcher broadcasts
    block,   // one operand for each `block` consecutive c (manifest.cmake): blocks along the last axis
    table,   // dequantize: y(n * i + k) is the result of the code k with operand i, n = table_entries; x is not read
};
constexpr int form_count = 4;

// Results of an operand: of all 4-bit codes, or of an 8-bit float's codes without their sign.
constexpr int table_entries(int code_bits) { return code_bits == 4 ? 16 : 128; }

// Kernels work on groups of 64 elements of c; the dispatcher hands them nothing else.
constexpr int group_size = 64;

}  // namespace qdq::kernels
