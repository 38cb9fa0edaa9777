// A scale or a zero point: values of any type in memory of their own.
#pragma once

#include "conformance/storage.h"
#include "reference/formats.h"

#include <qdq/qdq.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

namespace kernel_test {

using conformance::dimensions;
using conformance::product;
using conformance::storage;

class operand {
public:
    operand(qdq_dtype dtype, const std::vector<double> &values, dimensions shape = {})
        : dtype_(dtype), shape_(std::move(shape)) {
        for (double value : values) {
            append(value);
        }
    }

    // Valid while the operand lives.
    qdq_tensor tensor() const {
        void *data = const_cast<uint8_t *>(bytes_.data());
        return {data, dtype_, static_cast<int32_t>(shape_.size()), shape_.data(), nullptr, {}};
    }

    // Integer types saturate; narrow float types round.
    static uint32_t encode(qdq_dtype dtype, double value) {
        const float narrowed = static_cast<float>(value);
        switch (dtype) {
        case QDQ_F32: return std::bit_cast<uint32_t>(narrowed);
        case QDQ_F16: return reference::encode_ieee(reference::f16_format, narrowed);
        case QDQ_BF16: return reference::encode_ieee(reference::bf16_format, narrowed);
        case QDQ_E8M0: return encode_e8m0(narrowed);
        default: break;
        }
        if (!reference::is_integer(dtype)) {
            return reference::encode_quantized_float(dtype, narrowed, false, false);
        }
        const reference::integer_range range = reference::range_of(dtype);
        const double clamped = std::clamp(value, static_cast<double>(range.lowest), static_cast<double>(range.highest));
        return static_cast<uint32_t>(static_cast<int64_t>(clamped));
    }

    // One for each element of a shape, from its place.
    template<typename Value> static operand by_place(qdq_dtype dtype, const dimensions &shape, Value value) {
        std::vector<double> all;
        for (int64_t i = 0; i < product(shape); ++i) {
            all.push_back(value(i));
        }
        return {dtype, all, shape};
    }

private:
    static uint32_t encode_e8m0(float value) {
        if (!(value > 0) || std::isinf(value)) {
            return 0xff;
        }
        return static_cast<uint32_t>(std::clamp(std::ilogb(value) + 127, 0, 254));
    }

    void append(double value) {
        const uint32_t code = encode(dtype_, value);
        const size_t size = static_cast<size_t>(reference::bits_of(dtype_) / 8);
        bytes_.resize(bytes_.size() + size);
        std::memcpy(bytes_.data() + bytes_.size() - size, &code, size);
    }

    qdq_dtype dtype_;
    dimensions shape_;
    std::vector<uint8_t> bytes_;
};

inline int64_t bytes_for(qdq_dtype dtype, int64_t count) { return (count * reference::bits_of(dtype) + 7) / 8; }

}  // namespace kernel_test
