#include "targets/cpu_features_x86_64.h"

#include "targets/cpu_features.h"

#include <cpuid.h>

namespace qdq::runtime {

namespace {

// Bits of XCR0. A processor may have instructions on registers that its operating system does not save: using them
// there would mix up threads, and traps.
constexpr uint64_t ymm_registers = 0x06;
constexpr uint64_t zmm_registers = 0xe6;

constexpr uint32_t avx2_leaf1 = bit_AVX | bit_FMA | bit_F16C;
constexpr uint32_t avx512_leaf7 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL | bit_AVX512CD;
constexpr uint32_t avx512_bf16_leaf7_ebx = avx512_leaf7 | bit_AVX512IFMA;
constexpr uint32_t avx512_bf16_leaf7_ecx = bit_AVX512VBMI | bit_AVX512VBMI2 | bit_AVX512VNNI | bit_AVX512BITALG |
                                           bit_AVX512VPOPCNTDQ | bit_GFNI | bit_VAES | bit_VPCLMULQDQ;

template<typename Word> bool has_all(Word word, Word bits) { return (word & bits) == bits; }

// XCR0 by its instruction's name: the intrinsic is there only where all code may use it.
uint64_t saved_registers() {
    uint32_t low, high;
    asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t{high} << 32 | low;
}

// Asked of the processor itself: __builtin_cpu_supports knows "f16c" in gcc and clang 19, but not in clang 16.
cpuid_answers ask() {
    cpuid_answers answers{};
    uint32_t eax, ebx, ecx, edx;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) {
        answers.leaf1_ecx = ecx;
        answers.saved_registers = ecx & bit_OSXSAVE ? saved_registers() : 0;
    }
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        answers.leaf7_ebx = ebx;
        answers.leaf7_ecx = ecx;
    }
    if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx)) {
        answers.leaf7_1_eax = eax;
    }
    return answers;
}

}  // namespace

uint32_t features_in(const cpuid_answers &answers) {
    uint32_t features = 0;
    if (answers.leaf1_ecx & bit_SSE4_1) {
        features |= qdq_cpu_sse41;
    }
    if (has_all(answers.leaf1_ecx, avx2_leaf1) && (answers.leaf7_ebx & bit_AVX2) &&
        has_all(answers.saved_registers, ymm_registers)) {
        features |= qdq_cpu_avx2_fma_f16c;
    }
    if (has_all(answers.leaf7_ebx, avx512_leaf7) && has_all(answers.saved_registers, zmm_registers)) {
        features |= qdq_cpu_avx512;
    }
    if (features & qdq_cpu_avx512 && has_all(answers.leaf7_ebx, avx512_bf16_leaf7_ebx) &&
        has_all(answers.leaf7_ecx, avx512_bf16_leaf7_ecx) && (answers.leaf7_1_eax & bit_AVX512BF16)) {
        features |= qdq_cpu_avx512_bf16;
    }
    return features;
}

uint32_t detect_cpu_features() { return features_in(ask()); }

}  // namespace qdq::runtime
