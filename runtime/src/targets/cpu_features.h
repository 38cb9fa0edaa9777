// What the processor and its operating system offer. Targets state what they need in the same bits.
#pragma once

#include <cstdint>

namespace qdq::runtime {

enum cpu_feature : uint32_t {
    cpu_sse41 = 1u << 0,
    cpu_avx2_fma_f16c = 1u << 1,
    cpu_avx512 = 1u << 2,       // F, BW, DQ, VL and CD: Skylake server and later, Zen 4 and later
    cpu_avx512_bf16 = 1u << 3,  // besides those BF16, VBMI and what else Zen 4 and Sapphire Rapids have in common
    cpu_neon = 1u << 4,         // Advanced SIMD: Armv8.0
    cpu_fp16 = 1u << 5,         // its half-precision arithmetic: Armv8.2
    cpu_rvv128 = 1u << 6,  // RISC-V's vector extension 1.0 in registers of exactly 128 bits, as kernels are compiled
};

// Written once for each kind of processor: cpu_features_<processor>.cpp.
uint32_t detect_cpu_features();

}  // namespace qdq::runtime
