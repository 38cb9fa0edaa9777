#pragma once

#include "dtype_table.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace qdq_cli {

struct tensor_info {
    std::string name;
    const dtype *type;
    std::vector<int64_t> shape;
};

// These throw when the result would not fit in 63 bits. byte_size() rounds a packed tensor up to whole bytes.
int64_t element_count(const std::vector<int64_t> &shape);
uint64_t byte_size(const tensor_info &tensor);

using metadata_map = std::map<std::string, std::string>;

// Named tensors in files. All data is dense, row-major and little-endian, whatever the file's own order.
class tensor_reader {
public:
    virtual ~tensor_reader() = default;
    virtual void read(size_t index, std::span<std::byte> bytes) const = 0;

    const std::vector<tensor_info> &tensors() const { return tensors_; }
    const metadata_map &metadata() const { return metadata_; }
    std::optional<size_t> find(const std::string &name) const;

    // The files behind the tensors.
    const std::vector<std::filesystem::path> &files() const { return files_; }

    // Float tensors of a lower rank (in a model: biases, norms) are not meant to be quantized.
    virtual size_t lowest_quantized_rank() const = 0;

    // Whether files of this kind keep metadata.
    virtual bool has_metadata() const = 0;

protected:
    void add(tensor_info tensor);  // throws on a name that is already there

    metadata_map metadata_;
    std::vector<std::filesystem::path> files_;

private:
    std::vector<tensor_info> tensors_;
    std::map<std::string, size_t> by_name_;
};

// The tensors are given at once, their data in any order; nothing is visible under the final names before commit().
class tensor_writer {
public:
    virtual ~tensor_writer() = default;
    virtual void write(size_t index, std::span<const std::byte> bytes) = 0;
    virtual void commit() = 0;
};

std::unique_ptr<tensor_reader> open_reader(const std::filesystem::path &path);

// Throws usage_error when `path` would replace an input or is of another kind of file than `input`.
std::unique_ptr<tensor_writer> create_writer(const std::filesystem::path &path, const tensor_reader &input,
                                             const std::vector<tensor_info> &tensors, const metadata_map &metadata);

}  // namespace qdq_cli
