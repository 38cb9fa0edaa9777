#include "cpu_features.h"

namespace qdq::runtime {

// The builtins also ask the operating system whether it saves the wide registers.
uint32_t detect_cpu_features() {
    __builtin_cpu_init();
    uint32_t features = 0;
    if (__builtin_cpu_supports("sse4.1")) {
        features |= cpu_sse41;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) {
        features |= cpu_avx2_fma_f16c;
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd")) {
        features |= cpu_avx512;
    }
    return features;
}

}  // namespace qdq::runtime
