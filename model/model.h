#pragma once

#include "conversion/model_output.h"
#include "conversion/quantization.h"

#include <memory>
#include <string>

namespace qdq_cli {

// What other programs need to quantize a model's folder: the command line `qdq`, and the module of Python. Nothing here
// prints or ends the process; what goes wrong is thrown: usage_error, failure (error.h), std::bad_alloc.

struct model_request {
    std::filesystem::path input;
    output_options output;
    recipe rules;         // by read_recipe(), or made of schemes
    std::string profile;  // of qdq_profile_options; empty: none
};

struct model_report {
    size_t tensors = 0, quantized = 0;
    size_t experts_left_alone = 0;  // because transformers would not load them quantized so
    uint64_t bytes_before = 0, bytes_after = 0;
};

// The quantization of one model. Construction reads config.json and the headers of the files, and writes nothing.
//
//   model_quantization job(request);                           on one machine:
//   job.run(0, [](uint64_t bytes) { ... });                    all shards, on all processors
//
//   job.begin();                                               on many: the first process, which waits,
//   model_quantization(request).write_shard(i, advance);       others with the same request and the same disk,
//   job.finish();                                              and the first again
class model_quantization {
public:
    explicit model_quantization(const model_request &request);

    const quantization &plan() const { return *plan_; }
    model_report report() const;
    size_t shard_count() const { return folder_->shard_count(); }
    const std::string &shard_name(size_t shard) const { return folder_->shard_name(shard); }
    uint64_t shard_bytes(size_t shard) const { return input_bytes(*folder_, shard); }

    void begin() { output_->begin(); }
    bool is_finished(size_t shard) const { return output_->is_finished(shard); }
    kernel_figures write_shard(size_t shard, const progress_function &advance) const {
        return output_->write_shard(shard, advance);
    }
    void finish() { output_->finish(); }

    // begin(), every shard that is not finished, and finish(). `threads`: 0 is one for each processor.
    finished_shards run(int threads, const progress_function &advance) {
        finished_shards finished;
        write_model(*output_, *plan_, threads, advance, finished);
        return finished;
    }

private:
    recipe rules_;
    const model_folder *folder_;  // the input of plan_
    std::unique_ptr<quantization> plan_;
    std::unique_ptr<model_output> output_;
};

}  // namespace qdq_cli
