// Codes of bf16 by registers of powers of two. What rounds a value to a code is the addition of a power of two that its
// exponent chooses; a permute of registers finds it in one instruction, where arithmetic takes five. Halide 21 has no
// such permute: see targets/lookup.h.
#pragma once

#include "qdq/link/kernels.h"

#include <cstdint>

struct qdq_encode_rows {
    const uint16_t *x;             // bf16
    uint8_t *y;                    // packed codes, low nibble first, or 8-bit floats
    const float *scale, *inverse;  // inverse: of divisors alone
    int64_t operand_step;          // from a row's operand to the next's
    int64_t block;                 // 16 or 32 columns that share an operand; 0: a row does
    int64_t x_pitch, y_pitch;      // elements and bytes from one row to the next
    int64_t columns, rows;         // columns: whole groups
    bool multiplies;
};

// Nearest-even codes that saturate, as the kernels' plain variants have them, of scales in [2^-60, 2^60].
extern "C" qdq_code_encoder qdq_encode_avx512_vbmi_bf16_f8e4m3, qdq_encode_avx512_vbmi_bf16_f4e2m1;

namespace qdq::runtime {

using encode_rows = qdq_encode_rows;

constexpr int64_t longest_encoded_block = 32;

}  // namespace qdq::runtime
