// What the processor and its operating system offer. Targets state what they need in the same bits.
#pragma once

#include <cstdint>

namespace qdq {

enum cpu_feature : uint32_t {
    cpu_sse41 = 1u << 0,
    cpu_avx2_fma_f16c = 1u << 1,
    cpu_avx512 = 1u << 2,  // F, BW, DQ, VL and CD: Skylake server and later, Zen 4 and later
};

uint32_t detect_cpu_features();

}  // namespace qdq
