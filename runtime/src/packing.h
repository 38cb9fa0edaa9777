// Two 4-bit codes in a byte.
#pragma once

#include "kernel_table.h"

#include <cstdint>

namespace qdq {

constexpr int split_group = 32;  // elements whose halves QDQ_SPLIT_HALVES puts together

// Packs `count` codes, one in a byte. `codes` has room for a multiple of 128; only (count + 1) / 2 bytes are written, an
// odd count's last nibble with 0. The high bits of a code are ignored.
void pack(const target &on, qdq_packing packing, uint8_t *codes, int64_t count, uint8_t *bytes);

// The codes of (count + 1) / 2 bytes, sign-extended or not. `codes` has room for a multiple of 128.
void unpack(const target &on, qdq_packing packing, bool is_signed, const uint8_t *bytes, int64_t count, uint8_t *codes);

}  // namespace qdq
