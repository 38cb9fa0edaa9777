#pragma once

#include "tensors/tensor_file.h"

#include <string>
#include <vector>

namespace qdq_cli {

// A GGUF file, version 2 or 3, little-endian. Its tensors of Q8_0 and Q4_0, blocks of 32 codes along the last dimension
// behind an F16 scale, are presented in the conventions of other files: x or x_packed, x_scale and x_shape. Those of
// other types in blocks are read as F32. The layout is that of ggml's docs/gguf.md and ggml-quants.h.
class gguf_reader final : public tensor_reader {
public:
    // Tensors that are listed have a type without a size, and no data.
    explicit gguf_reader(const std::filesystem::path &path, other_types others = other_types::refused);

    void read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const override;
    size_t lowest_quantized_rank() const override { return 2; }
    bool has_metadata() const override { return true; }
    bool has_signed_scales() const override { return true; }  // Q4_0: the value farthest from 0, divided by -8
    stored_form form(size_t index) const override { return {places_[index].type, places_[index].bytes}; }

private:
    // How much of each block is taken, and by which function.
    struct block_form {
        uint64_t bytes = 0, taken = 0;
        void (*take)(const std::byte *block, std::byte *to) = nullptr;
    };

    // Where a tensor comes from: its blocks, or, without `take`, the file's bytes as they are.
    struct place {
        std::string type;  // in the file
        uint64_t offset = 0, bytes = 0;
        block_form blocks = {};
        std::vector<int64_t> shape = {};  // where it is not empty it is the data
    };

    void load(other_types others);
    void add_tensor(const struct gguf_tensor &tensor, uint64_t data_begin);
    void add_codes(const struct gguf_tensor &tensor, const place &from);
    void add(tensor_info info, place from);
    void read_blocks(const place &from, uint64_t offset, std::span<std::byte> bytes) const;

    const input_file &file_;
    std::vector<place> places_;  // of each tensor
};

}  // namespace qdq_cli
