// What the processor and its operating system offer, in the bits of qdq_cpu_feature, in which targets state what they
// need.
#pragma once

#include "qdq/link/kernels.h"

#include <cstdint>

namespace qdq::runtime {

// Written once for each kind of processor: cpu_features_<processor>.cpp.
uint32_t detect_cpu_features();

// Whether an operation on subnormal numbers takes a hundred cycles or so, as on Intel's processors.
#if defined(__x86_64__)
bool slow_with_subnormals();  // subnormals_x86_64.cpp
#else
constexpr bool slow_with_subnormals() { return false; }
#endif

// What the machine lacks first of some features, as a message has it; NULL where it has them all.
const char *cpu_problem(uint32_t features);

}  // namespace qdq::runtime
