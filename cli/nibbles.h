#pragma once

#include "dtype_table.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace qdq_cli {

// How a file holds 4-bit codes, by the conventions of compressed-tensors: low nibble first, as the library does, but
// each row (of the last dimension) padded with 0 to whole elements of the file's type. That is I32 for integers, eight
// to each and with 8 added, and U8 for e2m1.
class packed_rows {
public:
    packed_rows(qdq_dtype codes, const std::vector<int64_t> &shape);

    const dtype &type() const { return *type_; }
    const std::vector<int64_t> &shape() const { return stored_shape_; }

    // Without padding the file's bytes are the library's.
    bool is_padded() const { return length_ != stride_; }
    void pad(std::span<const std::byte> flat, std::span<std::byte> rows) const;
    void unpad(std::span<const std::byte> rows, std::span<std::byte> flat) const;

private:
    const dtype *type_;
    std::vector<int64_t> stored_shape_;
    int64_t rows_, length_, stride_;  // of a row, in nibbles; the stride with padding
};

// Adds 8 to each signed 4-bit integer, or takes it away: both change its highest bit alone.
void add_eight(std::span<std::byte> codes);

// int8 zero points in -8..7 as the same conventions hold them: eight of the last dimension but one in an I32, 8 added.
std::vector<int64_t> packed_zero_points_shape(const std::vector<int64_t> &shape);
std::vector<std::byte> pack_zero_points(std::span<const std::byte> values, const std::vector<int64_t> &shape);
std::vector<std::byte> unpack_zero_points(std::span<const std::byte> words, const std::vector<int64_t> &shape);

}  // namespace qdq_cli
