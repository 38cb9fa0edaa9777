#include "commands.h"
#include "error.h"
#include "nibbles.h"
#include "progress.h"
#include "quantized_tensor.h"
#include "scales.h"
#include "text.h"

#include <iostream>
#include <set>

namespace qdq_cli {

namespace {

// What becomes of one tensor of the input.
struct step {
    size_t input;
    size_t output;                         // of the copy, where the tensor is not quantized
    std::optional<quantized_parts> parts;  // among the outputs
    blocking granularity;
};

struct plan {
    std::vector<step> steps;
    std::vector<tensor_info> outputs;
    record_map records;
};

std::set<size_t> find_quantized(const tensor_reader &input) {
    std::set<size_t> found;
    for (const logical_tensor &tensor : logical_tensors(input)) {
        if (tensor.parts) {
            std::vector<size_t> parts = tensor.parts->all();
            found.insert(parts.begin(), parts.end());
        }
    }
    return found;
}

void check(const quantize_options &options, const format &format) {
    const granularity &scales = options.scales;
    std::string name(format.option);
    if (options.asymmetric && !format.code_dtype().is_integer_code()) {
        throw usage_error("--asymmetric: " + name + " has no zero points");
    }
    if (format.block_size != 0 && (scales.per_tensor || scales.axis || scales.block_size != 0)) {
        throw usage_error("--dtype " + name + " has blocks of " + std::to_string(format.block_size) +
                          " along the last axis; it takes no --axis, --per-tensor or --block-size");
    }
}

class quantizer {
public:
    explicit quantizer(const quantize_options &options)
        : options_(options), format_(*find_format(options.format)), code_(format_.code_dtype()),
          input_(open_reader(options.input)), kernels_(options.profile) {
        check(options, format_);
    }

    void run() {
        make_plan();
        metadata_map metadata = with_records(input_->metadata(), plan_.records);
        output_ = create_writer(options_.output, *input_, plan_.outputs, metadata);
        uint64_t total = 0;
        for (const tensor_info &tensor : input_->tensors()) {
            total += byte_size(tensor);
        }
        {
            progress bar(total);
            for (const step &each : plan_.steps) {
                for_tensor(*input_, each.input, [&] { perform(each); });
                bar.advance(byte_size(input_->tensors()[each.input]));
            }
            output_->commit();
        }
        print_summary(total);
    }

private:
    void make_plan() {
        std::set<size_t> quantized = find_quantized(*input_);
        for (size_t i = 0; i < input_->tensors().size(); ++i) {
            const tensor_info &tensor = input_->tensors()[i];
            bool wanted = tensor.type->is_float() && tensor.shape.size() >= input_->lowest_quantized_rank();
            if (wanted && !quantized.contains(i)) {
                for_tensor(*input_, i, [&] { plan_quantized(i); });
            } else {
                plan_.steps.push_back({i, plan_.outputs.size(), std::nullopt, {}});
                plan_.outputs.push_back(tensor);
            }
        }
        if (plan_.records.empty()) {
            throw failure(options_.input + ": it has no tensor to quantize (float, with at least " +
                          std::to_string(input_->lowest_quantized_rank()) + " dimensions)");
        }
    }

    granularity wanted_granularity() const {
        return format_.block_size != 0 ? granularity{.block_size = format_.block_size} : options_.scales;
    }

    void plan_quantized(size_t index) {
        const tensor_info &tensor = input_->tensors()[index];
        blocking granularity = resolve(wanted_granularity(), tensor.shape);
        if (!input_->has_metadata()) {
            check_npy(tensor, granularity);
        }
        plan_.steps.push_back({index, 0, plan_parts(tensor, granularity.scale_shape), granularity});
        plan_.records[tensor.name] = {tensor.type, granularity.axis, granularity.block_size};
    }

    void check_npy(const tensor_info &tensor, const blocking &granularity) const {
        if (code_.npy.empty()) {
            throw failure("numpy has no type for " + std::string(format_.option));
        }
        if (!is_derivable(tensor.shape, granularity)) {
            throw failure("an .npy file cannot record blocks of " + std::to_string(granularity.block_size) +
                          " along axis " + std::to_string(granularity.axis) + "; use a size that divides the axis");
        }
    }

    quantized_parts plan_parts(const tensor_info &tensor, const std::vector<int64_t> &scale_shape) {
        const std::string &name = tensor.name;
        quantized_parts parts = {.type = &code_};
        if (code_.bits >= 8) {
            parts.codes = plan_.outputs.size();
            plan_.outputs.push_back({name, &code_, tensor.shape});
        } else {
            packed_rows packing(format_.codes, tensor.shape);
            parts.codes = add_part({packed_name(name), &packing.type(), packing.shape()});
            if (code_.is_integer_code() || tensor.shape.back() % 2 != 0) {
                auto rank = static_cast<int64_t>(tensor.shape.size());
                parts.shape = add_part({shape_name(name), find_dtype("I64"), {rank}});
            }
        }
        parts.scale = add_part({scale_name(name), &stored_scale_dtype(format_.scales), scale_shape});
        if (format_.scales == scale_form::two_level) {
            parts.global_scale = add_part({global_scale_name(name), &f32_dtype(), {1}});
        }
        if (has_zero_points(code_, options_.asymmetric)) {
            parts.zero_point = add_part(zero_point_info(zero_point_name(name), scale_shape));
        }
        return parts;
    }

    size_t add_part(tensor_info part) {
        if (input_->find(part.name)) {
            throw failure("the file already has a tensor named " + printable(part.name));
        }
        plan_.outputs.push_back(std::move(part));
        return plan_.outputs.size() - 1;
    }

    bool packs_zero_points(const std::vector<int64_t> &shape) const { return code_.bits == 4 && shape.size() >= 2; }

    tensor_info zero_point_info(const std::string &name, const std::vector<int64_t> &shape) const {
        if (packs_zero_points(shape)) {
            return {name, &dtype_of(QDQ_I32), packed_zero_points_shape(shape)};
        }
        return {name, code_.bits == 4 ? &dtype_of(QDQ_I8) : &code_, shape};
    }

    void perform(const step &each) {
        std::span<std::byte> bytes = source_.take(byte_size(input_->tensors()[each.input]));
        input_->read(each.input, bytes);
        if (each.parts) {
            quantize(each, bytes);
        } else {
            output_->write(each.output, bytes);
        }
    }

    void quantize(const step &each, std::span<std::byte> bytes) {
        const tensor_info &tensor = input_->tensors()[each.input];
        scale_map map(tensor.shape, each.granularity);
        scale_set set = compute_scales(*tensor.type, bytes, map, format_, options_.asymmetric,
                                       [&](std::vector<float> &values) { return encode_e4m3(values); });
        std::span<std::byte> codes = codes_.take(byte_size({"", &code_, tensor.shape}));
        const std::vector<int64_t> &scale_shape = each.granularity.scale_shape;
        std::byte *zero_points = set.zero_points.empty() ? nullptr : set.zero_points.data();
        kernels_.quantize({{tensor.type, tensor.shape, bytes.data()},
                           {&f32_dtype(), scale_shape, std::as_writable_bytes(std::span(set.scales)).data()},
                           {&zero_point_dtype(code_), scale_shape, zero_points},
                           {&code_, tensor.shape, codes.data()},
                           each.granularity});
        write_parts(*each.parts, tensor.shape, scale_shape, codes, set);
    }

    std::vector<std::byte> encode_e4m3(std::vector<float> &values) {
        std::vector<std::byte> codes(values.size());
        std::vector<int64_t> shape = {static_cast<int64_t>(values.size())};
        float one = 1;
        kernels_.quantize({{&f32_dtype(), shape, std::as_writable_bytes(std::span(values)).data()},
                           {&f32_dtype(), {}, std::as_writable_bytes(std::span(&one, 1)).data()},
                           {},
                           {&dtype_of(QDQ_F8E4M3), shape, codes.data()},
                           {}});
        return codes;
    }

    void write_parts(const quantized_parts &parts, const std::vector<int64_t> &shape,
                     const std::vector<int64_t> &scale_shape, std::span<std::byte> codes, scale_set &set) {
        output_->write(parts.codes, code_.bits == 4 ? packed(codes, shape) : codes);
        output_->write(parts.scale, set.stored);
        if (parts.shape) {
            output_->write(*parts.shape, std::as_bytes(std::span(shape)));
        }
        if (parts.global_scale) {
            output_->write(*parts.global_scale, std::as_bytes(std::span(&set.global, 1)));
        }
        if (parts.zero_point) {
            output_->write(*parts.zero_point, stored_zero_points(set.zero_points, scale_shape));
        }
    }

    std::span<std::byte> packed(std::span<std::byte> codes, const std::vector<int64_t> &shape) {
        if (format_.codes == QDQ_I4) {
            add_eight(codes);
        }
        packed_rows packing(format_.codes, shape);
        if (!packing.is_padded()) {
            return codes;
        }
        std::span<std::byte> rows = rows_.take(byte_size({"", &packing.type(), packing.shape()}));
        packing.pad(codes, rows);
        return rows;
    }

    // Those of u4 become signed: the convention has no unsigned codes, and adds 8 to all.
    std::vector<std::byte> stored_zero_points(std::vector<std::byte> values, const std::vector<int64_t> &shape) const {
        if (format_.codes == QDQ_U4) {
            for (std::byte &value : values) {
                value = static_cast<std::byte>(std::to_integer<int>(value) - 8);
            }
        }
        return packs_zero_points(shape) ? pack_zero_points(values, shape) : values;
    }

    void print_summary(uint64_t input_bytes) const {
        uint64_t output_bytes = 0;
        for (const tensor_info &tensor : plan_.outputs) {
            output_bytes += byte_size(tensor);
        }
        std::cout << "quantized " << plan_.records.size() << " of " << input_->tensors().size() << " tensors to "
                  << format_.option << ": " << bytes_text(input_bytes) << " -> " << bytes_text(output_bytes) << "\n"
                  << kernels_.report() << "\n";
    }

    const quantize_options &options_;
    const format &format_;
    const dtype &code_;
    std::unique_ptr<tensor_reader> input_;
    std::unique_ptr<tensor_writer> output_;
    plan plan_;
    scratch_buffer source_, codes_, rows_;
    kernel_caller kernels_;
};

}  // namespace

void run_quantize(const quantize_options &options) {
    apply(options.target);
    quantizer(options).run();
}

}  // namespace qdq_cli
