#include "tensors/layers.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace qdq::model {

namespace {

std::vector<std::string_view> components(std::string_view name) {
    std::vector<std::string_view> found;
    while (true) {
        size_t dot = name.find_first_of("./");
        found.push_back(name.substr(0, dot));
        if (dot == std::string_view::npos) {
            return found;
        }
        name.remove_prefix(dot + 1);
    }
}

// A word of the names that are common for what is no linear layer, or is one that decides too much: a router's few
// rows choose the experts.
bool is_left_alone(std::string_view component) {
    constexpr std::array parts = {"embed", "norm", "router", "lm_head"};
    constexpr std::array whole = {"wte", "wpe", "gate", "shared_expert_gate", "ln_f", "shared", "output_layer"};
    auto is_in = [&](std::string_view part) { return component.find(part) != std::string_view::npos; };
    return std::ranges::any_of(parts, is_in) || std::ranges::find(whole, component) != whole.end();
}

}  // namespace

bool names_other_layer(std::string_view name) { return std::ranges::any_of(components(name), is_left_alone); }

bool is_expert_stack(const tensor_info &tensor) {
    return tensor.shape.size() == 3 && tensor.name.find("expert") != std::string::npos;
}

bool is_expert_weight(const tensor_info &tensor) {
    return is_expert_stack(tensor) || std::ranges::count(components(tensor.name), "experts") != 0;
}

bool is_linear_weight(const tensor_info &tensor, int64_t vocabulary) {
    bool matrix = tensor.shape.size() == 2 && tensor.name.ends_with(".weight");
    if (!tensor.type->is_float() || !(is_expert_stack(tensor) || matrix) || (matrix && tensor.shape[0] == vocabulary)) {
        return false;
    }
    bool bias = tensor.name.find("bias") != std::string::npos;  // T5's relative_attention_bias is a table of them
    return !bias && !names_other_layer(tensor.name);
}

}  // namespace qdq::model
