// Recipes in JSON and YAML: those that are drawn, mostly right, then damaged, and any text. One that is both means the
// same as both, where qdq reads YAML.
#include "commands.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

using namespace qdq_fuzz;
using nlohmann::json;
using test_support::choices;

namespace {

// Names that patterns tell apart, and one that makes many stars slow.
const std::vector<std::string> names = {"model.layers.0.mlp.down_proj.weight",
                                        "model.layers.1.q_proj.weight",
                                        "lm_head.weight",
                                        "x[0]*?\\",
                                        "größe",
                                        std::string(120, 'a')};

std::string make_model() {
    constexpr size_t elements = 64;
    json header = json::object();
    std::string data;
    for (const std::string &name : names) {
        const size_t end = data.size() + elements * sizeof(float);
        header[name] = {{"dtype", "F32"}, {"shape", {2, elements / 2}}, {"data_offsets", {data.size(), end}}};
        for (size_t i = 0; i < elements; i++) {
            const float value = static_cast<float>(i) - 20;
            data.append(reinterpret_cast<const char *>(&value), sizeof value);
        }
    }
    const std::string text = header.dump();
    const uint64_t length = text.size();
    return std::string(reinterpret_cast<const char *>(&length), sizeof length) + text + data;
}

std::string draw_pattern(choices &from) {
    std::string pattern;
    for (int64_t count = from.between(0, 12); count > 0; count--) {
        pattern += from.one_of<std::string>({"*", "a", "?", "model.layers.", "[0-9]", "[!a]", "*a", "[[:alpha:]]", "\\",
                                             "[", "]", ".weight", "{a,b}", "**", "-"});
    }
    return pattern;
}

json draw_odd(choices &from) {
    return from.one_of<json>({nullptr, true, 1.5, "1", "", json::array(), json::object(), -1, INT64_MIN, UINT64_MAX,
                              json::array({json::array({1})}), "keep", "\\"});
}

json draw_scheme(choices &from) {
    json entry = json::object();
    auto perhaps = [&](const char *key, const json &value) {
        if (from.chance(2)) {
            entry[key] = from.chance(8) ? draw_odd(from) : value;
        }
    };
    perhaps("dtype",
            from.one_of<std::string>({"i4", "i8", "u4", "f8e4m3", "keep", "mxfp4", "nvfp4", "int8", "I8", "?"}));
    perhaps("block_size",
            from.one_of<json>({16, 32, 1, 0, 1000000, INT64_MAX, json::array({2, 16}), json::array({16})}));
    perhaps("per_tensor", from.chance(2));
    perhaps("asymmetric", from.chance(2));
    perhaps("axis", from.one_of<json>({0, 1, -1, 5}));
    perhaps("scale_rule", from.one_of<std::string>({"absmax", "minmax", "power-floor", "power-even", "power_even"}));
    perhaps("clip", from.one_of<json>({0.5, 1, 0.9375, 0, 2, 1e-30, -1}));
    if (from.chance(24)) {
        entry[from.one_of<std::string>({"dype", "", "match", "activations"})] = draw_odd(from);
    }
    return entry;
}

json draw_recipe(choices &from) {
    json recipe = json::object();
    if (from.chance(2)) {
        recipe["default"] = draw_scheme(from);
    }
    json rules = json::array();
    for (int64_t count = from.between(0, 4); count > 0; count--) {
        json rule = draw_scheme(from);
        if (!from.chance(24)) {
            rule["match"] = from.chance(2) ? from.one_of(names) : draw_pattern(from);
        }
        rules.push_back(from.chance(24) ? draw_odd(from) : rule);
    }
    recipe["rules"] = from.chance(24) ? draw_odd(from) : rules;
    return from.chance(24) ? draw_odd(from) : recipe;
}

// The same in YAML's own layout.
std::string yaml_of(const json &value, const std::string &indent) {
    if (!value.is_structured() || value.empty()) {
        return " " + value.dump() + "\n";
    }
    std::string text = "\n";
    for (const auto &[key, each] : value.items()) {
        text += indent + (value.is_array() ? "-" : json(key).dump() + ":") + yaml_of(each, indent + "  ");
    }
    return text;
}

// What only one of the two formats has, put anywhere.
void add_fragments(choices &from, std::string &text) {
    for (int64_t count = from.between(0, 4); count > 0; count--) {
        const auto at = static_cast<size_t>(from.between(0, static_cast<int64_t>(text.size())));
        text.insert(at, from.one_of<std::string>({"&a ",
                                                  "*a",
                                                  "!!str ",
                                                  "!\x1b[31m ",
                                                  "- ",
                                                  ": ",
                                                  "? ",
                                                  "|\n",
                                                  ">\n",
                                                  "'",
                                                  "\"",
                                                  "---\n",
                                                  "...\n",
                                                  "%YAML 1.2\n",
                                                  "\t",
                                                  "[",
                                                  "{",
                                                  "<<: *a\n",
                                                  "~",
                                                  "0x1F",
                                                  ".inf",
                                                  "\xef\xbb\xbf",
                                                  "\xff\xfe",
                                                  "#\n",
                                                  "\r",
                                                  "\xc2\x85",
                                                  "// \n",
                                                  "/* */",
                                                  "\\u001b",
                                                  "\\ud800",
                                                  ",",
                                                  "}",
                                                  "]",
                                                  "[[[[[[[[[[[[[[[[[[[[",
                                                  "\x1b",
                                                  "!<",
                                                  "%TAG ! \x1b\n",
                                                  "1e999"}));
    }
}

arguments quantize_by(const std::string &recipe, const arguments &more) {
    return arguments{"quantize", scratch() / "in.safetensors", "--recipe", scratch() / recipe} + more;
}

void check_agreement(const json &recipe) {
    write(scratch() / "same.json", recipe.dump());
    write(scratch() / "flow.yaml", recipe.dump());
    write(scratch() / "block.yml", recipe.is_structured() ? yaml_of(recipe, "") : recipe.dump());
    std::string as_json, as_yaml;
    const int code = run(quantize_by("same.json", {"--dry-run", "--json"}), as_json);
    for (const char *name : {"flow.yaml", "block.yml"}) {
        if (run(quantize_by(name, {"--dry-run", "--json"}), as_yaml) != code || as_yaml != as_json) {
            broken("another result than with the same in JSON: " + recipe.dump());
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    constexpr size_t decisions = 8;
    const size_t drawn = std::min(size, decisions);
    test_support::byte_choices commands(std::span(data, drawn)), from(std::span(data, size).subspan(drawn));
    begin();
    write(scratch() / "in.safetensors", make_model());
    std::string text(reinterpret_cast<const char *>(data) + drawn, size - drawn);
    if (!commands.chance(4)) {
        const json recipe = draw_recipe(from);
        if (commands.chance(2) && QDQ_YAML) {
            check_agreement(recipe);
        }
        text = commands.chance(2) ? recipe.dump() : yaml_of(recipe, "");
        add_fragments(from, text);
        damage(from, text);
    }
    const auto name = commands.one_of<std::string>({"r.json", "r.yaml"});
    write(scratch() / name, text);
    run(quantize_by(name, {"--dry-run"}));
    const std::string codes = scratch() / "codes.safetensors", back = scratch() / "back.safetensors";
    if (commands.chance(8)) {
        const std::string made = scratch() / "made.json";
        const auto bits = commands.one_of<std::string>({"4.5", "6", "40", "0", "1e999"});
        if (run({"recipe", scratch() / "in.safetensors", "--bits", bits, "-o", made}) == 0) {
            run_well(quantize_by("made.json", {"--dry-run"}));
        }
    }
    const auto type = commands.one_of<std::string>({"i8", "i4", "mxfp4"});
    if (run(quantize_by(name, {"-o", codes, "--dtype", type})) == 0) {
        run_well({"compare", scratch() / "in.safetensors", codes});
        run_well({"dequantize", codes, "-o", back});
    }
    return 0;
}
