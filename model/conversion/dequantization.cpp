#include "conversion/dequantization.h"

#include "files/file_kinds.h"
#include "recipe/quantization_config.h"
#include "support/error.h"
#include "support/words.h"
#include "tensors/quantized_tensor.h"

#include <algorithm>
#include <utility>

namespace qdq::model {

namespace {

// Restores the tensors that are quantized, and copies the rest.
class dequantization : public transformation {
public:
    // `type` is that of all restored tensors; null: the type of each that the file records, otherwise F32. Throws
    // failure where nothing is quantized.
    dequantization(std::unique_ptr<tensor_reader> input, const dtype *type, std::string profile);

    size_t changed_count() const override { return restored_; }
    tensor_list outputs(size_t shard) const override;
    metadata_map metadata(size_t shard) const override;
    kernel_figures write(size_t shard, const tensor_source &source, tensor_writer &output,
                         const progress_function &advance) const override;
    void configure(json &config) const override;
    std::string description() const override;

private:
    bool is_restored(const logical_tensor &tensor) const;
    const dtype *recorded_type() const;

    const dtype *type_;
    std::string profile_;
    record_map records_;
    std::vector<logical_tensor> tensors_;  // what each output is made of
    tensor_list outputs_;                  // of all shards
    size_t restored_ = 0;
};

// Copies a tensor of F32 to another float type.
void round_tensor(const tensor_source &input, size_t from, const dtype &type, kernel_caller &kernels,
                  tensor_writer &output, size_t to, const progress_function &advance) {
    constexpr uint64_t piece = uint64_t{1} << 20;  // values
    auto count = static_cast<uint64_t>(element_count(input.tensors()[from].shape));
    uint64_t width = static_cast<uint64_t>(type.bits) / 8;
    std::vector<std::byte> values(std::min(count, piece) * sizeof(float)), result(std::min(count, piece) * width);
    for (uint64_t done = 0; done < count; done += piece) {
        uint64_t taken = std::min(piece, count - done);
        std::span<std::byte> bytes = std::span(values).first(taken * sizeof(float));
        input.read_at(from, done * sizeof(float), bytes);
        kernels.round(bytes, type, result.data());
        output.write_at(to, done * width, std::span(result).first(taken * width));
        advance(bytes.size());
    }
}

void check_restorable(const std::string &input, const output_options &output, const std::string &dtype) {
    check_output(input, output);
    bool graph = kind_named(output.path).holds == holding::graph;
    if (graph && kind_of(input).holds != holding::graph) {
        throw usage_error(output.path.string() + ": only an ONNX model is restored to one");
    }
    if (graph && !dtype.empty()) {
        throw usage_error(option_text("dtype") + " " + dtype + ": the nodes of an ONNX model have their types already");
    }
}

dequantization::dequantization(std::unique_ptr<tensor_reader> input, const dtype *type, std::string profile)
    : transformation(std::move(input)), type_(type), profile_(std::move(profile)), records_(read_records(*input_)) {
    static_cast<void>(kernel_caller(profile_));  // throws when there is no such profile
    tensors_ = logical_tensors(*input_);
    for (const logical_tensor &tensor : tensors_) {
        const dtype *result = input_->tensors()[tensor.index].type;
        if (is_restored(tensor)) {
            auto record = records_.find(tensor.name);
            const dtype *recorded = record == records_.end() ? &f32_dtype() : record->second.source;
            result = type_ != nullptr ? type_ : recorded;
            ++restored_;
        }
        outputs_.add({tensor.name, result, tensor.shape});
    }
    if (restored_ == 0) {
        throw failure(input_->path() + ": it has no quantized tensor with its scale beside it");
    }
}

bool dequantization::is_restored(const logical_tensor &tensor) const {
    return tensor.parts || input_->is_decoded(tensor.index);
}

tensor_list dequantization::outputs(size_t shard) const {
    tensor_list result;
    for (size_t i = 0; i < tensors_.size(); ++i) {
        if (input_->shard_of(tensors_[i].index) == shard) {
            result.add(outputs_[i]);
        }
    }
    return result;
}

metadata_map dequantization::metadata(size_t shard) const { return without_records(input_->metadata(shard)); }

kernel_figures dequantization::write(size_t shard, const tensor_source &source, tensor_writer &output,
                                     const progress_function &advance) const {
    kernel_caller kernels(profile_);
    code_buffers codes;
    scratch_buffer result;
    size_t next = 0;
    for (size_t i = 0; i < tensors_.size(); ++i) {
        if (input_->shard_of(tensors_[i].index) != shard) {
            continue;
        }
        name_in_failures(*input_, tensors_[i].index, [&] {
            const tensor_info &info = outputs_[i];
            if (info.type == input_->tensors()[tensors_[i].index].type) {
                copy_tensor(source, tensors_[i].index, output, next, advance);
                return;
            }
            if (!tensors_[i].parts) {
                round_tensor(source, tensors_[i].index, *info.type, kernels, output, next, advance);
                return;
            }
            std::span<std::byte> bytes = result.take(byte_size(info));
            quantized_tensor tensor = load_quantized(source, tensors_[i], records_, codes);
            kernels.dequantize(tensor.dequantize_to({info.type, info.shape, bytes.data()}));
            output.write(next, bytes);
            advance(stored_bytes(*input_, tensors_[i]));
        });
        ++next;
    }
    input_->check_unchanged();
    return kernels.figures();
}

void dequantization::configure(json &config) const {
    config.erase("quantization_config");
    const dtype *type = type_ == nullptr && model_dtype(config) == "bfloat16" ? recorded_type() : type_;
    if (type != nullptr) {
        set_model_dtype(config, *type);
    }
}

// That of all weights before they were quantized, which may have made a model of F32 one of BF16; null: it is unknown.
const dtype *dequantization::recorded_type() const {
    const dtype *type = nullptr;
    for (const logical_tensor &tensor : tensors_) {
        if (is_restored(tensor)) {
            auto record = records_.find(tensor.name);
            if (record == records_.end() || (type != nullptr && record->second.source != type)) {
                return nullptr;
            }
            type = record->second.source;
        }
    }
    return type;
}

std::string dequantization::description() const {
    return "dequantize " + profile_ + " to " + (type_ == nullptr ? "recorded types" : std::string(type_->name));
}

}  // namespace

std::unique_ptr<transformation> plan_dequantization(const std::string &input, const output_options &output,
                                                    const std::string &dtype, const std::string &profile) {
    check_restorable(input, output, dtype);
    return std::make_unique<dequantization>(open_reader(input), dtype.empty() ? nullptr : find_dtype(dtype), profile);
}

}  // namespace qdq::model
