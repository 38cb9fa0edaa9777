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

// As cpu_problem, of a machine that gives these answers.
const char *problem_in(const cpuid_answers &answers, uint32_t features);

}  // namespace qdq::runtime
