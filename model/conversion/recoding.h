#pragma once

#include "conversion/transformation.h"
#include "tensors/quantized_tensor.h"

#include <memory>
#include <string>
#include <vector>

namespace qdq::model {

// Where the parts of quantized tensors are kept, and by which names.
enum class code_form {
    compressed_tensors,  // x or x_packed, x_scale, x_zero_point
    fp8,                 // x and x_scale_inv, of f8e4m3 in blocks of rows and columns
    onnx,                // for DequantizeLinear nodes
};

// The same codes, scales and zero points in another form: no value changes by a bit.
class recoding : public transformation {
public:
    // Throws failure where a tensor has no such form, and where nothing is quantized.
    recoding(std::unique_ptr<tensor_reader> input, code_form form);

    size_t changed_count() const override { return quantized_; }
    size_t shard_count() const override { return form_ == code_form::onnx ? 1 : input_->shard_count(); }
    tensor_list outputs(size_t shard) const override;
    metadata_map metadata(size_t shard) const override;
    kernel_figures write(size_t shard, const tensor_source &source, tensor_writer &output,
                         const progress_function &advance) const override;
    void configure(json &config) const override;
    std::string description() const override;

private:
    void plan(const logical_tensor &tensor);
    void plan_copy(const logical_tensor &tensor);
    void plan_nodes(const logical_tensor &tensor);
    void plan_packed(const logical_tensor &tensor);
    void write_nodes(const tensor_source &source, const logical_tensor &tensor, tensor_writer &output,
                     size_t first) const;
    void write_packed(const tensor_source &source, const logical_tensor &tensor, tensor_writer &output,
                      size_t first) const;
    bool is_in(const logical_tensor &tensor, size_t shard) const;
    blocking blocks_of(const logical_tensor &tensor) const;

    code_form form_;
    record_map records_, new_records_;
    std::vector<logical_tensor> tensors_;
    std::vector<std::vector<tensor_info>> outputs_;  // of each tensor
    size_t quantized_ = 0;
};

// To the form that an output of this name has; `method` is the quant_method of a folder's config.json, or empty. Throws
// usage_error where there is none.
recoding plan_recoding(const std::string &input, const output_options &output, const std::string &method);

}  // namespace qdq::model
