#include "files/onnx.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/protobuf_scanner.h"
#include "support/text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>
#include <utility>

namespace qdq::model {

namespace fs = std::filesystem;
using protozero::pbf_writer;

namespace {

constexpr uint64_t largest_message = INT32_MAX;  // protobuf's limit

// A piece of a file that is written: bytes, a range of another file, or a tensor that comes later.
struct piece {
    uint64_t size = 0;
    std::string bytes;
    const input_file *file = nullptr;
    uint64_t begin = 0;
    std::optional<size_t> tensor;

    bool is_bytes() const { return file == nullptr && !tensor; }
    uint64_t end() const { return begin + size; }

    // Not of a tensor.
    void read(uint64_t offset, std::span<std::byte> to) const {
        if (file != nullptr) {
            file->read(begin + offset, to);
        } else {
            std::ranges::copy(std::as_bytes(std::span(bytes)).subspan(offset, to.size()), to.begin());
        }
    }
};

// The pieces of a message, whose sizes are known before anything is written. Bytes that follow one another, in the file
// that they are from too, are one piece.
class message_pieces {
public:
    void add(const std::string &bytes) {
        size_ += bytes.size();
        if (!pieces_.empty() && pieces_.back().is_bytes()) {
            pieces_.back().bytes += bytes;
            pieces_.back().size += bytes.size();
        } else {
            pieces_.push_back({.size = bytes.size(), .bytes = bytes, .file = nullptr, .begin = 0, .tensor = {}});
        }
    }
    void add_range(const input_file &file, uint64_t begin, uint64_t end) {
        size_ += end - begin;
        if (!pieces_.empty() && pieces_.back().file == &file && pieces_.back().end() == begin) {
            pieces_.back().size += end - begin;
        } else {
            pieces_.push_back({.size = end - begin, .bytes = {}, .file = &file, .begin = begin, .tensor = {}});
        }
    }
    void add_tensor(size_t tensor, uint64_t size) {
        size_ += size;
        pieces_.push_back({.size = size, .bytes = {}, .file = nullptr, .begin = 0, .tensor = tensor});
    }
    void add_pieces(message_pieces more) {
        size_ += more.size_;
        std::ranges::move(more.pieces_, std::back_inserter(pieces_));
    }
    void add_message(uint32_t field, message_pieces message) {
        add(prefix(field, message.size_));
        add_pieces(std::move(message));
    }

    // The tag and the length before so many bytes.
    static std::string prefix(uint32_t field, uint64_t size) {
        std::string bytes;
        protozero::write_varint(std::back_inserter(bytes), field << 3 | 2);
        protozero::write_varint(std::back_inserter(bytes), size);
        return bytes;
    }

    uint64_t size() const { return size_; }
    const std::vector<piece> &pieces() const { return pieces_; }

private:
    std::vector<piece> pieces_;
    uint64_t size_ = 0;
};

// How DequantizeLinear gives scales to a tensor.
struct dequantize_form {
    std::vector<int64_t> scale_shape;
    std::optional<int64_t> axis;
    int64_t block_size = 0;
};

dequantize_form form_of(const tensor_info &codes, const std::vector<int64_t> &scale, const blocking &known) {
    const std::vector<int64_t> &shape = codes.shape;
    if (element_count(scale) == 1) {
        return {};
    }
    if (element_count(scale) == 0 && element_count(shape) == 0) {  // a scale for each index of an axis that has none
        return {{0}, std::ranges::find(shape, 0) - shape.begin(), 0};
    }
    std::vector<size_t> of_each, of_blocks;  // the dimensions that have a scale for each index, and for each block
    for (size_t d = 0; d < shape.size() && scale.size() == shape.size(); ++d) {
        if (scale[d] == shape[d] && shape[d] != 1) {
            of_each.push_back(d);
        } else if (shape[d] != 1) {
            of_blocks.push_back(d);
        }
    }
    bool whole = std::ranges::all_of(of_blocks, [&](size_t d) { return scale[d] == 1; });
    if (scale.size() == shape.size() && of_each.size() == 1 && whole) {
        return {{scale[of_each[0]]}, static_cast<int64_t>(of_each[0]), 0};
    }
    if (scale.size() != shape.size() || of_blocks.size() > 1) {
        throw failure("ONNX's DequantizeLinear has one scale for a tensor, for each index of an axis, or for each " +
                      std::string("block of one axis; ") + shortened(codes.name) + " " + shape_text(shape) +
                      " has scales of " + shape_text(scale));
    }
    size_t axis = of_blocks.empty() ? shape.size() - 1 : of_blocks[0];
    bool recorded = known.block_size != 0 && static_cast<size_t>(known.axis) == axis;
    return {scale, static_cast<int64_t>(axis),
            recorded ? known.block_size : (shape[axis] + scale[axis] - 1) / scale[axis]};
}

// The first version of ONNX whose DequantizeLinear takes this.
uint64_t opset_of(const dtype &codes, const dtype &scale, const dequantize_form &form) {
    if (codes.core == QDQ_F4E2M1) {
        return 23;
    }
    bool new_integer = codes.is_integer_code() && (codes.bits == 4 || codes.bits == 16);
    if (new_integer || form.block_size != 0) {
        return 21;
    }
    if (!codes.is_integer_code() || &scale != &f32_dtype()) {
        return 19;
    }
    return form.axis ? 13 : 10;
}

// The first version of the file format that such a version of ONNX goes with.
uint64_t ir_version_of(uint64_t opset) {
    return opset >= 23 ? 11 : opset >= 21 ? 10 : opset >= 19 ? 9 : opset >= 13 ? 7 : 5;
}

// Operators whose nodes have another meaning, or none, from a version on, and the attribute by which a node is one of
// them; without one all are. What else has changed since version 9 takes the same nodes.
struct operator_change {
    uint64_t opset;
    std::string_view op_type, attribute;
};

constexpr operator_change operator_changes[] = {
    {10, "Slice", ""},
    {10, "Upsample", ""},
    {10, "TopK", ""},
    {11, "Pad", ""},
    {11, "Clip", "min"},
    {11, "Clip", "max"},
    {11, "Resize", ""},
    {11, "Scatter", ""},
    {12, "Dropout", "ratio"},
    {13, "Split", "split"},
    {13, "Softmax", ""},
    {13, "LogSoftmax", ""},
    {13, "Hardmax", ""},
    {13, "ReduceSum", "axes"},
    {13, "Squeeze", "axes"},
    {13, "Unsqueeze", "axes"},
    {14, "BatchNormalization", ""},
    {16, "RoiAlign", ""},
    {18, "ReduceMax", "axes"},
    {18, "ReduceMin", "axes"},
    {18, "ReduceMean", "axes"},
    {18, "ReduceProd", "axes"},
    {18, "ReduceL1", "axes"},
    {18, "ReduceL2", "axes"},
    {18, "ReduceLogSum", "axes"},
    {18, "ReduceLogSumExp", "axes"},
    {18, "ReduceSumSquare", "axes"},
    {18, "Split", ""},
    {20, "GridSample", ""},
    {20, "DFT", ""},
    {21, "GroupNormalization", ""},
};

void check_raise(const onnx_model &model, uint64_t opset) {
    for (const onnx_node &node : model.nodes) {
        throw_if_interrupted();
        for (const operator_change &change : operator_changes) {
            bool crossed = model.opset < change.opset && change.opset <= opset;
            bool affected = change.attribute.empty() || node.attributes.contains(std::string(change.attribute));
            if (node.is_standard && node.op_type == change.op_type && crossed && affected) {
                throw failure("its DequantizeLinear nodes would need opset " + std::to_string(opset) + ", but " +
                              std::string(change.op_type) + " nodes of its opset " + std::to_string(model.opset) +
                              " mean something else from opset " + std::to_string(change.opset) +
                              " on; onnx.version_converter converts the model");
            }
        }
    }
}

std::string tensor_header(const std::string &name, const dtype &type, const std::vector<int64_t> &shape) {
    if (onnx_type_of(type) == 0) {
        throw failure("ONNX has no type " + std::string(type.name) + ", that of " + shortened(name));
    }
    std::string bytes;
    pbf_writer tensor(bytes);
    for (int64_t extent : shape) {
        tensor.add_int64(onnx_field::dims, extent);
    }
    tensor.add_int32(onnx_field::data_type, onnx_type_of(type));
    tensor.add_string(onnx_field::name, name);
    return bytes;
}

std::string external_entries(const std::string &location, uint64_t offset, uint64_t size) {
    std::string bytes;
    pbf_writer tensor(bytes);
    std::array<std::pair<const char *, std::string>, 3> entries = {
        {{"location", location}, {"offset", std::to_string(offset)}, {"length", std::to_string(size)}}};
    for (const auto &[key, value] : entries) {
        pbf_writer entry(tensor, onnx_field::external_data);
        entry.add_string(1, key);
        entry.add_string(2, value);
    }
    tensor.add_int32(onnx_field::data_location, 1);
    return bytes;
}

// A node without attributes, named by its first output.
std::string node_of(const std::string &op_type, const std::vector<std::string> &inputs,
                    const std::vector<std::string> &outputs) {
    std::string bytes;
    pbf_writer node(bytes);
    for (const std::string &input : inputs) {
        node.add_string(onnx_field::node_input, input);
    }
    for (const std::string &output : outputs) {
        node.add_string(onnx_field::node_output, output);
    }
    node.add_string(onnx_field::node_name, outputs[0] + "_" + op_type);
    node.add_string(onnx_field::op_type, op_type);
    return bytes;
}

std::string dequantize_node(const std::string &name, const std::vector<std::string> &inputs,
                            const dequantize_form &form) {
    constexpr int integer_type = 2;
    std::string bytes = node_of("DequantizeLinear", inputs, {name});
    pbf_writer node(bytes);
    auto add = [&](const char *key, int64_t value) {
        pbf_writer attribute(node, onnx_field::attribute);
        attribute.add_string(onnx_field::attribute_name, key);
        attribute.add_int64(onnx_field::integer, value);
        attribute.add_int32(onnx_field::kind, integer_type);
    };
    if (form.axis) {
        add("axis", *form.axis);
    }
    if (form.block_size != 0) {
        add("block_size", form.block_size);
    }
    return bytes;
}

// A ValueInfoProto of a tensor.
std::string value_info(const tensor_info &tensor) {
    std::string bytes;
    pbf_writer info(bytes);
    info.add_string(1, tensor.name);
    pbf_writer type(info, 2), of_tensor(type, 1);
    of_tensor.add_int32(1, onnx_type_of(*tensor.type));
    pbf_writer shape(of_tensor, 2);
    for (int64_t extent : tensor.shape) {
        pbf_writer(shape, 1).add_int64(1, extent);
    }
    return bytes;
}

}  // namespace

// The input of a layer that it has beside a weight, by their numbers.
std::optional<size_t> input_beside(const onnx_node &node, size_t weight) {
    constexpr std::array<std::string_view, 4> layers = {"MatMul", "Gemm", "Conv", "ConvTranspose"};
    const bool is_layer = node.is_standard && std::ranges::find(layers, node.op_type) != layers.end();
    return is_layer && weight < 2 && node.inputs.size() >= 2 ? std::optional(1 - weight) : std::nullopt;
}

// Where everything of a model goes.
class onnx_layout {
public:
    struct place {
        bool is_external = false, is_nibbles = false;
        uint64_t offset = 0;  // in the file of data
    };

    onnx_layout(const onnx_reader *input, const tensor_list &tensors, const metadata_map &metadata,
                const std::string &data_name)
        : input_(input), tensors_(tensors), records_(read_records(metadata)), data_name_(data_name) {
        std::vector<logical_tensor> all = find_logical_tensors(tensors);
        is_external_ = input != nullptr && std::ranges::any_of(input->model().initializers,
                                                               [](const auto &each) { return each.data.external; });
        lay_out(all);
        if (model_.size() > largest_message && !is_external_) {
            is_external_ = true;
            lay_out(all);
        }
        if (model_.size() > largest_message) {
            throw failure("the model would have " + std::to_string(model_.size()) +
                          " bytes without its external data, and protobuf takes at most " +
                          std::to_string(largest_message));
        }
    }

    const message_pieces &model() const { return model_; }
    const std::vector<place> &places() const { return places_; }
    bool is_external() const { return is_external_; }

private:
    void lay_out(const std::vector<logical_tensor> &all) {
        model_ = {};
        nodes_ = initializers_ = outputs_ = {};
        places_.assign(tensors_.size(), {});
        data_end_ = 0;
        opset_ = 0;
        quantizing_.clear();
        quantized_inputs_.clear();
        find_names(all);
        for (const logical_tensor &tensor : all) {
            throw_if_interrupted();
            if (input_ == nullptr && tensor.name.empty()) {
                throw failure("a tensor has no name, which to ONNX is a value that is not there");
            }
            if (tensor.parts) {
                add_quantized(tensor);
            } else {
                add_plain(tensor);
            }
        }
        add_model();
    }

    // Those that a new initializer cannot have, and those that are inputs of the graph no more.
    void find_names(const std::vector<logical_tensor> &all) {
        names_.clear();
        gone_.clear();
        for (const logical_tensor &tensor : all) {
            names_.insert(tensor.name);
            if (tensor.parts) {
                gone_.insert(tensor.name);
            }
        }
        if (input_ == nullptr) {
            return;
        }
        const onnx_model &model = input_->model();
        names_.insert(model.nested_names.begin(), model.nested_names.end());
        for (const onnx_initializer &each : model.initializers) {
            throw_if_interrupted();
            (input_->holds(each) && !names_.contains(each.name) ? gone_ : names_).insert(each.name);
        }
        for (const onnx_node &node : model.nodes) {
            throw_if_interrupted();
            if (!input_->makes_tensor(node)) {
                names_.insert(node.inputs.begin(), node.inputs.end());
                names_.insert(node.outputs.begin(), node.outputs.end());
            }
        }
        for (const onnx_entry &each : model.inputs) {
            throw_if_interrupted();
            if (!gone_.contains(each.name)) {
                names_.insert(each.name);
            }
        }
        for (const onnx_entry &each : model.outputs) {  // of a graph that is wrong: no node makes it
            throw_if_interrupted();
            names_.insert(each.name);
        }
    }

    std::string new_name(const std::string &name) {
        if (!names_.insert(name).second) {
            throw failure("the model already has a value named " + shortened(name));
        }
        return name;
    }

    void add_plain(const logical_tensor &tensor) {
        const tensor_info &info = tensors_[tensor.index];
        const onnx_initializer *old = input_ == nullptr ? nullptr : input_->find_initializer(tensor.name);
        std::string header = tensor_header(tensor.name, *info.type, info.shape);
        add_initializer(tensor.index, header + (old == nullptr ? "" : old->other_fields), byte_size(info));
        add_output(info);
    }

    void add_quantized(const logical_tensor &tensor) {
        const quantized_parts &parts = *tensor.parts;
        const tensor_info &codes = tensors_[parts.codes], &scale = tensors_[parts.scale];
        if (codes.type != parts.type || parts.global_scale) {
            throw failure("ONNX's DequantizeLinear takes no codes as those of " + shortened(tensor.name));
        }
        blocking known;
        if (auto record = records_.find(tensor.name); record != records_.end()) {
            known = {.scale_shape = {}, .axis = record->second.axis, .block_size = record->second.block_size};
            if (record->second.quantizes_inputs) {
                add_quantizing(tensor.name, *scale.type);
            }
        }
        dequantize_form form = form_of(codes, scale.shape, known);
        opset_ = std::max(opset_, opset_of(*codes.type, *scale.type, form));
        std::vector<std::string> names = {new_name(tensor.name + "_quantized"), new_name(scale_name(tensor.name))};
        add_initializer(parts.codes, tensor_header(names[0], *codes.type, codes.shape), byte_size(codes));
        add_initializer(parts.scale, tensor_header(names[1], *scale.type, form.scale_shape), byte_size(scale));
        if (parts.zero_point) {
            names.push_back(new_name(zero_point_name(tensor.name)));
            tensor_info zero_point = {names[2], codes.type, form.scale_shape};
            places_[*parts.zero_point].is_nibbles = codes.type->bits == 4;
            add_initializer(*parts.zero_point, tensor_header(names[2], *codes.type, form.scale_shape),
                            byte_size(zero_point));
        }
        std::string node = dequantize_node(tensor.name, names, form);
        nodes_.add(message_pieces::prefix(onnx_field::node, node.size()) + node);
        add_output({tensor.name, scale.type, codes.shape});
    }

    void add_quantizing(const std::string &weight, const dtype &type) {
        constexpr uint64_t first_with_dynamic_quantize_linear = 11;
        if (&type != &f32_dtype()) {
            throw failure("--activations dynamic: ONNX's DynamicQuantizeLinear takes F32, and the inputs beside " +
                          shortened(weight) + " are " + std::string(type.name));
        }
        quantizing_.insert(weight);
        opset_ = std::max(opset_, first_with_dynamic_quantize_linear);
    }

    // Small ones stay in the model, as onnx.save_model() has it, for those who read it without the data.
    void add_initializer(size_t index, std::string header, uint64_t size) {
        constexpr uint64_t least_external = 1024, alignment = 4096;  // of a page, which programs map
        message_pieces tensor;
        places_[index].is_external = is_external_ && size >= least_external;
        if (places_[index].is_external) {
            uint64_t offset = (data_end_ + alignment - 1) / alignment * alignment;
            places_[index].offset = offset;
            data_end_ = offset + size;
            tensor.add(std::move(header) + external_entries(data_name_, offset, size));
        } else {
            tensor.add(std::move(header) + message_pieces::prefix(onnx_field::raw_data, size));
            tensor.add_tensor(index, size);
        }
        initializers_.add_message(onnx_field::initializer, std::move(tensor));
    }

    void add_output(const tensor_info &tensor) {
        if (input_ == nullptr) {
            std::string info = value_info(tensor);
            outputs_.add(message_pieces::prefix(onnx_field::output, info.size()) + info);
        }
    }

    void add_model() {
        std::string head;
        pbf_writer model(head);
        message_pieces graph;
        graph.add_pieces(std::move(nodes_));
        if (input_ == nullptr) {
            opset_ = std::max<uint64_t>(opset_, 13);
            model.add_uint64(onnx_field::ir_version, ir_version_of(opset_));
            add_opset(model, opset_);
            model_.add(head);
            std::string name;
            pbf_writer(name).add_string(2, "qdq");
            graph.add(name);
            graph.add_pieces(std::move(outputs_));
        } else {
            const onnx_model &old = input_->model();
            check_raise(old, opset_);
            uint64_t ir_version = opset_ == 0 ? old.ir_version : std::max(old.ir_version, ir_version_of(opset_));
            model.add_uint64(onnx_field::ir_version, ir_version);
            add_opset(model, std::max(old.opset, opset_));
            model_.add(head);
            copy(model_, old.other_opsets);
            copy(model_, old.other_model_fields);
            copy_graph(graph, old);
        }
        graph.add_pieces(std::move(initializers_));
        model_.add_message(onnx_field::graph, std::move(graph));
    }

    static void add_opset(pbf_writer &model, uint64_t version) {
        pbf_writer(model, onnx_field::opset_import).add_uint64(2, version);
    }

    void copy(message_pieces &to, const std::vector<onnx_entry> &entries) const {
        for (const onnx_entry &each : entries) {
            throw_if_interrupted();
            to.add_range(input_->file(), each.begin, each.end);
        }
    }

    // The place of the data is the input's; here they are in the model.
    static void copy_external(message_pieces &graph, const onnx_initializer &each) {
        const onnx_data &data = each.data;
        message_pieces tensor;
        tensor.add(tensor_header(each.name, *each.type, each.shape) + each.other_fields +
                   message_pieces::prefix(onnx_field::raw_data, data.size));
        tensor.add_range(*data.file, data.offset, data.offset + data.size);
        graph.add_message(onnx_field::initializer, std::move(tensor));
    }

    // A node as it is, or with an input that is quantized and restored, by two nodes before its first use.
    void copy_node(message_pieces &graph, const onnx_node &node) {
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const std::optional<size_t> beside = input_beside(node, i);
            if (beside && quantizing_.contains(node.inputs[i]) && !gone_.contains(node.inputs[*beside]) &&
                input_->find_initializer(node.inputs[*beside]) == nullptr) {
                const std::string restored = quantize_input(graph, node.inputs[*beside]);
                copy_with_input(graph, node, *beside, restored);
                return;
            }
        }
        graph.add_range(input_->file(), node.begin, node.end);
    }

    // The name of what it is then.
    std::string quantize_input(message_pieces &graph, const std::string &name) {
        if (!quantized_inputs_.contains(name)) {
            const std::vector<std::string> parts = {new_name(name + "_quantized"), new_name(scale_name(name)),
                                                    new_name(zero_point_name(name))};
            const std::string restored = new_name(name + "_dequantized");
            for (const std::string &node :
                 {node_of("DynamicQuantizeLinear", {name}, parts), node_of("DequantizeLinear", parts, {restored})}) {
                graph.add(message_pieces::prefix(onnx_field::node, node.size()) + node);
            }
            quantized_inputs_[name] = restored;
        }
        return quantized_inputs_.at(name);
    }

    void copy_with_input(message_pieces &graph, const onnx_node &node, size_t which, const std::string &name) const {
        const input_file &file = input_->file();
        protobuf_scanner scanner(file);
        message_pieces changed;
        size_t inputs = 0;
        scanner.for_each_field(node.begin, node.end, [&](const protobuf_field &whole) {
            scanner.for_each_field(whole, [&](const protobuf_field &field) {
                if (field.number == onnx_field::node_input && inputs++ == which) {
                    changed.add(message_pieces::prefix(onnx_field::node_input, name.size()) + name);
                } else {
                    changed.add_range(file, field.begin, field.end());
                }
            });
        });
        graph.add_message(onnx_field::node, std::move(changed));
    }

    void copy_graph(message_pieces &graph, const onnx_model &old) {
        for (const onnx_node &node : old.nodes) {
            throw_if_interrupted();
            if (!node.is_nested && !input_->makes_tensor(node)) {
                copy_node(graph, node);
            }
        }
        for (const onnx_initializer &each : old.initializers) {
            throw_if_interrupted();
            if (input_->holds(each)) {
                continue;
            }
            if (each.data.external) {
                copy_external(graph, each);
            } else {
                graph.add_range(input_->file(), each.begin, each.end);
            }
        }
        for (const onnx_entry &each : old.inputs) {
            throw_if_interrupted();
            if (!gone_.contains(each.name)) {
                graph.add_range(input_->file(), each.begin, each.end);
            }
        }
        copy(graph, old.outputs);
        copy(graph, old.other_graph_fields);
    }

    const onnx_reader *input_;
    const tensor_list &tensors_;
    record_map records_;
    std::string data_name_;
    bool is_external_ = false;
    message_pieces model_, nodes_, initializers_, outputs_;
    std::vector<place> places_;
    std::set<std::string> names_, gone_;
    std::set<std::string> quantizing_;                     // weights whose layers quantize their inputs
    std::map<std::string, std::string> quantized_inputs_;  // and those inputs, as they are restored
    uint64_t data_end_ = 0, opset_ = 0;
};

onnx_writer::onnx_writer(const output_options &output, const onnx_reader *input, const tensor_list &tensors,
                         const metadata_map &metadata)
    : output_(output, input) {
    std::optional<onnx_layout> layout;
    name_in_failures(input == nullptr ? output.path.string() : input->path(),
                     [&] { layout.emplace(input, tensors, metadata, output_.data_name()); });
    if (layout->is_external()) {
        output_.create_data();
    }
    write_layout(*layout);
}

// The pieces one after another, through a buffer; of a tensor's data only the place is noted.
void onnx_writer::write_layout(const onnx_layout &layout) {
    constexpr uint64_t most = uint64_t{1} << 20;
    for (const onnx_layout::place &each : layout.places()) {
        slots_.push_back({each.is_external, each.is_nibbles, each.offset});
    }
    std::vector<std::byte> buffer;
    uint64_t at = 0;  // of the end of the buffer
    auto flush = [&] {
        output_.write(at - buffer.size(), buffer);
        buffer.clear();
    };
    for (const piece &each : layout.model().pieces()) {
        throw_if_interrupted();
        if (each.tensor) {
            flush();
            slots_[*each.tensor].offset = at;
            at += each.size;
            continue;
        }
        for (uint64_t done = 0; done < each.size;) {
            uint64_t more = std::min(each.size - done, most - buffer.size());
            size_t before = buffer.size();
            buffer.resize(before + more);
            each.read(done, std::span(buffer).subspan(before));
            done += more;
            at += more;
            if (buffer.size() == most) {
                flush();
            }
        }
    }
    flush();
}

void onnx_writer::write_at(size_t index, uint64_t offset, std::span<const std::byte> bytes) {
    const slot &to = slots_[index];
    std::vector<std::byte> packed;
    if (to.is_nibbles) {
        packed.resize((bytes.size() + 1) / 2);
        for (size_t i = 0; i < bytes.size(); ++i) {
            packed[i / 2] |= (bytes[i] & std::byte{15}) << i % 2 * 4;
        }
        bytes = packed;
        offset /= 2;
    }
    if (to.is_external) {
        output_.write_data(to.offset + offset, bytes);
    } else {
        output_.write(to.offset + offset, bytes);
    }
}

void onnx_writer::commit() { output_.commit(); }

}  // namespace qdq::model
