#include "targets/cpu_features.h"

#include <asm/hwcap.h>
#include <sys/auxv.h>

namespace qdq::runtime {

uint32_t detect_cpu_features() {
    const unsigned long capabilities = getauxval(AT_HWCAP);
    uint32_t features = 0;
    if (capabilities & HWCAP_ASIMD) {
        features |= qdq_cpu_neon;
    }
    if ((capabilities & HWCAP_FPHP) && (capabilities & HWCAP_ASIMDHP)) {
        features |= qdq_cpu_fp16;
    }
    return features;
}

const char *cpu_problem(uint32_t features) {
    const uint32_t missing = features & ~detect_cpu_features();
    return missing & qdq_cpu_neon   ? "this processor lacks Advanced SIMD"
           : missing & qdq_cpu_fp16 ? "this processor lacks half-precision arithmetic (FEAT_FP16)"
                                    : nullptr;
}

}  // namespace qdq::runtime
