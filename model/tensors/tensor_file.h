#pragma once

#include "support/input_file.h"
#include "tensors/dtype_table.h"

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

// Tensors in files. The threads of a process may read at the same time.
class tensor_reader : public tensor_source {
public:
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

    // Float tensors of a lower rank (in a model: biases, norms) are not meant to be quantized.
    virtual size_t lowest_quantized_rank() const = 0;

    // Whether 4-bit codes are held as compressed-tensors has them, with their zero points, or as they are.
    virtual bool packs_codes() const { return true; }

    // Whether scales of 0, and negative ones, are what writers of this kind of file make of ordinary values.
    virtual bool has_signed_scales() const { return false; }

    // Whether files of this kind keep metadata.
    virtual bool has_metadata() const = 0;

protected:
    const input_file &open(const std::filesystem::path &path);

    // By a path from a folder, which no link may lead out of.
    const input_file &open_beneath(const std::filesystem::path &folder, const std::filesystem::path &path);

    tensor_list tensors_;
    std::vector<metadata_map> metadata_ = std::vector<metadata_map>(1);  // of each shard
    std::vector<std::unique_ptr<input_file>> files_;
};

// The tensors are given at once, their data in any order; nothing is visible under the final name before commit().
class tensor_writer {
public:
    virtual ~tensor_writer() = default;
    virtual void write_at(size_t index, uint64_t offset, std::span<const std::byte> bytes) = 0;
    void write(size_t index, std::span<const std::byte> bytes) { write_at(index, 0, bytes); }
    virtual void commit() = 0;
};

// Whether a path is that of an ONNX model, and of an array.
bool is_onnx(const std::filesystem::path &path);
bool is_npy(const std::filesystem::path &path);

// What becomes of tensors of types that qdq does not read: the file is refused, or they are listed without data.
enum class other_types { refused, listed };

std::unique_ptr<tensor_reader> open_reader(const std::filesystem::path &path,
                                           other_types others = other_types::refused);

// Where a result goes.
struct output_options {
    std::filesystem::path path;
    bool replace = false;  // a file of this name
};

// Throws usage_error where the output would be a file, or a folder, that its name says is what qdq only reads.
void refuse_gguf(const output_options &output);

// Throws usage_error when an input would be replaced, or when the output is of another kind of file than `input`.
std::unique_ptr<tensor_writer> create_writer(const output_options &output, const tensor_reader &input,
                                             const tensor_list &tensors, const metadata_map &metadata);

}  // namespace qdq_cli
