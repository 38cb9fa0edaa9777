#pragma once

#include "tensors/tensor_file.h"

#include <cstdint>
#include <string_view>

namespace qdq::model {

// Whether a word of a name, between dots or slashes, is one of those that are common for what is no linear layer, or is
// one that decides too much, as a router.
bool names_other_layer(std::string_view name);

// Whether a tensor stacks the matrices of experts, [experts, out, in]; whether it is that, or a matrix of one expert.
bool is_expert_stack(const tensor_info &tensor);
bool is_expert_weight(const tensor_info &tensor);

// Whether a tensor is the weight of a linear layer by its name and shape: x.weight [out, in], or the stacked weights of
// experts [experts, out, in], and neither an embedding, an output head, a norm, a router nor a gate of experts. A
// matrix with `vocabulary` rows is an embedding or a head, whatever its name; 0: not known.
bool is_linear_weight(const tensor_info &tensor, int64_t vocabulary);

}  // namespace qdq::model
