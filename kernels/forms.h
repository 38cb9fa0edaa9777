// How a kernel's two dimensions, c (contiguous) and r, meet the operands: scale and zero point. The dispatcher reshapes
// every call to these.
#pragma once

namespace qdq::kernels {

enum class form {
    row,     // one operand for each r: per tensor, channels before the last axis, long blocks
    column,  // one operand for each c: channels along the last axis, and anything else the dispatcher broadcasts
    block,   // one operand for each 16 or 32 consecutive c (manifest.cmake): blocks along the last axis
};
constexpr int form_count = 3;

// Kernels work on groups of 64 elements of c; the dispatcher hands them nothing else. They compute rows in order: where
// rows of y overlap, the later one's elements stay.
constexpr int group_size = 64;

}  // namespace qdq::kernels
