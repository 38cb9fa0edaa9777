#include "run_conversion.h"

#include "conversion/model_output.h"
#include "progress.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/text.h"

#include <iostream>

namespace qdq_cli {

void warn(const std::vector<std::string> &warnings, const console_options &console) {
    for (const std::string &warning : warnings) {
        std::cerr << (console.quiet ? "" : "qdq: warning: " + printable(warning) + "\n");
    }
}

json escaped(const std::vector<std::string> &texts) {
    json list = json::array();
    for (const std::string &text : texts) {
        list.push_back(printable(text));
    }
    return list;
}

void tell_links_out(const model_folder &folder) {
    for (const std::string &link : folder.links_out()) {
        std::cerr << "qdq: " << printable(folder.path() + ": a link leads out of the folder: " + link) << "\n";
    }
}

void print_outputs(const conversion &what, const output_options &output) {
    std::vector<std::vector<std::string>> rows = {{"tensor", "shape", "type", "bytes"}};
    size_t shards = is_onnx(output.path) ? 1 : what.input().shard_count();
    for (size_t shard = 0; shard < shards; ++shard) {
        for (const tensor_info &tensor : what.outputs(shard)) {
            rows.push_back({shortened(tensor.name), shape_text(tensor.shape), std::string(tensor.type->name),
                            std::to_string(byte_size(tensor))});
        }
    }
    std::cout << terminal_table(rows, 3);
}

void tell_kept(const std::filesystem::path &output, size_t finished, size_t shards) {
    if (finished != 0) {
        std::cerr << "qdq: interrupted: " << finished << " of " << shards << " shards are finished, and kept beside "
                  << printable(output.string()) << ": the same command goes on from there\n";
    }
}

namespace {

// Under a bar, which is gone when it returns.
void write(const conversion &what, const output_options &output, int threads, const console_options &console,
           finished_shards &finished) {
    const tensor_reader &input = what.input();
    uint64_t total = 0;
    for (size_t shard = 0; shard < input.shard_count(); ++shard) {
        total += input_bytes(input, shard);
    }
    progress bar(total, progress::unit::bytes, console.quiet);
    auto advance = [&](uint64_t bytes) { bar.advance(bytes); };
    const auto *folder = dynamic_cast<const model_folder *>(&input);
    if (folder != nullptr && !console.quiet) {
        tell_links_out(*folder);
    }
    write_conversion(what, output, threads, advance, finished);
}

}  // namespace

kernel_figures run_conversion(const conversion &what, const output_options &output, const target_options &target,
                              const console_options &console) {
    finished_shards finished;
    size_t shards = what.input().shard_count();
    try {
        write(what, output, target.threads, console, finished);
    } catch (const interrupted &) {
        tell_kept(output.path, finished.count, shards);
        throw;
    }
    if (finished.taken_over != 0 && !console.quiet) {
        std::cerr << "qdq: " << finished.taken_over << " of " << shards << " shards are those of an earlier run\n";
    }
    return finished.figures;
}

}  // namespace qdq_cli
