// Moves elements between a caller's memory and tiles, whose elements lie end to end. Offsets and strides count
// elements; packed ones begin at whole bytes and are contiguous along one loop.
#pragma once

#include "targets/kernel_table.h"

#include <cstdint>

namespace qdq::runtime {

// A loop over elements, and their strides on either side.
struct move_loop {
    int64_t extent, from, to;
};

// to[sum of index * loop.to] = from[sum of index * loop.from] over all of so many loops, which are used up. Where
// loop.from is 0, elements are repeated.
void move(const target &on, int64_t bits, const void *from, void *to, move_loop *loops, int count);

// The address of an element that begins a byte.
inline const char *address(const char *base, int64_t offset, int64_t bits) { return base + offset * bits / 8; }
inline char *address(char *base, int64_t offset, int64_t bits) { return base + offset * bits / 8; }

}  // namespace qdq::runtime
