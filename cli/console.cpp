#include "console.h"

#include "progress.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/text.h"

#include <unistd.h>
#include <cstdlib>
#include <iostream>

namespace qdq::cli {

void warn(const std::vector<std::string> &warnings, const console_options &console) {
    for (const std::string &warning : warnings) {
        std::cerr << (console.quiet ? "" : "qdq: warning: " + printable(warning) + "\n");
    }
}

void tell_links_out(const transformation &plan, const console_options &console) {
    for (const std::string &link : console.quiet ? std::vector<std::string>() : links_out(plan)) {
        std::cerr << "qdq: " << printable(link) << "\n";
    }
}

std::string terminal_table(const std::vector<std::vector<std::string>> &rows, size_t left) {
    std::string text = table(rows, left);
    const char *no_color = std::getenv("NO_COLOR");
    if (isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0')) {
        text.insert(text.find('\n'), "\033[0m").insert(0, "\033[1m");
    }
    return text;
}

void print_outputs(const transformation &plan) {
    std::vector<std::vector<std::string>> rows = {{"tensor", "shape", "type", "bytes"}};
    for (size_t shard = 0; shard < plan.shard_count(); ++shard) {
        for (const tensor_info &tensor : plan.outputs(shard)) {
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

kernel_figures run_under_bar(const transformation &plan, const output_options &output, const target_options &target,
                             const console_options &console) {
    finished_shards finished;
    size_t shards = plan.input().shard_count();
    try {
        progress bar(input_bytes(plan.input()), progress::unit::bytes, console.quiet);
        tell_links_out(plan, console);
        write_output(plan, output, target.threads, [&](uint64_t bytes) { bar.advance(bytes); }, finished);
    } catch (const interrupted &) {  // and the bar is gone
        tell_kept(output.path, finished.count, shards);
        throw;
    }
    if (finished.taken_over != 0 && !console.quiet) {
        std::cerr << "qdq: " << finished.taken_over << " of " << shards << " shards are those of an earlier run\n";
    }
    return finished.figures;
}

}  // namespace qdq::cli
