#include "tensors/nibbles.h"

#include "tensors/tensor_file.h"

#include <algorithm>

namespace qdq::model {

namespace {

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

int64_t in_int32(const dtype &code) { return 32 / code.bits; }

// The highest bit of a code: what is added to a signed one.
std::byte offset_of(const dtype &code) { return std::byte{1} << (code.bits - 1); }

std::byte code_at(std::span<const std::byte> bytes, int64_t i, const dtype &code) {
    return code.bits == 8 ? bytes[static_cast<size_t>(i)] : nibble(bytes, i);
}

void put_code(std::span<std::byte> bytes, int64_t i, const dtype &code, std::byte value) {
    if (code.bits == 8) {
        bytes[static_cast<size_t>(i)] = value;
    } else {
        put_nibble(bytes, i, value & std::byte{15});
    }
}

// Visits each zero point: its index among the values, and that among the codes in words, of which each has `in_word`.
template<typename Visit> void for_each_zero_point(const std::vector<int64_t> &shape, int64_t in_word, Visit visit) {
    int64_t columns = shape.back(), rows = shape[shape.size() - 2], count = element_count(shape);
    for (int64_t i = 0; i < count; ++i) {
        int64_t row = i / columns % rows, matrix = i / columns / rows;
        int64_t word = (matrix * words(rows, in_word) + row / in_word) * columns + i % columns;
        visit(i, word * in_word + row % in_word);
    }
}

}  // namespace

const dtype &packed_type(const dtype &code) { return dtype_of(code.is_integer_code() ? QDQ_I32 : QDQ_U8); }

std::vector<int64_t> packed_shape(const dtype &code, std::vector<int64_t> shape) {
    shape.back() = words(shape.back(), packed_type(code).bits / code.bits);
    return shape;
}

packed_rows::packed_rows(const dtype &code, const std::vector<int64_t> &shape)
    : type_(&packed_type(code)), stored_shape_(packed_shape(code, shape)) {
    length_ = element_count({shape.back(), code.bits / 4});
    stride_ = element_count({stored_shape_.back(), type_->bits / 4});
    rows_ = element_count({shape.begin(), shape.end() - 1});
}

void packed_rows::pad(std::span<const std::byte> flat, std::span<std::byte> rows) const {
    copy_rows(flat, length_, rows, stride_, rows_, length_);
}

void packed_rows::unpad(std::span<const std::byte> rows, std::span<std::byte> flat) const {
    copy_rows(rows, stride_, flat, length_, rows_, length_);
}

void pack_sixes(std::span<const std::byte> codes, std::span<std::byte> packed) {
    std::ranges::fill(packed, std::byte{0});
    for (size_t i = 0; i < codes.size(); ++i) {
        auto bits = static_cast<uint16_t>(std::to_integer<unsigned>(codes[i]) << 6 * i % 8);
        size_t at = 6 * i / 8;
        packed[at] |= static_cast<std::byte>(bits);
        if (bits > 0xff) {
            packed[at + 1] |= static_cast<std::byte>(bits >> 8);
        }
    }
}

void unpack_sixes(std::span<const std::byte> packed, std::span<std::byte> codes) {
    for (size_t i = 0; i < codes.size(); ++i) {
        size_t at = 6 * i / 8, next = std::min(at + 1, packed.size() - 1);  // of the last the bits beyond are masked
        unsigned both = std::to_integer<unsigned>(packed[at]) | std::to_integer<unsigned>(packed[next]) << 8;
        codes[i] = static_cast<std::byte>(both >> 6 * i % 8 & 0x3f);
    }
}

void add_offset(std::span<std::byte> codes, const dtype &code) {
    std::byte highest_bits = code.bits == 8 ? std::byte{0x80} : std::byte{0x88};
    for (std::byte &each : codes) {
        each ^= highest_bits;
    }
}

std::vector<int64_t> packed_zero_points_shape(const std::vector<int64_t> &shape, const dtype &code) {
    std::vector<int64_t> packed = shape;
    packed[shape.size() - 2] = words(shape[shape.size() - 2], in_int32(code));
    return packed;
}

std::vector<std::byte> pack_zero_points(std::span<const std::byte> values, const std::vector<int64_t> &shape,
                                        const dtype &code) {
    std::vector<std::byte> packed(static_cast<size_t>(element_count(packed_zero_points_shape(shape, code))) * 4);
    for_each_zero_point(shape, in_int32(code), [&](int64_t i, int64_t at) {
        put_code(packed, at, code, values[static_cast<size_t>(i)] ^ offset_of(code));
    });
    return packed;
}

std::vector<std::byte> unpack_zero_points(std::span<const std::byte> words, const std::vector<int64_t> &shape,
                                          const dtype &code) {
    std::vector<std::byte> values(static_cast<size_t>(element_count(shape)));
    int offset = std::to_integer<int>(offset_of(code));
    for_each_zero_point(shape, in_int32(code), [&](int64_t i, int64_t at) {
        values[static_cast<size_t>(i)] =
            static_cast<std::byte>(std::to_integer<int>(code_at(words, at, code)) - offset);
    });
    return values;
}

}  // namespace qdq::model
