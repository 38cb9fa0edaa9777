#pragma once

#include "tensors/tensor_file.h"

#include <filesystem>
#include <memory>

namespace qdq::model {

// The kinds of files, each in the source of its name, and of folders.
extern const file_kind gguf_files, npy_files, onnx_files, safetensors_files, model_folders;

// Those that are known by their extensions. Any other file is a .safetensors file.
inline constexpr const file_kind *named_kinds[] = {&gguf_files, &npy_files, &onnx_files};

// The kind of what is at a path, and that of what is to be written there: its name alone decides.
const file_kind &kind_of(const std::filesystem::path &path);
const file_kind &kind_named(const std::filesystem::path &path);

std::unique_ptr<tensor_reader> open_reader(const std::filesystem::path &path,
                                           other_types others = other_types::refused);

// Throws usage_error where a folder would become a GGUF file, or another kind of file gets metadata.
void check_output(const std::filesystem::path &input, const output_options &output);

// Throws usage_error where a file at `output` is one that `input` reads.
void check_replaces_none_of(const tensor_reader &input, const std::filesystem::path &output);

// Throws usage_error when an input would be replaced, or when the output is of another kind of file than `input`.
std::unique_ptr<tensor_writer> create_writer(const output_options &output, const tensor_reader &input,
                                             const tensor_list &tensors, const metadata_map &metadata);

}  // namespace qdq::model
