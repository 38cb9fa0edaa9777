#pragma once

#include "support/input_file.h"
#include "tensors/dtype_table.h"
#include "tensors/file_kind.h"

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

namespace qdq::model {

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

uint64_t byte_size(const tensor_list &tensors);

// Named tensors. All data is dense, row-major and little-endian, whatever a file's own order.
class tensor_source {
public:
    virtual ~tensor_source() = default;

    virtual const tensor_list &tensors() const = 0;

    // Fills `bytes` from the offset in the data of a tensor.
    virtual void read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const = 0;
    void read(size_t index, std::span<std::byte> bytes) const { read_at(index, 0, bytes); }
};

// What a file holds of a tensor, which may be read as another type: its type there, by the file's own name for it.
struct stored_form {
    std::string_view type;
    uint64_t bytes = 0;
};

// The dimensions of a weight as a model computes with it: that of its outputs, and the one that it sums over.
struct weight_axes {
    int64_t output, summed;

    bool operator==(const weight_axes &) const = default;
};

// Tensors in files. The threads of a process may read at the same time.
class tensor_reader : public tensor_source {
public:
    explicit tensor_reader(const file_kind &kind) : kind_(kind) {}

    const file_kind &kind() const { return kind_; }
    const tensor_list &tensors() const final { return tensors_; }
    std::optional<size_t> find(std::string_view name) const { return tensors_.find(name); }

    // The files of a model are its shards. Metadata are theirs, empty where there are none.
    virtual size_t shard_count() const { return 1; }
    virtual size_t shard_of(size_t) const { return 0; }
    const metadata_map &metadata(size_t shard) const { return metadata_[shard]; }

    virtual stored_form form(size_t index) const { return {tensors_[index].type->name, byte_size(tensors_[index])}; }

    // Whether it is read as another type than it has in the file.
    bool is_decoded(size_t index) const { return form(index).type != tensors_[index].type->name; }

    // The path it was opened by.
    virtual std::string path() const { return files_.front()->path().string(); }

    // Whether `path` leads to one of the files behind the tensors.
    virtual bool reads(const std::filesystem::path &path) const;

    // Throws when one of the files was written to since it was opened.
    virtual void check_unchanged() const;

    // Whether a tensor is one to quantize by what is told of the model, and how the model uses a weight.
    virtual bool is_weight(const tensor_info &tensor) const;
    virtual weight_axes axes(const tensor_info &weight) const { return {0, std::ssize(weight.shape) - 1}; }

protected:
    const input_file &open(const std::filesystem::path &path);

    // By a path from a folder, which no link may lead out of.
    const input_file &open_beneath(const std::filesystem::path &folder, const std::filesystem::path &path);

    tensor_list tensors_;
    std::vector<metadata_map> metadata_ = std::vector<metadata_map>(1);  // of each shard
    std::vector<std::unique_ptr<input_file>> files_;

private:
    const file_kind &kind_;
};

// The size of all tensors in a file.
uint64_t stored_bytes(const tensor_reader &file);

// The tensors are given at once, their data in any order; nothing is visible under the final name before commit().
class tensor_writer {
public:
    virtual ~tensor_writer() = default;
    virtual void write_at(size_t index, uint64_t offset, std::span<const std::byte> bytes) = 0;
    void write(size_t index, std::span<const std::byte> bytes) { write_at(index, 0, bytes); }
    virtual void commit() = 0;
};

}  // namespace qdq::model
