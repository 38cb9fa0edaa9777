#include "run_conversion.h"

#include "model_output.h"
#include "progress.h"
#include "text.h"

#include <iostream>

namespace qdq_cli {

namespace {

kernel_figures write_file(const conversion &what, const output_options &output, const progress_function &advance) {
    std::unique_ptr<tensor_writer> writer = create_writer(output, what.input(), what.outputs(0), what.metadata(0));
    kernel_figures figures = what.write(0, what.input(), *writer, advance);
    writer->commit();
    return figures;
}

}  // namespace

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

kernel_figures run_conversion(const conversion &what, const output_options &output, const target_options &target,
                              const console_options &console) {
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
    if (folder != nullptr && !is_onnx(output.path)) {
        model_output model(what, *folder, output);
        return write_model(model, what, target.threads, advance);
    }
    return write_file(what, output, advance);
}

}  // namespace qdq_cli
