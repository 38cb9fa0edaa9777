#pragma once

#include "tensor_file.h"

#include <string>
#include <vector>

namespace qdq_cli {

// A GGUF file, version 2 or 3, little-endian. Its tensors of Q8_0 and Q4_0, blocks of 32 codes along the last dimension
// behind an F16 scale, are presented in the conventions of other files: x or x_packed, x_scale and x_shape. The layout
// is that of ggml's docs/gguf.md and ggml-quants.h.
class gguf_reader final : public tensor_reader {
public:
    explicit gguf_reader(const std::filesystem::path &path);

    void read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const override;
    size_t lowest_quantized_rank() const override { return 2; }
    bool has_metadata() const override { return true; }

private:
    enum class content { as_is, codes, nibbles, scales, shape };

    // Where a tensor comes from: `of` each block, or the file's bytes as they are.
    struct place {
        content of;
        uint64_t offset;
        uint64_t block_bytes;        // of a block in the file
        std::vector<int64_t> shape;  // what the tensor `shape` tells
    };

    void load();
    void add_tensor(const struct gguf_tensor &tensor, uint64_t data_begin);
    void add(tensor_info info, place from);
    void read_blocks(const place &from, uint64_t offset, std::span<std::byte> bytes) const;

    const input_file &file_;
    std::vector<place> places_;  // of each tensor
};

}  // namespace qdq_cli
