// ONNX models with nodes, subgraphs, functions, sparse initializers and external data: those that are drawn, mostly
// right, then damaged, and any bytes.
#include "commands.h"

#include <sys/stat.h>
#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <span>

using namespace qdq_fuzz;
using protozero::pbf_writer;
using test_support::choices;

namespace {

enum : uint32_t { node = 1, initializer = 5, input = 11, output = 12, value_info = 13, annotation = 14, sparse = 15 };
enum : uint32_t { float32 = 1, uint8 = 2, int8 = 3, float16 = 10, int4 = 22 };

// How the data of a tensor are stored.
enum class storage { raw, numbers, external, none };

class model_drawer {
public:
    explicit model_drawer(choices &from) : from_(from) {}

    std::string draw() {
        std::string text;
        pbf_writer model(text);
        model.add_uint64(1, from_.one_of<uint64_t>({10, 3, 7, 0, UINT64_MAX}));
        for (int64_t count = from_.between(1, 3); count > 0; count--) {
            pbf_writer opset(model, 8);
            opset.add_string(1, from_.one_of<std::string>({"", "ai.onnx", "custom", "\x1b[31m"}));
            opset.add_uint64(2, from_.one_of<uint64_t>({21, 23, 13, 9, 17, 1, 0, UINT64_MAX}));
        }
        model.add_message(7, draw_graph(0));
        for (int64_t count = from_.between(-3, 2); count > 0; count--) {
            model.add_message(25, draw_function());
        }
        if (from_.chance(4)) {
            pbf_writer property(model, 14);
            property.add_string(1, "qdq");
            property.add_string(2, draw_bytes(from_, from_.between(0, 4)));
        }
        if (from_.chance(16)) {
            model.add_message(20, draw_graph(3));  // not one that qdq knows: how a model is trained
        }
        return text;
    }

private:
    std::string draw_name() {
        static const std::vector<std::string> known = {
            "w",       "w_quantized",    "x_scale",  "w_zero_point", "v",      "y_packed", "y_scale", "lm_head.weight",
            "experts", "\x1b]0;x\x07\n", "\xc2\x9b", "\xff",         "a/b.c*", "",         "w",       "v"};
        return from_.chance(2) && !names_.empty() ? from_.one_of(names_) : from_.one_of(known);
    }

    std::vector<int64_t> draw_shape() {
        std::vector<int64_t> shape;
        int64_t count = 1;
        for (int64_t rank = 2 - from_.between(-2, 2); rank > 0; rank--) {
            const auto extent = from_.one_of<int64_t>({2, 32, 16, 3, 1, 33, 0});
            shape.push_back(count * extent <= 2048 ? extent : 1);
            count *= std::max<int64_t>(shape.back(), 1);
        }
        if (from_.chance(32)) {
            shape.push_back(static_cast<int64_t>(draw_extreme(from_)));
        }
        return shape;
    }

    static size_t bytes_of(uint32_t type, const std::vector<int64_t> &shape) {
        constexpr size_t bits[] = {0,  32, 8,   8,  16, 16, 32, 64, 0, 8, 16, 64, 32,
                                   64, 64, 128, 16, 8,  8,  8,  8,  4, 4, 4,  8};
        size_t count = 1;
        for (int64_t extent : shape) {
            count = std::min<size_t>(count * static_cast<size_t>(std::clamp<int64_t>(extent, 0, 4096)), 4096);
        }
        return (count * (type < std::size(bits) ? bits[type] : 8) + 7) / 8;
    }

    std::string draw_external(size_t size) {
        std::string location = from_.one_of<std::string>(
            {"in.onnx.data", "weights/w.bin", "inner_link", "codes.onnx.data", "in.onnx", "../outside/secret",
             "outer_link", "folder_link/file", "cycle", "pipe", "weights", "", "/proc/self/environ", "absent",
             "\x1b[31m", std::string("in.onnx.data\0x", 14), "weights/../in.onnx.data", "./in.onnx.data"});
        std::string text;
        pbf_writer tensor(text);
        auto add = [&](const std::string &key, const std::string &value) {
            pbf_writer entry(tensor, 13);
            entry.add_string(1, key);
            entry.add_string(2, value);
        };
        add("location", location);
        if (!from_.chance(4)) {
            const bool right = !from_.chance(8);
            add("offset", std::to_string(right ? from_.one_of<uint64_t>({0, 64, 4096}) : draw_extreme(from_)));
            add("length", std::to_string(right ? size : draw_extreme(from_)));
        } else if (from_.chance(4)) {
            add(from_.one_of<std::string>({"offset", "length", "checksum", "location"}),
                from_.one_of<std::string>({"-1", "1e3", "\x1b", " 1", "18446744073709551616"}));
        }
        tensor.add_int32(14, 1);
        return text;
    }

    // The field that holds a number for each element.
    void add_numbers(pbf_writer &tensor, uint32_t type, size_t size) {
        const std::string data = draw_data(from_, size);
        if (type == float32) {
            tensor.add_bytes(4, data);
        } else if (type == int8 || type == uint8 || type == int4) {
            std::vector<int32_t> numbers(data.begin(), data.end());
            tensor.add_packed_int32(5, numbers.begin(), numbers.end());
        } else {
            std::vector<int64_t> numbers(data.begin(), data.end());
            tensor.add_packed_int64(7, numbers.begin(), numbers.end());
        }
    }

    std::string tensor_of(const std::string &name, uint32_t type, const std::vector<int64_t> &shape) {
        std::string text;
        pbf_writer tensor(text);
        for (int64_t extent : shape) {
            tensor.add_int64(1, extent);
        }
        tensor.add_uint64(2, type);
        tensor.add_string(8, name);
        const size_t size = bytes_of(type, shape);
        switch (
            from_.one_of<storage>({storage::raw, storage::raw, storage::external, storage::numbers, storage::none})) {
        case storage::raw: tensor.add_bytes(9, draw_data(from_, size)); break;
        case storage::numbers: add_numbers(tensor, type, size); break;
        case storage::external: text += draw_external(size); break;
        case storage::none: break;
        }
        names_.push_back(name);
        return text;
    }

    std::string draw_tensor() {
        const auto type = from_.chance(2) ? uint32_t{float32} : static_cast<uint32_t>(from_.between(0, 25));
        std::string name = draw_name();
        return tensor_of(name, type, draw_shape());
    }

    std::string draw_sparse(int depth) {
        std::string text;
        pbf_writer tensor(text);
        tensor.add_message(1, depth < 4 ? draw_tensor() : "");
        tensor.add_message(2, tensor_of("", 7, {2}));
        tensor.add_int64(3, 8);
        return text;
    }

    void add_attribute(pbf_writer &to, const std::string &name, int64_t value) {
        pbf_writer attribute(to, 5);
        attribute.add_string(1, name);
        attribute.add_int64(3, value);
        attribute.add_int32(20, 2);
    }

    void draw_attribute(pbf_writer &to, int depth) {
        if (from_.chance(2)) {
            add_attribute(
                to, from_.one_of<std::string>({"axis", "block_size", "transB", "output_dtype", "axes", "min", "to"}),
                from_.one_of<int64_t>({0, 1, -1, 2, 16, 32, 10, INT64_MAX, INT64_MIN}));
            return;
        }
        pbf_writer attribute(to, 5);
        attribute.add_string(1, from_.one_of<std::string>({"then_branch", "body", "value", "axis"}));
        switch (from_.between(0, 4)) {
        case 0: attribute.add_message(6, draw_graph(depth + 1)); break;
        case 1: attribute.add_message(11, draw_graph(depth + 1)); break;
        case 2: attribute.add_message(5, draw_tensor()); break;
        case 3: attribute.add_message(10, draw_tensor()); break;
        default: attribute.add_message(22, draw_sparse(depth)); break;
        }
    }

    std::string draw_node(int depth) {
        std::string text;
        pbf_writer to(text);
        for (int64_t count = from_.between(0, 4); count > 0; count--) {
            to.add_string(1, draw_name());
        }
        for (int64_t count = from_.between(0, 2); count > 0; count--) {
            names_.push_back(draw_name());
            to.add_string(2, names_.back());
        }
        to.add_string(3, draw_name());
        to.add_string(4, from_.one_of<std::string>({"MatMul", "Gemm", "DequantizeLinear", "Conv", "ConvTranspose",
                                                    "Gather", "If", "Loop", "Constant", "ReduceMean", "Clip", "Mine"}));
        for (int64_t count = from_.between(-2, 3); count > 0 && depth < 4; count--) {
            draw_attribute(to, depth);
        }
        if (from_.chance(8)) {
            to.add_string(7, from_.one_of<std::string>({"", "ai.onnx", "com.microsoft"}));
        }
        return text;
    }

    // A weight that a node uses, in float or as DequantizeLinear makes it.
    void draw_layer(pbf_writer &graph) {
        const std::string weight = from_.one_of<std::string>({"a.weight", "b.weight", "c", "lm_head"}), made = weight;
        std::vector<std::string> inputs;
        if (from_.chance(2)) {
            const int64_t columns = from_.one_of<int64_t>({32, 16, 33}), block = from_.one_of<int64_t>({0, 16, 32});
            const auto codes = from_.one_of<uint32_t>({int8, uint8, int4, 21, 17, 23, 4, 6});
            const auto scales = from_.one_of<uint32_t>({float32, float16, 16});
            const std::vector<int64_t> scale_shape =
                block == 0 ? std::vector<int64_t>{2} : std::vector<int64_t>{2, (columns + block - 1) / block};
            graph.add_message(initializer, tensor_of(weight + "_quantized", codes, {2, columns}));
            graph.add_message(initializer, tensor_of(weight + "_scale", scales, scale_shape));
            inputs = {weight + "_quantized", weight + "_scale"};
            if (from_.chance(2)) {
                inputs.push_back(weight + "_zero_point");
                graph.add_message(initializer, tensor_of(inputs.back(), codes, scale_shape));
            }
            pbf_writer to(graph, node);
            for (const std::string &each : inputs) {
                to.add_string(1, each);
            }
            to.add_string(2, made);
            to.add_string(4, "DequantizeLinear");
            add_attribute(to, "axis", block == 0 ? 0 : 1);
            add_attribute(to, "block_size", block);
        } else {
            const auto type = from_.one_of<uint32_t>({float32, float16, 16, 11});
            graph.add_message(initializer, tensor_of(weight, type, {32, from_.one_of<int64_t>({4, 16, 1})}));
        }
        pbf_writer use(graph, node);
        use.add_string(1, "x");
        use.add_string(1, made);
        use.add_string(2, "y");
        use.add_string(4, from_.one_of<std::string>({"MatMul", "Gemm", "Gather"}));
    }

    std::string draw_graph(int depth) {
        std::string text;
        pbf_writer graph(text);
        graph.add_string(2, "graph");
        for (int64_t count = from_.between(0, depth == 0 ? 2 : 0); count > 0; count--) {
            draw_layer(graph);
        }
        for (int64_t count = from_.between(0, 3); count > 0; count--) {
            graph.add_message(initializer, draw_tensor());
        }
        for (int64_t count = from_.between(0, 3); count > 0; count--) {
            graph.add_message(node, draw_node(depth));
        }
        for (int64_t count = from_.between(0, 3); count > 0; count--) {
            pbf_writer info(graph, from_.one_of<uint32_t>({output, input, value_info, annotation}));
            info.add_string(1, draw_name());
        }
        if (from_.chance(8)) {
            graph.add_message(sparse, draw_sparse(depth));
        }
        return text;
    }

    std::string draw_function() {
        std::string text;
        pbf_writer function(text);
        function.add_string(1, "Mine");
        function.add_string(4, draw_name());
        function.add_string(5, draw_name());
        function.add_message(7, draw_node(1));
        function.add_string(10, "custom");
        return text;
    }

    choices &from_;
    std::vector<std::string> names_;
};

// What external data may be in.
void write_data(choices &from) {
    const sandbox &at = scratch();
    write(at / "in.onnx.data", draw_data(from, 8192));
    write(at / "weights/w.bin", draw_data(from, 4096));
    link(at / "inner_link", "in.onnx.data");
    link(at / "outer_link", "../outside/file");
    link(at / "folder_link", "../outside/folder");
    link(at / "cycle", "cycle");
    mkfifo((at / "pipe").c_str(), 0600);
}

// What cannot be read of a model may be copied all the same.
void quantize_and_back(choices &from, const std::string &input, bool is_readable) {
    const std::string codes = scratch() / (from.chance(16) ? "in.onnx" : "codes.onnx"), back = scratch() / "back.onnx";
    arguments line{"quantize", input, "-o", codes};
    line = line + draw_quantize_options(from) + draw_place(from, codes);
    if (from.chance(2)) {
        line = line + arguments{"--include", from.one_of<std::string>({"*", "w*", "[a-", "\\"})};
    }
    if (from.chance(4)) {
        line = line + arguments{"--activations", "dynamic"};
    }
    if (run(line) == 0 && is_readable) {
        run_well({"compare", input, codes});
        run_well({"inspect", codes});
        run_well({"dequantize", codes, "-o", back});
        run_well({"compare", codes, back});
        if (run(line + arguments{"--force"}) == 0) {
            run_well({"compare", input, codes});
        }
    }
}

void restore(choices &from, const std::string &input, const std::string &suffix) {
    const std::string back = scratch() / ("back" + suffix);
    if (run(arguments{"dequantize", input, "-o", back} + draw_place(from, back)) == 0) {
        run_well({"compare", input, back});
        run_well({"inspect", back});
    }
}

void convert(choices &from, const std::string &input, bool is_readable) {
    const std::string other = scratch() / "other.safetensors", back = scratch() / "back.onnx";
    if (run(arguments{"convert", input, "-o", other} + draw_place(from, other)) == 0 && is_readable) {
        run_well({"compare", input, other});
        if (run({"convert", other, "-o", back}) == 0) {
            run_well({"compare", other, back});
        }
    }
}

void run_commands(choices &from, const std::string &input, bool is_readable) {
    switch (from.between(0, 4)) {
    case 0: quantize_and_back(from, input, is_readable); break;
    case 1: restore(from, input, ".onnx"); break;
    case 2: restore(from, input, ".safetensors"); break;
    case 3: convert(from, input, is_readable); break;
    default: run({"inspect", input, "--json"});
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    constexpr size_t decisions = 16;
    const size_t drawn = std::min(size, decisions);
    test_support::byte_choices commands(std::span(data, drawn)), from(std::span(data, size).subspan(drawn));
    begin();
    const std::string input = scratch() / "in.onnx";
    if (commands.chance(16)) {
        write(input, {reinterpret_cast<const char *>(data) + drawn, size - drawn});
    } else {
        std::string model = model_drawer(from).draw();
        damage(from, model);
        write(input, model);
    }
    write_data(from);
    const bool is_readable = run({"inspect", input}) == 0;
    run_commands(commands, input, is_readable);
    return 0;
}
