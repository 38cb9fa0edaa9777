// The order in which bytes hold 4-bit codes. Kernels compute with the low nibble first.
#pragma once

#include "problem.h"

#include <cstdint>

namespace qdq::runtime {

constexpr int64_t split_group = 32;  // elements whose halves QDQ_SPLIT_HALVES puts together

// Elements that must stay together: those of a byte, or of the bytes that split their halves; 1 where nothing is
// packed.
inline int64_t packed_unit(const call &what) {
    return !what.packs() ? 1 : what.packing == QDQ_SPLIT_HALVES ? split_group : 2;
}

// Puts `bytes` bytes of codes, low nibble first, into another order, in place, and back. There is room for a multiple
// of 64.
void to_packing(const target &on, qdq_packing packing, uint8_t *codes, int64_t bytes);
void from_packing(const target &on, qdq_packing packing, uint8_t *codes, int64_t bytes);

}  // namespace qdq::runtime
