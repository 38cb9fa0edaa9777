// Operands of short blocks, as columns take them: each value several times over.
#pragma once

#include "targets/kernel_table.h"

#include <cstdint>

namespace qdq::runtime {

constexpr int64_t spread_past = 8;  // values past the last that may be written over

// to[i] = from[i / times] for count * times places, of values of 32 bits. What lies after them may be, too.
void spread(const target &on, const void *from, int64_t count, int64_t times, void *to);

}  // namespace qdq::runtime
