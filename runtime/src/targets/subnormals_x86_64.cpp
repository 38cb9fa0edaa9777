// In a file of its own, so that tests may say otherwise of any processor (tests/support/slow_with_subnormals.cpp).
#include "support/once.h"
#include "targets/cpu_features.h"
#include "targets/cpu_features_x86_64.h"

#include <cpuid.h>

namespace qdq::runtime {

namespace {

uint32_t family_of(uint32_t leaf1_eax) {
    const uint32_t base = leaf1_eax >> 8 & 0xf, extended = leaf1_eax >> 20 & 0xff;
    return base == 0xf ? base + extended : base;
}

bool ask() {
    uint32_t eax, vendor, leaf1_eax, ebx, ecx, edx;
    return !__get_cpuid(0, &eax, &vendor, &ecx, &edx) || !__get_cpuid(1, &leaf1_eax, &ebx, &ecx, &edx) ||
           is_slow_with_subnormals(vendor, leaf1_eax);
}

}  // namespace

// Where all of x is subnormal, Zen 5 takes 1.0 to 1.15 times as long, and Zen 3 1.0 to 2.1. To change the modes and
// back costs more in a small call: 64 elements of f32 to i8 take 26 ns without a change and 41 with it (Zen 5), 48 and
// 65 (Zen 3).
bool is_slow_with_subnormals(uint32_t vendor, uint32_t leaf1_eax) {
    constexpr uint32_t zen3 = 0x19;  // and Zen 4
    return vendor != signature_AMD_ebx || family_of(leaf1_eax) < zen3;
}

bool slow_with_subnormals() { return made_once<ask>(); }

}  // namespace qdq::runtime
