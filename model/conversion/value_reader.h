#pragma once

#include "tensors/kernel_call.h"
#include "tensors/quantized_tensor.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace qdq::model {

// The tensors of a file or a folder as f32, those that are quantized, too.
class value_reader {
public:
    explicit value_reader(const tensor_reader &file);

    const tensor_reader &file() const { return file_; }
    const std::vector<logical_tensor> &tensors() const { return tensors_; }
    const logical_tensor *find(const std::string &name) const;

    const dtype &type(const logical_tensor &tensor) const { return *file_.tensors()[tensor.index].type; }

    // The type of the codes where it is quantized, by the file's name where it has one of its own.
    std::string_view codes_type(const logical_tensor &tensor) const;
    uint64_t bytes(const logical_tensor &tensor) const { return stored_bytes(file_, tensor); }
    bool is_supported(const logical_tensor &tensor) const { return type(tensor).bits != 0; }
    bool has_values(const logical_tensor &tensor) const { return tensor.parts || type(tensor).is_float(); }

    // The bytes in the file. They and the values stay until the next call.
    std::span<const std::byte> raw(const logical_tensor &tensor);

    // The values of a tensor that has_values(); a quantized tensor's codes are available from quantized() afterwards.
    std::span<const float> values(const logical_tensor &tensor);
    const std::optional<quantized_tensor> &quantized() const { return quantized_; }

private:
    const tensor_reader &file_;
    record_map records_;
    std::vector<logical_tensor> tensors_;
    std::map<std::string, size_t> by_name_;
    code_buffers buffers_;
    scratch_buffer values_;
    std::optional<quantized_tensor> quantized_;
    kernel_caller kernels_;
};

}  // namespace qdq::model
