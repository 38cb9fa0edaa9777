#include "recipe/recipe.h"

#include "support/error.h"
#include "support/parsing.h"
#include "support/text.h"

#include <fnmatch.h>
#include <algorithm>
#include <span>
#include <utility>

namespace qdq::model {

namespace {

// One that would become an integer all the same: 1.5 as 1, and 2^64 - 1 as -1.
bool is_other_number(const json &value) { return value.is_number() && !value.is_number_integer(); }

template<typename T> T value_of(const json &entry, const std::string &key) {
    const json &given = entry.at(key);
    if (is_other_number(given) || (given.is_array() && std::ranges::any_of(given, is_other_number))) {
        throw failure("\"" + key + "\" is " + shortened(given.dump()) + ", which is no integer of 64 bits");
    }
    try {
        return entry.at(key).get<T>();
    } catch (const json_error &) {
        throw failure("\"" + key + "\" is " + shortened(entry.at(key).dump()) + ", which it cannot be");
    }
}

constexpr std::string_view rule_keys[] = {"match",      "dtype",      "axis", "per_tensor", "block_size",
                                          "asymmetric", "scale_rule", "clip", "activations"};
constexpr std::span default_keys = std::span(rule_keys).subspan<1>();
constexpr std::string_view recipe_keys[] = {"default", "rules"};

void refuse_unknown_keys(const json &entry, std::span<const std::string_view> known) {
    if (!entry.is_object()) {
        throw failure(shortened(entry.dump()) + " is not an object");
    }
    for (const auto &[key, value] : entry.items()) {
        if (std::ranges::find(known, key) == known.end()) {
            throw failure("\"" + shortened(key) + "\" is not a key of a recipe");
        }
    }
}

void parse_block_size(const json &entry, granularity &scales) {
    std::vector<int64_t> sizes = entry.at("block_size").is_array()
                                     ? value_of<std::vector<int64_t>>(entry, "block_size")
                                     : std::vector{value_of<int64_t>(entry, "block_size")};
    if (sizes.empty() || sizes.size() > 2 || std::ranges::min(sizes) <= 0) {
        throw failure("\"block_size\" is " + shortened(entry.at("block_size").dump()) +
                      ", not a positive integer or two");
    }
    scales.block_size = sizes.back();
    scales.block_rows = sizes.size() == 2 ? sizes.front() : 0;
}

void parse_scale_rule(const std::string &name, scale_method &method) {
    if (!use_rule(method, name)) {
        throw failure("\"scale_rule\" is " + shortened(name) + ", which is no rule of docs/dynamic.md, as absmax");
    }
}

float parse_clip(const json &ratio) {
    if (!ratio.is_number()) {
        throw failure("\"clip\" is " + shortened(ratio.dump()) + ", which is no number");
    }
    return static_cast<float>(ratio.get<double>());
}

// Nothing where the tensors are to be left alone.
std::optional<scheme> parse_scheme(const json &entry, const scheme &otherwise) {
    scheme how = {.type = otherwise.type, .scales = {}};
    if (entry.contains("dtype")) {
        auto name = value_of<std::string>(entry, "dtype");
        if (name == "keep") {
            return std::nullopt;
        }
        how.type = find_quantized_type(name);
        if (how.type == nullptr) {
            throw failure("\"dtype\" is " + shortened(name) + ", which is neither a type nor \"keep\"");
        }
    }
    if (entry.contains("axis")) {
        how.scales.axis = value_of<int64_t>(entry, "axis");
    }
    if (entry.contains("per_tensor")) {
        how.scales.per_tensor = value_of<bool>(entry, "per_tensor");
    }
    if (entry.contains("block_size")) {
        parse_block_size(entry, how.scales);
    }
    if (entry.contains("asymmetric")) {
        how.method.asymmetric = value_of<bool>(entry, "asymmetric");
    }
    if (entry.contains("scale_rule")) {
        parse_scale_rule(value_of<std::string>(entry, "scale_rule"), how.method);
    }
    if (entry.contains("clip")) {
        how.method.clip_ratio = parse_clip(entry.at("clip"));
    }
    if (entry.contains("activations")) {
        how.dynamic_activations = value_of<std::string>(entry, "activations") == "dynamic";
        if (!how.dynamic_activations) {
            throw failure("\"activations\" is " + shortened(entry.at("activations").dump()) + ", not \"dynamic\"");
        }
    }
    try {
        check(how, asker::recipe);
    } catch (const usage_error &error) {  // an option on the command line, but not in a file
        throw failure(error.what());
    }
    return how;
}

json scheme_json(const scheme &how) {
    const granularity &scales = how.scales;
    json entry = {
        {"dtype", how.type->option}, {"per_tensor", scales.per_tensor}, {"asymmetric", how.method.asymmetric}};
    if (how.method.rule) {
        entry["scale_rule"] = scale_rule_name(*how.method.rule);
    }
    if (how.method.clip_ratio != 1) {
        entry["clip"] = double{how.method.clip_ratio};
    }
    if (how.dynamic_activations) {
        entry["activations"] = "dynamic";
    }
    if (scales.axis) {
        entry["axis"] = *scales.axis;
    }
    if (scales.block_rows != 0) {
        entry["block_size"] = {scales.block_rows, scales.block_size};
    } else if (scales.block_size != 0) {
        entry["block_size"] = scales.block_size;
    }
    return entry;
}

// Whether the codes, their scales and the rule go together.
void check_method(const scheme &how, const std::function<std::string(std::string_view)> &option) {
    const scale_method &method = how.method;
    if (how.type->scales == scale_form::in_blocks && method != scale_method{}) {
        throw usage_error(option("dtype") + " " + std::string(how.type->option) +
                          ": its blocks have the scales of ggml's, and take no " + option("asymmetric") + ", " +
                          option("scale-rule") + " or " + option("clip"));
    }
    if (!(method.clip_ratio > 0 && method.clip_ratio <= 1)) {
        throw usage_error(option("clip") + ": it is above 0, and at most 1");
    }
    if (!method.rule) {
        return;
    }
    const std::string type(how.type->option), rule(scale_rule_name(*method.rule));
    const std::string given = option("scale-rule") + " " + rule;
    if (method.asymmetric != (method.rule == QDQ_SCALE_MINMAX)) {
        throw usage_error(given + ": it has no zero points, which " + option("asymmetric") + " asks for");
    }
    if (how.type->scales == scale_form::power_of_two && !is_power_of_two(*method.rule)) {
        throw usage_error(given + ": the scales of " + type + " are powers of two");
    }
    if (how.type->scales == scale_form::two_level && method.rule != QDQ_SCALE_ABSMAX) {
        throw usage_error(given + ": the scales of " + type + " are those of absmax");
    }
    if (how.type->code_dtype().lowest == 0 && !method.asymmetric) {
        throw usage_error(given + ": " + type + " has no codes for negative values, and this rule no zero points");
    }
}

std::string method_text(const scale_method &method) {
    std::string text = method.asymmetric ? ", asymmetric" : "";
    text += method.rule ? ", scales by " + std::string(scale_rule_name(*method.rule)) : "";
    return text + (method.clip_ratio != 1 ? ", clipped to " + shortest(method.clip_ratio) : "");
}

}  // namespace

bool is_fp8_in_blocks(const scheme &how) {
    return how.type->codes == QDQ_F8E4M3 && how.type->scales == scale_form::f32 && how.scales.block_rows != 0;
}

void check(const scheme &how, asker who) {
    auto option = [&](std::string_view said) { return option_text(said, who); };
    std::string name(how.type->option);
    const granularity &scales = how.scales;
    check_method(how, option);
    if (how.method.asymmetric && !how.type->code_dtype().is_integer_code()) {
        throw usage_error(option("asymmetric") + ": " + name + " has no zero points");
    }
    const bool has_its_blocks = scales.block_rows != 0 && scales.block_size == how.type->block_size;
    if (how.type->block_size != 0 && scales != granularity{} && !has_its_blocks) {
        std::string size = std::to_string(how.type->block_size);
        throw usage_error(option("dtype") + " " + name + " has blocks of " + size +
                          " along the last axis; it takes no " + option("axis") + " or " + option("per-tensor") +
                          ", and no other " + option("block-size") + " than ROWSx" + size);
    }
    if (scales.block_rows != 0 && how.type->scales == scale_form::in_blocks) {
        throw usage_error(option("dtype") + " " + name + ": its blocks are of one row");
    }
    if (scales.block_rows != 0 && scales.axis) {
        throw usage_error(option("block-size") + " " + std::to_string(scales.block_rows) + "x" +
                          std::to_string(scales.block_size) + ": blocks of rows and columns take no " + option("axis"));
    }
    if (scales.per_tensor && (scales.axis || scales.block_size != 0)) {
        throw usage_error("one scale per tensor has neither an axis nor blocks");
    }
    bool one_scale_a_row =
        how.type->block_size == 0 && scales.block_size == 0 && !scales.axis && !how.method.asymmetric;
    bool is_product_of_bytes = how.type->codes == QDQ_I8 || how.type->codes == QDQ_F8E4M3;
    if (how.dynamic_activations && !(is_product_of_bytes && one_scale_a_row)) {
        throw usage_error("--activations dynamic: they are quantized beside weights of i8 or f8e4m3, symmetric, with " +
                          std::string("one scale per channel or per tensor, not of ") + scheme_text(how));
    }
}

std::string scheme_text(const scheme &how) {
    std::string text(how.type->option);
    const granularity &scales = how.scales;
    int64_t block_size = how.type->block_size != 0 ? how.type->block_size : scales.block_size;
    if (scales.block_rows != 0) {
        text += " in blocks of " + std::to_string(scales.block_rows) + "x" + std::to_string(block_size);
    } else if (block_size != 0) {
        text += " in blocks of " + std::to_string(block_size);
    } else {
        text += scales.per_tensor ? " per tensor" : " per channel";
    }
    if (scales.axis) {
        text += " along axis " + std::to_string(*scales.axis);
    }
    return text + method_text(how.method) + (how.dynamic_activations ? ", dynamic activations" : "");
}

recipe parse_recipe(const json &text, const scheme &otherwise) {
    refuse_unknown_keys(text, recipe_keys);
    recipe result = {.rules = {}, .otherwise = otherwise};
    if (text.contains("default")) {
        refuse_unknown_keys(text.at("default"), default_keys);
        std::optional<scheme> how = parse_scheme(text.at("default"), otherwise);
        if (!how) {
            throw failure(
                "\"default\" cannot be \"keep\"; {\"match\": \"*\", \"dtype\": \"keep\"} as the last rule can");
        }
        result.otherwise = *how;
    }
    const json rules = text.value("rules", nullptr);
    if (!rules.is_array() && !rules.is_null()) {
        throw failure("\"rules\" is " + shortened(rules.dump()) + ", which it cannot be");
    }
    for (const json &entry : rules) {
        refuse_unknown_keys(entry, rule_keys);
        if (!entry.contains("match")) {
            throw failure("a rule has no \"match\"");
        }
        result.rules.push_back({value_of<std::string>(entry, "match"), parse_scheme(entry, result.otherwise)});
    }
    return result;
}

recipe read_recipe(const std::filesystem::path &path, const scheme &otherwise) {
    std::string text = read_text(path);
    recipe result;
    name_in_failures(path.string(), [&] { result = parse_recipe(parse_json(text, true), otherwise); });
    return result;
}

recipe in_blocks(recipe rules) {
    auto change = [](scheme &how) {
        how.type = in_blocks(how.type);
        check(how);
    };
    change(rules.otherwise);
    for (rule &each : rules.rules) {
        if (each.how) {
            change(*each.how);
        }
    }
    return rules;
}

json recipe_json(const recipe &rules) {
    json entries = json::array();
    for (const rule &each : rules.rules) {
        json entry = each.how ? scheme_json(*each.how) : json{{"dtype", "keep"}};
        entry["match"] = each.pattern;
        entries.push_back(entry);
    }
    return {{"default", scheme_json(rules.otherwise)}, {"rules", entries}};
}

bool matches(const rule &of, const std::string &name) { return fnmatch(of.pattern.c_str(), name.c_str(), 0) == 0; }

selection select_by(const recipe &rules, std::function<bool(const tensor_info &)> is_wanted) {
    return [rules, is_wanted = std::move(is_wanted)](const tensor_info &tensor) -> std::optional<scheme> {
        auto decides = [&](const rule &each) { return matches(each, tensor.name); };
        if (auto found = std::ranges::find_if(rules.rules, decides); found != rules.rules.end()) {
            bool possible = tensor.type->is_float() && tensor.shape.size() >= 2;
            return possible ? found->how : std::nullopt;
        }
        return is_wanted(tensor) ? std::optional(rules.otherwise) : std::nullopt;
    };
}

}  // namespace qdq::model
