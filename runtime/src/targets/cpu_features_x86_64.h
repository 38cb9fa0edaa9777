// How an x86 processor answers what its targets need to know; apart from the asking, so that a test can answer, too.
#pragma once

#include <cstdint>

namespace qdq::runtime {

struct cpuid_answers {
    uint64_t leaf1_ecx;
    uint64_t leaf7_ebx, leaf7_ecx;
    uint64_t leaf7_1_eax;      // of its subleaf 1
    uint64_t saved_registers;  // XCR0: what the operating system saves between threads; 0 where it does not say
};

uint32_t features_in(const cpuid_answers &answers);

// As slow_with_subnormals, of a processor by the first word of its vendor's name and EAX of leaf 1.
bool is_slow_with_subnormals(uint32_t vendor, uint32_t leaf1_eax);

// As cpu_problem, of a machine that gives these answers.
const char *problem_in(const cpuid_answers &answers, uint32_t features);

}  // namespace qdq::runtime
