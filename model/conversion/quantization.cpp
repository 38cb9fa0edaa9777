#include "conversion/quantization.h"

#include "files/file_kinds.h"
#include "files/ggml_blocks.h"
#include "recipe/quantization_config.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/text.h"
#include "tensors/float_values.h"
#include "tensors/layers.h"
#include "tensors/nibbles.h"
#include "tensors/quantized_tensor.h"
#include "tensors/scales.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace qdq::model {

namespace {

// New names may give a tensor parts that are not its own: an a_global_scale, made for a, is the scale of a_global.
void check_read_as(const std::vector<logical_tensor> &wanted, const tensor_list &outputs) {
    std::vector<logical_tensor> found = find_logical_tensors(outputs);
    auto same = [](const logical_tensor &a, const logical_tensor &b) {
        return a.name == b.name && a.stored().size() == b.stored().size();
    };
    if (auto [first, other] = std::ranges::mismatch(wanted, found, same); first != wanted.end()) {
        throw failure("the names of new tensors would make them parts of " + shortened(first->name));
    }
}

granularity granularity_of(const scheme &how, const tensor_info &tensor) {
    const std::vector<int64_t> &shape = tensor.shape;
    granularity scales = how.scales;
    if (how.type->block_size != 0) {
        scales.block_size = how.type->block_size;
    }
    bool matrices = is_expert_stack(tensor) && !scales.axis && scales.block_size == 0 && element_count(shape) != 0;
    if (matrices && scales.per_tensor) {
        return {.block_size = shape[2], .block_rows = shape[1]};
    }
    return matrices ? granularity{.block_size = shape[2]} : scales;
}

const dtype &scale_dtype(const tensor_info &tensor, const scheme &how) {
    switch (how.stored_scales) {
    case scale_storage::of_weights: return *tensor.type;
    case scale_storage::bf16: return dtype_of(QDQ_BF16);
    default: return stored_scale_dtype(*how.type);
    }
}

// f16 has no powers of two below 2^-24.
void check_power_of_two(const tensor_info &tensor, const scheme &how) {
    if (how.method.rule && is_power_of_two(*how.method.rule) && scale_dtype(tensor, how).core == QDQ_F16) {
        throw failure("its scales are of F16, and " + std::string(scale_rule_name(*how.method.rule)) +
                      " makes powers of two that it has not");
    }
}

// What safetensors' own library refuses: 6 bits each that end inside a byte.
void check_whole_bytes(const dtype &stored, const std::vector<int64_t> &shape) {
    if (int64_t count = element_count(shape); stored.bits == 6 && count % 4 != 0) {
        throw failure("its " + std::to_string(count) + " elements of 6 bits fill no whole bytes");
    }
}

bool is_float_of_rank(const tensor_info &tensor, size_t lowest) {
    return tensor.type->is_float() && tensor.shape.size() >= lowest;
}

// Either there is nothing of the kind, or rules and names leave all of it alone.
failure nothing_selected(const tensor_reader &input) {
    size_t lowest = input.kind().lowest_quantized_rank;
    auto possible = std::ranges::count_if(input.tensors(),
                                          [&](const tensor_info &tensor) { return is_float_of_rank(tensor, lowest); });
    std::string kind = "(float, with at least " + std::to_string(lowest) + " dimensions)";
    if (possible == 0) {
        return failure(input.path() + ": it has no tensor to quantize " + kind);
    }
    return failure(input.path() + ": nothing is quantized: the rules, or the names, of all " +
                   std::to_string(possible) + " tensors that could be " + kind + " leave them alone");
}

// One scale for each block is all that DequantizeLinear takes, and its blocks have one row.
void check_onnx(const scheme &how) {
    if (how.type->scales == scale_form::two_level || how.scales.block_rows != 0) {
        throw failure("ONNX's DequantizeLinear has no " + scheme_text(how) +
                      ": its blocks have one scale, and one row");
    }
    if (is_dense(how.type->code_dtype())) {
        throw failure("ONNX has no type for " + std::string(how.type->option));
    }
}

// Of a weight a scale for each output, and blocks of what is summed, wherever its nodes have them.
void choose_axis(scheme &how, const weight_axes &weight) {
    if (!how.scales.axis && !how.scales.per_tensor) {
        bool blocks = how.scales.block_size != 0 || how.type->block_size != 0;
        how.scales.axis = blocks ? weight.summed : weight.output;
    }
}

void check_npy(const tensor_info &tensor, const scheme &how, const blocking &granularity) {
    if (how.type->code_dtype().npy.empty()) {
        throw failure("numpy has no type for " + std::string(how.type->option));
    }
    if (!is_derivable(tensor.shape, granularity)) {
        const std::string rows = granularity.block_rows == 0 ? "" : std::to_string(granularity.block_rows) + "x";
        throw failure("an .npy file cannot record blocks of " + rows + std::to_string(granularity.block_size) +
                      " along axis " + std::to_string(granularity.axis) + "; use a size that divides the axis");
    }
}

bool is_in_blocks(const scheme &how) { return how.type->scales == scale_form::in_blocks; }

void check_finite(std::span<const float> values) {
    if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
        throw failure("it holds NaN or infinite values");
    }
}

void check_blocks(const tensor_info &tensor, const dtype &blocks) {
    if (tensor.shape.back() % blocks.block_elements != 0) {
        throw failure("its rows are no whole number of blocks of " + std::to_string(blocks.block_elements));
    }
}

// Quantizes one tensor after another, with the same buffers.
class tensor_quantizer {
public:
    explicit tensor_quantizer(const std::string &profile, const std::optional<uint64_t> &seed)
        : kernels_(profile), seed_(seed) {}

    // Writes the parts of one tensor; `first` is where the writer has the first of `outputs`.
    void quantize(const tensor_source &input, const quantization::step &each, const tensor_list &outputs,
                  tensor_writer &output, size_t first) {
        if (is_in_blocks(*each.how)) {
            encode(input, each, outputs[each.first_output], output, first);
            return;
        }
        made_tensor made = make(input, each);
        auto write = [&](size_t part, std::span<const std::byte> data) {
            output.write(first + part - each.first_output, data);
        };
        const quantized_parts parts = *find_logical_tensor(outputs, each.first_output).parts;
        bool is_packed = outputs[parts.codes].type != &in_file(*made.arguments.y.type);
        write_parts(write, parts, is_packed, made);
    }

    quantization::error error_of(const tensor_source &input, const quantization::step &each) {
        made_tensor made = make(input, each);
        const kernel_arguments &at = made.arguments;
        std::span<std::byte> restored = restored_.take(byte_size({"", &f32_dtype(), at.x.shape}));
        kernels_.dequantize(
            {at.y, at.scale, at.zero_point, {&f32_dtype(), at.x.shape, restored.data()}, at.granularity});
        return error_between(at.x, reinterpret_cast<const float *>(restored.data()));
    }

    const kernel_figures &figures() const { return kernels_.figures(); }

private:
    // What a tensor has become: the arguments of its call, with its codes as y, and the scales that they lead to.
    struct made_tensor {
        scale_set set;
        kernel_arguments arguments;
    };

    made_tensor make(const tensor_source &input, const quantization::step &each) {
        const tensor_info &tensor = input.tensors()[each.input];
        const scheme &how = *each.how;
        const dtype &code = how.type->code_dtype();
        std::span<std::byte> bytes = source_.take(byte_size(tensor));
        input.read(each.input, bytes);
        const tensor_data x = {tensor.type, tensor.shape, bytes.data()};
        blocking granularity = resolve(granularity_of(how, tensor), tensor.shape);
        made_tensor made = {compute_scales(x, granularity, *how.type, how.method, scale_dtype(tensor, how), kernels_),
                            {}};
        scale_set &set = made.set;
        const std::vector<int64_t> &scale_shape = granularity.scale_shape;
        made.arguments = {
            x,
            {&f32_dtype(), scale_shape, std::as_writable_bytes(std::span(set.scales)).data()},
            {&zero_point_dtype(code), scale_shape, set.zero_points.empty() ? nullptr : set.zero_points.data()},
            {&code, tensor.shape, codes_.take(byte_size({"", &code, tensor.shape})).data()},
            granularity};
        kernels_.quantize(made.arguments,
                          seed_ ? std::optional(random_numbers{*seed_, each.first_element}) : std::nullopt);
        return made;
    }

    // Writes ggml's blocks of values, some at a time.
    void encode(const tensor_source &input, const quantization::step &each, const tensor_info &to,
                tensor_writer &output, size_t first) {
        constexpr int64_t piece = 1 << 16;  // values
        const tensor_info &from = input.tensors()[each.input];
        const ggml_type &blocks = *ggml_type_of(*to.type);
        const int64_t count = element_count(from.shape), width = from.type->bits / 8;
        std::vector<float> values(piece);
        for (int64_t done = 0; done < count; done += piece) {
            throw_if_interrupted();
            const int64_t taken = std::min(piece, count - done);
            std::span<std::byte> bytes = source_.take(static_cast<uint64_t>(taken * width));
            input.read_at(each.input, static_cast<uint64_t>(done * width), bytes);
            widen(*from.type->core, bytes.data(), 0, taken, values.data());
            check_finite(std::span(values).first(static_cast<size_t>(taken)));
            const auto made = static_cast<size_t>(taken) / blocks.block_elements;
            std::span<std::byte> codes = codes_.take(made * blocks.block_bytes);
            encode_blocks(blocks, std::span(values).first(static_cast<size_t>(taken)), codes.data());
            output.write_at(first, static_cast<uint64_t>(done) / blocks.block_elements * blocks.block_bytes, codes);
        }
    }

    static quantization::error error_between(const tensor_data &x, const float *restored) {
        constexpr int64_t piece = 2048;
        float values[piece];
        quantization::error found;
        const int64_t count = element_count(x.shape);
        for (int64_t first = 0; first < count; first += piece) {
            const int64_t length = std::min(piece, count - first);
            widen(*x.type->core, x.data, first, length, values);
            for (int64_t i = 0; i < length; ++i) {
                const double value = values[i], difference = value - restored[first + i];
                found.signal += value * value;
                found.noise += difference * difference;
            }
        }
        return found;
    }

    template<typename Write>
    void write_parts(const Write &write, const quantized_parts &parts, bool is_packed, made_tensor &made) {
        scale_set &set = made.set;
        const dtype &code = *made.arguments.y.type;
        const std::vector<int64_t> &shape = made.arguments.y.shape, &scale_shape = made.arguments.scale.shape;
        const std::span codes(made.arguments.y.data, byte_size({"", &code, shape}));
        write(parts.codes, is_packed        ? packed_codes(codes, code, shape, rows_)
                           : is_dense(code) ? dense_codes(codes, rows_)
                                            : codes);
        write(parts.scale, set.stored);
        if (parts.shape) {
            write(*parts.shape, std::as_bytes(std::span(shape)));
        }
        if (parts.global_scale) {
            write(*parts.global_scale, std::as_bytes(std::span(&set.global, 1)));
        }
        if (parts.zero_point) {
            write(*parts.zero_point,
                  is_packed ? stored_zero_points(set.zero_points, code, scale_shape) : set.zero_points);
        }
    }

    scratch_buffer source_, codes_, rows_, restored_;
    kernel_caller kernels_;
    const std::optional<uint64_t> seed_;
};

// Of experts' weights those that would be loaded so.
selection select_of_model(const recipe &rules, const tensor_reader &input) {
    selection select = select_by(rules, [&input, how = rules.otherwise](const tensor_info &tensor) {
        return input.is_weight(tensor) && (!is_expert_weight(tensor) || is_loaded(tensor, how));
    });
    bool bf16 = std::ranges::any_of(input.tensors(), [&](const tensor_info &tensor) {
        std::optional<scheme> how = select(tensor);
        return how && is_restored_to_bf16(*how);
    });
    // transformers holds scales in the type of the model, and rounds those of another type.
    return [select, rounded = bf16 ? scale_storage::bf16 : scale_storage::of_weights](const tensor_info &tensor) {
        std::optional<scheme> how = select(tensor);
        if (how && how->type->scales == scale_form::f32 && how->scales.block_rows == 0) {
            how->stored_scales = rounded;
            how->packs_bytes = packs_bytes(*how);
        }
        return how;
    };
}

selection select_of_graph(const selection &select, const tensor_reader &input) {
    return [select, &input](const tensor_info &tensor) {
        std::optional<scheme> how = select(tensor);
        if (how) {
            check_onnx(*how);
            choose_axis(*how, input.axes(tensor));
            how->stored_scales = scale_storage::of_weights;  // DequantizeLinear has results of the scale's type
        }
        return how;
    };
}

// What a recipe says of the tensors of a file or a model's folder. Of those that no rule names, in a file floats with
// enough dimensions are quantized, and in a folder the weights of linear layers, but for those of experts that would
// not be loaded so.
selection select_by(const recipe &rules, const tensor_reader &input) {
    bool dynamic = rules.otherwise.dynamic_activations || std::ranges::any_of(rules.rules, [](const rule &each) {
                       return each.how && each.how->dynamic_activations;
                   });
    if (input.kind().holds == holding::model) {
        return select_of_model(rules, input);
    }
    if (dynamic && input.kind().holds != holding::graph) {
        throw usage_error("--activations is of a model's folder, whose config.json says so, or of an .onnx model");
    }
    selection select = select_by(rules, [&input](const tensor_info &tensor) { return input.is_weight(tensor); });
    return input.kind().holds == holding::graph ? select_of_graph(select, input) : select;
}

}  // namespace

std::vector<size_t> rules_that_match_nothing(const tensor_reader &input, const recipe &rules) {
    std::vector<size_t> found;
    for (size_t i = 0; i < rules.rules.size(); ++i) {
        throw_if_interrupted();
        auto matched = [&](const tensor_info &tensor) { return matches(rules.rules[i], tensor.name); };
        if (std::ranges::none_of(input.tensors(), matched)) {
            found.push_back(i);
        }
    }
    return found;
}

quantization::quantization(std::unique_ptr<tensor_reader> input, recipe rules, std::string profile,
                           std::optional<uint64_t> seed)
    : transformation(std::move(input)), rules_(std::move(rules)), profile_(std::move(profile)), seed_(seed) {
    const selection select = select_by(rules_, *input_);
    static_cast<void>(kernel_caller(profile_));  // throws when there is no such profile
    std::vector<logical_tensor> logical = logical_tensors(*input_);
    auto next = logical.begin();  // in the order of the file, where parts come between
    uint64_t elements = 0;
    for (size_t i = 0; i < input_->tensors().size(); ++i) {
        throw_if_interrupted();
        const tensor_info &tensor = input_->tensors()[i];
        bool is_part = next == logical.end() || next->index != i;
        std::optional<scheme> how = is_part || next->parts ? std::nullopt : select(tensor);
        steps_.push_back({i, outputs_.size(), how, elements});
        elements += static_cast<uint64_t>(element_count(tensor.shape));
        if (how) {
            name_in_failures(*input_, i, [&] { next->parts = plan_quantized(tensor, *how); });
        } else {
            outputs_.add(tensor);
        }
        next += !is_part;
    }
    if (records_.empty()) {
        throw nothing_selected(*input_);
    }
    name_in_failures(input_->path(), [&] { check_read_as(logical, outputs_); });
}

std::optional<quantized_parts> quantization::plan_quantized(const tensor_info &tensor, const scheme &how) {
    blocking granularity = resolve(granularity_of(how, tensor), tensor.shape);
    if (is_in_blocks(how)) {
        const dtype &blocks = block_dtype(how.type->option);
        check_blocks(tensor, blocks);
        records_[tensor.name] = {tensor.type, granularity.axis, granularity.block_size};
        outputs_.add({tensor.name, &blocks, tensor.shape});
        return std::nullopt;
    }
    check_power_of_two(tensor, how);
    if (!input_->kind().has_metadata) {
        check_npy(tensor, how, granularity);
    }
    records_[tensor.name] = {.source = tensor.type,
                             .axis = granularity.axis,
                             .block_size = granularity.block_size,
                             .block_rows = granularity.block_rows,
                             .packs_bytes = how.packs_bytes,
                             .quantizes_inputs = how.dynamic_activations && input_->kind().holds == holding::graph};
    return plan_parts(tensor, how, granularity.scale_shape);
}

quantized_parts quantization::plan_parts(const tensor_info &tensor, const scheme &how,
                                         const std::vector<int64_t> &scale_shape) {
    const std::string &name = tensor.name;
    const dtype &code = how.type->code_dtype();
    quantized_parts parts = {.type = &code};
    bool is_packed = how.packs_bytes || (code.bits == 4 && input_->kind().packs_codes);
    if (!is_packed) {
        parts.codes = outputs_.size();
        check_whole_bytes(in_file(code), tensor.shape);
        outputs_.add({name, &in_file(code), tensor.shape});
    } else {
        refuse_taken(groups_name(name));
        packed_rows packing(code, tensor.shape);
        parts.codes = add_part({packed_name(name), &packing.type(), packing.shape()});
        if (code.is_integer_code() || tensor.shape.back() % 2 != 0) {
            auto rank = static_cast<int64_t>(tensor.shape.size());
            parts.shape = add_part({shape_name(name), find_dtype("I64"), {rank}});
        }
    }
    std::string scale = is_fp8_in_blocks(how) ? block_scale_name(name) : scale_name(name);
    parts.scale = add_part({scale, &scale_dtype(tensor, how), scale_shape});
    if (how.type->scales == scale_form::two_level) {
        parts.global_scale = add_part({global_scale_name(name), &f32_dtype(), {1}});
    }
    if (has_zero_points(code, how.method.asymmetric)) {
        parts.zero_point = add_part(zero_point_info(zero_point_name(name), code, scale_shape, is_packed));
    }
    return parts;
}

size_t quantization::experts_left_alone() const {
    return static_cast<size_t>(std::ranges::count_if(steps_, [&](const step &each) {
        const tensor_info &tensor = input_->tensors()[each.input];
        bool named = std::ranges::any_of(rules_.rules, [&](const rule &of) { return matches(of, tensor.name); });
        return !each.how && !named && is_expert_weight(tensor) && is_linear_weight(tensor, 0) &&
               !is_loaded(tensor, rules_.otherwise);
    }));
}

void quantization::refuse_taken(const std::string &name) const {
    if (input_->find(name)) {
        throw failure("the file already has a tensor named " + shortened(name));
    }
}

size_t quantization::add_part(tensor_info part) {
    refuse_taken(part.name);
    outputs_.add(std::move(part));
    return outputs_.size() - 1;
}

size_t quantization::end_of(const step &each) const {
    auto next = static_cast<size_t>(&each - steps_.data()) + 1;
    return next == steps_.size() ? outputs_.size() : steps_[next].first_output;
}

uint64_t quantization::output_bytes(const step &each) const {
    uint64_t total = 0;
    for (size_t i = each.first_output; i < end_of(each); ++i) {
        total += byte_size(outputs_[i]);
    }
    return total;
}

tensor_list quantization::outputs(size_t shard) const {
    tensor_list result;
    for (const step &each : steps_) {
        for (size_t i = each.first_output; input_->shard_of(each.input) == shard && i < end_of(each); ++i) {
            result.add(outputs_[i]);
        }
    }
    return result;
}

metadata_map quantization::metadata(size_t shard) const {
    metadata_map old = input_->metadata(shard);
    record_map records = read_records(old);
    for (const step &each : steps_) {
        const std::string &name = input_->tensors()[each.input].name;
        if (each.how && input_->shard_of(each.input) == shard) {
            records[name] = records_.at(name);
        }
    }
    return records.empty() ? old : with_records(std::move(old), records);
}

kernel_figures quantization::write(size_t shard, const tensor_source &source, tensor_writer &output,
                                   const progress_function &advance) const {
    tensor_quantizer quantizer(profile_, seed_);
    size_t next = 0;
    for (const step &each : steps_) {
        if (input_->shard_of(each.input) != shard) {
            continue;
        }
        name_in_failures(*input_, each.input, [&] {
            if (each.how) {
                quantizer.quantize(source, each, outputs_, output, next);
                advance(byte_size(input_->tensors()[each.input]));
            } else {
                copy_tensor(source, each.input, output, next, advance);
            }
        });
        next += end_of(each) - each.first_output;
    }
    input_->check_unchanged();
    return quantizer.figures();
}

quantization::error quantization::error_of(const step &each) const {
    error found;
    name_in_failures(*input_, each.input, [&] { found = tensor_quantizer(profile_, seed_).error_of(*input_, each); });
    return found;
}

void quantization::configure(json &config) const {
    std::vector<module_scheme> modules;
    modules.reserve(steps_.size());
    for (const step &each : steps_) {
        modules.push_back({input_->tensors()[each.input], each.how});
    }
    set_quantization_config(config, modules);
}

void quantization::check_output(const std::filesystem::path &path) const {
    const bool to_blocks = kind_named(path).holds_blocks;
    for (const step &each : steps_) {
        if (each.how && to_blocks && seed_) {
            throw usage_error(path.string() + ": blocks are rounded as ggml rounds them, not stochastically");
        }
        if (each.how && is_in_blocks(*each.how) != to_blocks) {
            const std::string type(each.how->type->option);
            throw usage_error(path.string() + ": " +
                              (to_blocks ? "a .gguf file has ggml's blocks, as q8_0 or q4_0, and no " + type
                                         : type + " is of .gguf files alone"));
        }
    }
}

std::string quantization::description() const {
    std::string text = "quantize " + profile_ + (seed_ ? " stochastically by seed " + std::to_string(*seed_) : "");
    for (const step &each : steps_) {
        text += "\n" + input_->tensors()[each.input].name + ": " + (each.how ? scheme_text(*each.how) : "copy") +
                (each.how && each.how->stored_scales == scale_storage::of_weights ? " with scales of its type" : "");
    }
    return text;
}

}  // namespace qdq::model
