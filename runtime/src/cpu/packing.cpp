#include "cpu/packing.h"

#include "cpu/kernel_call.h"

namespace qdq::runtime {

namespace {

// The kernels move 64 bytes at a time, and within 16; in place would let one store before another loads.
void repack(bytes_kernel *kernel, uint8_t *codes, int64_t bytes) {
    alignas(64) uint8_t before[512];
    for (int64_t i = 0; i < bytes; i += sizeof(before)) {
        const int64_t rest = bytes - i;
        const int64_t count = rest < int64_t{sizeof(before)} ? (rest + 63) / 64 * 64 : int64_t{sizeof(before)};
        __builtin_memcpy(before, codes + i, count);
        call_bytes(kernel, before, codes + i, count);
    }
}

}  // namespace

void to_packing(const target &on, qdq_packing packing, uint8_t *codes, int64_t bytes) {
    if (packing != QDQ_LOW_FIRST) {
        repack(packing == QDQ_HIGH_FIRST ? on.swap_nibbles : on.split_halves, codes, bytes);
    }
}

void from_packing(const target &on, qdq_packing packing, uint8_t *codes, int64_t bytes) {
    if (packing != QDQ_LOW_FIRST) {
        repack(packing == QDQ_HIGH_FIRST ? on.swap_nibbles : on.join_halves, codes, bytes);
    }
}

}  // namespace qdq::runtime
