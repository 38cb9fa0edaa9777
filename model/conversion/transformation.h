#pragma once

#include "support/json.h"
#include "tensors/kernel_use.h"
#include "tensors/tensor_file.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace qdq::model {

// Told how many bytes of the input are done, from any thread. What it throws ends the work.
using progress_function = std::function<void(uint64_t bytes)>;

// What is made of the tensors of a model, one shard at a time: each shard of the input becomes one of the output. All
// of it is decided on construction, from names, types and shapes; the data are read by write(). Nothing here prints.
class transformation {
public:
    explicit transformation(std::unique_ptr<tensor_reader> input) : input_(std::move(input)) {}
    virtual ~transformation() = default;

    const tensor_reader &input() const { return *input_; }
    virtual size_t changed_count() const = 0;  // of its tensors those that are not copied

    virtual size_t shard_count() const { return input().shard_count(); }  // of the output

    // What the shard of the output holds. Its size is the sum of byte_size().
    virtual tensor_list outputs(size_t shard) const = 0;
    virtual metadata_map metadata(size_t shard) const = 0;

    // Writes the data of outputs(shard), each once, in memory bounded by the largest tensor that is converted. `source`
    // has the tensors of input(), and is all that is read. Shards may be written at the same time by several threads,
    // or processes.
    virtual kernel_figures write(size_t shard, const tensor_source &source, tensor_writer &output,
                                 const progress_function &advance) const = 0;

    // Turns the model's config.json into that of the output.
    virtual void configure(json &config) const = 0;

    // All that the output depends on beside the input and the version of this program.
    virtual std::string description() const = 0;

protected:
    std::unique_ptr<tensor_reader> input_;
};

// The bytes of the tensors of a shard of the input, and of all.
uint64_t input_bytes(const tensor_reader &input, size_t shard);
inline uint64_t input_bytes(const tensor_reader &input) { return byte_size(input.tensors()); }

// Copies a tensor through a small buffer.
void copy_tensor(const tensor_source &input, size_t from, tensor_writer &output, size_t to,
                 const progress_function &advance);

}  // namespace qdq::model
