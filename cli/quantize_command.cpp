#include "commands.h"
#include "error.h"
#include "progress.h"
#include "quantized_tensor.h"
#include "scales.h"
#include "text.h"

#include <iostream>

namespace qdq_cli {

namespace {

// What becomes of one tensor of the input.
struct step {
    size_t input;
    size_t output;                       // the first of its outputs: codes, scale, zero point, or the copy
    std::optional<blocking> granularity;  // nothing: the tensor is copied
};

struct plan {
    std::vector<step> steps;
    std::vector<tensor_info> outputs;
    record_map records;
};

bool is_quantizable(const tensor_reader &input, size_t index) {
    const tensor_info &tensor = input.tensors()[index];
    return tensor.type->is_float() && tensor.shape.size() >= input.lowest_quantized_rank() &&
           !is_parameter(input, index);
}

class quantizer {
public:
    explicit quantizer(const quantize_options &options)
        : options_(options), code_(*find_code_dtype(options.code)), input_(open_reader(options.input)) {}

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
        for (size_t i = 0; i < input_->tensors().size(); ++i) {
            if (is_quantizable(*input_, i)) {
                for_tensor(*input_, i, [&] { plan_quantized(i); });
            } else {
                plan_.steps.push_back({i, plan_.outputs.size(), std::nullopt});
                plan_.outputs.push_back(input_->tensors()[i]);
            }
        }
        if (plan_.records.empty()) {
            throw failure(options_.input + ": it has no tensor to quantize (float, with at least " +
                          std::to_string(input_->lowest_quantized_rank()) + " dimensions)");
        }
    }

    void plan_quantized(size_t index) {
        const tensor_info &tensor = input_->tensors()[index];
        blocking granularity = resolve(options_.scales, tensor.shape);
        if (!input_->has_metadata() && !is_derivable(tensor.shape, granularity)) {
            throw failure("an .npy file cannot record blocks of " + std::to_string(granularity.block_size) +
                          " along axis " + std::to_string(granularity.axis) + "; use a size that divides the axis");
        }
        plan_.steps.push_back({index, plan_.outputs.size(), granularity});
        plan_.outputs.push_back({tensor.name, &code_, tensor.shape});
        add_parameter({scale_name(tensor.name), &f32_dtype(), granularity.scale_shape});
        if (has_zero_points(code_, options_.asymmetric)) {
            add_parameter({zero_point_name(tensor.name), &code_, granularity.scale_shape});
        }
        plan_.records[tensor.name] = {tensor.type, granularity.axis, granularity.block_size};
    }

    void add_parameter(tensor_info parameter) {
        if (input_->find(parameter.name)) {
            throw failure("the file already has a tensor named " + printable(parameter.name));
        }
        plan_.outputs.push_back(std::move(parameter));
    }

    void perform(const step &each) {
        std::span<std::byte> bytes = source_.take(byte_size(input_->tensors()[each.input]));
        input_->read(each.input, bytes);
        if (each.granularity) {
            quantize(each, bytes);
        } else {
            output_->write(each.output, bytes);
        }
    }

    void quantize(const step &each, std::span<std::byte> bytes) {
        const tensor_info &tensor = input_->tensors()[each.input];
        scale_map map(tensor.shape, *each.granularity);
        scale_set set = compute_scales(*tensor.type, bytes, map, code_, options_.asymmetric);
        std::span scale_bytes = std::as_writable_bytes(std::span(set.scales));
        std::span<std::byte> codes = codes_.take(byte_size(plan_.outputs[each.output]));
        const std::vector<int64_t> &scale_shape = each.granularity->scale_shape;
        kernel_arguments arguments = {{tensor.type, tensor.shape, bytes.data()},
                                      {&f32_dtype(), scale_shape, scale_bytes.data()},
                                      {&code_, scale_shape, set.zero_points.empty() ? nullptr : set.zero_points.data()},
                                      {&code_, tensor.shape, codes.data()},
                                      *each.granularity};
        kernels_.quantize(arguments);
        output_->write(each.output, codes);
        output_->write(each.output + 1, scale_bytes);
        if (!set.zero_points.empty()) {
            output_->write(each.output + 2, set.zero_points);
        }
    }

    void print_summary(uint64_t input_bytes) const {
        uint64_t output_bytes = 0;
        for (const tensor_info &tensor : plan_.outputs) {
            output_bytes += byte_size(tensor);
        }
        std::cout << "quantized " << plan_.records.size() << " of " << input_->tensors().size() << " tensors to "
                  << code_.option << ": " << bytes_text(input_bytes) << " -> " << bytes_text(output_bytes) << "\n"
                  << kernels_.report() << "\n";
    }

    const quantize_options &options_;
    const dtype &code_;
    std::unique_ptr<tensor_reader> input_;
    std::unique_ptr<tensor_writer> output_;
    plan plan_;
    scratch_buffer source_, codes_;
    kernel_caller kernels_;
};

}  // namespace

void run_quantize(const quantize_options &options) {
    apply(options.target);
    quantizer(options).run();
}

}  // namespace qdq_cli
