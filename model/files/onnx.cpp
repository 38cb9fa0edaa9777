#include "files/onnx.h"

#include "files/file_kinds.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/text.h"
#include "tensors/layers.h"

#include <algorithm>
#include <utility>

namespace qdq::model {

namespace {

// The attributes of DequantizeLinear have these values where they are not given.
constexpr int64_t default_axis = 1, default_block_size = 0;

std::optional<weight_axes> use_as_weight(const onnx_node &node, size_t input, int64_t rank) {
    if (!node.is_standard || rank < 2) {
        return std::nullopt;
    }
    if (node.op_type == "MatMul") {
        return input == 0 ? weight_axes{rank - 2, rank - 1} : weight_axes{rank - 1, rank - 2};
    }
    bool input_first = node.op_type == "ConvTranspose" || (node.op_type == "Gemm" && node.attribute("transB", 0) == 0);
    bool multiplies = node.op_type == "Conv" || node.op_type == "ConvTranspose" || node.op_type == "Gemm";
    if (!multiplies || input != 1) {
        return std::nullopt;
    }
    return input_first ? weight_axes{1, 0} : weight_axes{0, 1};
}

// The axis of a node from the first dimension on; nothing where the tensor has no such axis.
std::optional<size_t> axis_of(const onnx_node &node, size_t rank) {
    int64_t axis = node.attribute("axis", default_axis), extents = static_cast<int64_t>(rank);
    if (axis < -extents || axis >= extents) {
        return std::nullopt;
    }
    return static_cast<size_t>(axis < 0 ? axis + extents : axis);
}

// The scale's shape as other files have it, [1] or of the tensor's rank; nothing where it is none that the node can
// use.
std::optional<std::vector<int64_t>> scale_shape_of(const onnx_node &node, const std::vector<int64_t> &shape,
                                                   const std::vector<int64_t> &scale) {
    if (element_count(scale) == 1) {
        return std::vector<int64_t>{1};
    }
    std::optional<size_t> axis = axis_of(node, shape.size());
    if (!axis) {
        return std::nullopt;
    }
    if (node.attribute("block_size", default_block_size) > 0) {
        return scale.size() == shape.size() ? std::optional(scale) : std::nullopt;
    }
    if (scale.size() != 1 || scale[0] != shape[*axis]) {
        return std::nullopt;
    }
    std::vector<int64_t> expanded(shape.size(), 1);
    expanded[*axis] = scale[0];
    return expanded;
}

void read_stored(const onnx_data &data, uint64_t offset, std::span<std::byte> bytes) {
    if (!data.decoded.empty()) {
        std::ranges::copy(std::span(data.decoded).subspan(offset, bytes.size()), bytes.begin());
    } else if (!bytes.empty()) {
        data.file->read(data.offset + offset, bytes);
    }
}

}  // namespace

onnx_reader::onnx_reader(const std::filesystem::path &path) : tensor_reader(onnx_files) {
    std::map<std::string, const input_file *> opened;
    auto open_beside = [&](const std::string &location) -> const input_file & {
        const input_file *&file = opened[location];
        if (file == nullptr) {
            file = &open_beneath(path.parent_path(), location);
        }
        return *file;
    };
    const input_file &file = open(path);
    name_in_failures(path.string(), [&] {
        model_ = read_onnx_model(file, open_beside);
        load();
    });
}

void onnx_reader::load() {
    for (size_t i = 0; i < model_.initializers.size(); ++i) {
        throw_if_interrupted();
        if (!by_name_.emplace(model_.initializers[i].name, i).second) {
            throw failure("two initializers are named " + shortened(model_.initializers[i].name));
        }
    }
    for (const onnx_node &node : model_.nodes) {
        throw_if_interrupted();
        add_weights(node);
    }
    record_map records;
    for (const onnx_node *node : find_dequantize_nodes()) {
        throw_if_interrupted();
        add_dequantized(*node, records);
    }
    add_others();
    if (!records.empty()) {
        metadata_[0] = with_records({}, records);
    }
}

// Where another node, or another input of this one, uses an initializer differently, it is nobody's weight.
void onnx_reader::add_weights(const onnx_node &node) {
    bool other_layer = names_other_layer(node.name);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        throw_if_interrupted();
        const onnx_initializer *used = find_initializer(node.inputs[i]);
        if (used == nullptr) {
            continue;
        }
        std::optional<weight_axes> use = other_layer ? std::nullopt : use_as_weight(node, i, std::ssize(used->shape));
        auto [found, first] = weights_.emplace(used->name, use);
        if (!first && found->second != use) {
            found->second = std::nullopt;
        }
    }
}

const onnx_initializer *onnx_reader::find_initializer(const std::string &name) const {
    auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &model_.initializers[found->second];
}

bool onnx_reader::is_dequantized(const onnx_node &node) const {
    bool candidate = node.op_type == "DequantizeLinear" && node.is_standard && !node.is_nested &&
                     node.inputs.size() >= 2 && node.inputs.size() <= 3 && node.outputs.size() == 1;
    if (!candidate) {
        return false;
    }
    bool shifted = node.inputs.size() == 3 && !node.inputs[2].empty();
    const onnx_initializer *codes = find_initializer(node.inputs[0]), *scale = find_initializer(node.inputs[1]),
                           *zero_point = shifted ? find_initializer(node.inputs[2]) : nullptr;
    bool typed = codes != nullptr && scale != nullptr && codes->type != nullptr && scale->type != nullptr &&
                 codes->type->is_code() && scale->type->is_float();
    if (!typed) {
        return false;
    }
    int64_t output_type = node.attribute("output_dtype", 0);
    bool same_zero_point =
        !shifted || (zero_point != nullptr && zero_point->type == codes->type && zero_point->shape == scale->shape);
    return same_zero_point && (output_type == 0 || output_type == onnx_type_of(*scale->type)) &&
           scale_shape_of(node, codes->shape, scale->shape).has_value();
}

// Those whose initializers nothing else uses: with the node these go, and with other codes others come.
std::vector<const onnx_node *> onnx_reader::find_dequantize_nodes() const {
    std::vector<const onnx_node *> found;
    std::multimap<std::string_view, const onnx_node *> users;  // those of `found`
    std::vector<std::string_view> used;                        // by anything else, each of which is gone through once
    for (const onnx_node &node : model_.nodes) {
        throw_if_interrupted();
        bool dequantized = is_dequantized(node);
        for (const std::string &input : node.inputs) {
            if (!dequantized) {
                used.push_back(input);
            } else if (!input.empty()) {
                users.emplace(input, &node);
            }
        }
        if (dequantized) {
            found.push_back(&node);
        }
    }
    std::ranges::transform(model_.outputs, std::back_inserter(used), &onnx_entry::name);
    std::set<const onnx_node *> left_alone;
    while (!used.empty()) {
        throw_if_interrupted();
        auto [first, last] = users.equal_range(used.back());
        used.pop_back();
        for (auto user = first; user != last; ++user) {
            if (left_alone.insert(user->second).second) {
                std::ranges::copy(user->second->inputs, std::back_inserter(used));
            }
        }
        users.erase(first, last);
    }
    std::erase_if(found, [&](const onnx_node *node) { return left_alone.contains(node); });
    return found;
}

void onnx_reader::add(tensor_info info, size_t initializer, bool is_nibbles) {
    tensors_.add(std::move(info));
    places_.push_back({initializer, is_nibbles});
    held_.insert(model_.initializers[initializer].name);
}

void onnx_reader::add_dequantized(const onnx_node &node, record_map &records) {
    const std::string &name = node.outputs[0];
    size_t codes = by_name_.at(node.inputs[0]), scale = by_name_.at(node.inputs[1]);
    const onnx_initializer &stored = model_.initializers[codes], &scales = model_.initializers[scale];
    std::vector<int64_t> scale_shape = *scale_shape_of(node, stored.shape, scales.shape);
    quantization_record record = {.source = scales.type};
    if (node.attribute("block_size", default_block_size) > 0 && scale_shape.size() == stored.shape.size()) {
        record.axis = static_cast<int64_t>(*axis_of(node, stored.shape.size()));
        int64_t extent = std::max<int64_t>(stored.shape[static_cast<size_t>(record.axis)], 1);
        record.block_size = std::min(node.attribute("block_size", 0), extent);
    }
    records[name] = record;
    made_by_.insert(node.begin);
    add({name, stored.type, stored.shape}, codes);
    add({scale_name(name), scales.type, scale_shape}, scale);
    if (node.inputs.size() == 3 && !node.inputs[2].empty()) {
        const dtype &byte_type = zero_point_dtype(*stored.type);
        add({zero_point_name(name), &byte_type, scale_shape}, by_name_.at(node.inputs[2]), stored.type->bits == 4);
    }
}

// Not those that the conventions of other files would take for the codes of a quantized tensor: no node says so.
void onnx_reader::add_others() {
    tensor_list all;
    std::ranges::for_each(tensors_, [&](const tensor_info &tensor) { all.add(tensor); });
    std::vector<std::pair<size_t, size_t>> others;  // of the list, and the initializers
    for (size_t i = 0; i < model_.initializers.size(); ++i) {
        throw_if_interrupted();
        const onnx_initializer &each = model_.initializers[i];
        if (each.type != nullptr && !held_.contains(each.name)) {
            others.emplace_back(all.size(), i);
            all.add({each.name, each.type, each.shape});
        }
    }
    for (auto [index, initializer] : others) {
        throw_if_interrupted();
        if (!find_logical_tensor(all, index).parts) {
            add(all[index], initializer);
        }
    }
}

void onnx_reader::read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const {
    const onnx_data &data = initializer(index).data;
    if (places_[index].is_nibbles) {
        uint64_t first = offset / 2, last = (offset + bytes.size() + 1) / 2;
        std::vector<std::byte> packed(last - first);
        read_stored(data, first, packed);
        bool is_signed = tensors_[index].type->lowest < 0;
        for (size_t i = 0; i < bytes.size(); ++i) {
            uint64_t at = offset + i;
            int nibble = std::to_integer<int>(packed[at / 2 - first] >> at % 2 * 4 & std::byte{15});
            bytes[i] = static_cast<std::byte>(is_signed ? (nibble ^ 8) - 8 : nibble);
        }
    } else {
        read_stored(data, offset, bytes);
    }
}

// Nothing where a node uses it as no weight, or differently, or where names say that it is no linear layer's.
std::optional<weight_axes> onnx_reader::use_of(const std::string &name) const {
    auto found = weights_.find(name);
    return found == weights_.end() || names_other_layer(name) ? std::nullopt : found->second;
}

bool onnx_reader::is_weight(const tensor_info &tensor) const {
    return tensor.type->is_float() && use_of(tensor.name).has_value();
}

weight_axes onnx_reader::axes(const tensor_info &weight) const {
    return use_of(weight.name).value_or(tensor_reader::axes(weight));
}

const file_kind onnx_files = {
    .name = "ONNX",
    .extension = ".onnx",
    .open = [](const std::filesystem::path &path, other_types) -> std::unique_ptr<tensor_reader> {
        return std::make_unique<onnx_reader>(path);
    },
    .create = [](const output_options &output, const tensor_reader &input, const tensor_list &tensors,
                 const metadata_map &metadata) -> std::unique_ptr<tensor_writer> {
        const auto *graph = input.kind().holds == holding::graph ? static_cast<const onnx_reader *>(&input) : nullptr;
        return std::make_unique<onnx_writer>(output, graph, tensors, metadata);
    },
    .holds = holding::graph,
    .packs_codes = false,
};

}  // namespace qdq::model
