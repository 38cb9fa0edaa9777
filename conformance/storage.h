// A tensor of any type, shape and strides, with memory of its own.
#pragma once

#include "reference/formats.h"

#include <qdq/qdq.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace conformance {

using dimensions = std::vector<int64_t>;

inline int64_t product(const dimensions &shape) {
    int64_t count = 1;
    for (int64_t extent : shape) {
        count *= extent;
    }
    return count;
}

class storage {
public:
    // Empty strides: dense. Bytes start as `fill`.
    storage(qdq_dtype dtype, dimensions shape, dimensions strides = {}, uint8_t fill = 0)
        : dtype_(dtype), shape_(std::move(shape)), strides_(std::move(strides)) {
        int64_t highest = 0;
        for (size_t d = 0; d < strides_.size(); ++d) {
            const int64_t reach = (shape_[d] - 1) * strides_[d];
            (reach < 0 ? lowest_ : highest) += reach;
        }
        elements_ = strides_.empty() ? product(shape_) : highest - lowest_ + 1;
        if (product(shape_) == 0) {
            elements_ = lowest_ = 0;
        }
        bytes_.assign(static_cast<size_t>((elements_ * reference::bits_of(dtype_) + 7) / 8), fill);
    }

    // Valid while the storage lives.
    qdq_tensor tensor() const {
        void *data = const_cast<uint8_t *>(bytes_.data()) - lowest_ * reference::bits_of(dtype_) / 8;
        return {data,
                dtype_,
                static_cast<int32_t>(shape_.size()),
                shape_.data(),
                strides_.empty() ? nullptr : strides_.data(),
                {}};
    }

    // Of the memory, whatever the strides make of it.
    int64_t elements() const { return elements_; }
    uint8_t *bytes() { return bytes_.data(); }
    const uint8_t *bytes() const { return bytes_.data(); }

    int64_t size() const { return static_cast<int64_t>(bytes_.size()); }

    uint32_t code(int64_t i) const {
        const int64_t bits = reference::bits_of(dtype_);
        if (bits < 8) {
            return unsigned{bytes_[static_cast<size_t>(i * bits / 8)]} >> i * bits % 8 & ((1u << bits) - 1);
        }
        uint32_t code = 0;
        std::memcpy(&code, bytes_.data() + i * (bits / 8), static_cast<size_t>(bits / 8));
        return code;
    }
    void set_code(int64_t i, uint32_t code) {
        const int64_t bits = reference::bits_of(dtype_);
        if (bits < 8) {
            uint8_t &byte = bytes_[static_cast<size_t>(i * bits / 8)];
            const uint32_t mask = (1u << bits) - 1;
            const int64_t shift = i * bits % 8;
            byte = static_cast<uint8_t>((byte & ~(mask << shift)) | (code & mask) << shift);
            return;
        }
        std::memcpy(bytes_.data() + i * (bits / 8), &code, static_cast<size_t>(bits / 8));
    }

private:
    qdq_dtype dtype_;
    dimensions shape_;
    dimensions strides_;
    int64_t lowest_ = 0;  // offset of the element with the lowest address
    int64_t elements_ = 0;
    std::vector<uint8_t> bytes_;
};

}  // namespace conformance
