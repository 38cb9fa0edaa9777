// The mapping that CPU targets share; each target's file chooses the numbers and the narrowing order.
#pragma once

#include "parameters.h"
#include "schedule.h"

namespace qdq {

void map_to_vectors(quantize_stages &stages, const parameters &tuned, const std::vector<Halide::Var> &narrowing_order);
void map_to_vectors(dequantize_stages &stages, const parameters &tuned);
void map_to_vectors(transpose_stages &stages, int side);  // in side x side blocks

void map_to_vectors(pack_stages &stages);
void map_to_vectors(unpack_stages &stages);

// One set per target file.
void schedule_x86_portable(quantize_stages &stages);
void schedule_x86_portable(dequantize_stages &stages);
void schedule_x86_portable(transpose_stages &stages);
void schedule_x86_portable(pack_stages &stages);
void schedule_x86_portable(unpack_stages &stages);
void schedule_x86_avx2(quantize_stages &stages);
void schedule_x86_avx2(dequantize_stages &stages);
void schedule_x86_avx2(transpose_stages &stages);
void schedule_x86_avx2(pack_stages &stages);
void schedule_x86_avx2(unpack_stages &stages);
void schedule_x86_avx512(quantize_stages &stages);
void schedule_x86_avx512(dequantize_stages &stages);
void schedule_x86_avx512(transpose_stages &stages);
void schedule_x86_avx512(pack_stages &stages);
void schedule_x86_avx512(unpack_stages &stages);

}  // namespace qdq
