#pragma once

#include "conversion/conversion.h"
#include "tensors/quantized_tensor.h"

#include <memory>
#include <string>
#include <vector>

namespace qdq_cli {

// Throws usage_error where what is restored cannot go there, or not as `dtype`; that is empty where it is as recorded.
void check_restorable(const std::string &input, const output_options &output, const std::string &dtype);

// Restores the tensors that are quantized, and copies the rest.
class dequantization : public conversion {
public:
    // `type` is that of all restored tensors; null: the type of each that the file records, otherwise F32. Throws
    // failure where nothing is quantized.
    dequantization(std::unique_ptr<tensor_reader> input, const dtype *type, std::string profile = "");

    const tensor_reader &input() const override { return *input_; }
    tensor_list outputs(size_t shard) const override;
    metadata_map metadata(size_t shard) const override;
    kernel_figures write(size_t shard, const tensor_source &source, tensor_writer &output,
                         const progress_function &advance) const override;
    void configure(json &config) const override;
    std::string description() const override;

    const tensor_list &outputs() const { return outputs_; }
    size_t restored_count() const { return restored_; }

private:
    bool is_restored(const logical_tensor &tensor) const;
    const dtype *recorded_type() const;

    std::unique_ptr<tensor_reader> input_;
    const dtype *type_;
    std::string profile_;
    record_map records_;
    std::vector<logical_tensor> tensors_;  // what each output is made of
    tensor_list outputs_;                  // of all shards
    size_t restored_ = 0;
};

}  // namespace qdq_cli
