// Moves elements between a caller's strided memory and a kernel's contiguous rows.
#pragma once

#include "kernel_table.h"

#include <cstdint>

namespace qdq {

// A rectangle of elements: c runs along a kernel's rows, r counts them.
struct rectangle {
    int64_t columns, rows;
};

// rows[r * pitch + c] = from[c * column_stride + r * row_stride], strides and pitch in elements.
void gather(const target &on, int64_t element_bytes, const char *from, int64_t column_stride, int64_t row_stride,
            rectangle area, char *rows, int64_t pitch);

// to[c * column_stride + r * row_stride] = rows[r * pitch + c].
void scatter(const target &on, int64_t element_bytes, const char *rows, int64_t pitch, rectangle area, char *to,
             int64_t column_stride, int64_t row_stride);

}  // namespace qdq
