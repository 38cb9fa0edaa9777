// A call on a device's tensors, and what the processor gives.
#pragma once

#include "support/device.h"
#include "support/view.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace device_test {

using test_support::device;
using test_support::dimensions;
using test_support::view;

// A tensor in a device's memory.
class array {
public:
    array(device &on, qdq_dtype dtype, dimensions shape, const void *from, int64_t bytes)
        : on_(on), memory_(on.allocate(bytes)), bytes_(bytes), view_(memory_, dtype, std::move(shape)) {
        on.write(memory_, from, bytes);
    }
    ~array() { on_.free(memory_); }
    array(const array &) = delete;

    qdq_tensor tensor() const {
        qdq_tensor t = view_.tensor();
        t.device = {on_.kind(), 0, 0};
        return t;
    }
    template<typename T> std::vector<T> values() {
        std::vector<T> all(static_cast<size_t>(bytes_) / sizeof(T));
        on_.read(memory_, all.data(), bytes_);
        return all;
    }

private:
    device &on_;
    void *memory_;
    int64_t bytes_;
    view view_;
};

// A tensor like another, so many bytes into an array's memory.
inline qdq_tensor part_of(const array &memory, int64_t bytes, qdq_tensor like) {
    const qdq_tensor whole = memory.tensor();
    const bool has_addresses = whole.device.kind == QDQ_DEVICE_CUDA;
    like.data = has_addresses ? static_cast<char *>(whole.data) + bytes : whole.data;
    like.device.offset = has_addresses ? 0 : bytes;
    return like;
}

constexpr int64_t length = 1000;

inline std::vector<float> some_floats(float first = -50) {
    std::vector<float> x(length);
    for (int64_t i = 0; i < length; ++i) {
        x[static_cast<size_t>(i)] = first + 0.1f * static_cast<float>(i);
    }
    return x;
}

inline std::vector<int8_t> quantized_on_host(const std::vector<float> &x, float scale) {
    std::vector<int8_t> y(x.size());
    const view x_view(x.data(), QDQ_F32, {length}), scale_view(&scale, QDQ_F32), y_view(y.data(), QDQ_I8, {length});
    const qdq_tensor c_x = x_view.tensor(), c_scale = scale_view.tensor(), c_y = y_view.tensor();
    EXPECT_EQ(qdq_quantize(&c_x, &c_scale, nullptr, &c_y, nullptr), QDQ_OK) << qdq_last_error();
    return y;
}

// f32 to i8, per tensor.
struct call {
    call(device &on, const std::vector<float> &floats, float scale_value)
        : x_array(on, QDQ_F32, {length}, floats.data(), length * 4),
          scale_array(on, QDQ_F32, {}, &scale_value, 4),
          y_array(on, QDQ_I8, {length}, std::vector<int8_t>(length, 99).data(), length) {
        options.stream = on.stream();
    }
    qdq_status run() { return qdq_quantize(&x, &scale, nullptr, &y, &options); }

    array x_array, scale_array, y_array;
    qdq_tensor x = x_array.tensor(), scale = scale_array.tensor(), y = y_array.tensor();
    qdq_options options{};
};

}  // namespace device_test
