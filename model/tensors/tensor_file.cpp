#include "tensors/tensor_file.h"

#include "support/error.h"
#include "support/open_beneath.h"
#include "support/text.h"

#include <algorithm>
#include <utility>

namespace qdq::model {

namespace fs = std::filesystem;

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
    const dtype &type = *tensor.type;
    int64_t bits = 0, of_one = type.block_bytes != 0 ? int64_t{type.block_bytes} * 8 : type.bits;
    if (__builtin_mul_overflow(element_count(tensor.shape) / type.block_elements, of_one, &bits)) {
        throw failure("shape " + shape_text(tensor.shape) + " is too large");
    }
    return (static_cast<uint64_t>(bits) + 7) / 8;
}

uint64_t byte_size(const tensor_list &tensors) {
    uint64_t total = 0;
    for (const tensor_info &tensor : tensors) {
        total += byte_size(tensor);
    }
    return total;
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

bool tensor_reader::is_weight(const tensor_info &tensor) const {
    return tensor.type->is_float() && tensor.shape.size() >= kind_.lowest_quantized_rank;
}

void tensor_reader::check_unchanged() const {
    for (const auto &file : files_) {
        file->check_unchanged();
    }
}

uint64_t stored_bytes(const tensor_reader &file) {
    uint64_t total = 0;
    for (size_t i = 0; i < file.tensors().size(); ++i) {
        total += file.form(i).bytes;
    }
    return total;
}

}  // namespace qdq::model
