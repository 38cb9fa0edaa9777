#include "commands.h"
#include "error.h"
#include "progress.h"
#include "quantized_tensor.h"
#include "text.h"

#include <iostream>

namespace qdq_cli {

namespace {

class dequantizer {
public:
    explicit dequantizer(const dequantize_options &options)
        : options_(options), input_(open_reader(options.input)), records_(read_records(*input_)) {}

    void run() {
        make_plan();
        output_ = create_writer(options_.output, *input_, outputs_, without_records(input_->metadata()));
        uint64_t total = 0, input_bytes = 0;
        for (const tensor_info &tensor : outputs_) {
            total += byte_size(tensor);
        }
        for (const tensor_info &tensor : input_->tensors()) {
            input_bytes += byte_size(tensor);
        }
        {
            progress bar(total);
            for (size_t i = 0; i < outputs_.size(); ++i) {
                for_tensor(*input_, sources_[i], [&] { perform(i); });
                bar.advance(byte_size(outputs_[i]));
            }
            output_->commit();
        }
        std::cout << "dequantized " << restored_ << " of " << outputs_.size() << " tensors: " << bytes_text(input_bytes)
                  << " -> " << bytes_text(total) << "\n"
                  << kernels_.report() << "\n";
    }

private:
    void make_plan() {
        for (size_t i = 0; i < input_->tensors().size(); ++i) {
            if (is_parameter(*input_, i)) {
                continue;
            }
            tensor_info tensor = input_->tensors()[i];
            if (find_quantized(*input_, i)) {
                auto record = records_.find(tensor.name);
                tensor.type = record == records_.end() ? &f32_dtype() : record->second.source;
                ++restored_;
            }
            sources_.push_back(i);
            outputs_.push_back(tensor);
        }
        if (restored_ == 0) {
            throw failure(options_.input + ": it has no quantized tensor with its scale beside it");
        }
    }

    void perform(size_t output) {
        size_t index = sources_[output];
        const tensor_info &tensor = outputs_[output];
        std::span<std::byte> bytes = result_.take(byte_size(tensor));
        if (auto parts = find_quantized(*input_, index)) {
            quantized_tensor source = load_quantized(*input_, *parts, records_, codes_);
            kernels_.dequantize(source.dequantize_to({tensor.type, tensor.shape, bytes.data()}));
        } else {
            input_->read(index, bytes);
        }
        output_->write(output, bytes);
    }

    const dequantize_options &options_;
    std::unique_ptr<tensor_reader> input_;
    record_map records_;
    std::unique_ptr<tensor_writer> output_;
    std::vector<tensor_info> outputs_;
    std::vector<size_t> sources_;  // the input tensor of each output
    size_t restored_ = 0;
    scratch_buffer codes_, result_;
    kernel_caller kernels_;
};

}  // namespace

void run_dequantize(const dequantize_options &options) {
    apply(options.target);
    dequantizer(options).run();
}

}  // namespace qdq_cli
