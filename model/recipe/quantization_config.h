#pragma once

#include "recipe/recipe.h"
#include "support/json.h"

#include <optional>
#include <string>
#include <vector>

namespace qdq::model {

// What became of a tensor.
struct module_scheme {
    tensor_info tensor;
    std::optional<scheme> how;  // nothing: it was left alone
};

// Whether transformers 5.23 with compressed-tensors 0.20 loads this weight of an expert quantized so, or loads no
// weight so. It joins the weights of experts while it loads them; of i8 it takes packed ones alone, those of mxfp8 and
// nvfp4 it scales wrongly, and what is stacked in the file it loads as it is.
bool is_loaded(const tensor_info &expert_weight, const scheme &how);

// Whether compressed-tensors 0.20 restores such weights to bf16, whatever the model's type is.
bool is_restored_to_bf16(const scheme &how);

// Whether it packs such codes of 8 bits, four to an I32.
bool packs_bytes(const scheme &how);

// Sets the "quantization_config" of config.json:
//   f8e4m3 in blocks of rows and columns     {"quant_method": "fp8", "weight_block_size": [128, 128], ...}
//   what compressed-tensors has a format for {"quant_method": "compressed-tensors", "config_groups": ...}: a group for
//                                            each scheme, with `blocks_as_fp8` but for those blocks, and "ignore" for
//                                            linear layers that were left alone
//   other types                              {"quant_method": "qdq"}, which others refuse, rather than compute nonsense
// and, where a weight is restored to bf16, the model's type, since a matrix product takes factors of one type.
// Throws failure where compressed-tensors has the type, but not for this shape: its groups are whole.
void set_quantization_config(json &config, const std::vector<module_scheme> &modules, bool blocks_as_fp8 = true);

// The type of a model, as config.json names it ("bfloat16"); empty: it names none. It is set wherever it is named.
std::string model_dtype(const json &config);
void set_model_dtype(json &config, const dtype &type);

}  // namespace qdq::model
