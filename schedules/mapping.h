// The mapping to vectors that CPU targets share. A target's file gives what differs: its name, which finds the tuned
// numbers, and the order in which its narrowing instructions like codes to stand.
#pragma once

#include "parameters.h"
#include "schedule.h"

namespace qdq {

struct cpu_mapping {
    const char *name;
    std::vector<Halide::Var> (*narrowing_order)(const lane_order &lanes);  // innermost first
};

void map_to_vectors(quantize_stages &stages, const cpu_mapping &mapping);
void map_to_vectors(dequantize_stages &stages, const cpu_mapping &mapping);
void map_to_vectors(transpose_stages &stages, const cpu_mapping &mapping);
void map_to_vectors(repack_stages &stages, const cpu_mapping &mapping);

// One per target file.
extern const cpu_mapping x86_portable, x86_avx2, x86_avx512, arm_neon, riscv_rvv;

}  // namespace qdq
