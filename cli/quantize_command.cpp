#include "commands.h"
#include "error.h"
#include "interrupt.h"
#include "nibbles.h"
#include "progress.h"
#include "quantized_tensor.h"
#include "scales.h"
#include "text.h"

#include <algorithm>
#include <iostream>

namespace qdq_cli {

namespace {

// What becomes of one tensor of the input: a copy, or codes.
struct step {
    size_t input, output;
    bool is_quantized;
};

struct plan {
    std::vector<step> steps;
    tensor_list outputs;
    record_map records;
};

// New names may give a tensor parts that are not its own: an a_global_scale, made for a, is the scale of a_global.
void check_read_as(const std::vector<logical_tensor> &wanted, const tensor_list &outputs) {
    std::vector<logical_tensor> found = find_logical_tensors(outputs);
    auto same = [](const logical_tensor &a, const logical_tensor &b) {
        return a.name == b.name && a.stored().size() == b.stored().size();
    };
    if (auto [first, other] = std::ranges::mismatch(wanted, found, same); first != wanted.end()) {
        throw failure("the names of new tensors would make them parts of " + printable(first->name));
    }
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
        : options_(options),
          format_(*find_format(options.format)),
          code_(format_.code_dtype()),
          input_(open_reader(options.input)),
          kernels_(options.profile) {
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
            input_->check_unchanged();
            output_->commit();
        }
        print_summary(total);
    }

private:
    void make_plan() {
        std::vector<logical_tensor> logical = logical_tensors(*input_);
        auto next = logical.begin();  // in the order of the file, where parts come between
        for (size_t i = 0; i < input_->tensors().size(); ++i) {
            throw_if_interrupted();
            bool is_part = next == logical.end() || next->index != i;
            if (is_part || next->parts || !is_wanted(input_->tensors()[i])) {
                plan_.steps.push_back({i, plan_.outputs.size(), false});
                plan_.outputs.add(input_->tensors()[i]);
            } else {
                plan_.steps.push_back({i, plan_.outputs.size(), true});
                for_tensor(*input_, i, [&] { next->parts = plan_quantized(input_->tensors()[i]); });
            }
            next += !is_part;
        }
        if (plan_.records.empty()) {
            throw failure(options_.input + ": it has no tensor to quantize (float, with at least " +
                          std::to_string(input_->lowest_quantized_rank()) + " dimensions)");
        }
        in_file(options_.input, [&] { check_read_as(logical, plan_.outputs); });
    }

    bool is_wanted(const tensor_info &tensor) const {
        return tensor.type->is_float() && tensor.shape.size() >= input_->lowest_quantized_rank();
    }

    blocking granularity_of(const tensor_info &tensor) const {
        bool fixed = format_.block_size != 0;
        return resolve(fixed ? granularity{.block_size = format_.block_size} : options_.scales, tensor.shape);
    }

    quantized_parts plan_quantized(const tensor_info &tensor) {
        blocking granularity = granularity_of(tensor);
        if (!input_->has_metadata()) {
            check_npy(tensor, granularity);
        }
        plan_.records[tensor.name] = {tensor.type, granularity.axis, granularity.block_size};
        return plan_parts(tensor, granularity.scale_shape);
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
            plan_.outputs.add({name, &code_, tensor.shape});
        } else {
            refuse_taken(groups_name(name));
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

    void refuse_taken(const std::string &name) const {
        if (input_->find(name)) {
            throw failure("the file already has a tensor named " + printable(name));
        }
    }

    size_t add_part(tensor_info part) {
        refuse_taken(part.name);
        plan_.outputs.add(std::move(part));
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
        if (each.is_quantized) {
            quantize(each, bytes);
        } else {
            output_->write(each.output, bytes);
        }
    }

    void quantize(const step &each, std::span<std::byte> bytes) {
        const tensor_info &tensor = input_->tensors()[each.input];
        blocking granularity = granularity_of(tensor);
        scale_map map(tensor.shape, granularity);
        scale_set set = compute_scales(*tensor.type, bytes, map, format_, options_.asymmetric,
                                       [&](std::vector<float> &values) { return encode_e4m3(values); });
        std::span<std::byte> codes = codes_.take(byte_size({"", &code_, tensor.shape}));
        const std::vector<int64_t> &scale_shape = granularity.scale_shape;
        std::byte *zero_points = set.zero_points.empty() ? nullptr : set.zero_points.data();
        kernels_.quantize({{tensor.type, tensor.shape, bytes.data()},
                           {&f32_dtype(), scale_shape, std::as_writable_bytes(std::span(set.scales)).data()},
                           {&zero_point_dtype(code_), scale_shape, zero_points},
                           {&code_, tensor.shape, codes.data()},
                           granularity});
        write_parts(*find_logical_tensor(plan_.outputs, each.output).parts, tensor.shape, scale_shape, codes, set);
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
