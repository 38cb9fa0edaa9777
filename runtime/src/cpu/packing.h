// The order in which bytes hold 4-bit codes. Kernels compute with the low nibble first.
#pragma once

#include "plan/plan.h"

#include <cstdint>

namespace qdq::runtime {

// Copies `bytes` bytes of codes, low nibble first, into another order, and back: whole units of it.
void to_packing(const target &on, qdq_packing packing, const void *from, void *to, int64_t bytes);
void from_packing(const target &on, qdq_packing packing, const void *from, void *to, int64_t bytes);

// Copies codes from any place of an array in an order to the beginning of bytes, low first. What is left of the last
// byte is 0.
void gather_codes(const call &op, const char *from, int64_t first, int64_t count, char *to);
// And back. Other codes of the array stay what they are; what is left of its last byte is 0 where these are the last.
void scatter_codes(const call &op, const char *from, char *to, int64_t first, int64_t count, bool are_last);

// Clears what the last byte of low-first codes holds past them.
inline void clear_padding(char *codes, int32_t bits, int64_t count) {
    if (const int64_t used = count * bits % 8; used != 0) {
        uint8_t &last = reinterpret_cast<uint8_t *>(codes)[count * bits / 8];
        last = static_cast<uint8_t>(last & ((1u << used) - 1));
    }
}

}  // namespace qdq::runtime
