// The order in which bytes hold 4-bit codes. Kernels compute with the low nibble first.
#pragma once

#include "plan/plan.h"

#include <cstdint>

namespace qdq::runtime {

// Puts `bytes` bytes of codes, low nibble first, into another order, in place, and back. There is room for a multiple
// of 64.
void to_packing(const target &on, qdq_packing packing, uint8_t *codes, int64_t bytes);
void from_packing(const target &on, qdq_packing packing, uint8_t *codes, int64_t bytes);

// Clears what the last byte of low-first codes holds past them.
inline void clear_padding(char *codes, int32_t bits, int64_t count) {
    if (const int64_t used = count * bits % 8; used != 0) {
        uint8_t &last = reinterpret_cast<uint8_t *>(codes)[count * bits / 8];
        last = static_cast<uint8_t>(last & ((1u << used) - 1));
    }
}

}  // namespace qdq::runtime
