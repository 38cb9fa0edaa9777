#include "targets/cpu_features_x86_64.h"

#include "targets/cpu_features.h"

#include <cpuid.h>

namespace qdq::runtime {

namespace {

// An instruction set that features need, or registers: where the machine says that it has them, and what to say where
// not.
struct requirement {
    uint32_t features;
    uint64_t cpuid_answers::*answer;
    uint64_t bits;
    const char *problem;

    bool is_met(const cpuid_answers &answers) const { return (answers.*answer & bits) == bits; }
};

constexpr uint32_t avx2 = qdq_cpu_avx2_fma_f16c, avx512 = qdq_cpu_avx512 | qdq_cpu_avx512_bf16,
                   bf16 = qdq_cpu_avx512_bf16;
using answers = cpuid_answers;

// A processor may have instructions on registers that its operating system does not save: using them there would mix up
// threads, and traps. The bits are those of XCR0.
constexpr requirement requirements[] = {
    {qdq_cpu_sse41, &answers::leaf1_ecx, bit_SSE4_1, "this processor lacks SSE4.1"},
    {avx2, &answers::leaf1_ecx, bit_AVX, "this processor lacks AVX"},
    {avx2, &answers::leaf1_ecx, bit_FMA, "this processor lacks FMA"},
    {avx2, &answers::leaf1_ecx, bit_F16C, "this processor lacks F16C"},
    {avx2, &answers::leaf7_ebx, bit_AVX2, "this processor lacks AVX2"},
    {avx2, &answers::saved_registers, 0x06, "the operating system does not save AVX registers"},
    {avx512, &answers::leaf7_ebx, bit_AVX512F, "this processor lacks AVX512F"},
    {avx512, &answers::leaf7_ebx, bit_AVX512BW, "this processor lacks AVX512BW"},
    {avx512, &answers::leaf7_ebx, bit_AVX512DQ, "this processor lacks AVX512DQ"},
    {avx512, &answers::leaf7_ebx, bit_AVX512VL, "this processor lacks AVX512VL"},
    {avx512, &answers::leaf7_ebx, bit_AVX512CD, "this processor lacks AVX512CD"},
    {avx512, &answers::saved_registers, 0xe6, "the operating system does not save AVX512 registers"},
    {bf16, &answers::leaf7_1_eax, bit_AVX512BF16, "this processor lacks AVX512_BF16"},
    {bf16, &answers::leaf7_ebx, bit_AVX512IFMA, "this processor lacks AVX512_IFMA"},
    {bf16, &answers::leaf7_ecx, bit_AVX512VBMI, "this processor lacks AVX512_VBMI"},
    {bf16, &answers::leaf7_ecx, bit_AVX512VBMI2, "this processor lacks AVX512_VBMI2"},
    {bf16, &answers::leaf7_ecx, bit_AVX512VNNI, "this processor lacks AVX512_VNNI"},
    {bf16, &answers::leaf7_ecx, bit_AVX512BITALG, "this processor lacks AVX512_BITALG"},
    {bf16, &answers::leaf7_ecx, bit_AVX512VPOPCNTDQ, "this processor lacks AVX512_VPOPCNTDQ"},
    {bf16, &answers::leaf7_ecx, bit_GFNI, "this processor lacks GFNI"},
    {bf16, &answers::leaf7_ecx, bit_VAES, "this processor lacks VAES"},
    {bf16, &answers::leaf7_ecx, bit_VPCLMULQDQ, "this processor lacks VPCLMULQDQ"},
};

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
    uint32_t features = 0, lacking = 0;
    for (const requirement &r : requirements) {
        features |= r.features;
        lacking |= r.is_met(answers) ? 0 : r.features;
    }
    return features & ~lacking;
}

const char *problem_in(const cpuid_answers &answers, uint32_t features) {
    for (const requirement &r : requirements) {
        if (r.features & features && !r.is_met(answers)) {
            return r.problem;
        }
    }
    return nullptr;
}

uint32_t detect_cpu_features() { return features_in(ask()); }

const char *cpu_problem(uint32_t features) { return problem_in(ask(), features); }

}  // namespace qdq::runtime
