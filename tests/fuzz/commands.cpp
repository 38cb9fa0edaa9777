#include "commands.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>

int qdq_cli_main(int argc, char **argv);

namespace qdq_fuzz {

namespace fs = std::filesystem;
using test_support::choices;

namespace {

// Every input is a few kilobytes: in proportion to that this is much, even with sanitizers.
constexpr double most_seconds = 5;
constexpr uintmax_t most_bytes = uintmax_t{64} << 20;

constexpr const char *secret = "a secret";

std::string last_command;

std::string text_of(const arguments &line) {
    std::string text = "qdq";
    for (const std::string &argument : line) {
        text += " " + argument;
    }
    return text;
}

// A folder in memory where there is one; it is removed when the process ends well.
struct process_folder : sandbox {
    process_folder() {
        root = (fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path()) /
               fs::path("qdq-fuzz-" + std::to_string(getpid()));
        work = root / "work";
        outside = root / "outside";
    }
    ~process_folder() {
        std::error_code ignored;
        fs::remove_all(root, ignored);
    }
};

double cpu_seconds() {
    struct rusage used = {};
    getrusage(RUSAGE_SELF, &used);
    auto seconds = [](const timeval &time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// What is under a name, without following it.
struct entry {
    mode_t mode = 0;
    ino_t inode = 0;      // 0 of folders, which may be made anew
    int64_t changed = 0;  // when, in nanoseconds; 0 of folders, which temporary files change
    std::string content;  // of a file, or where a link leads

    bool operator==(const entry &) const = default;
};

using tree = std::map<std::string, entry>;

entry entry_of(const fs::path &path) {
    struct stat status = {};
    lstat(path.c_str(), &status);
    entry found = {.mode = status.st_mode, .content = ""};
    if (!S_ISDIR(status.st_mode)) {
        found.inode = status.st_ino;
        found.changed = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    }
    if (S_ISLNK(status.st_mode)) {
        found.content = fs::read_symlink(path);
    } else if (S_ISREG(status.st_mode)) {
        if (static_cast<uintmax_t>(status.st_size) > most_bytes) {
            broken(path.string() + " has " + std::to_string(status.st_size) + " bytes");
        }
        found.content = read(path);
    }
    return found;
}

tree tree_of(const fs::path &folder) {
    tree found;
    std::error_code error;
    if (fs::is_directory(folder, error)) {
        for (const auto &each : fs::recursive_directory_iterator(folder)) {
            found.emplace(each.path().string(), entry_of(each.path()));
        }
    }
    return found;
}

bool has(const arguments &line, const std::string &option) { return std::ranges::find(line, option) != line.end(); }

// The path that an option names, without a slash at its end; empty where it is not given, or nothing is to be written.
std::string output_of(const arguments &line, const std::string &option) {
    auto found = std::ranges::find(line, option);
    if (has(line, "--dry-run") || found == line.end() || found + 1 == line.end()) {
        return "";
    }
    const fs::path path = fs::path(*(found + 1)).lexically_normal();
    return path.has_filename() ? path : path.parent_path();
}

bool is_at_or_in(const std::string &path, const std::string &place) {
    return path == place || path.starts_with(place + "/");
}

fs::path partial_of(const fs::path &output) {
    return output.parent_path() / ("." + output.filename().string() + ".qdq-partial");
}

// Where a command may change something: its outputs, and the files that those lead to where they are links; and the
// partial folder, also where it fails. Never its inputs.
struct places {
    std::vector<std::string> inputs, outputs, kept;
    std::string model;

    explicit places(const arguments &line) {
        std::error_code error;
        for (size_t i = 1; i < line.size() && !line[i].starts_with('-'); i++) {
            inputs.push_back(fs::weakly_canonical(line[i], error));
        }
        for (const char *option : {"-o", "--report"}) {
            if (const std::string path = output_of(line, option); !path.empty()) {
                add(path);
            }
        }
        if (const std::string path = output_of(line, "-o"); !path.empty()) {
            kept.push_back(partial_of(path));
            if (path.ends_with(".onnx")) {
                model = path;
                add(path + ".data");
            }
        }
    }

    // Data of an ONNX model are in NAME.data, or, where that is taken, in NAME.1.data and so on.
    bool is_data(const std::string &path) const {
        return path.starts_with(model + ".") && path.ends_with(".data") &&
               path.find_first_not_of("0123456789", model.size() + 1) >= path.size() - 5;
    }

    bool may_change(const std::string &path, bool succeeded) const {
        auto is_inside = [&](const std::string &place) { return is_at_or_in(path, place); };
        const bool is_output = std::ranges::any_of(kept, is_inside) ||
                               (succeeded && (std::ranges::any_of(outputs, is_inside) || is_data(path)));
        return is_output && std::ranges::none_of(inputs, is_inside);
    }

private:
    void add(fs::path path) {
        outputs.push_back(path);
        std::error_code error;
        for (int links = 0; links < 40 && fs::is_symlink(path, error) && !fs::is_directory(path, error); links++) {
            path = (path.parent_path() / fs::read_symlink(path)).lexically_normal();
            outputs.push_back(path);
        }
    }
};

void check_untouched(const tree &before, const tree &after, const places &where, bool succeeded) {
    auto check = [&](const std::string &path, const char *what) {
        if (!where.may_change(path, succeeded)) {
            broken(path + " was " + what);
        }
    };
    for (const auto &[path, old] : before) {
        auto now = after.find(path);
        if (now == after.end() || now->second != old) {
            check(path, now == after.end() ? "removed" : "changed");
        }
    }
    for (const auto &[path, now] : after) {
        auto next = after.lower_bound(path + "/");  // what is in a folder is checked itself
        bool has_others = next != after.end() && next->first.starts_with(path + "/");
        if (!before.contains(path) && !has_others) {
            check(path, "left");
        }
    }
}

bool is_of_model(const fs::path &path) {
    return path.filename() == "config.json" || path.extension() == ".safetensors";
}

// Without --force nothing that is there is replaced, and with it of a folder only the files of a model, or by those of
// the same names.
void check_kept(const arguments &line, const tree &before, bool succeeded) {
    const std::string output = output_of(line, "-o");
    if (output.empty() || !succeeded) {
        return;
    }
    for (const auto &[path, old] : before) {
        if (path.starts_with(output + "/") && !S_ISDIR(old.mode) && !is_of_model(path) &&
            !fs::exists(fs::symlink_status(path))) {
            broken(path + " was lost");
        }
    }
    if (has(line, "--force")) {
        return;
    }
    for (const std::string &path : {output, output + (output.ends_with(".onnx") ? ".data" : "")}) {
        auto old = before.find(path);
        if (old != before.end() && !S_ISLNK(old->second.mode) && entry_of(path) != old->second) {
            broken(path + " was replaced without --force");
        }
    }
}

// A finished run leaves no partial folder, and a failed one none that is empty.
void check_partial(const arguments &line, const tree &before, const tree &after, bool succeeded) {
    const std::string output = output_of(line, "-o");
    if (output.empty()) {
        return;
    }
    const std::string partial = partial_of(output);
    bool was_there = before.contains(partial), is_there = after.contains(partial);
    bool is_used = std::ranges::any_of(
        after, [&](const auto &each) { return is_at_or_in(each.first, partial) && S_ISREG(each.second.mode); });
    bool is_folder = after.contains(output + "/config.json");
    if (is_there && ((succeeded && is_folder) || (!was_there && !is_used))) {
        broken(partial + " was left");
    }
}

// What only a path with .. leads to is not read.
void check_secret(const tree &before, const tree &after) {
    for (const auto &[path, each] : after) {
        if (!before.contains(path) && each.content.find(secret) != std::string::npos) {
            broken(path + " has what is outside");
        }
    }
}

// Those of ASCII, but for newline and tab, and those of Latin-1 as UTF-8 has them.
void check_text(const std::string &text) {
    for (size_t i = 0; i < text.size(); i++) {
        auto byte = static_cast<unsigned char>(text[i]);
        auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
        bool ascii = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
        if (ascii || (byte == 0xc2 && next >= 0x80 && next < 0xa0)) {
            broken("a control character is printed: " + text);
        }
    }
}

// One line, after those that warn or name links.
void check_message(const std::string &messages) {
    std::istringstream lines(messages);
    int failures = 0;
    for (std::string line; std::getline(lines, line);) {
        const bool tells = line.find(": a link leads out of the folder: ") != std::string::npos;
        failures += line.starts_with("qdq: warning: ") || (line.starts_with("qdq: ") && tells) ? 0 : 1;
    }
    const size_t last = messages.rfind('\n', messages.size() - 2) + 1;
    if (failures != 1 || !messages.ends_with('\n') || !messages.substr(last).starts_with("qdq: ")) {
        broken("a failure is not told in one line: " + messages);
    }
}

void hard_link(const fs::path &path, const std::string &target) {
    std::error_code error;
    fs::create_hard_link(path.parent_path() / target, path, error);
}

// The file that fuzzers have commands read.
std::string input_name() {
    for (const auto &each : fs::directory_iterator(scratch().work)) {
        if (each.path().stem() == "in") {
            return each.path().filename();
        }
    }
    return "nowhere";
}

int call_main(arguments line, std::string &output, std::string &errors) {
    line.insert(line.begin(), "qdq");
    std::vector<char *> argv;
    for (std::string &argument : line) {
        argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    std::ostringstream out, err;
    std::streambuf *const old_out = std::cout.rdbuf(out.rdbuf()), *const old_err = std::cerr.rdbuf(err.rdbuf());
    const int code = qdq_cli_main(static_cast<int>(line.size()), argv.data());
    std::cout.rdbuf(old_out);
    std::cerr.rdbuf(old_err);
    output = out.str();
    errors = err.str();
    return code;
}

}  // namespace

arguments operator+(arguments a, const arguments &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

const sandbox &scratch() {
    static const process_folder folder;
    return folder;
}

void begin() {
    fs::remove_all(scratch().root);
    fs::create_directories(scratch().work);
    write(scratch().outside / "file", "what is outside");
    write(scratch().outside / "folder/file", "what is outside");
    write(scratch().outside / "model/config.json", "{}");
    std::string secrets;
    for (int i = 0; i < 512; i++) {
        secrets += secret;
    }
    write(scratch().outside / "secret", secrets);
}

std::string read(const fs::path &path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) {
        return "";
    }
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path &path, std::string_view content) {
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (!fs::exists(fs::symlink_status(path, error))) {
        std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
    }
}

void link(const fs::path &path, const std::string &target) {
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    fs::create_symlink(target, path, error);
}

int run(const arguments &line, std::string &output) {
    last_command = text_of(line);
    const tree before = tree_of(scratch().root);
    const places where(line);
    const double start = cpu_seconds();
    std::string errors;
    const int code = call_main(line, output, errors);
    if (const double seconds = cpu_seconds() - start; seconds > most_seconds) {
        broken("it took " + std::to_string(seconds) + " s");
    }
    if (code < 0 || code > 2) {
        broken("exit code " + std::to_string(code));
    }
    check_text(output);
    check_text(errors);
    if (code == 1) {
        check_message(errors);
    }
    const tree after = tree_of(scratch().root);
    check_untouched(before, after, where, code == 0);
    check_kept(line, before, code == 0);
    check_partial(line, before, after, code == 0);
    check_secret(before, after);
    return code;
}

int run(const arguments &line) {
    std::string ignored;
    return run(line, ignored);
}

void run_well(const arguments &line) {
    last_command = text_of(line);
    std::string output, errors;
    if (const int code = call_main(line, output, errors); code != 0) {
        broken("exit code " + std::to_string(code) + ", on what qdq has written: " + errors);
    }
    check_text(output);
}

void broken(const std::string &why) {
    std::fprintf(stderr, "%s\n%s\n", last_command.c_str(), why.c_str());
    std::abort();
}

std::string contents_of(const fs::path &folder) {
    std::string text;
    for (const auto &[path, each] : tree_of(folder)) {
        text += fs::path(path).lexically_relative(folder).string() + '\0' + std::to_string(each.mode) + '\0' +
                each.content + '\0';
    }
    return text;
}

std::string draw_bytes(choices &from, int64_t count) {
    std::string bytes;
    for (int64_t i = 0; i < count; i++) {
        bytes += static_cast<char>(from.between(0, 255));
    }
    return bytes;
}

uint64_t draw_extreme(choices &from) {
    const uint64_t power = uint64_t{1} << from.between(0, 63);
    return from.one_of<uint64_t>({0, 1, power, power - 1, power + 1, ~power, UINT64_MAX});
}

void damage(choices &from, std::string &text) {
    for (int64_t count = std::max<int64_t>(from.between(-5, 3), 0); count > 0 && !text.empty(); count--) {
        const auto size = static_cast<int64_t>(text.size());
        const auto at = static_cast<size_t>(from.between(0, size - 1));
        const auto length = static_cast<size_t>(from.between(1, 16));
        switch (from.between(0, 5)) {
        case 0: text[at] = static_cast<char>(from.between(0, 255)); break;
        case 1: text.erase(at, length); break;
        case 2: text.insert(at, text.substr(at, length)); break;
        case 3: text.insert(at, draw_bytes(from, from.between(1, 4))); break;
        case 4: text.resize(at); break;
        default: {
            const uint64_t number = draw_extreme(from);
            std::memcpy(text.data() + at, &number, std::min(sizeof number, text.size() - at));
        }
        }
    }
}

arguments draw_place(choices &from, const std::string &output) {
    switch (from.between(0, 19)) {
    case 0: write(output, "old"); break;
    case 1: link(output, "../outside/file"); break;
    case 2: link(output, "nowhere"); break;
    case 3: link(output, fs::path(output).filename()); break;
    case 4: write(output + "/file", "old"); break;
    case 5: link(output, "../outside/model"); break;
    case 6: write(output + ".data", "old"); break;
    case 7: link(output + ".data", "../outside/file"); break;
    case 8: hard_link(output, "../outside/file"); break;
    case 9: link(output, input_name()); break;
    case 10: hard_link(output, input_name()); break;
    case 11: link(output + ".data", "in.onnx.data"); break;
    case 12: write(output + "/config.json", "{}"); break;
    case 13: {
        write(output + "/config.json", "{}");
        write(output + "/chapters/thesis.tex", "mine");
        break;
    }
    default: break;
    }
    return from.chance(3) ? arguments{"--force"} : arguments{};
}

std::string draw_data(choices &from, size_t size) {
    std::string data(size, '\0');
    const auto step = static_cast<uint8_t>(from.between(0, 255));
    const int64_t width = from.one_of<int64_t>({4, 2, 1});
    for (size_t i = 0; i < size; i++) {
        data[i] = static_cast<char>(i * step);
        if (width > 1 && static_cast<int64_t>(i) % width == width - 1) {
            data[i] = static_cast<char>(0x3c + (i * step) % 5 + (i & 4) * 32);  // floats of some size, of both signs
        }
    }
    damage(from, data);
    data.resize(from.chance(16) ? size + 1 : size);
    return data;
}

arguments draw_quantize_options(choices &from) {
    auto type = from.one_of<std::string>(
        {"i8", "u8", "i16", "u16", "i32", "i4", "u4", "f8e4m3", "f8e5m2", "f4e2m1", "mxfp8", "mxfp4", "nvfp4"});
    if (type == "nvfp4") {
        type = from.one_of<std::string>({type, "mxfp6e2m3", "mxfp6e3m2"});
    }
    arguments options{"--dtype", type};
    auto perhaps = [&](int64_t one_in, const arguments &more) {
        if (from.chance(one_in)) {
            options = options + more;
        }
    };
    perhaps(4, {"--axis", std::to_string(from.between(-3, 3))});
    perhaps(4, {"--block-size", std::to_string(from.one_of<int64_t>({1, 2, 16, 32, 1000000, INT64_MAX}))});
    perhaps(6, {"--block-size", from.one_of<std::string>({"2x16", "3x5", "32x32", "1000000x1"})});
    perhaps(4, {"--per-tensor"});
    perhaps(3, {"--asymmetric"});
    perhaps(4,
            {"--scale-rule", from.one_of<std::string>({"absmax", "minmax", "power-floor", "power-round-up", "max"})});
    perhaps(4, {"--clip", from.one_of<std::string>({"0.5", "1", "1e-38", "0", "nan", "2"})});
    perhaps(6, {"--profile",
                from.one_of<std::string>({"onnx", "torch", "torchao", "acl", "tensorrt", "tripy", "pypto", "?"})});
    return options;
}

}  // namespace qdq_fuzz
