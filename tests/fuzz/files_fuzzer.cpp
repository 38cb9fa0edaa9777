// Whole commands of the command line on .safetensors, .npy, .onnx and .gguf files that anyone may have written. They
// end with one of the documented exit codes; what quantize has written, dequantize and compare read.
#include "support/choices.h"

#include <unistd.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <streambuf>
#include <string>
#include <vector>

int qdq_cli_main(int argc, char **argv);

namespace {

namespace fs = std::filesystem;
using test_support::choices;
using bytes = std::string;

class nowhere : public std::streambuf {
    int overflow(int c) override { return traits_type::not_eof(c); }
    std::streamsize xsputn(const char *, std::streamsize count) override { return count; }
};

// A folder in memory where there is one; it is removed when the process ends well.
class scratch_folder {
public:
    scratch_folder()
        : path_((fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path()) /
                fs::path("qdq-fuzz-" + std::to_string(getpid()))) {
        fs::create_directories(path_);
    }
    ~scratch_folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    std::string operator/(const std::string &name) const { return path_ / name; }
    void clear() const {
        for (const auto &entry : fs::directory_iterator(path_)) {
            fs::remove_all(entry.path());
        }
    }

private:
    fs::path path_;
};

const scratch_folder &scratch() {
    static const scratch_folder folder;
    return folder;
}

void write(const std::string &name, const bytes &content) {
    std::ofstream(scratch() / name, std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
}

int run(std::vector<std::string> arguments) {
    static nowhere sink;
    arguments.insert(arguments.begin(), "qdq");
    std::vector<char *> argv;
    for (std::string &argument : arguments) {
        argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    std::streambuf *const out = std::cout.rdbuf(&sink), *const err = std::cerr.rdbuf(&sink);
    const int code = qdq_cli_main(static_cast<int>(arguments.size()), argv.data());
    std::cout.rdbuf(out);
    std::cerr.rdbuf(err);
    if (code < 0 || code > 2) {
        std::fprintf(stderr, "exit code %d\n", code);
        std::abort();
    }
    return code;
}

// qdq's own output must be read by it.
void run_well(const std::vector<std::string> &arguments) {
    if (const int code = run(arguments); code != 0) {
        std::string line;
        for (const std::string &argument : arguments) {
            line += " " + argument;
        }
        std::fprintf(stderr, "qdq%s: exit code %d on a file that qdq has written\n", line.c_str(), code);
        std::abort();
    }
}

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

std::vector<std::string> draw_quantize_options(choices &from) {
    std::vector<std::string> options{
        "--dtype", from.one_of<std::string>({"i8", "u8", "i16", "u16", "i32", "i4", "u4", "f8e4m3", "f8e5m2", "f4e2m1",
                                             "mxfp8", "mxfp4", "nvfp4"})};
    auto perhaps = [&](int64_t one_in, std::vector<std::string> more) {
        if (from.chance(one_in)) {
            options.insert(options.end(), more.begin(), more.end());
        }
    };
    perhaps(4, {"--axis", std::to_string(from.between(-3, 3))});
    perhaps(4, {"--block-size", std::to_string(from.one_of<int64_t>({1, 2, 16, 32, 1000000, INT64_MAX}))});
    perhaps(4, {"--per-tensor"});
    perhaps(3, {"--asymmetric"});
    perhaps(6, {"--profile",
                from.one_of<std::string>({"onnx", "torch", "torchao", "acl", "tensorrt", "tripy", "pypto", "?"})});
    return options;
}

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string> &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
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
    if (run(std::vector<std::string>{"quantize", input, "-o", codes} + draw_quantize_options(from)) == 0) {
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
    scratch().clear();
    if (const std::string other = suffix_of_other_kind(content); !other.empty()) {
        write("in" + other, content);
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
        write(name, draw_file(from, is_npy, content.substr(begin, end - begin)));
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
