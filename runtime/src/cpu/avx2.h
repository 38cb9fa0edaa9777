// Loops of the dispatcher's own that are compiled for AVX2 and AVX-512, too: the compiler's vectors are those of any
// x86-64 else.
#pragma once

#include "targets/kernel_table.h"

namespace qdq::runtime {

#if defined(__x86_64__)
#define QDQ_PORTABLE [[gnu::cold]]  // loops that are no vectors there
#define QDQ_AVX2 [[gnu::target("avx2")]]
#define QDQ_AVX512 [[gnu::target("avx512f")]]
#define QDQ_AVX512_BYTES [[gnu::target("avx512bw")]]
constexpr bool portable_vectors = false;  // 4 KiB for old processors
constexpr uint32_t with_avx512 = qdq_cpu_avx512 | qdq_cpu_avx512_bf16, with_avx2 = qdq_cpu_avx2_fma_f16c | with_avx512;
#else
#define QDQ_PORTABLE
#define QDQ_AVX2
#define QDQ_AVX512
#define QDQ_AVX512_BYTES
constexpr bool portable_vectors = true;
constexpr uint32_t with_avx512 = 0, with_avx2 = 0;
#endif

inline bool runs_avx2(const target &on) { return (on.features & with_avx2) != 0; }
inline bool runs_avx512(const target &on) { return (on.features & with_avx512) != 0; }

// An inline function of loops, compiled for AVX2, too, and for AVX-512.
template<auto loops, typename... Arguments> QDQ_PORTABLE auto run_portably(Arguments... arguments) {
    return loops(arguments...);
}
template<auto loops, typename... Arguments> QDQ_AVX2 auto run_avx2(Arguments... arguments) {
    return loops(arguments...);
}
template<auto loops, typename... Arguments> QDQ_AVX512_BYTES auto run_avx512(Arguments... arguments) {
    return loops(arguments...);
}
template<auto loops, typename... Arguments> auto run_loops(const target &on, Arguments... arguments) {
    return runs_avx2(on) ? run_avx2<loops>(arguments...) : run_portably<loops>(arguments...);
}
// The same of loops that are worth AVX-512, too.
template<auto loops, typename... Arguments> auto run_widest_loops(const target &on, Arguments... arguments) {
    return runs_avx512(on) ? run_avx512<loops>(arguments...) : run_loops<loops>(on, arguments...);
}

}  // namespace qdq::runtime
