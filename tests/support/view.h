// A qdq_tensor that owns its shape and strides.
#pragma once

#include <qdq/qdq.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace test_support {

using dimensions = std::vector<int64_t>;

class view {
public:
    view(const void *data, qdq_dtype dtype, dimensions shape = {}, dimensions strides = {})
        : data_(const_cast<void *>(data)), dtype_(dtype), shape_(std::move(shape)), strides_(std::move(strides)) {}

    // Valid while the view lives and is not changed.
    qdq_tensor tensor() const {
        const auto rank = static_cast<int32_t>(shape_.size());
        return {data_, dtype_, rank, shape_.data(), strides_.empty() ? nullptr : strides_.data(), {}};
    }

private:
    void *data_;
    qdq_dtype dtype_;
    dimensions shape_;
    dimensions strides_;
};

// The operands of one call. `zero_point` is optional.
struct operands {
    qdq_tensor x;
    qdq_tensor scale;
    const qdq_tensor *zero_point;
    qdq_tensor y;
};

}  // namespace test_support
