// Mappings to vectors that targets share: a target's file calls those that suit it.
#pragma once

#include "schedule.h"

namespace qdq {

// quantize, where f32 become codes in registers and are then narrowed by plain conversions.
void narrow_directly(quantize_stages &stages, const quantize_parameters &tuned);

// quantize to integers of 8 and 16 bits, a group at once, so that one instruction narrows two registers of codes into
// one. It interleaves them, and a last permutation of the group sets that right. `order` names the digits of an
// element's place in the order, innermost first, in which the target's narrowing instructions like codes to stand.
void narrow_by_saturating(quantize_stages &stages, const quantize_parameters &tuned,
                          const std::vector<Halide::Var> &order);

// The latter where the generator made its stage, otherwise the former.
void narrow(quantize_stages &stages, const quantize_parameters &tuned, const std::vector<Halide::Var> &order);

void decode(dequantize_stages &stages, const dequantize_parameters &tuned);

void transpose_in_registers(transpose_stages &stages, const transpose_parameters &tuned);

void repack_bytes(repack_stages &stages);

}  // namespace qdq
