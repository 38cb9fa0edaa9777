// Loops of the dispatcher's own that are compiled for AVX2, too: the compiler's vectors are those of any x86-64 else.
#pragma once

#include "targets/kernel_table.h"

namespace qdq::runtime {

#if defined(__x86_64__)
#define QDQ_AVX2 [[gnu::target("avx2")]]
constexpr uint32_t with_avx2 = qdq_cpu_avx2_fma_f16c | qdq_cpu_avx512 | qdq_cpu_avx512_bf16;
#else
#define QDQ_AVX2
constexpr uint32_t with_avx2 = 0;
#endif

inline bool runs_avx2(const target &on) { return (on.features & with_avx2) != 0; }

}  // namespace qdq::runtime
