#include "model.h"

#include <utility>

namespace qdq_cli {

model_quantization::model_quantization(const model_request &request) : rules_(request.rules) {
    auto folder = std::make_unique<model_folder>(request.input);
    folder_ = folder.get();
    selection select = select_by(rules_, *folder);
    plan_ = std::make_unique<quantization>(std::move(folder), select, request.profile);
    output_ = std::make_unique<model_output>(*plan_, *folder_, request.output);
}

model_report model_quantization::report() const {
    model_report result = {.tensors = folder_->tensors().size(),
                           .quantized = plan_->quantized_count(),
                           .experts_left_alone = count_experts_left_alone(*plan_, rules_),
                           .bytes_before = 0,
                           .bytes_after = plan_->output_bytes()};
    for (size_t shard = 0; shard < shard_count(); ++shard) {
        result.bytes_before += shard_bytes(shard);
    }
    return result;
}

}  // namespace qdq_cli
