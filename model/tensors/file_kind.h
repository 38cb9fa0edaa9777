#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace qdq::model {

class tensor_list;
class tensor_reader;
class tensor_writer;

using metadata_map = std::map<std::string, std::string>;

// What becomes of tensors of types that qdq does not read: the file is refused, or they are listed without data.
enum class other_types { refused, listed };

// Where a result goes.
struct output_options {
    std::filesystem::path path;
    bool replace = false;                 // a file of this name
    std::filesystem::path metadata = {};  // of a .gguf file: another one that has them; empty: the input's own
};

// What is in a file, by which it is decided what can become of it.
enum class holding {
    tensors,  // by name
    arrays,   // codes and what belongs to them, which no name chooses
    graph,    // tensors, and nodes that compute with them and restore those that are quantized
    model,    // files of tensors, the model's shards, and others beside them
};

// A kind of file that holds tensors, or of folder.
struct file_kind {
    std::string_view name, extension;
    std::unique_ptr<tensor_reader> (*open)(const std::filesystem::path &path, other_types others);
    std::unique_ptr<tensor_writer> (*create)(
        const output_options &output, const tensor_reader &input, const tensor_list &tensors,
        const metadata_map &metadata) = nullptr;  // null: a folder, which is written file by file
    holding holds = holding::tensors;

    // Float tensors of a lower rank (in a model: biases, norms) are not meant to be quantized.
    size_t lowest_quantized_rank = 2;

    // Whether 4-bit codes are held as compressed-tensors has them, with their zero points, or as they are.
    bool packs_codes = true;

    // Whether quantized tensors are ggml's blocks alone. Such a file has metadata of a model, which another may give
    // it.
    bool holds_blocks = false;

    // Whether scales of 0, and negative ones, are what writers of this kind of file make of ordinary values.
    bool has_signed_scales = false;

    // Whether files of this kind keep metadata.
    bool has_metadata = true;
};

}  // namespace qdq::model
