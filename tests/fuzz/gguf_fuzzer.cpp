// GGUF files: those that are drawn, mostly right, then damaged, and any bytes.
#include "commands.h"

#include <algorithm>
#include <iterator>
#include <span>

using namespace qdq_fuzz;
using test_support::choices;

namespace {

template<typename T> void put(std::string &to, T number) {
    to.append(reinterpret_cast<const char *>(&number), sizeof number);
}

void put_text(std::string &to, const std::string &text) {
    put(to, uint64_t{text.size()});
    to += text;
}

std::string draw_name(choices &from) {
    return from.one_of<std::string>({"blk.0.attn_q.weight", "blk.0.attn_k.weight", "token_embd.weight", "output.weight",
                                     "a", "a_scale", "a_packed", "a_shape", "a_zero_point", "", "\x1b[31m", "\xc2\x9b",
                                     "\xff", "a\nb", std::string("a\0b", 3)});
}

// A value of metadata, of the type that is given before it.
void put_value(std::string &to, choices &from, uint32_t type, int depth) {
    constexpr uint32_t text = 8, array = 9;
    if (type == text) {
        put_text(to, from.one_of<std::string>({"llama", "", "\x1b[31m"}));
    } else if (type == array) {
        const auto element = static_cast<uint32_t>(from.between(0, depth < 12 ? 13 : 8));
        const int64_t count = from.between(0, 3);
        put(to, element);
        put(to, from.chance(16) ? draw_extreme(from) : static_cast<uint64_t>(count));
        for (int64_t i = 0; i < count; i++) {
            put_value(to, from, element, depth + 1);
        }
    } else {
        const uint64_t number = from.one_of<uint64_t>({32, 64, 1, 0, 3, 1 << 20});
        constexpr size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
        to.append(reinterpret_cast<const char *>(&number), type < std::size(sizes) ? sizes[type] : 4);
    }
}

void put_metadata(std::string &to, choices &from, int64_t count, uint64_t &alignment) {
    constexpr uint32_t u32 = 4;
    for (int64_t i = 0; i < count; i++) {
        if (from.chance(4)) {
            alignment = from.one_of<uint64_t>({32, 1, 8, 64, 3, 0, UINT32_MAX});
            put_text(to, "general.alignment");
            put(to, u32);
            put(to, static_cast<uint32_t>(alignment));
        } else {
            const auto type = static_cast<uint32_t>(from.between(0, 13));
            put_text(to, from.one_of<std::string>({"general.name", "general.architecture", "general.alignment", ""}));
            put(to, type);
            put_value(to, from, type, 0);
        }
    }
}

struct drawn_tensor {
    std::string name;
    std::vector<uint64_t> shape;
    uint32_t type = 0;
    uint64_t bytes = 0;
};

drawn_tensor draw_tensor(choices &from) {
    struct kind {
        uint32_t type;
        uint64_t elements, bytes;  // of a block
    };
    constexpr uint32_t unknown = 77;
    auto of = from.one_of<kind>({{0, 1, 4},
                                 {8, 32, 34},
                                 {2, 32, 18},
                                 {1, 1, 2},
                                 {30, 1, 2},
                                 {28, 1, 8},
                                 {24, 1, 1},
                                 {26, 1, 4},
                                 {27, 1, 8},
                                 {3, 32, 20},
                                 {39, 32, 17},
                                 {unknown, 1, 0}});
    if (of.type == unknown) {  // or one of the others, of which the last two are not read
        of = from.one_of<kind>({of,
                                {6, 32, 22},
                                {7, 32, 24},
                                {20, 32, 18},
                                {10, 256, 84},
                                {11, 256, 110},
                                {12, 256, 144},
                                {13, 256, 176},
                                {14, 256, 210},
                                {9, 32, 36},
                                {16, 256, 66}});
    }
    drawn_tensor tensor = {.name = draw_name(from), .shape = {}, .type = of.type};
    uint64_t count = 1;
    for (int64_t rank = from.between(0, 4); rank > 0; rank--) {
        const bool first = tensor.shape.empty();
        const auto extent = from.one_of<uint64_t>({first ? of.elements : 2, 64, 1, 3, 33, 0});
        tensor.shape.push_back(count * extent <= 4096 ? extent : 1);
        count *= tensor.shape.back();
    }
    tensor.bytes = count / of.elements * of.bytes;
    if (from.chance(16)) {
        tensor.shape.push_back(draw_extreme(from));
    }
    return tensor;
}

std::string draw_file(choices &from) {
    std::vector<drawn_tensor> tensors;
    for (int64_t count = from.between(0, 5); count > 0; count--) {
        tensors.push_back(draw_tensor(from));
    }
    const int64_t values = from.between(0, 4);
    std::string file = "GGUF";
    put(file, from.one_of<uint32_t>({3, 2, 1, 4, 0x03000000}));
    put(file, from.chance(16) ? draw_extreme(from) : uint64_t{tensors.size()});
    put(file, from.chance(16) ? draw_extreme(from) : static_cast<uint64_t>(values));
    uint64_t alignment = 32, offset = 0;
    put_metadata(file, from, values, alignment);
    const uint64_t step = std::clamp<uint64_t>(alignment, 1, 4096);
    for (const drawn_tensor &each : tensors) {
        put_text(file, each.name);
        put(file, static_cast<uint32_t>(each.shape.size()));
        for (uint64_t extent : each.shape) {
            put(file, extent);
        }
        put(file, each.type);
        put(file, from.chance(16) ? draw_extreme(from) : offset);
        offset = (offset + each.bytes + step - 1) / step * step;
    }
    file.resize((file.size() + step - 1) / step * step);
    for (const drawn_tensor &each : tensors) {
        file += draw_data(from, each.bytes);
        file.resize(file.size() + (step - each.bytes % step) % step);
    }
    damage(from, file);
    return file;
}

// Where one command has read the file, the next ones read what it wrote.
void run_commands(choices &from, const std::string &input) {
    const std::string restored = scratch() / "restored.safetensors", same = scratch() / "same.safetensors",
                      graph = scratch() / "graph.onnx", codes = scratch() / "codes.safetensors";
    switch (from.between(0, 3)) {
    case 0:
        run({"inspect", input});
        run({"inspect", input, "--json"});
        break;
    case 1:
        if (run(arguments{"dequantize", input, "-o", restored} + draw_place(from, restored)) == 0) {
            run_well({"compare", input, restored});
            run_well({"inspect", restored});
        }
        break;
    case 2:
        if (run(arguments{"convert", input, "-o", same} + draw_place(from, same)) == 0) {
            run_well({"compare", input, same});
        }
        if (run(arguments{"convert", input, "-o", graph} + draw_place(from, graph)) == 0) {
            run_well({"compare", input, graph});
            run_well({"inspect", graph});
        }
        break;
    default:
        if (run(arguments{"quantize", input, "-o", codes} + draw_quantize_options(from)) == 0) {
            run_well({"dequantize", codes, "-o", restored});
            run_well({"compare", input, codes});
        }
    }
}

// ggml's blocks of what is there, which are read again.
void write_blocks(choices &from, const std::string &input) {
    const std::string blocks = scratch() / "blocks.gguf", values = scratch() / "values.gguf";
    const auto type = from.one_of<std::string>({"q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl"});
    if (run({"quantize", input, "-o", blocks, "--dtype", type}) == 0) {
        run_well({"inspect", blocks});
        run_well({"compare", input, blocks});
        run_well({"dequantize", blocks, "-o", values, "--dtype", "f16"});
        run_well({"inspect", values});
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    constexpr size_t decisions = 16;
    const size_t drawn = std::min(size, decisions);
    test_support::byte_choices commands(std::span(data, drawn)), from(std::span(data, size).subspan(drawn));
    begin();
    const std::string input = scratch() / "in.gguf";
    if (commands.chance(16)) {
        write(input, {reinterpret_cast<const char *>(data) + drawn, size - drawn});
    } else {
        write(input, draw_file(from));
    }
    run_commands(commands, input);
    write_blocks(commands, input);
    return 0;
}
