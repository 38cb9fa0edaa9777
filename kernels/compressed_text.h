// How the object of a device's kernel holds the text that the driver compiles (OpenCL C or PTX): the number of bytes
// that follow, in 4 bytes, and a file of the format .lzma. Numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qdq::kernels {

using lzma_bytes = uint32_t;

// The file begins with the properties of its compression, and the number of bytes that it decompresses to.
constexpr size_t lzma_properties_bytes = 5;
using text_bytes = uint64_t;
constexpr size_t lzma_header_bytes = lzma_properties_bytes + sizeof(text_bytes);

}  // namespace qdq::kernels
