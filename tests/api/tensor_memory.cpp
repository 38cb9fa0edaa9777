#include "tensor_memory.h"

#include "reference/formats.h"
#include "reference/scales.h"

#include <algorithm>
#include <bit>

namespace api_test {

namespace {

constexpr std::byte poison{0xa5};
constexpr int64_t margin = 64;  // bytes of poison on both sides

struct reach {
    int64_t lowest = 0, highest = 0;  // element offsets
};

reach reach_of(const dimensions &shape, const dimensions &strides) {
    reach all;
    for (size_t d = 0; d < strides.size(); d++) {
        const int64_t far = std::max<int64_t>(shape[d] - 1, 0) * strides[d];
        (far < 0 ? all.lowest : all.highest) += far;
    }
    return all;
}

uint32_t float_code(qdq_dtype type, float value) {
    switch (type) {
    case QDQ_F16: return reference::encode_ieee(reference::f16_format, value);
    case QDQ_BF16: return reference::encode_ieee(reference::bf16_format, value);
    default: return std::bit_cast<uint32_t>(value);
    }
}

}  // namespace

tensor_memory::tensor_memory(qdq_dtype type, dimensions shape, dimensions strides)
    : type_(type), shape_(std::move(shape)), strides_(std::move(strides)) {
    const int64_t bits = reference::bits_of(type_);
    reach all = reach_of(shape_, strides_);
    if (strides_.empty()) {
        all.highest = std::max<int64_t>(reference::element_count(view()) - 1, 0);
    }
    first_byte_ = margin - all.lowest * bits / 8;
    bytes_.assign(static_cast<size_t>(2 * margin + ((all.highest - all.lowest + 1) * bits + 7) / 8), poison);
}

tensor_memory tensor_memory::dense(qdq_dtype type, dimensions shape) {
    tensor_memory memory(type, std::move(shape));
    const int64_t bytes = (6 * reference::element_count(memory.view()) + 7) / 8;
    memory.packing_ = QDQ_DENSE;
    memory.bytes_.assign(static_cast<size_t>(2 * margin + bytes), poison);
    return memory;
}

qdq_tensor tensor_memory::view() const {
    void *data = const_cast<std::byte *>(bytes_.data()) + first_byte_;
    return {
        data, type_, static_cast<int32_t>(shape_.size()), shape_.data(), strides_.empty() ? nullptr : strides_.data(),
        {}};
}

std::span<const std::byte> tensor_memory::occupied() const {
    return std::span(bytes_).subspan(margin, bytes_.size() - 2 * margin);
}

int64_t tensor_memory::first_byte() const { return first_byte_ - margin; }

std::vector<uint32_t> tensor_memory::codes() const {
    const qdq_tensor self = view();
    std::vector<uint32_t> all;
    reference::for_each_index(
        self, [&](const int64_t *index) { all.push_back(reference::load_code(self, index, packing_)); });
    return all;
}

tensor_memory arranged(const tensor_memory &scale, qdq_scale_layout layout) {
    const size_t last = scale.shape_.size() - 1;
    const int64_t rows = scale.shape_[last - 1], columns = scale.shape_[last];
    const int64_t count = reference::element_count(scale.view()), matrices = count == 0 ? 0 : count / (rows * columns);
    const int64_t each = reference::arranged_bytes(layout, rows, columns);
    tensor_memory made = scale;
    made.is_arranged_ = true;
    made.strides_ = {};
    made.first_byte_ = margin;
    made.bytes_.assign(static_cast<size_t>(2 * margin + matrices * each), poison);
    const std::vector<uint32_t> codes = scale.codes();
    for (int64_t i = 0; i < count; i++) {
        const int64_t place = i / (rows * columns) * each +
                              reference::arranged_place(layout, rows, columns, i / columns % rows, i % columns);
        made.bytes_[static_cast<size_t>(margin + place)] = static_cast<std::byte>(codes[static_cast<size_t>(i)]);
    }
    return made;
}

tensor_memory floats(qdq_dtype type, dimensions shape, dimensions strides) {
    tensor_memory memory(type, std::move(shape), std::move(strides));
    memory.fill([&](int64_t i) { return float_code(type, static_cast<float>(i * 37 % 1021 - 510) * 0.125f); });
    return memory;
}

tensor_memory stored(qdq_dtype type, dimensions shape, dimensions strides) {
    const int64_t bits = reference::bits_of(type);
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    tensor_memory memory(type, std::move(shape), std::move(strides));
    memory.fill([&](int64_t i) { return static_cast<uint32_t>((static_cast<uint64_t>(i) * 2654435761u + 77) & mask); });
    return memory;
}

tensor_memory scales(dimensions shape, dimensions strides) {
    tensor_memory memory(QDQ_F32, std::move(shape), std::move(strides));
    memory.fill([](int64_t i) { return std::bit_cast<uint32_t>(0.25f + 0.25f * static_cast<float>(i % 64)); });
    return memory;
}

tensor_memory zero_points(qdq_dtype type, dimensions shape, dimensions strides) {
    const reference::integer_range range = reference::range_of(type);
    const int64_t first = std::max<int64_t>(range.lowest, -2);
    const uint32_t mask = static_cast<uint32_t>((uint64_t{1} << reference::bits_of(type)) - 1);
    tensor_memory memory(type, std::move(shape), std::move(strides));
    memory.fill([&](int64_t i) { return static_cast<uint32_t>(first + i % 8) & mask; });
    return memory;
}

}  // namespace api_test
