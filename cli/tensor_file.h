#pragma once

#include "dtype_table.h"
#include "input_file.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qdq_cli {

// A file whose tensors have more dimensions is refused. NumPy has the same limit, the library a lower one.
constexpr size_t max_rank = 64;

struct tensor_info {
    std::string name;
    const dtype *type;
    std::vector<int64_t> shape;
};

// These throw when the result would not fit in 63 bits. byte_size() rounds a packed tensor up to whole bytes.
int64_t element_count(const std::vector<int64_t> &shape);
uint64_t byte_size(const tensor_info &tensor);

// Tensors in an order, each with a name of its own.
class tensor_list {
public:
    void add(tensor_info tensor);  // throws on a name that is already there
    std::optional<size_t> find(std::string_view name) const;

    size_t size() const { return tensors_.size(); }
    const tensor_info &operator[](size_t index) const { return tensors_[index]; }
    auto begin() const { return tensors_.begin(); }
    auto end() const { return tensors_.end(); }

private:
    std::deque<tensor_info> tensors_;             // which stay where they are: the names below are theirs
    std::map<std::string_view, size_t> by_name_;  // unlike a hash table, in time that no choice of names makes longer
};

using metadata_map = std::map<std::string, std::string>;

// Named tensors in files. All data is dense, row-major and little-endian, whatever the file's own order.
class tensor_reader {
public:
    virtual ~tensor_reader() = default;
    virtual void read(size_t index, std::span<std::byte> bytes) const = 0;

    const tensor_list &tensors() const { return tensors_; }
    const metadata_map &metadata() const { return metadata_; }
    std::optional<size_t> find(std::string_view name) const { return tensors_.find(name); }

    // The path it was opened by.
    std::string path() const { return files_.front()->path().string(); }

    // Whether `path` leads to one of the files behind the tensors.
    bool reads(const std::filesystem::path &path) const;

    // Throws when one of the files was written to since it was opened.
    void check_unchanged() const;

    // Float tensors of a lower rank (in a model: biases, norms) are not meant to be quantized.
    virtual size_t lowest_quantized_rank() const = 0;

    // Whether files of this kind keep metadata.
    virtual bool has_metadata() const = 0;

protected:
    const input_file &open(const std::filesystem::path &path);

    tensor_list tensors_;
    metadata_map metadata_;
    std::vector<std::unique_ptr<input_file>> files_;
};

// The tensors are given at once, their data in any order; nothing is visible under the final name before commit().
class tensor_writer {
public:
    virtual ~tensor_writer() = default;
    virtual void write(size_t index, std::span<const std::byte> bytes) = 0;
    virtual void commit() = 0;
};

std::unique_ptr<tensor_reader> open_reader(const std::filesystem::path &path);

// Where a result goes.
struct output_options {
    std::filesystem::path path;
    bool replace = false;  // a file of this name
};

// Throws usage_error when an input would be replaced, or when the output is of another kind of file than `input`.
std::unique_ptr<tensor_writer> create_writer(const output_options &output, const tensor_reader &input,
                                             const tensor_list &tensors, const metadata_map &metadata);

}  // namespace qdq_cli
