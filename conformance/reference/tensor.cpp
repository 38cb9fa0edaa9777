#include "tensor.h"

#include "scales.h"

#include <cstdlib>
#include <cstring>

namespace reference {

namespace {

int64_t flat_index(const qdq_tensor &tensor, const int64_t *index) {
    int64_t flat = 0;
    for (int32_t d = 0; d < tensor.rank; ++d) {
        flat = flat * tensor.shape[d] + index[d];
    }
    return flat;
}

int64_t element_offset(const qdq_tensor &tensor, const int64_t *index) {
    if (tensor.strides == nullptr) {
        return flat_index(tensor, index);
    }
    int64_t offset = 0;
    for (int32_t d = 0; d < tensor.rank; ++d) {
        offset += index[d] * tensor.strides[d];
    }
    return offset;
}

template<typename Unsigned> uint32_t load_as(const void *data, int64_t offset) {
    Unsigned value;
    std::memcpy(&value, static_cast<const char *>(data) + offset * static_cast<int64_t>(sizeof value), sizeof value);
    return value;
}

template<typename Unsigned> void store_as(void *data, int64_t offset, uint32_t code) {
    const Unsigned value = static_cast<Unsigned>(code);
    std::memcpy(static_cast<char *>(data) + offset * static_cast<int64_t>(sizeof value), &value, sizeof value);
}

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Where a packed element's bits lie.
struct packed_place {
    int64_t byte;
    int shift;
};

packed_place place_of(int64_t bits, int64_t flat, qdq_packing packing) {
    switch (packing) {
    case QDQ_LOW_FIRST: return {flat * bits / 8, static_cast<int>(flat * bits % 8)};
    case QDQ_HIGH_FIRST: return {flat / 2, flat % 2 == 0 ? 4 : 0};
    case QDQ_SPLIT_HALVES: return {flat / 32 * 16 + flat % 16, flat % 32 < 16 ? 0 : 4};
    case QDQ_DENSE: break;  // of types that are not packed else
    }
    std::abort();
}

int mask_of(int64_t bits) { return (1 << bits) - 1; }

void store_packed(void *data, int64_t bits, int64_t flat, qdq_packing packing, uint32_t code) {
    const packed_place place = place_of(bits, flat, packing);
    uint8_t &byte = static_cast<uint8_t *>(data)[place.byte];
    const int own = (static_cast<int>(code) & mask_of(bits)) << place.shift;
    byte = static_cast<uint8_t>((byte & ~(mask_of(bits) << place.shift)) | own);
}

}  // namespace

int64_t element_count(const qdq_tensor &tensor) {
    int64_t count = 1;
    for (int32_t d = 0; d < tensor.rank; ++d) {
        count *= tensor.shape[d];
    }
    return count;
}

namespace {

// Codes of 6 bits, bit by bit.
uint32_t load_dense(const void *data, int64_t flat) {
    uint32_t code = 0;
    for (int k = 0; k < 6; ++k) {
        const int64_t bit = flat * 6 + k;
        code |= (static_cast<const uint8_t *>(data)[bit / 8] >> bit % 8 & 1u) << k;
    }
    return code;
}

void store_bit(void *data, int64_t bit, uint32_t value) {
    uint8_t &byte = static_cast<uint8_t *>(data)[bit / 8];
    byte = static_cast<uint8_t>((byte & ~(1u << bit % 8)) | value << bit % 8);
}

void store_dense(void *data, int64_t flat, uint32_t code) {
    for (int k = 0; k < 6; ++k) {
        store_bit(data, flat * 6 + k, code >> k & 1);
    }
}

}  // namespace

uint32_t load_code(const qdq_tensor &tensor, const int64_t *index, qdq_packing packing) {
    if (packing == QDQ_DENSE) {
        return load_dense(tensor.data, flat_index(tensor, index));
    }
    if (is_packed(tensor.dtype)) {
        const int64_t bits = bits_of(tensor.dtype);
        const packed_place place = place_of(bits, flat_index(tensor, index), packing);
        const int byte = static_cast<const uint8_t *>(tensor.data)[place.byte];
        return static_cast<uint32_t>(byte >> place.shift & mask_of(bits));
    }
    const int64_t offset = element_offset(tensor, index);
    switch (bits_of(tensor.dtype)) {
    case 8: return load_as<uint8_t>(tensor.data, offset);
    case 16: return load_as<uint16_t>(tensor.data, offset);
    case 32: return load_as<uint32_t>(tensor.data, offset);
    default: std::abort();
    }
}

void store_code(const qdq_tensor &tensor, const int64_t *index, uint32_t code, qdq_packing packing) {
    if (packing == QDQ_DENSE) {
        return store_dense(tensor.data, flat_index(tensor, index), code);
    }
    if (is_packed(tensor.dtype)) {
        return store_packed(tensor.data, bits_of(tensor.dtype), flat_index(tensor, index), packing, code);
    }
    const int64_t offset = element_offset(tensor, index);
    switch (bits_of(tensor.dtype)) {
    case 8: return store_as<uint8_t>(tensor.data, offset, code);
    case 16: return store_as<uint16_t>(tensor.data, offset, code);
    case 32: return store_as<uint32_t>(tensor.data, offset, code);
    default: std::abort();
    }
}

float load_float(const qdq_tensor &tensor, const int64_t *index) {
    const uint32_t code = load_code(tensor, index);
    // The sign of a NaN matters to quantized floats, and decode_float would drop it.
    if (tensor.dtype == QDQ_F32) {
        return std::bit_cast<float>(code);
    }
    const float value = decode_float(tensor.dtype, code);
    const bool negative = bits_of(tensor.dtype) == 16 && (code & 0x8000) != 0;
    return value != value && negative ? -value : value;
}

void clear_padding(const qdq_tensor &tensor, qdq_packing packing) {
    if (packing == QDQ_DENSE) {
        for (int64_t bit = 6 * element_count(tensor); bit % 8 != 0; ++bit) {
            store_bit(tensor.data, bit, 0);
        }
        return;
    }
    const int64_t bits = bits_of(tensor.dtype);
    for (int64_t i = element_count(tensor); i * bits % 8 != 0; ++i) {
        store_packed(tensor.data, bits, i, packing, 0);
    }
}

parameters::parameters(const qdq_tensor &x, const qdq_tensor &scale, const qdq_tensor *zero_point,
                       const qdq_options &options)
    : scale_(scale), zero_point_(zero_point), options_(options), rank_(x.rank) {
    if (element_count(x) == 0 || element_count(scale) == 1) {
        return;
    }
    const int32_t axis = options.axis < 0 ? options.axis + x.rank : options.axis;
    if (scale.rank != x.rank) {
        only_axis_ = axis;
        block_[0] = options.block_size > 0 ? options.block_size : divide_up(x.shape[axis], scale.shape[0]);
        return;
    }
    for (int32_t d = 0; d < x.rank; ++d) {
        int64_t given = options.block_shape != nullptr ? options.block_shape[d] : 0;
        if (options.block_size > 0 && d == axis) {
            given = options.block_size;
        }
        block_[d] = given > 0 ? given : divide_up(x.shape[d], scale.shape[d]);
    }
}

parameters::index_array parameters::scale_index(const int64_t *x_index) const {
    index_array index{};
    if (element_count(scale_) == 1) {
        return index;
    }
    if (only_axis_ >= 0) {
        index[0] = x_index[only_axis_] / block_[0];
        return index;
    }
    for (int32_t d = 0; d < rank_; ++d) {
        index[d] = x_index[d] / block_[d];
    }
    return index;
}

// A scale of a byte that is arranged: matrix after matrix.
float parameters::arranged_scale(const int64_t *index) const {
    const int64_t rows = scale_.shape[scale_.rank - 2], columns = scale_.shape[scale_.rank - 1];
    const int64_t flat = flat_index(scale_, index), matrix = flat / (rows * columns);
    const int64_t place = matrix * arranged_bytes(options_.scale_layout, rows, columns) +
                          arranged_place(options_.scale_layout, rows, columns, flat / columns % rows, flat % columns);
    const uint8_t code = static_cast<const uint8_t *>(scale_.data)[place];
    return decode_float(scale_.dtype, code);
}

float parameters::scale_at(const int64_t *x_index) const {
    const index_array index = scale_index(x_index);
    const float scale =
        options_.scale_is_arranged != 0 ? arranged_scale(index.data()) : load_float(scale_, index.data());
    switch (options_.global_sense) {
    case QDQ_GLOBAL_SCALE: return scale * *options_.global_scale;
    case QDQ_GLOBAL_INVERSE: return scale / *options_.global_scale;
    default: return scale;
    }
}

zero_point parameters::zero_point_at(const int64_t *x_index) const {
    if (zero_point_ == nullptr) {
        return {};
    }
    const index_array one_for_all{};
    const index_array index = element_count(*zero_point_) == 1 ? one_for_all : scale_index(x_index);
    if (!is_integer(zero_point_->dtype)) {
        return zero_point::of_float(load_float(*zero_point_, index.data()));
    }
    return zero_point::of_integer(decode_integer(zero_point_->dtype, load_code(*zero_point_, index.data())));
}

}  // namespace reference
