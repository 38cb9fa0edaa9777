// A tensor that owns its memory, shape and strides, with poison around and between its elements.
#pragma once

#include "reference/tensor.h"

#include <qdq/qdq.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace api_test {

using dimensions = std::vector<int64_t>;

class tensor_memory {
public:
    // Strides in elements, of any sign; none: dense row-major.
    explicit tensor_memory(qdq_dtype type, dimensions shape = {}, dimensions strides = {});

    // A dense tensor of the given values, for types that have a C++ one.
    template<typename T> static tensor_memory of(qdq_dtype type, dimensions shape, const std::vector<T> &values) {
        tensor_memory memory(type, std::move(shape));
        memory.fill([&](int64_t i) {
            uint32_t code = 0;
            std::memcpy(&code, &values[static_cast<size_t>(i)], sizeof(T));
            return code;
        });
        return memory;
    }

    // Of f6, four in three bytes.
    static tensor_memory dense(qdq_dtype type, dimensions shape);

    // Scales of a byte in a layout: of these shape and type, and with the bytes of that.
    friend tensor_memory arranged(const tensor_memory &scale, qdq_scale_layout layout);

    // Valid while this object lives and is not changed.
    qdq_tensor view() const;

    // Sets element i, in row-major order, to the bits code_of(i).
    template<typename CodeOf> void fill(CodeOf &&code_of) {
        const qdq_tensor self = view();
        int64_t i = 0;
        reference::for_each_index(self,
                                  [&](const int64_t *at) { reference::store_code(self, at, code_of(i++), packing_); });
    }

    // The elements' bits in row-major order.
    std::vector<uint32_t> codes() const;

    // The bytes from the first element in memory to the last, gaps included, and where among them that with index 0, 0,
    // ... is.
    std::span<const std::byte> occupied() const;
    int64_t first_byte() const;

    // Whether its elements are not those of its strides: they are dense in bytes, or scales in a layout.
    bool is_in_another_order() const { return packing_ != QDQ_LOW_FIRST || is_arranged_; }

    // Every byte, those outside the elements included.
    const std::vector<std::byte> &bytes() const { return bytes_; }
    bool operator==(const tensor_memory &other) const { return bytes_ == other.bytes_; }

private:
    qdq_dtype type_;
    qdq_packing packing_ = QDQ_LOW_FIRST;  // or dense
    bool is_arranged_ = false;
    dimensions shape_;
    dimensions strides_;
    int64_t first_byte_ = 0;  // of the element with index 0, 0, ...
    std::vector<std::byte> bytes_;
};

// Values that meet halves, both signs and saturation for scales near 0.5.
tensor_memory floats(qdq_dtype type, dimensions shape, dimensions strides = {});

// Every code in turn, from a start in the middle.
tensor_memory stored(qdq_dtype type, dimensions shape, dimensions strides = {});

// 0.25, 0.5, ... : one different value for each element.
tensor_memory scales(dimensions shape, dimensions strides = {});

// -2, -1, 0, 1, ... as codes of `type`, inside every stored type's range from 0 on for unsigned types.
tensor_memory zero_points(qdq_dtype type, dimensions shape, dimensions strides = {});

}  // namespace api_test
