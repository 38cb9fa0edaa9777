#pragma once

#include "files/onnx_model.h"
#include "files/onnx_output.h"
#include "tensors/quantized_tensor.h"
#include "tensors/tensor_file.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace qdq::model {

// The initializers of an ONNX model's graph. What a DequantizeLinear node makes of initializers alone is one quantized
// tensor, of the name and in the conventions of other files: its codes are x, as they are, its scale x_scale with the
// rank of x, its zero point x_zero_point, one to a byte. An axis in blocks is told in the metadata.
class onnx_reader final : public tensor_reader {
public:
    explicit onnx_reader(const std::filesystem::path &path);

    void read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const override;

    // As the MatMul, Gemm and convolution nodes use a tensor.
    bool is_weight(const tensor_info &tensor) const override;
    weight_axes axes(const tensor_info &weight) const override;

    const onnx_model &model() const { return model_; }
    const input_file &file() const { return *files_.front(); }

    // Whether an initializer is one of the tensors, or a part of one; whether a node makes one.
    bool holds(const onnx_initializer &initializer) const { return held_.contains(initializer.name); }
    bool makes_tensor(const onnx_node &node) const { return made_by_.contains(node.begin); }
    const onnx_initializer *find_initializer(const std::string &name) const;

    // The initializer behind a tensor.
    const onnx_initializer &initializer(size_t index) const { return model_.initializers[places_[index].initializer]; }

private:
    struct place {
        size_t initializer;
        bool is_nibbles;  // and the tensor's elements are bytes
    };

    std::optional<weight_axes> use_of(const std::string &name) const;
    void load();
    void add_weights(const onnx_node &node);
    std::vector<const onnx_node *> find_dequantize_nodes() const;
    bool is_dequantized(const onnx_node &node) const;
    void add(tensor_info info, size_t initializer, bool is_nibbles = false);
    void add_dequantized(const onnx_node &node, record_map &records);
    void add_others();

    onnx_model model_;
    std::map<std::string, size_t> by_name_;                           // of initializers
    std::map<std::string_view, std::optional<weight_axes>> weights_;  // of those that nodes use
    std::vector<place> places_;                                       // of each tensor
    std::set<std::string> held_;
    std::set<uint64_t> made_by_;
};

// An ONNX model with other initializers: each quantized tensor x is x_quantized, x_scale and x_zero_point, and a node
// DequantizeLinear makes x of them. The nodes and all else are those of the input, byte for byte, but for the versions
// of ONNX and its file format, which are raised where these nodes need it, and for the inputs of layers whose weights'
// records have them quantized as the model runs. Initializers are in a file beside the model where they were in a file
// of their own, or where the model would have 2 GB, protobuf's limit.
class onnx_writer final : public tensor_writer {
public:
    // Without an input the model has no other node, and its outputs are the tensors.
    onnx_writer(const output_options &output, const onnx_reader *input, const tensor_list &tensors,
                const metadata_map &metadata);

    void write_at(size_t index, uint64_t offset, std::span<const std::byte> bytes) override;
    void commit() override;

private:
    struct slot {
        bool is_external = false, is_nibbles = false;
        uint64_t offset = 0;
    };

    void write_layout(const class onnx_layout &layout);

    onnx_output output_;
    std::vector<slot> slots_;  // of each tensor
};

}  // namespace qdq::model
