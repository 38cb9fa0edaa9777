#include "targets/cpu_features.h"

#include <sys/auxv.h>

namespace qdq::runtime {

namespace {

// Bytes in a vector register: the register vlenb, which is there with the extension alone.
unsigned long vector_register_bytes() {
    unsigned long bytes;
    asm("csrr %0, 0xc22" : "=r"(bytes));
    return bytes;
}

bool has_vectors() { return getauxval(AT_HWCAP) & (1ul << ('V' - 'A')); }

}  // namespace

uint32_t detect_cpu_features() { return has_vectors() && vector_register_bytes() == 16 ? qdq_cpu_rvv128 : 0; }

const char *cpu_problem(uint32_t features) {
    const uint32_t missing = features & ~detect_cpu_features();
    return !(missing & qdq_cpu_rvv128) ? nullptr
           : has_vectors()             ? "this processor's vector registers have more or fewer than 128 bits"
                                       : "this processor lacks the vector extension 1.0";
}

}  // namespace qdq::runtime
