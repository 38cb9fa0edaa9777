// Moves elements between a caller's memory and a kernel's contiguous rows. Offsets and strides count elements; packed
// ones begin at whole bytes and are contiguous along c.
#pragma once

#include "targets/kernel_table.h"

#include <cstdint>

namespace qdq::runtime {

// A rectangle of elements: c runs along a kernel's rows, r counts them.
struct rectangle {
    int64_t columns, rows;
};

// rows[r * pitch + c] = from[c * column_stride + r * row_stride].
void gather(const target &on, int64_t bits, const char *from, int64_t column_stride, int64_t row_stride, rectangle area,
            char *rows, int64_t pitch);

// to[c * column_stride + r * row_stride] = rows[r * pitch + c].
void scatter(const target &on, int64_t bits, const char *rows, int64_t pitch, rectangle area, char *to,
             int64_t column_stride, int64_t row_stride);

// The address of an element that begins a byte.
inline const char *address(const char *base, int64_t offset, int64_t bits) { return base + offset * bits / 8; }
inline char *address(char *base, int64_t offset, int64_t bits) { return base + offset * bits / 8; }

}  // namespace qdq::runtime
