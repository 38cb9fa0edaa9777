#include "tensors/tensor_file.h"

#include "files/gguf.h"
#include "files/model_folder.h"
#include "files/npy.h"
#include "files/onnx.h"
#include "files/safetensors.h"
#include "support/error.h"
#include "support/open_beneath.h"
#include "support/text.h"

#include <algorithm>
#include <utility>

namespace qdq_cli {

namespace fs = std::filesystem;

bool is_npy(const fs::path &path) { return path.extension() == ".npy"; }

bool is_onnx(const fs::path &path) { return path.extension() == ".onnx"; }

int64_t element_count(const std::vector<int64_t> &shape) {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
        return 0;
    }
    int64_t count = 1;
    for (int64_t extent : shape) {
        if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) {
            throw failure("shape " + shape_text(shape) + " is too large");
        }
    }
    return count;
}

uint64_t byte_size(const tensor_info &tensor) {
    int64_t bits = 0;
    if (__builtin_mul_overflow(element_count(tensor.shape), int64_t{tensor.type->bits}, &bits)) {
        throw failure("shape " + shape_text(tensor.shape) + " is too large");
    }
    return (static_cast<uint64_t>(bits) + 7) / 8;
}

void tensor_list::add(tensor_info tensor) {
    if (find(tensor.name)) {
        throw failure("two tensors are named " + shortened(tensor.name));
    }
    tensors_.push_back(std::move(tensor));
    by_name_.emplace(tensors_.back().name, tensors_.size() - 1);
}

std::optional<size_t> tensor_list::find(std::string_view name) const {
    auto found = by_name_.find(name);
    return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

const input_file &tensor_reader::open(const fs::path &path) {
    files_.push_back(std::make_unique<input_file>(path));
    return *files_.back();
}

const input_file &tensor_reader::open_beneath(const fs::path &folder, const fs::path &path) {
    files_.push_back(std::make_unique<input_file>(open_file_beneath(folder, path), folder / path));
    return *files_.back();
}

bool tensor_reader::reads(const fs::path &path) const {
    return std::ranges::any_of(files_, [&](const auto &file) { return file->is_at(path); });
}

void tensor_reader::check_unchanged() const {
    for (const auto &file : files_) {
        file->check_unchanged();
    }
}

std::unique_ptr<tensor_reader> open_reader(const fs::path &path, other_types others) {
    if (is_model_folder(path)) {
        return std::make_unique<model_folder>(path);
    }
    if (is_npy(path)) {
        return std::make_unique<npy_reader>(path);
    }
    if (path.extension() == ".gguf") {
        return std::make_unique<gguf_reader>(path, others);
    }
    if (is_onnx(path)) {
        return std::make_unique<onnx_reader>(path);
    }
    return std::make_unique<safetensors_reader>(path);
}

void refuse_gguf(const output_options &output) {
    if (output.path.extension() == ".gguf") {
        throw usage_error(output.path.string() + ": GGUF files are read, not written");
    }
}

std::unique_ptr<tensor_writer> create_writer(const output_options &output, const tensor_reader &input,
                                             const tensor_list &tensors, const metadata_map &metadata) {
    if (is_npy(output.path) != is_npy(input.path())) {
        throw usage_error(output.path.string() + ": an .npy array is written to an .npy file and a model to a model " +
                          "file");
    }
    if (input.reads(output.path)) {
        throw usage_error(output.path.string() + ": the output would replace an input");
    }
    if (is_npy(output.path)) {
        return std::make_unique<npy_writer>(output, tensors);
    }
    refuse_gguf(output);
    if (is_onnx(output.path)) {
        return std::make_unique<onnx_writer>(output, dynamic_cast<const onnx_reader *>(&input), tensors, metadata);
    }
    return std::make_unique<safetensors_writer>(output, tensors, metadata);
}

}  // namespace qdq_cli
