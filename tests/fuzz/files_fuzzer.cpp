// Whole commands of the command line on .safetensors, .npy, .onnx and .gguf files that anyone may have written. They
// end with one of the documented exit codes; what quantize has written, dequantize and compare read.
#include "commands.h"

#include <algorithm>
#include <span>

using namespace qdq_fuzz;
using test_support::choices;
using bytes = std::string;

namespace {

void add_length(bytes &to, uint64_t length, int count) {
    for (int i = 0; i < count; i++) {
        to += static_cast<char>(length >> (8 * i));
    }
}

// A header and data, with the length that the header has: bytes that a fuzzer changes seldom keep it.
bytes with_length(bool is_npy, const bytes &content, size_t header) {
    header = std::min(header, content.size());
    bytes file;
    if (is_npy) {
        file = bytes("\x93NUMPY\x01\x00", 8);
        add_length(file, header & 0xffff, 2);
    } else {
        add_length(file, header, 8);
    }
    return file + content;
}

// A file's header ends at the first byte 0xff, which no text has.
bytes draw_file(choices &from, bool is_npy, const bytes &content) {
    if (from.chance(4)) {
        return content;
    }
    const size_t end = std::min(content.find('\xff'), content.size());
    bytes joined = content.substr(0, end);
    if (end < content.size()) {
        joined += content.substr(end + 1);
    }
    return with_length(is_npy, joined, end);
}

// A .gguf or .onnx file by its first bytes, the latter those of its version; it is not changed.
std::string suffix_of_other_kind(const bytes &content) {
    return content.starts_with("GGUF") ? ".gguf" : content.starts_with('\x08') ? ".onnx" : "";
}

// What is read is restored, and what is restored read.
void restore_and_convert(const std::string &suffix) {
    const std::string input = scratch() / ("in" + suffix), codes = scratch() / "codes.onnx",
                      back = scratch() / "back.safetensors";
    run({"inspect", input});
    if (run({"dequantize", input, "-o", back}) == 0) {
        run_well({"compare", input, back});
    }
    run({"convert", input, "-o", scratch() / (suffix == ".onnx" ? "other.safetensors" : "other.onnx")});
    if (suffix == ".onnx" && run({"quantize", input, "-o", codes, "--dtype", "i4", "--include", "*"}) == 0) {
        run_well({"compare", input, codes});
        run_well({"dequantize", codes, "-o", scratch() / "back.onnx"});
    }
}

void quantize_and_back(choices &from, const std::string &name, const std::string &suffix) {
    const std::string input = scratch() / name, codes = scratch() / ("codes" + suffix),
                      back = scratch() / ("back" + suffix);
    if (run(arguments{"quantize", input, "-o", codes} + draw_quantize_options(from)) == 0) {
        run_well({"dequantize", codes, "-o", back});
        run_well({"compare", input, codes});
        run_well({"compare", input, back, "--json"});
    }
}

}  // namespace

// The first byte is the command and what kind of file the rest is; a .npy set is cut into its files at bytes 0xfe.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    constexpr size_t decisions = 12;
    const size_t drawn = std::min(size, decisions);
    test_support::byte_choices from(std::span(data, drawn));
    const bytes content(reinterpret_cast<const char *>(data) + drawn, size - drawn);
    const bool is_npy = from.chance(2);
    const std::string suffix = is_npy ? ".npy" : ".safetensors";
    begin();
    if (const std::string other = suffix_of_other_kind(content); !other.empty()) {
        write(scratch() / ("in" + other), content);
        restore_and_convert(other);
        return 0;
    }
    std::vector<std::string> names{"in" + suffix, "in.scale.npy", "in.zero_point.npy"};
    size_t begin = 0;
    for (const std::string &name : names) {
        if (begin > content.size()) {
            break;
        }
        const size_t end = is_npy ? std::min(content.find('\xfe', begin), content.size()) : content.size();
        write(scratch() / name, draw_file(from, is_npy, content.substr(begin, end - begin)));
        begin = end + 1;
    }
    const std::string input = scratch() / names[0];
    switch (from.between(0, 3)) {
    case 0:
    case 1: quantize_and_back(from, names[0], suffix); break;
    case 2: run({"dequantize", input, "-o", scratch() / ("back" + suffix)}); break;
    default: run({"compare", input, input});
    }
    return 0;
}
