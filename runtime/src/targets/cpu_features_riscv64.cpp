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

}  // namespace

uint32_t detect_cpu_features() {
    const bool has_vectors = getauxval(AT_HWCAP) & (1ul << ('V' - 'A'));
    return has_vectors && vector_register_bytes() == 16 ? qdq_cpu_rvv128 : 0;
}

}  // namespace qdq::runtime
