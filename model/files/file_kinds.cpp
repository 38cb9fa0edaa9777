#include "files/file_kinds.h"

#include "support/error.h"
#include "support/words.h"

#include <algorithm>
#include <iterator>

namespace qdq::model {

namespace fs = std::filesystem;

const file_kind &kind_named(const fs::path &path) {
    auto found = std::ranges::find(named_kinds, path.extension(), &file_kind::extension);
    return found == std::end(named_kinds) ? safetensors_files : **found;
}

const file_kind &kind_of(const fs::path &path) {
    std::error_code error;
    return fs::is_directory(path, error) ? model_folders : kind_named(path);
}

std::unique_ptr<tensor_reader> open_reader(const fs::path &path, other_types others) {
    return kind_of(path).open(path, others);
}

void check_output(const fs::path &input, const output_options &output) {
    const file_kind &kind = kind_named(output.path);
    if (kind.holds_blocks && kind_of(input).holds == holding::model) {
        throw usage_error(output.path.string() + ": a model's folder becomes a folder, and no " +
                          std::string(kind.name) + " file");
    }
    if (!output.metadata.empty() && !kind.holds_blocks) {
        throw usage_error(option_text("metadata") + " is of an output that is a .gguf file");
    }
}

void check_replaces_none_of(const tensor_reader &input, const fs::path &output) {
    if (input.reads(output)) {
        throw usage_error(output.string() + ": the output would replace an input");
    }
}

std::unique_ptr<tensor_writer> create_writer(const output_options &output, const tensor_reader &input,
                                             const tensor_list &tensors, const metadata_map &metadata) {
    const file_kind &kind = kind_named(output.path);
    if ((kind.holds == holding::arrays) != (input.kind().holds == holding::arrays)) {
        throw usage_error(output.path.string() + ": an .npy array is written to an .npy file and a model to a model " +
                          "file");
    }
    check_replaces_none_of(input, output.path);
    return kind.create(output, input, tensors, metadata);
}

}  // namespace qdq::model
