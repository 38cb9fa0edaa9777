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
        : options_(options),
          input_(open_reader(options.input)),
          records_(read_records(*input_)),
          kernels_(options.profile) {}

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
                for_tensor(*input_, tensors_[i].index, [&] { perform(i); });
                bar.advance(byte_size(outputs_[i]));
            }
            input_->check_unchanged();
            output_->commit();
        }
        std::cout << "dequantized " << restored_ << " of " << outputs_.size() << " tensors: " << bytes_text(input_bytes)
                  << " -> " << bytes_text(total) << "\n"
                  << kernels_.report() << "\n";
    }

private:
    void make_plan() {
        tensors_ = logical_tensors(*input_);
        for (const logical_tensor &tensor : tensors_) {
            const dtype *type = input_->tensors()[tensor.index].type;
            if (tensor.parts) {
                auto record = records_.find(tensor.name);
                type = record == records_.end() ? &f32_dtype() : record->second.source;
                ++restored_;
            }
            outputs_.add({tensor.name, type, tensor.shape});
        }
        if (restored_ == 0) {
            throw failure(options_.input + ": it has no quantized tensor with its scale beside it");
        }
    }

    void perform(size_t i) {
        const tensor_info &output = outputs_[i];
        std::span<std::byte> bytes = result_.take(byte_size(output));
        if (tensors_[i].parts) {
            quantized_tensor source = load_quantized(*input_, tensors_[i], records_, codes_);
            kernels_.dequantize(source.dequantize_to({output.type, output.shape, bytes.data()}));
        } else {
            input_->read(tensors_[i].index, bytes);
        }
        output_->write(i, bytes);
    }

    const dequantize_options &options_;
    std::unique_ptr<tensor_reader> input_;
    record_map records_;
    std::unique_ptr<tensor_writer> output_;
    tensor_list outputs_;
    std::vector<logical_tensor> tensors_;  // what each output is made of
    size_t restored_ = 0;
    code_buffers codes_;
    scratch_buffer result_;
    kernel_caller kernels_;
};

}  // namespace

void run_dequantize(const dequantize_options &options) {
    apply(options.target);
    dequantizer(options).run();
}

}  // namespace qdq_cli
