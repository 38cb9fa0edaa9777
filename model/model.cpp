#include "model.h"

#include "files/model_folder.h"

namespace qdq::model {

summary summary_of(const transformation &plan) {
    summary result = {.tensors_before = plan.input().tensors().size(),
                      .changed = plan.changed_count(),
                      .bytes_before = stored_bytes(plan.input())};
    for (size_t shard = 0; shard < plan.shard_count(); ++shard) {
        const tensor_list outputs = plan.outputs(shard);
        result.tensors_after += outputs.size();
        result.bytes_after += byte_size(outputs);
    }
    return result;
}

std::vector<std::string> links_out(const transformation &plan) {
    const model_folder *folder = folder_of(plan.input());
    return folder != nullptr ? folder->links_out() : std::vector<std::string>();
}

}  // namespace qdq::model
