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

// It decompresses to the text with a NUL behind it. Behind PTX may follow what ptxas has made of it for some
// architectures: from the next multiple of 8 bytes on a header for each, and its cubin, filled up to the next multiple
// with zeros. A header of zeros ends them.
struct cubin_header {
    uint32_t architecture;  // 10 times the major number of the compute capability, and the minor number
    uint32_t bytes;
};
constexpr size_t cubin_alignment = 8;
static_assert(sizeof(cubin_header) == cubin_alignment);
constexpr size_t aligned_cubin(size_t bytes) {
    return (bytes + cubin_alignment - 1) / cubin_alignment * cubin_alignment;
}

}  // namespace qdq::kernels
