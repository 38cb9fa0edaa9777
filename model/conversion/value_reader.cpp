#include "conversion/value_reader.h"

#include "tensors/float_values.h"

namespace qdq::model {

value_reader::value_reader(const tensor_reader &file)
    : file_(file), records_(read_records(file)), tensors_(logical_tensors(file)) {
    for (size_t i = 0; i < tensors_.size(); ++i) {
        by_name_[tensors_[i].name] = i;
    }
}

const logical_tensor *value_reader::find(const std::string &name) const {
    auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

std::string_view value_reader::codes_type(const logical_tensor &tensor) const {
    return tensor.parts ? tensor.parts->type->name : file_.form(tensor.index).type;
}

std::span<const std::byte> value_reader::raw(const logical_tensor &tensor) {
    std::span<std::byte> bytes = buffers_.stored.take(byte_size(file_.tensors()[tensor.index]));
    file_.read(tensor.index, bytes);
    return bytes;
}

std::span<const float> value_reader::values(const logical_tensor &tensor) {
    auto count = static_cast<size_t>(element_count(tensor.shape));
    std::span<std::byte> bytes = values_.take(count * sizeof(float));
    auto *floats = reinterpret_cast<float *>(bytes.data());
    quantized_.reset();
    if (tensor.parts) {
        quantized_ = load_quantized(file_, tensor, records_, buffers_);
        kernels_.dequantize(quantized_->dequantize_to({&f32_dtype(), tensor.shape, bytes.data()}));
    } else if (&type(tensor) == &f32_dtype()) {
        file_.read(tensor.index, bytes);
    } else {
        widen(*type(tensor).core, raw(tensor).data(), 0, static_cast<int64_t>(count), floats);
    }
    return {floats, count};
}

}  // namespace qdq::model
