#pragma once

#include "conversion/transformation.h"
#include "recipe/recipe.h"
#include "tensors/records.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace qdq::model {

struct quantized_parts;

// The rules whose globs match no name of the input, by their places in the recipe.
std::vector<size_t> rules_that_match_nothing(const tensor_reader &input, const recipe &rules);

// Quantizes what a recipe says, and copies the rest. Per channel a stack of experts [experts, out, in] has a scale
// for each expert and channel, per tensor one for each expert.
class quantization : public transformation {
public:
    // What becomes of one tensor of the input, as `first_output` and what follows it of all outputs.
    struct step {
        size_t input, first_output;
        std::optional<scheme> how;   // nothing: a copy
        uint64_t first_element = 0;  // how many elements the tensors before it have
    };

    // Throws usage_error and failure, as when nothing is selected. `profile`: of qdq_profile_options; empty: none.
    // `seed`: codes are rounded stochastically, by the numbers of elements in the whole input.
    quantization(std::unique_ptr<tensor_reader> input, recipe rules, std::string profile = "",
                 std::optional<uint64_t> seed = {});

    size_t changed_count() const override { return records_.size(); }
    tensor_list outputs(size_t shard) const override;
    metadata_map metadata(size_t shard) const override;
    kernel_figures write(size_t shard, const tensor_source &source, tensor_writer &output,
                         const progress_function &advance) const override;
    void configure(json &config) const override;
    std::string description() const override;

    // Throws usage_error where a file of this name cannot have the types that tensors become.
    void check_output(const std::filesystem::path &path) const;

    const recipe &rules() const { return rules_; }
    const std::vector<step> &steps() const { return steps_; }
    uint64_t output_bytes(const step &each) const;

    // The sums of squares of a tensor's values and of the errors that it would have.
    struct error {
        double signal = 0, noise = 0;
    };
    error error_of(const step &each) const;

    // The weights of experts that are left alone because they would not be loaded as the recipe's default has them.
    size_t experts_left_alone() const;

private:
    void add_step(size_t input, std::optional<scheme> how);
    std::optional<quantized_parts> plan_quantized(const tensor_info &tensor, const scheme &how);
    quantized_parts plan_parts(const tensor_info &tensor, const scheme &how, const std::vector<int64_t> &scale_shape);
    void refuse_taken(const std::string &name) const;
    size_t add_part(tensor_info part);
    size_t end_of(const step &each) const;

    recipe rules_;
    std::string profile_;
    std::optional<uint64_t> seed_;
    std::vector<step> steps_;
    tensor_list outputs_;  // of all shards
    record_map records_;
};

}  // namespace qdq::model
