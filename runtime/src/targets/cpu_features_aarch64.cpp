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

}  // namespace qdq::runtime
