// What an x86 processor offers, against what the operating system says of it.
#include "targets/cpu_features.h"
#include "targets/cpu_features_x86_64.h"

#include <gtest/gtest.h>

#include <cpuid.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace {

using namespace qdq::runtime;

// The kernel's list for the first processor, of the features that it has enabled, too.
std::set<std::string> listed_flags() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("flags")) {
            std::istringstream words(line.substr(line.find(':') + 1));
            return {std::istream_iterator<std::string>(words), {}};
        }
    }
    return {};
}

bool all_listed(const std::set<std::string> &listed, const std::set<std::string> &wanted) {
    return std::includes(listed.begin(), listed.end(), wanted.begin(), wanted.end());
}

constexpr cpuid_answers everything{~0u, ~0u, ~0u, ~0u, ~uint64_t{0}};

TEST(CpuFeatures, are_those_that_the_operating_system_lists) {
    const std::set<std::string> listed = listed_flags();
    ASSERT_FALSE(listed.empty());
    const uint32_t found = detect_cpu_features();
    EXPECT_EQ((found & qdq_cpu_sse41) != 0, all_listed(listed, {"sse4_1"}));
    EXPECT_EQ((found & qdq_cpu_avx2_fma_f16c) != 0, all_listed(listed, {"avx", "avx2", "f16c", "fma"}));
    EXPECT_EQ((found & qdq_cpu_avx512) != 0,
              all_listed(listed, {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}));
    EXPECT_EQ((found & qdq_cpu_avx512_bf16) != 0,
              all_listed(listed, {"avx512_bf16", "avx512_bitalg", "avx512_vbmi2", "avx512_vnni", "avx512_vpopcntdq",
                                  "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512ifma", "avx512vbmi", "avx512vl",
                                  "gfni", "vaes", "vpclmulqdq"}));
}

TEST(CpuFeatures, need_every_instruction_set_of_theirs) {
    EXPECT_EQ(features_in(everything), qdq_cpu_sse41 | qdq_cpu_avx2_fma_f16c | qdq_cpu_avx512 | qdq_cpu_avx512_bf16);
    for (const uint32_t lacking : std::initializer_list<uint32_t>{bit_AVX, bit_FMA, bit_F16C}) {
        cpuid_answers answers = everything;
        answers.leaf1_ecx &= ~lacking;
        EXPECT_EQ(features_in(answers) & qdq_cpu_avx2_fma_f16c, 0u) << std::hex << lacking;
    }
    for (const uint32_t lacking :
         std::initializer_list<uint32_t>{bit_AVX512F, bit_AVX512BW, bit_AVX512DQ, bit_AVX512VL, bit_AVX512CD}) {
        cpuid_answers answers = everything;
        answers.leaf7_ebx &= ~lacking;
        EXPECT_EQ(features_in(answers), qdq_cpu_sse41 | qdq_cpu_avx2_fma_f16c) << std::hex << lacking;
    }
    for (const uint32_t lacking :
         std::initializer_list<uint32_t>{bit_AVX512VBMI, bit_AVX512VBMI2, bit_AVX512VNNI, bit_AVX512BITALG,
                                         bit_AVX512VPOPCNTDQ, bit_GFNI, bit_VAES, bit_VPCLMULQDQ}) {
        cpuid_answers answers = everything;
        answers.leaf7_ecx &= ~lacking;
        EXPECT_EQ(features_in(answers), qdq_cpu_sse41 | qdq_cpu_avx2_fma_f16c | qdq_cpu_avx512) << std::hex << lacking;
    }
    cpuid_answers answers = everything;
    answers.leaf7_ebx &= ~bit_AVX512IFMA;
    EXPECT_EQ(features_in(answers), qdq_cpu_sse41 | qdq_cpu_avx2_fma_f16c | qdq_cpu_avx512);
    answers = everything;
    answers.leaf7_1_eax &= ~bit_AVX512BF16;
    EXPECT_EQ(features_in(answers), qdq_cpu_sse41 | qdq_cpu_avx2_fma_f16c | qdq_cpu_avx512);
}

TEST(CpuFeatures, need_an_operating_system_that_saves_their_registers) {
    cpuid_answers answers = everything;
    answers.saved_registers = 0x07;  // the x87's, xmm and ymm
    EXPECT_EQ(features_in(answers), qdq_cpu_sse41 | qdq_cpu_avx2_fma_f16c);
    answers.saved_registers = 0x03;  // the x87's and xmm
    EXPECT_EQ(features_in(answers), qdq_cpu_sse41);
    answers.saved_registers = 0;
    EXPECT_EQ(features_in(answers), qdq_cpu_sse41);
}

TEST(CpuFeatures, that_are_missing_are_named) {
    EXPECT_EQ(problem_in(everything, qdq_cpu_sse41 | qdq_cpu_avx2_fma_f16c | qdq_cpu_avx512 | qdq_cpu_avx512_bf16),
              nullptr);
    cpuid_answers answers = everything;
    answers.leaf7_ecx &= ~uint64_t{bit_AVX512VBMI};
    EXPECT_STREQ(problem_in(answers, qdq_cpu_avx512_bf16), "this processor lacks AVX512_VBMI");
    EXPECT_EQ(problem_in(answers, qdq_cpu_avx512), nullptr);
    answers.leaf7_ebx &= ~uint64_t{bit_AVX512DQ};
    EXPECT_STREQ(problem_in(answers, qdq_cpu_avx512_bf16), "this processor lacks AVX512DQ");
    answers.saved_registers = 0x02;
    EXPECT_STREQ(problem_in(answers, qdq_cpu_avx2_fma_f16c), "the operating system does not save AVX registers");
}

TEST(CpuFeatures, say_that_zen_from_3_on_alone_is_fast_with_subnormal_numbers) {
    constexpr uint32_t amd = signature_AMD_ebx, intel = signature_INTEL_ebx;
    EXPECT_FALSE(is_slow_with_subnormals(amd, 0x00b00f21));  // family 26
    EXPECT_FALSE(is_slow_with_subnormals(amd, 0x00a00f11));  // family 25: Zen 3
    EXPECT_TRUE(is_slow_with_subnormals(amd, 0x00830f10));   // family 23: Zen 2
    EXPECT_TRUE(is_slow_with_subnormals(intel, 0x00b00f21));
    EXPECT_TRUE(is_slow_with_subnormals(intel, 0x000806f8));  // Sapphire Rapids
}

}  // namespace
