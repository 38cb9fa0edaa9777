#pragma once

#include "conversion/conversion.h"
#include "recipe/recipe.h"
#include "tensors/quantized_tensor.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace qdq_cli {

// What a recipe says of the tensors of a file or a model's folder. Of those that no rule names, in a file floats with
// enough dimensions are quantized, and in a folder the weights of linear layers, but for those of experts that would
// not be loaded so.
selection select_by(const recipe &rules, const tensor_reader &input);

// The rules whose globs match no name of the input, by their places in the recipe.
std::vector<size_t> rules_that_match_nothing(const tensor_reader &input, const recipe &rules);

// The weights of experts that such a selection leaves alone for that reason alone.
size_t count_experts_left_alone(const class quantization &plan, const recipe &rules);

// Quantizes what a selection says, and copies the rest. Per channel a stack of experts [experts, out, in] has a scale
// for each expert and channel, per tensor one for each expert.
class quantization : public conversion {
public:
    // What becomes of one tensor of the input, as `first_output` and what follows it of all outputs.
    struct step {
        size_t input, first_output;
        std::optional<scheme> how;  // nothing: a copy
    };

    // Throws usage_error and failure, as when nothing is selected. `profile`: of qdq_profile_options; empty: none.
    quantization(std::unique_ptr<tensor_reader> input, const selection &select, std::string profile = "");

    const tensor_reader &input() const override { return *input_; }
    tensor_list outputs(size_t shard) const override;
    metadata_map metadata(size_t shard) const override;
    kernel_figures write(size_t shard, const tensor_source &source, tensor_writer &output,
                         const progress_function &advance) const override;
    void configure(json &config) const override;
    std::string description() const override;

    const std::vector<step> &steps() const { return steps_; }
    size_t quantized_count() const { return records_.size(); }
    uint64_t output_bytes(const step &each) const;
    uint64_t output_bytes() const;

private:
    void add_step(size_t input, std::optional<scheme> how);
    quantized_parts plan_quantized(const tensor_info &tensor, const scheme &how);
    quantized_parts plan_parts(const tensor_info &tensor, const scheme &how, const std::vector<int64_t> &scale_shape);
    void refuse_taken(const std::string &name) const;
    size_t add_part(tensor_info part);
    size_t end_of(const step &each) const;

    std::unique_ptr<tensor_reader> input_;
    std::string profile_;
    std::vector<step> steps_;
    tensor_list outputs_;  // of all shards
    record_map records_;
};

}  // namespace qdq_cli
