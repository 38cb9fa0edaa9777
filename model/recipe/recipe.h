#pragma once

#include "support/json.h"
#include "support/words.h"
#include "tensors/granularity.h"
#include "tensors/quantized_type.h"
#include "tensors/scale_method.h"
#include "tensors/tensor_file.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace qdq::model {

// The type in which scales are stored, and to which they are rounded.
enum class scale_storage { of_type, of_weights, bf16 };

// How a tensor is quantized: to which type, with which scales, by which rule.
struct scheme {
    const quantized_type *type = find_quantized_type("i8");
    granularity scales;
    scale_method method = {};
    bool dynamic_activations = false;  // the layer's inputs are quantized as well, while the model runs
    bool packs_bytes = false;          // four codes of 8 bits are stored in an I32
    scale_storage stored_scales = scale_storage::of_type;

    bool operator==(const scheme &) const = default;
};

// Throws usage_error where the type takes no such scales, in the words of who asked.
void check(const scheme &how, asker who = who_asks());

// f8e4m3 in blocks of rows and columns, which DeepSeek's models and compressed-tensors have.
bool is_fp8_in_blocks(const scheme &how);

// "i4 in blocks of 32, asymmetric"
std::string scheme_text(const scheme &how);

// Tensors whose name matches a glob (as in a shell; * also matches dots) are quantized so, or left alone.
struct rule {
    std::string pattern;
    std::optional<scheme> how;
};

bool matches(const rule &of, const std::string &name);

// The first rule that matches a name decides; of a tensor that none matches, the model's structure.
struct recipe {
    std::vector<rule> rules;
    scheme otherwise;
};

// Reads a recipe as JSON, in which comments are allowed:
//   {"default": {"dtype": "i4", "block_size": 128},
//    "rules": [{"match": "*.down_proj.weight", "dtype": "f8e4m3", "per_tensor": true},
//              {"match": "model.layers.0.*", "dtype": "keep"}]}
// Keys: dtype, axis, per_tensor, block_size (a number, or [rows, columns]), asymmetric, scale_rule (a name), clip (a
// ratio), activations ("dynamic"). What a rule does not say it takes from `otherwise` only for the type; granularity
// and scale rule are its own. Throws failure.
recipe read_recipe(const std::filesystem::path &path, const scheme &otherwise);
recipe parse_recipe(const json &text, const scheme &otherwise);

// The same for a file of ggml's blocks. Throws as check() does.
recipe in_blocks(recipe rules);

// What read_recipe() reads as the same recipe.
json recipe_json(const recipe &rules);

// What is to become of a tensor: nothing, if it is left alone.
using selection = std::function<std::optional<scheme>(const tensor_info &)>;

// What a recipe says of float tensors with two or more dimensions; of one that no rule matches, `is_wanted`.
selection select_by(const recipe &rules, std::function<bool(const tensor_info &)> is_wanted);

}  // namespace qdq::model
