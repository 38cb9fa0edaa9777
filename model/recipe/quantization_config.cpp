#include "recipe/quantization_config.h"

#include "support/error.h"
#include "support/interrupt.h"
#include "support/text.h"
#include "support/words.h"
#include "tensors/layers.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace qdq::model {

namespace {

constexpr std::string_view weight_suffix = ".weight";

// The module of a tensor x.weight; another tensor is one of its own.
std::string module_of(const std::string &tensor) {
    return tensor.ends_with(weight_suffix) ? tensor.substr(0, tensor.size() - weight_suffix.size()) : tensor;
}

std::string escaped(std::string_view name) {
    std::string text;
    for (char c : name) {
        text += std::string_view(R"(\.[]{}()*+?|^$)").find(c) == std::string_view::npos ? "" : "\\";
        text += c;
    }
    return text;
}

// Modules are named from the root of the model that is loaded: model.layers.0.mlp is layers.0.mlp where that is the
// base model alone, and has a longer name where the whole is a part of another one.
std::string pattern_of(std::string_view end_of_name) { return "re:(.*\\.)?" + escaped(end_of_name) + "$"; }

// The same with \d+ for numbers: of all layers, and of all experts in them.
std::string general_pattern_of(std::string_view end_of_name) {
    std::string text = "re:(.*\\.)?";
    size_t begin = 0;
    while (begin <= end_of_name.size()) {
        size_t end = std::min(end_of_name.find('.', begin), end_of_name.size());
        std::string_view part = end_of_name.substr(begin, end - begin);
        bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
        text += (number ? "\\d+" : escaped(part)) + (end < end_of_name.size() ? "\\." : "$");
        begin = end + 1;
    }
    return text;
}

// A name without its first component, if it has more.
std::string_view without_root(std::string_view module) { return module.substr(module.find('.') + 1); }

bool is_matrix(const tensor_info &tensor) {
    return tensor.shape.size() == 2 && tensor.type->is_float() && tensor.name.ends_with(weight_suffix);
}

// Whether all modules that a pattern matches have one scheme, or none has any: by pattern, of each end of each name.
std::map<std::string, bool> patterns_alike(const std::vector<module_scheme> &modules) {
    std::map<std::string, std::pair<std::optional<scheme>, bool>> found;
    for (const module_scheme &each : modules) {
        throw_if_interrupted();
        if (!each.how && !is_matrix(each.tensor)) {
            continue;
        }
        std::string module = module_of(each.tensor.name);
        for (std::string_view rest = module;; rest = without_root(rest)) {
            for (const std::string &pattern : {general_pattern_of(rest), pattern_of(rest)}) {
                auto &[how, alike] = found.emplace(pattern, std::pair(each.how, true)).first->second;
                alike = alike && how == each.how;
            }
            if (rest.find('.') == std::string_view::npos) {
                break;
            }
        }
    }
    std::map<std::string, bool> alike;
    for (const auto &[pattern, schemes] : found) {
        alike.emplace(pattern, schemes.second);
    }
    return alike;
}

// The shortest patterns that match the modules with this scheme, or without any, and no others: pooler.dense keeps its
// root beside layer.0.output.dense.
std::vector<std::string> patterns_of(const std::vector<module_scheme> &modules, const std::optional<scheme> &how) {
    std::map<std::string, bool> alike = patterns_alike(modules);
    std::vector<std::string> patterns;
    std::set<std::string> seen;
    for (const module_scheme &each : modules) {
        if ((!each.how && !is_matrix(each.tensor)) || each.how != how) {
            continue;
        }
        std::string module = module_of(each.tensor.name);
        std::string_view rest = without_root(module);
        bool rooted = rest == module;
        std::string general = general_pattern_of(rest), exact = pattern_of(rest);
        std::string chosen = rooted ? module : alike[general] ? general : alike[exact] ? exact : pattern_of(module);
        if (seen.insert(chosen).second) {
            patterns.push_back(chosen);
        }
    }
    return patterns;
}

// The format of compressed-tensors for a type; null: it has none.
const char *format_of(const scheme &how) {
    const granularity &scales = how.scales;
    bool by_rows = !scales.axis && scales.block_rows == 0;
    if (scales.block_rows != 0) {
        return is_fp8_in_blocks(how) ? "float-quantized" : nullptr;
    }
    switch (how.type->codes) {
    case QDQ_I8:
        return !by_rows                                           ? nullptr
               : how.dynamic_activations || how.method.asymmetric ? "int-quantized"
                                                                  : "pack-quantized";
    case QDQ_U4:
    case QDQ_I4: return by_rows ? "pack-quantized" : nullptr;
    case QDQ_F8E4M3:
        return how.type->scales == scale_form::power_of_two ? "mxfp8-quantized" : by_rows ? "float-quantized" : nullptr;
    case QDQ_F4E2M1:
        switch (how.type->scales) {
        case scale_form::power_of_two: return "mxfp4-pack-quantized";
        case scale_form::two_level: return "nvfp4-pack-quantized";
        default: return nullptr;
        }
    default: return nullptr;
    }
}

int64_t group_size_of(const scheme &how) {
    return how.type->block_size != 0 ? how.type->block_size : how.scales.block_size;
}

json weights_of(const scheme &how) {
    const dtype &code = how.type->code_dtype();
    bool symmetric = !how.method.asymmetric && how.type->codes != QDQ_U4;  // the zero points of u4 are stored
    json weights = {{"num_bits", code.bits},
                    {"type", code.is_integer_code() ? "int" : "float"},
                    {"symmetric", symmetric},
                    {"dynamic", false}};
    if (how.scales.block_rows != 0) {
        weights["strategy"] = "block";
        weights["block_structure"] = {how.scales.block_rows, how.scales.block_size};
        return weights;
    }
    int64_t group_size = group_size_of(how);
    weights["strategy"] = group_size != 0 ? "group" : how.scales.per_tensor ? "tensor" : "channel";
    if (group_size != 0) {
        weights["group_size"] = group_size;
    }
    if (how.type->scales == scale_form::power_of_two) {
        weights["scale_dtype"] = weights["zp_dtype"] = "torch.uint8";
    } else if (how.type->scales == scale_form::two_level) {
        weights["strategy"] = "tensor_group";
        weights["scale_dtype"] = weights["zp_dtype"] = "torch.float8_e4m3fn";
    }
    return weights;
}

void check_groups(const module_scheme &module) {
    int64_t group_size = group_size_of(*module.how), columns = module.tensor.shape.back();
    if (module.how->scales.block_rows == 0 && group_size != 0 && columns % group_size != 0) {
        throw failure(shortened(module.tensor.name) + " " + shape_text(module.tensor.shape) + ": its " +
                      std::to_string(columns) + " columns are no whole number of blocks of " +
                      std::to_string(group_size) + ", as compressed-tensors wants them; " + excluding_option() +
                      " leaves it alone");
    }
}

// Every linear layer that was left alone, and any other matrix: it does no harm to name an embedding. An output head
// that is tied to the embeddings has no tensor.
std::vector<std::string> with_head(std::vector<std::string> ignored, const std::vector<module_scheme> &modules) {
    auto is_head = [](const module_scheme &each) { return module_of(each.tensor.name) == "lm_head"; };
    if (std::ranges::none_of(modules, is_head)) {
        ignored.emplace_back("lm_head");
    }
    return ignored;
}

json fp8_config(const std::vector<module_scheme> &modules, const scheme &how) {
    std::vector<std::string> names;
    for (const module_scheme &each : modules) {
        if (!each.how && is_matrix(each.tensor)) {
            names.push_back(module_of(each.tensor.name));
        }
    }
    return {{"quant_method", "fp8"},
            {"fmt", "e4m3"},
            {"activation_scheme", "dynamic"},
            {"weight_block_size", {how.scales.block_rows, how.scales.block_size}},
            {"modules_to_not_convert", with_head(names, modules)}};
}

// Each token's inputs have a scale of their own, which the largest of them decides.
json input_activations_of(const scheme &how) {
    if (!how.dynamic_activations) {
        return nullptr;
    }
    return {{"num_bits", 8},
            {"type", how.type->code_dtype().is_integer_code() ? "int" : "float"},
            {"symmetric", true},
            {"dynamic", true},
            {"strategy", "token"}};
}

json group_of(const std::vector<std::string> &targets, const scheme &how) {
    return {{"targets", targets},
            {"weights", weights_of(how)},
            {"input_activations", input_activations_of(how)},
            {"output_activations", nullptr},
            {"format", format_of(how)}};
}

bool leaves_experts_alone(const std::vector<module_scheme> &modules) {
    return std::ranges::any_of(modules, [](const module_scheme &each) {
        return !each.how && is_matrix(each.tensor) && is_expert_weight(each.tensor);
    });
}

// Each end of a name may become a pattern: those of a name of 80 000 parts would have 13 GB.
void check_names(const std::vector<module_scheme> &modules) {
    constexpr std::ptrdiff_t most_parts = 100;
    for (const module_scheme &each : modules) {
        throw_if_interrupted();
        if (std::ranges::count(each.tensor.name, '.') >= most_parts) {
            throw failure("the name of " + shortened(each.tensor.name) + " has more than " +
                          std::to_string(most_parts) + " parts");
        }
    }
}

json compressed_tensors_config(const std::vector<module_scheme> &modules, const std::vector<scheme> &schemes) {
    constexpr const char *experts = "re:.*\\.experts$";
    check_names(modules);
    std::vector<std::string> ignored = with_head(patterns_of(modules, std::nullopt), modules);
    json groups = json::object();
    for (size_t i = 0; i < schemes.size(); ++i) {
        auto targets = schemes.size() == 1 ? std::vector<std::string>{"Linear"} : patterns_of(modules, schemes[i]);
        groups["group_" + std::to_string(i)] = group_of(targets, schemes[i]);
    }
    if (leaves_experts_alone(modules)) {
        // transformers 5.23 takes the scheme of experts from the group that names them, and of all schemes that of an
        // f8 alone leaves weights without scales as they are; others lose them. All that it names is ignored.
        groups["experts_left_alone"] = group_of({experts}, {.type = find_quantized_type("f8e4m3"), .scales = {}});
        ignored.emplace_back(experts);
    }
    return {{"quant_method", "compressed-tensors"},
            {"version", "0.20.0"},
            {"format", schemes.size() == 1 ? format_of(schemes[0]) : "mixed-precision"},
            {"quantization_status", "compressed"},
            {"config_groups", groups},
            {"ignore", ignored},
            {"kv_cache_scheme", nullptr},
            {"global_compression_ratio", nullptr}};
}

// Where config.json names the type of a model. Of two transformers takes the first.
constexpr const char *dtype_keys[] = {"dtype", "torch_dtype"};

json quantization_config(const std::vector<module_scheme> &modules, bool blocks_as_fp8) {
    std::vector<scheme> schemes;
    for (const module_scheme &each : modules) {
        if (each.how && std::ranges::find(schemes, *each.how) == schemes.end()) {
            schemes.push_back(*each.how);
        }
    }
    bool any_blocks = std::ranges::any_of(schemes, is_fp8_in_blocks);
    if (any_blocks && blocks_as_fp8 && schemes.size() == 1) {
        return fp8_config(modules, schemes[0]);
    }
    if ((any_blocks && blocks_as_fp8) ||
        !std::ranges::all_of(schemes, [](const scheme &how) { return format_of(how) != nullptr; })) {
        return {{"quant_method", "qdq"}};
    }
    for (const module_scheme &each : modules) {
        if (each.how) {
            check_groups(each);
        }
    }
    return compressed_tensors_config(modules, schemes);
}

}  // namespace

bool is_restored_to_bf16(const scheme &how) { return how.type->scales != scale_form::f32; }

bool packs_bytes(const scheme &how) {
    const char *form = format_of(how);
    return how.type->codes == QDQ_I8 && form != nullptr && form == std::string_view("pack-quantized");
}

bool is_loaded(const tensor_info &expert_weight, const scheme &how) {
    if (how.scales.block_rows != 0 || format_of(how) == nullptr) {
        return true;
    }
    bool one_scale_form = how.type->scales == scale_form::f32 && !how.method.asymmetric;
    bool loaded = how.type->codes == QDQ_F8E4M3 || how.type->codes == QDQ_I4 || packs_bytes(how)
                      ? one_scale_form
                      : how.type == find_quantized_type("mxfp4");
    return loaded && !is_expert_stack(expert_weight);
}

void set_quantization_config(json &config, const std::vector<module_scheme> &modules, bool blocks_as_fp8) {
    json methods = quantization_config(modules, blocks_as_fp8);
    bool bf16 =
        methods.at("quant_method").get<std::string>() == "compressed-tensors" &&
        std::ranges::any_of(modules, [](const auto &each) { return each.how && is_restored_to_bf16(*each.how); });
    config["quantization_config"] = std::move(methods);
    if (bf16) {
        set_model_dtype(config, dtype_of(QDQ_BF16));
    }
}

std::string model_dtype(const json &config) {
    for (const char *key : dtype_keys) {
        if (const json *named = config.find(key); named != nullptr && named->is_string()) {
            return named->get<std::string>();
        }
    }
    return "";
}

void set_model_dtype(json &config, const dtype &type) {
    const char *name = *type.core == QDQ_F32 ? "float32" : *type.core == QDQ_F16 ? "float16" : "bfloat16";
    bool named = false;
    for (const char *key : dtype_keys) {
        if (config.contains(key)) {
            config[key] = name;
            named = true;
        }
    }
    if (!named) {
        config[dtype_keys[0]] = name;
    }
}

}  // namespace qdq::model
