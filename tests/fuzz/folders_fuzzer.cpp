// Models' folders: config.json, index, shards and other files, which are mostly right, damaged, or links; and what a
// killed run, or somebody else, has left beside the output.
#include "commands.h"

#include <sys/stat.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

using namespace qdq_fuzz;
using nlohmann::json;
using test_support::choices;

namespace fs = std::filesystem;

namespace {

// A file that only its name makes a model's.
constexpr const char *readme = "README.md";

// As a run that was killed may leave it.
constexpr const char *temporary_name = ".qdq-0123456789abcdef.tmp";

struct model {
    fs::path folder;
    std::vector<std::string> shards;
};

std::string draw_file_name(choices &from) {
    return from.one_of<std::string>({"tokenizer.json", "sub/deep/vocab.txt", "model.safetensors", "\x1b[31m\n",
                                     "\xc2\x9b", "\xff", ".hidden", ".git/config", temporary_name, "config.json.bak",
                                     "digests", "sub"});
}

std::string draw_tensor_name(choices &from, size_t index) {
    const std::string layer = "model.layers." + std::to_string(index);
    return from.one_of<std::string>({layer + ".q_proj.weight", layer + ".mlp.experts.0.up_proj.weight",
                                     layer + ".mlp.gate.weight", "lm_head.weight", "model.embed_tokens.weight",
                                     layer + ".norm.weight", layer + ".q_proj.weight_scale", "x\x1b[31m.weight",
                                     "x\xc2\x9b.weight", "", layer + ".experts"});
}

struct drawn_tensor {
    std::string name, type;
    std::vector<int64_t> shape;
    size_t bytes;
};

drawn_tensor draw_tensor(choices &from, size_t index) {
    drawn_tensor tensor = {
        .name = draw_tensor_name(from, index),
        .type = from.one_of<std::string>({"F32", "BF16", "F16", "I64", "F8_E4M3"}),
        .shape = from.one_of<std::vector<int64_t>>({{4, 32}, {32, 16}, {2, 33}, {32}, {2, 4, 16}, {0, 4}, {}, {1, 1}}),
        .bytes = 0};
    tensor.bytes = tensor.type == "F32" ? 4 : tensor.type == "I64" ? 8 : tensor.type == "F8_E4M3" ? 1 : 2;
    for (int64_t extent : tensor.shape) {
        tensor.bytes *= static_cast<size_t>(extent);
    }
    return tensor;
}

std::string draw_shard(choices &from, size_t index, json &weight_map, const std::string &name) {
    json header = json::object();
    std::string data;
    for (int64_t count = from.between(0, 3); count >= 0; count--) {
        const drawn_tensor tensor = draw_tensor(from, index * 4 + static_cast<size_t>(count));
        if (tensor.name == "\xff" || header.contains(tensor.name)) {
            continue;
        }
        header[tensor.name] = {{"dtype", tensor.type},
                               {"shape", tensor.shape},
                               {"data_offsets", {data.size(), data.size() + tensor.bytes}}};
        data += draw_data(from, tensor.bytes).substr(0, tensor.bytes);
        weight_map[tensor.name] = name;
    }
    const std::string text = header.dump();
    const uint64_t length = text.size();
    std::string file = std::string(reinterpret_cast<const char *>(&length), sizeof length) + text + data;
    damage(from, file);
    return file;
}

// Where a link in the model's folder leads.
std::string draw_target(choices &from) {
    return from.one_of<std::string>({"../blobs/blob", "../outside/file", "../../outside/folder", ".", "..",
                                     "model.safetensors", "nowhere", "../pipe", "/dev/zero",
                                     "../../outside/model/config.json"});
}

// A file, or a link to one that is elsewhere, as caches have them, or that leads anywhere.
void place_file(choices &from, const fs::path &path, const std::string &content) {
    static int blobs = 0;
    switch (from.between(-12, 3)) {
    case 1: {
        const fs::path blob = scratch().work / "blobs" / std::to_string(blobs++);
        write(blob, content);
        link(path, blob.lexically_relative(path.parent_path()));
        break;
    }
    case 2: link(path, draw_target(from)); break;
    case 3: break;
    default: write(path, content);
    }
}

json draw_config(choices &from) {
    json config = {{"model_type", "llama"}, {"torch_dtype", "bfloat16"}};
    for (int64_t count = from.between(-2, 3); count > 0; count--) {
        const auto value = from.one_of<json>({4, "\x1b[31m", nullptr, true, -1, UINT64_MAX, 1.5, json::array({1}),
                                              json::object({{"vocab_size", 32}}), json::object()});
        config[from.one_of<std::string>(
            {"vocab_size", "text_config", "quantization_config", "torch_dtype", "dtype", "\xc2\x9b"})] = value;
    }
    return config;
}

model draw_model(choices &from) {
    model drawn = {.folder = scratch() / "in", .shards = {}};
    json weight_map = json::object();
    const bool indexed = !from.chance(3);
    for (int64_t count = indexed ? from.between(1, 3) : 1; count > 0; count--) {
        std::string name = indexed ? "model-" + std::to_string(count) + ".safetensors" : "model.safetensors";
        if (indexed && from.chance(12)) {
            name = from.one_of<std::string>({"config.json", "model.safetensors.index.json", readme, "../outside/file",
                                             ".hidden", "sub/x", "x\x1b[31m", "x\xc2\x9b", "", "x\ny", "..",
                                             std::string("a\0b", 3)});
        }
        place_file(from, drawn.folder / name, draw_shard(from, drawn.shards.size(), weight_map, name));
        drawn.shards.push_back(name);
    }
    std::string config = draw_config(from).dump(), index = json{{"weight_map", weight_map}}.dump();
    damage(from, config);
    damage(from, index);
    place_file(from, drawn.folder / "config.json", config);
    if (indexed) {
        place_file(from, drawn.folder / "model.safetensors.index.json", index);
    }
    write(drawn.folder / readme, "a model");
    for (int64_t count = from.between(-1, 3); count > 0; count--) {
        place_file(from, drawn.folder / draw_file_name(from), draw_bytes(from, from.between(0, 8)));
    }
    return drawn;
}

void replace_by_link(const fs::path &path, const std::string &target) {
    std::error_code error;
    fs::remove_all(path, error);
    link(path, target);
}

void damage_file(choices &from, const fs::path &path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error) || fs::is_symlink(path, error)) {
        return;
    }
    std::string content = read(path);
    damage(from, content);
    fs::remove(path);
    write(path, content);
}

// The path moves outside, and a link to it takes its place.
void move_outside(const fs::path &path) {
    std::error_code error;
    const fs::path moved = scratch().outside / "moved";
    fs::rename(path, moved, error);
    if (!error) {
        link(path, moved);
    }
}

struct partial_folder {
    fs::path path;

    fs::path draw_path(choices &from, const model &of) const {
        const std::string shard = from.one_of(of.shards);
        const auto name = from.one_of<std::string>({"model/" + shard, "digests/" + shard + ".json", "model/config.json",
                                                    "model/model.safetensors.index.json", "model/README.md", "model",
                                                    "digests", "", "model/sub", "model/foreign", "model/sub/deep"});
        return (name.empty() ? path : path / name).lexically_normal();
    }

    // What a run leaves that fails at its last shard, which has a NaN.
    void leave(const arguments &line, const model &of) const {
        const fs::path last = of.folder / std::ranges::max(of.shards), moved = scratch().work / "moved";
        std::error_code error;
        const std::string content = read(last);
        fs::rename(last, moved, error);
        if (!error && content.size() > 4) {
            write(last, content.substr(0, content.size() - 4) + std::string("\0\0\xc0\x7f", 4));
            run(line);
            fs::remove(last, error);
            fs::rename(moved, last, error);
            fs::remove_all(scratch().work / "out", error);
        }
    }

    void tamper(choices &from, const model &of) const {
        const fs::path at = draw_path(from, of);
        switch (from.between(0, 5)) {
        case 0: damage_file(from, at); break;
        case 1: replace_by_link(at, scratch().outside / "file"); break;
        case 2: replace_by_link(at, scratch().outside / "folder"); break;
        case 3: move_outside(at); break;
        case 4: write(at, "foreign"); break;
        default: {
            std::error_code error;
            fs::remove_all(at, error);
            mkfifo(at.c_str(), 0600);
        }
        }
    }
};

arguments draw_conversion(choices &from) {
    arguments options =
        from.chance(4) ? arguments{"--dtype", "f8e4m3", "--block-size", "2x16"} : draw_quantize_options(from);
    if (from.chance(4)) {
        options = options + arguments{"--include", from.one_of<std::string>({"*", "*experts*"})};
    }
    const int64_t drawn = from.between(0, 7);
    const bool has_activations = options[1] == "i8" || options[1] == "f8e4m3";
    if (has_activations && drawn >= 6) {
        options = options + arguments{"--activations", "dynamic"};
    }
    return options + arguments{"--threads", std::to_string(1 + drawn % 2)};
}

std::string draw_output(choices &from) {
    return from.one_of<std::string>(
        {"out", "out", "out", "out/", "in/out", "in", ".", "absent/out", "out.onnx", std::string(255, 'o')});
}

// The same as a run that finds nothing at its place.
void check_undisturbed(const arguments &line, const std::string &output) {
    arguments again = line;
    const std::string fresh = scratch() / "fresh";
    *std::ranges::find(again, output) = fresh;
    run_well(again);
    if (contents_of(output) != contents_of(fresh)) {
        broken("what it found at its place has changed the output");
    }
    fs::remove_all(fresh);
}

// Every other file of the model is in the output, but for those in hidden folders and temporary ones.
void check_copied(const model &input, const fs::path &output) {
    std::set<std::string> others{"config.json", "model.safetensors.index.json"};
    others.insert(input.shards.begin(), input.shards.end());
    for (fs::recursive_directory_iterator each(input.folder), end; each != end; ++each) {
        const fs::path name = each->path().lexically_relative(input.folder);
        std::error_code error;
        if (each->is_directory(error) && name.filename().string().starts_with('.')) {
            each.disable_recursion_pending();
        } else if (each->is_regular_file(error) && !others.contains(name) && name.filename() != temporary_name &&
                   read(output / name) != read(each->path())) {
            broken(name.string() + " is not in the output as it was");
        }
    }
}

void use(choices &from, const std::string &codes) {
    const std::string restored = scratch() / "restored", converted = scratch() / "converted";
    run_well({"inspect", codes});
    run_well({"dequantize", codes, "-o", restored});
    run_well({"compare", restored, codes, "--report", scratch() / "report.html"});
    const auto method = from.one_of<std::string>({"fp8", "compressed-tensors"});
    if (run({"convert", codes, "-o", converted, "--method", method}) == 0) {
        run_well({"compare", codes, converted});
    }
}

void quantize(choices &from, const model &input) {
    const std::string output = scratch() / draw_output(from);
    const fs::path place = fs::path(output).lexically_normal();
    arguments line{"quantize", from.one_of<std::string>({"in", "in/", "in_link"}), "-o", output};
    line[1] = scratch() / line[1];
    line = line + draw_conversion(from);
    const partial_folder partial{place.parent_path() / ("." + place.filename().string() + ".qdq-partial")};
    const bool is_left = from.chance(2);
    if (is_left && place == scratch().work / "out") {
        if (from.chance(2)) {
            partial.leave(line, input);
        }
        for (int64_t count = from.between(0, 2); count > 0; count--) {
            partial.tamper(from, input);
        }
    }
    if (from.chance(3)) {
        line = line + draw_place(from, place);
    }
    if (run(line) == 0 && place == scratch().work / "out") {
        check_undisturbed(line, output);
        check_copied(input, output);
        use(from, output);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    constexpr size_t decisions = 48;
    const size_t drawn = std::min(size, decisions);
    test_support::byte_choices commands(std::span(data, drawn)), from(std::span(data, size).subspan(drawn));
    begin();
    mkfifo((scratch() / "pipe").c_str(), 0600);
    link(scratch() / "in_link", "in");
    const model input = draw_model(from);
    switch (commands.between(-3, 3)) {
    case 1: run({"inspect", scratch() / "in", "--json"}); break;
    case 2: run({"convert", scratch() / "in", "-o", scratch() / "graph.onnx"}); break;
    case 3: run({"dequantize", scratch() / "in", "-o", scratch() / "restored"}); break;
    default: quantize(commands, input);
    }
    return 0;
}
