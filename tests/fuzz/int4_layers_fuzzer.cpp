// Folders of GPTQ and AWQ: layers of int4 that are mostly right, then damaged, in shards that part them.
#include "commands.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

using namespace qdq_fuzz;
using nlohmann::json;
using test_support::choices;

namespace {

struct drawn_tensor {
    std::string name, type;
    std::vector<int64_t> shape;
    std::string data;
};

std::string of_type(choices &from, const char *likely) {
    return from.chance(24) ? from.one_of<std::string>({"I64", "F32", "F16", "BF16", "I8", "I32"}) : likely;
}

int64_t bytes_of(const std::string &type) {
    return type == "I64" ? 8 : type.ends_with("32") ? 4 : type.ends_with("16") ? 2 : 1;
}

drawn_tensor draw_tensor(choices &from, std::string name, const char *type, std::vector<int64_t> shape) {
    drawn_tensor tensor{std::move(name), of_type(from, type), std::move(shape), ""};
    if (from.chance(24)) {
        tensor.shape[0] = from.one_of<int64_t>({0, 1, 7, tensor.shape[0] + 1});
    }
    if (from.chance(48)) {
        tensor.shape.push_back(1);
    }
    int64_t bytes = bytes_of(tensor.type);
    for (int64_t extent : tensor.shape) {
        bytes *= extent;
    }
    tensor.data = draw_data(from, static_cast<size_t>(bytes));
    return tensor;
}

// The groups of inputs: consecutive, in any order, or none that there are.
drawn_tensor draw_groups(choices &from, const std::string &name, int64_t inputs, int64_t groups) {
    drawn_tensor tensor = draw_tensor(from, name, "I32", {inputs});
    const int64_t kind = from.between(0, 7);
    for (size_t i = 0; 4 * i + 4 <= tensor.data.size() && kind < 7; i++) {
        const auto at = static_cast<int64_t>(i);
        const auto group = static_cast<int32_t>(kind < 4 ? at * groups / inputs : from.between(0, groups - 1));
        tensor.data.replace(4 * i, 4, reinterpret_cast<const char *>(&group), 4);
    }
    return tensor;
}

void draw_layer(choices &from, const std::string &name, bool is_awq, std::vector<drawn_tensor> &to) {
    const int64_t groups = from.between(1, 3), inputs = groups * 8 * from.between(1, 3),
                  outputs = 8 * from.between(1, 3);
    const std::vector<int64_t> of_inputs = {inputs / 8, outputs}, of_outputs = {inputs, outputs / 8};
    to.push_back(draw_tensor(from, name + ".qweight", "I32", is_awq ? of_outputs : of_inputs));
    to.push_back(draw_tensor(from, name + ".qzeros", "I32", {groups, outputs / 8}));
    to.push_back(draw_tensor(from, name + ".scales", "F16", {groups, outputs}));
    if (!is_awq && !from.chance(4)) {
        to.push_back(draw_groups(from, name + ".g_idx", inputs, groups));
    }
    if (from.chance(16)) {
        to.pop_back();
    }
}

std::string file_of(std::span<const drawn_tensor> tensors) {
    json header = json::object();
    std::string data;
    for (const drawn_tensor &each : tensors) {
        header[each.name] = {{"dtype", each.type},
                             {"shape", each.shape},
                             {"data_offsets", {data.size(), data.size() + each.data.size()}}};
        data += each.data;
    }
    const std::string text = header.dump();
    const uint64_t length = text.size();
    return std::string(reinterpret_cast<const char *>(&length), sizeof length) + text + data;
}

json draw_config(choices &from, bool is_awq) {
    json config = {{"quant_method", is_awq ? "awq" : "gptq"}, {"bits", 4}, {"group_size", 8}};
    for (int64_t count = from.between(-4, 2); count > 0; count--) {
        config[from.one_of<std::string>({"bits", "quant_method", "version", "format", "checkpoint_format", "w_bit"})] =
            from.one_of<json>({4, "gptq_v2", "gemm", "GPTQ", "\x1b[31m", nullptr, -1, json::array({1}), "awq"});
    }
    return config;
}

// Two shards, or one file.
void draw_folder(choices &from, const std::string &folder) {
    const bool is_awq = from.chance(3);
    std::vector<drawn_tensor> tensors;
    for (int64_t layer = from.between(0, 2); layer >= 0; layer--) {
        draw_layer(from, "model.layers." + std::to_string(layer) + ".q_proj", is_awq, tensors);
    }
    tensors.push_back(draw_tensor(from,
                                  from.one_of<std::string>({"norm.weight", "model.layers.0.q_proj.weight",
                                                            "model.layers.0.q_proj.weight_scale", "x.qweight"}),
                                  "F32", {8}));
    json config = {{"model_type", "llama"}}, quantization = draw_config(from, is_awq);
    if (from.chance(4)) {
        write(folder + "/quantize_config.json", quantization.dump());
    } else {
        config["quantization_config"] = quantization;
    }
    write(folder + "/config.json", config.dump());
    const size_t first = static_cast<size_t>(from.between(0, static_cast<int64_t>(tensors.size())));
    if (first == 0) {
        std::string whole = file_of(tensors);
        damage(from, whole);
        write(folder + "/model.safetensors", whole);
        return;
    }
    json weight_map = json::object();
    for (size_t i = 0; i < tensors.size(); i++) {
        weight_map[tensors[i].name] = i < first ? "a.safetensors" : "b.safetensors";
    }
    write(folder + "/model.safetensors.index.json", json{{"weight_map", weight_map}}.dump());
    write(folder + "/a.safetensors", file_of(std::span(tensors).first(first)));
    if (first < tensors.size()) {
        write(folder + "/b.safetensors", file_of(std::span(tensors).subspan(first)));
    }
}

// What is made of the folder has its values.
void run_commands(choices &from, const std::string &folder) {
    const std::string restored = scratch() / "restored", converted = scratch() / "converted",
                      graph = scratch() / "graph.onnx";
    switch (from.between(0, 3)) {
    case 0: run({"inspect", folder, "--json"}); break;
    case 1:
        if (run({"dequantize", folder, "-o", restored}) == 0) {
            run_well({"compare", restored, folder});
        }
        break;
    case 2:
        if (run({"convert", folder, "-o", converted, "--method", "compressed-tensors"}) == 0) {
            run_well({"compare", folder, converted});
            run_well({"dequantize", converted, "-o", restored});
        }
        break;
    default:
        if (run({"convert", folder, "-o", graph}) == 0) {
            run_well({"compare", folder, graph});
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    constexpr size_t decisions = 4;
    const size_t drawn = std::min(size, decisions);
    test_support::byte_choices commands(std::span(data, drawn)), from(std::span(data, size).subspan(drawn));
    begin();
    const std::string folder = scratch() / "in";
    draw_folder(from, folder);
    run_commands(commands, folder);
    return 0;
}
