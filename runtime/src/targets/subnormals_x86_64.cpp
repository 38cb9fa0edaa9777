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

// Zen 5 takes 1.0 to 1.15 times as long with them, and 9 ns for each change of modes: f32 to i8 of 64 elements takes 26
// ns without any, and 41 with two.
bool is_slow_with_subnormals(uint32_t vendor, uint32_t leaf1_eax) {
    constexpr uint32_t zen5 = 0x1a;
    return vendor != signature_AMD_ebx || family_of(leaf1_eax) < zen5;
}

bool slow_with_subnormals() { return made_once<ask>(); }

}  // namespace qdq::runtime
