#include "conversion/recoding.h"

#include "files/file_kinds.h"
#include "recipe/quantization_config.h"
#include "support/error.h"
#include "support/text.h"
#include "support/words.h"
#include "tensors/quantized_tensor.h"

#include <algorithm>
#include <utility>

namespace qdq::model {

namespace {

// Where the parts of quantized tensors are kept, and by which names.
enum class code_form {
    compressed_tensors,  // x or x_packed, x_scale, x_zero_point
    fp8,                 // x and x_scale_inv, of f8e4m3 in blocks of rows and columns
    onnx,                // for DequantizeLinear nodes
};

// The same codes, scales and zero points in another form: no value changes by a bit.
class recoding : public transformation {
public:
    // Throws failure where a tensor has no such form, and where nothing is quantized.
    recoding(std::unique_ptr<tensor_reader> input, code_form form);

    size_t changed_count() const override { return quantized_; }
    size_t shard_count() const override { return form_ == code_form::onnx ? 1 : input_->shard_count(); }
    tensor_list outputs(size_t shard) const override;
    metadata_map metadata(size_t shard) const override;
    kernel_figures write(size_t shard, const tensor_source &source, tensor_writer &output,
                         const progress_function &advance) const override;
    void configure(json &config) const override;
    std::string description() const override;

private:
    void plan(const logical_tensor &tensor);
    void plan_copy(const logical_tensor &tensor);
    void plan_nodes(const logical_tensor &tensor);
    void plan_packed(const logical_tensor &tensor);
    void write_nodes(const tensor_source &source, const logical_tensor &tensor, tensor_writer &output,
                     size_t first) const;
    void write_packed(const tensor_source &source, const logical_tensor &tensor, tensor_writer &output,
                      size_t first) const;
    bool is_in(const logical_tensor &tensor, size_t shard) const;
    blocking blocks_of(const logical_tensor &tensor) const;
    scheme scheme_of(const logical_tensor &tensor) const;

    code_form form_;
    record_map records_, new_records_;
    std::vector<logical_tensor> tensors_;
    std::vector<std::vector<tensor_info>> outputs_;  // of each tensor
    size_t quantized_ = 0;
};

bool is_fp8_in_blocks(const logical_tensor &tensor, const blocking &blocks) {
    return tensor.parts->type->core == QDQ_F8E4M3 && tensor.shape.size() == 2 && blocks.block_rows > 0 &&
           blocks.block_size > 0 && !tensor.parts->zero_point;
}

// Groups that compressed-tensors has, as whole as they are.
bool is_i4_in_groups(const logical_tensor &tensor, const blocking &blocks) {
    const std::vector<int64_t> &scales = blocks.scale_shape;
    return tensor.parts->type->core == QDQ_I4 && tensor.shape.size() == 2 && scales.size() == 2 &&
           scales[0] == tensor.shape[0] && scales[1] > 0 && tensor.shape[1] % scales[1] == 0;
}

std::string described(const logical_tensor &tensor) {
    return shortened(tensor.name) + " (" + std::string(tensor.parts->type->name) + " " + shape_text(tensor.shape) + ")";
}

code_form form_of(const std::string &input, const output_options &output, const std::string &method) {
    check_output(input, output);
    holding before = kind_of(input).holds;
    bool folder = before == holding::model, graph = kind_named(output.path).holds == holding::graph;
    std::string option = option_text("method");
    if (!method.empty() && (!folder || graph)) {
        throw usage_error(option + " is of the config.json of a folder that becomes a folder");
    }
    if (folder && !graph && method.empty()) {
        throw usage_error("a folder becomes a folder with " + option + " compressed-tensors or " + option + " fp8");
    }
    if (graph && before == holding::graph) {
        throw usage_error(output.path.string() + ": the input is an ONNX model already");
    }
    return graph ? code_form::onnx : method == "fp8" ? code_form::fp8 : code_form::compressed_tensors;
}

recoding::recoding(std::unique_ptr<tensor_reader> input, code_form form)
    : transformation(std::move(input)),
      form_(form),
      records_(read_records(*input_)),
      new_records_(records_),
      tensors_(logical_tensors(*input_)) {
    for (const logical_tensor &tensor : tensors_) {
        outputs_.emplace_back();
        if (tensor.parts) {
            name_in_failures(input_->path(), [&] { plan(tensor); });
            ++quantized_;
        } else {
            outputs_.back().push_back(input_->tensors()[tensor.index]);
        }
    }
    if (quantized_ == 0) {
        bool decoded = std::ranges::any_of(tensors_, [&](const auto &each) { return input_->is_decoded(each.index); });
        throw failure(input_->path() + (decoded ? ": its blocks have no codes with one scale each; `qdq dequantize` "
                                                  "restores them"
                                                : ": it has no quantized tensor with its scale beside it"));
    }
}

void recoding::plan(const logical_tensor &tensor) {
    if (form_ == code_form::onnx) {
        plan_nodes(tensor);
    } else if (input_->kind().packs_codes) {
        plan_copy(tensor);
    } else {
        plan_packed(tensor);
    }
}

// The blocks of rows and columns of a scale [row blocks, blocks], from what is recorded, or the shapes.
blocking recoding::blocks_of(const logical_tensor &tensor) const {
    const std::vector<int64_t> &scale_shape = input_->tensors()[tensor.parts->scale].shape;
    if (auto record = records_.find(tensor.name); record != records_.end()) {
        return {scale_shape, record->second.axis, record->second.block_size, record->second.block_rows};
    }
    return usual_blocks(tensor.shape, scale_shape);
}

// All parts as they are; of fp8 in blocks the scale has another name.
void recoding::plan_copy(const logical_tensor &tensor) {
    const tensor_info &scale = input_->tensors()[tensor.parts->scale];
    bool to_fp8 = form_ == code_form::fp8, from_fp8 = scale.name == block_scale_name(tensor.name);
    if (to_fp8 || from_fp8) {
        blocking blocks = blocks_of(tensor);
        if (!is_fp8_in_blocks(tensor, blocks)) {
            throw failure(described(tensor) + " with scales of " + shape_text(scale.shape) +
                          " is not f8e4m3 in blocks of 128x128, or others that are recorded: x_scale_inv has no other");
        }
        const dtype *source = records_.contains(tensor.name) ? records_.at(tensor.name).source : &f32_dtype();
        new_records_[tensor.name] = {source, blocks.axis, blocks.block_size, blocks.block_rows};
    }
    for (size_t part : tensor.stored()) {
        tensor_info info = input_->tensors()[part];
        if (part == tensor.parts->scale) {
            info.name = to_fp8 ? block_scale_name(tensor.name) : scale_name(tensor.name);
        }
        outputs_.back().push_back(std::move(info));
    }
}

// DequantizeLinear takes scales of float types: others become F32, which all of them are exactly.
void recoding::plan_nodes(const logical_tensor &tensor) {
    const quantized_parts &parts = *tensor.parts;
    const tensor_info &scale = input_->tensors()[parts.scale];
    bool widened = !scale.type->is_float() || parts.global_scale;
    if (is_dense(*parts.type)) {
        throw failure(described(tensor) + ": ONNX has no such type");
    }
    outputs_.back() = {{tensor.name, parts.type, tensor.shape},
                       {scale_name(tensor.name), widened ? &f32_dtype() : scale.type, scale.shape}};
    if (parts.zero_point) {
        outputs_.back().push_back({zero_point_name(tensor.name), &zero_point_dtype(*parts.type), scale.shape});
    }
}

void recoding::plan_packed(const logical_tensor &tensor) {
    const quantized_parts &parts = *tensor.parts;
    const tensor_info &codes = input_->tensors()[parts.codes], &scale = input_->tensors()[parts.scale];
    if (parts.type->core == QDQ_U4 && !parts.zero_point) {
        throw failure(described(tensor) + " has unsigned codes without zero points: compressed-tensors has none");
    }
    if (parts.type->core == QDQ_F4E2M1 && parts.zero_point) {
        throw failure(described(tensor) + " has zero points: compressed-tensors has them of integers alone");
    }
    bool is_packed = parts.type->bits == 4;
    if (!is_packed) {
        outputs_.back() = {codes, scale};
    } else {
        packed_rows packing(*parts.type, tensor.shape);
        outputs_.back() = {{packed_name(tensor.name), &packing.type(), packing.shape()},
                           scale,
                           {shape_name(tensor.name), find_dtype("I64"), {std::ssize(tensor.shape)}}};
    }
    if (parts.zero_point) {
        outputs_.back().push_back(zero_point_info(zero_point_name(tensor.name), *parts.type, scale.shape, is_packed));
    }
}

// An ONNX model holds all shards.
bool recoding::is_in(const logical_tensor &tensor, size_t shard) const {
    return form_ == code_form::onnx || input_->shard_of(tensor.index) == shard;
}

tensor_list recoding::outputs(size_t shard) const {
    tensor_list result;
    for (size_t i = 0; i < tensors_.size(); ++i) {
        for (size_t part = 0; is_in(tensors_[i], shard) && part < outputs_[i].size(); ++part) {
            result.add(outputs_[i][part]);
        }
    }
    return result;
}

metadata_map recoding::metadata(size_t shard) const {
    record_map of_shard;
    for (const logical_tensor &tensor : tensors_) {
        if (auto record = new_records_.find(tensor.name); record != new_records_.end() && is_in(tensor, shard)) {
            of_shard.insert(*record);
        }
    }
    metadata_map old = without_records(input_->metadata(shard));
    return of_shard.empty() ? old : with_records(std::move(old), of_shard);
}

kernel_figures recoding::write(size_t shard, const tensor_source &source, tensor_writer &output,
                               const progress_function &advance) const {
    size_t next = 0;
    for (size_t i = 0; i < tensors_.size(); ++i) {
        const logical_tensor &tensor = tensors_[i];
        if (!is_in(tensor, shard)) {
            continue;
        }
        name_in_failures(*input_, tensor.index, [&] {
            std::vector<size_t> stored = tensor.stored();
            if (tensor.parts && form_ == code_form::onnx) {
                write_nodes(source, tensor, output, next);
                advance(stored_bytes(*input_, tensor));
            } else if (tensor.parts && !input_->kind().packs_codes) {
                write_packed(source, tensor, output, next);
                advance(stored_bytes(*input_, tensor));
            } else {
                for (size_t part = 0; part < stored.size(); ++part) {
                    copy_tensor(source, stored[part], output, next + part, advance);
                }
            }
        });
        next += outputs_[i].size();
    }
    input_->check_unchanged();
    return {};
}

void recoding::write_nodes(const tensor_source &source, const logical_tensor &tensor, tensor_writer &output,
                           size_t first) const {
    code_buffers buffers;
    quantized_tensor loaded = load_quantized(source, tensor, records_, buffers);
    output.write(first, {loaded.codes.data, byte_size({"", loaded.codes.type, loaded.codes.shape})});
    output.write(first + 1, loaded.scale_bytes);
    if (tensor.parts->zero_point) {
        if (loaded.zero_point.shape != loaded.scale.shape) {
            throw failure("its zero point has shape " + shape_text(loaded.zero_point.shape) + ", its scale " +
                          shape_text(loaded.scale.shape) + "; DequantizeLinear wants one shape");
        }
        output.write(first + 2, loaded.zero_point_bytes);
    }
}

void recoding::write_packed(const tensor_source &source, const logical_tensor &tensor, tensor_writer &output,
                            size_t first) const {
    code_buffers buffers;
    quantized_tensor loaded = load_quantized(source, tensor, records_, buffers);
    std::span codes(loaded.codes.data, byte_size({"", loaded.codes.type, loaded.codes.shape}));
    bool is_packed = loaded.codes.type->bits == 4;
    output.write(first++, is_packed ? packed_codes(codes, *loaded.codes.type, tensor.shape, buffers.flat) : codes);
    output.write(first++, loaded.scale_bytes);
    if (is_packed) {
        output.write(first++, std::as_bytes(std::span(tensor.shape)));
    }
    if (tensor.parts->zero_point) {
        output.write(first, is_packed
                                ? stored_zero_points(loaded.zero_point_bytes, *loaded.codes.type, loaded.scale.shape)
                                : loaded.zero_point_bytes);
    }
}

// What a recipe would have said of a quantized tensor.
scheme recoding::scheme_of(const logical_tensor &tensor) const {
    blocking blocks = blocks_of(tensor);
    if (is_fp8_in_blocks(tensor, blocks)) {
        return {.type = find_quantized_type("f8e4m3"),
                .scales = {.block_size = blocks.block_size, .block_rows = blocks.block_rows}};
    }
    if (is_i4_in_groups(tensor, blocks)) {
        int64_t columns = tensor.shape[1], groups = blocks.scale_shape[1];
        return {.type = find_quantized_type("i4"),
                .scales = {.block_size = groups == 1 ? 0 : columns / groups},
                .method = {.asymmetric = tensor.parts->zero_point.has_value()}};
    }
    throw failure(
        described(tensor) +
        ": of a folder only f8e4m3 in blocks of rows and columns, and i4 in groups of columns, are converted");
}

void recoding::configure(json &config) const {
    std::vector<module_scheme> modules;
    for (const logical_tensor &tensor : tensors_) {
        std::optional<scheme> how = tensor.parts ? std::optional(scheme_of(tensor)) : std::nullopt;
        modules.push_back(
            {{tensor.name, tensor.parts ? &f32_dtype() : input_->tensors()[tensor.index].type, tensor.shape}, how});
    }
    set_quantization_config(config, modules, form_ == code_form::fp8);
}

std::string recoding::description() const { return form_ == code_form::fp8 ? "convert to fp8" : "convert"; }

}  // namespace

std::unique_ptr<transformation> plan_recoding(const std::string &input, const output_options &output,
                                              const std::string &method) {
    code_form form = form_of(input, output, method);
    return std::make_unique<recoding>(open_reader(input), form);
}

}  // namespace qdq::model
