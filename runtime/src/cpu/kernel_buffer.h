// Buffers as kernels take them.
#pragma once

#include "HalideRuntime.h"

#include <cstdint>

namespace qdq::runtime {

constexpr halide_type_t scale_type{halide_type_float, 32, 1}, zero_point_type{halide_type_int, 32, 1};

// The elements of a kernel's buffer that hold so many elements of a tensor.
inline int32_t buffer_extent(int32_t bits, int64_t elements) {
    return int32_t(bits < 8 ? elements * bits / 8 : elements);
}

// One row may be as far from the next as it likes.
inline int32_t row_stride(int32_t bits, int64_t pitch, int64_t rows) {
    return rows == 1 ? 0 : buffer_extent(bits, pitch);
}

// Everything but the dimensions, which must outlive the buffer.
inline void set_buffer(halide_buffer_t &buffer, const void *data, halide_type_t type, int count,
                       const halide_dimension_t *shape) {
    buffer.device = 0;
    buffer.device_interface = nullptr;
    buffer.host = static_cast<uint8_t *>(const_cast<void *>(data));
    buffer.flags = 0;
    buffer.type = type;
    buffer.dimensions = count;
    buffer.dim = const_cast<halide_dimension_t *>(shape);
    buffer.padding = nullptr;
}

}  // namespace qdq::runtime
