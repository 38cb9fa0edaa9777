#pragma once

#include "conversion/transformation.h"
#include "tensors/quantized_tensor.h"

#include <memory>
#include <string>
#include <vector>

namespace qdq::model {

// Restores the tensors that are quantized, and copies the rest.
class dequantization : public transformation {
public:
    // `type` is that of all restored tensors; null: the type of each that the file records, otherwise F32. Throws
    // failure where nothing is quantized.
    dequantization(std::unique_ptr<tensor_reader> input, const dtype *type, std::string profile = "");

    size_t changed_count() const override { return restored_; }
    tensor_list outputs(size_t shard) const override;
    metadata_map metadata(size_t shard) const override;
    kernel_figures write(size_t shard, const tensor_source &source, tensor_writer &output,
                         const progress_function &advance) const override;
    void configure(json &config) const override;
    std::string description() const override;

private:
    bool is_restored(const logical_tensor &tensor) const;
    const dtype *recorded_type() const;

    const dtype *type_;
    std::string profile_;
    record_map records_;
    std::vector<logical_tensor> tensors_;  // what each output is made of
    tensor_list outputs_;                  // of all shards
    size_t restored_ = 0;
};

// Throws usage_error where what is restored cannot go there, or not as `dtype`: F32, F16 or BF16; empty: as recorded.
dequantization plan_dequantization(const std::string &input, const output_options &output, const std::string &dtype,
                                   const std::string &profile);

}  // namespace qdq::model
