#include "nibbles.h"

#include "tensor_file.h"

#include <algorithm>

namespace qdq_cli {

namespace {

constexpr int64_t in_int32 = 8;

std::byte nibble(std::span<const std::byte> bytes, int64_t i) {
    return bytes[static_cast<size_t>(i / 2)] >> i % 2 * 4 & std::byte{15};
}

void put_nibble(std::span<std::byte> bytes, int64_t i, std::byte value) {
    bytes[static_cast<size_t>(i / 2)] |= value << i % 2 * 4;
}

int64_t words(int64_t count, int64_t in_word) { return count / in_word + (count % in_word != 0); }

// Copies the rows of nibbles at one stride to another one; what lies between them becomes 0.
void copy_rows(std::span<const std::byte> from, int64_t from_stride, std::span<std::byte> to, int64_t to_stride,
               int64_t rows, int64_t length) {
    std::ranges::fill(to, std::byte{0});
    for (int64_t row = 0; row < rows; ++row) {
        for (int64_t i = 0; i < length; ++i) {
            put_nibble(to, row * to_stride + i, nibble(from, row * from_stride + i));
        }
    }
}

// Visits each zero point: its index among the values, and its nibble's among the words.
template<typename Visit> void for_each_zero_point(const std::vector<int64_t> &shape, Visit visit) {
    int64_t columns = shape.back(), rows = shape[shape.size() - 2], count = element_count(shape);
    for (int64_t i = 0; i < count; ++i) {
        int64_t row = i / columns % rows, matrix = i / columns / rows;
        int64_t word = (matrix * words(rows, in_int32) + row / in_int32) * columns + i % columns;
        visit(i, word * in_int32 + row % in_int32);
    }
}

}  // namespace

packed_rows::packed_rows(qdq_dtype codes, const std::vector<int64_t> &shape)
    : type_(&dtype_of(codes == QDQ_F4E2M1 ? QDQ_U8 : QDQ_I32)), stored_shape_(shape), length_(shape.back()) {
    int64_t in_element = type_->bits / 4;
    stored_shape_.back() = words(length_, in_element);
    stride_ = element_count({stored_shape_.back(), in_element});
    rows_ = element_count({shape.begin(), shape.end() - 1});
}

void packed_rows::pad(std::span<const std::byte> flat, std::span<std::byte> rows) const {
    copy_rows(flat, length_, rows, stride_, rows_, length_);
}

void packed_rows::unpad(std::span<const std::byte> rows, std::span<std::byte> flat) const {
    copy_rows(rows, stride_, flat, length_, rows_, length_);
}

void add_eight(std::span<std::byte> codes) {
    for (std::byte &both : codes) {
        both ^= std::byte{0x88};
    }
}

std::vector<int64_t> packed_zero_points_shape(const std::vector<int64_t> &shape) {
    std::vector<int64_t> packed = shape;
    packed[shape.size() - 2] = words(shape[shape.size() - 2], in_int32);
    return packed;
}

std::vector<std::byte> pack_zero_points(std::span<const std::byte> values, const std::vector<int64_t> &shape) {
    std::vector<std::byte> packed(static_cast<size_t>(element_count(packed_zero_points_shape(shape))) * 4);
    for_each_zero_point(shape, [&](int64_t i, int64_t at) {
        put_nibble(packed, at, (values[static_cast<size_t>(i)] ^ std::byte{8}) & std::byte{15});
    });
    return packed;
}

std::vector<std::byte> unpack_zero_points(std::span<const std::byte> words, const std::vector<int64_t> &shape) {
    std::vector<std::byte> values(static_cast<size_t>(element_count(shape)));
    for_each_zero_point(shape, [&](int64_t i, int64_t at) {
        values[static_cast<size_t>(i)] = static_cast<std::byte>(std::to_integer<int>(nibble(words, at)) - 8);
    });
    return values;
}

}  // namespace qdq_cli
