#include "tensor_file.h"

#include "error.h"
#include "npy.h"
#include "safetensors.h"
#include "text.h"

#include <algorithm>
#include <utility>

namespace qdq_cli {

namespace fs = std::filesystem;

namespace {

bool is_npy(const fs::path &path) { return path.extension() == ".npy"; }

void refuse_to_replace_input(const fs::path &output, const tensor_reader &input) {
    for (const fs::path &file : input.files()) {
        std::error_code error;
        if (fs::equivalent(file, output, error)) {
            throw usage_error(output.string() + ": the output would replace an input");
        }
    }
}

}  // namespace

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

std::optional<size_t> tensor_reader::find(const std::string &name) const {
    auto found = by_name_.find(name);
    return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

void tensor_reader::add(tensor_info tensor) {
    if (!by_name_.emplace(tensor.name, tensors_.size()).second) {
        throw failure("two tensors are named " + printable(tensor.name));
    }
    tensors_.push_back(std::move(tensor));
}

std::unique_ptr<tensor_reader> open_reader(const fs::path &path) {
    if (is_npy(path)) {
        return std::make_unique<npy_reader>(path);
    }
    return std::make_unique<safetensors_reader>(path);
}

std::unique_ptr<tensor_writer> create_writer(const fs::path &path, const tensor_reader &input,
                                             const std::vector<tensor_info> &tensors, const metadata_map &metadata) {
    if (is_npy(path) != is_npy(input.files().front())) {
        throw usage_error(path.string() + ": an .npy array is written to an .npy file and a model to a model file");
    }
    if (is_npy(path)) {
        for (const fs::path &file : npy_files(path)) {
            refuse_to_replace_input(file, input);
        }
        return std::make_unique<npy_writer>(path, tensors);
    }
    refuse_to_replace_input(path, input);
    return std::make_unique<safetensors_writer>(path, tensors, metadata);
}

}  // namespace qdq_cli
