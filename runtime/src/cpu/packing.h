// The order in which bytes hold 4-bit codes. Kernels compute with the low nibble first.
#pragma once

#include "plan/plan.h"

#include <cstdint>

namespace qdq::runtime {

// Puts `bytes` bytes of codes, low nibble first, into another order, in place, and back. There is room for a multiple
// of 64.
void to_packing(const target &on, qdq_packing packing, uint8_t *codes, int64_t bytes);
void from_packing(const target &on, qdq_packing packing, uint8_t *codes, int64_t bytes);

}  // namespace qdq::runtime
