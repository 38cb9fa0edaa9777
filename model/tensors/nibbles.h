#pragma once

#include "tensors/dtype_table.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace qdq::model {

// How a file holds packed codes, by the conventions of compressed-tensors: low bits first, as the library does, but
// each row (of the last dimension) padded with 0 to whole elements of the file's type. That is I32 for integers, eight
// of 4 bits to each with 8 added, or four of 8 bits with 128 added, and U8 for e2m1.
const dtype &packed_type(const dtype &code);
std::vector<int64_t> packed_shape(const dtype &code, std::vector<int64_t> shape);

class packed_rows {
public:
    packed_rows(const dtype &code, const std::vector<int64_t> &shape);

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

// Codes of 6 bits, one to a byte, as files hold them: four in three bytes, the first in the lowest bits. `packed` is as
// long as those bits need.
void pack_sixes(std::span<const std::byte> codes, std::span<std::byte> packed);
void unpack_sixes(std::span<const std::byte> packed, std::span<std::byte> codes);

// Adds 8 to each signed integer of 4 bits, 128 to one of 8 bits, or takes it away: both change its highest bit alone.
void add_offset(std::span<std::byte> codes, const dtype &code);

// int8 zero points of codes as the same conventions hold them: those of 4 bits, in -8..7, eight of the last dimension
// but one in an I32, those of 8 bits four, with the same added.
std::vector<int64_t> packed_zero_points_shape(const std::vector<int64_t> &shape, const dtype &code);
std::vector<std::byte> pack_zero_points(std::span<const std::byte> values, const std::vector<int64_t> &shape,
                                        const dtype &code);
std::vector<std::byte> unpack_zero_points(std::span<const std::byte> words, const std::vector<int64_t> &shape,
                                          const dtype &code);

}  // namespace qdq::model
