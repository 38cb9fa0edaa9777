#include "commands.h"
#include "text.h"

#include <iostream>

namespace qdq_cli {

namespace {

std::string text_or_nothing(const char *text) { return text == nullptr ? "" : text; }

std::string why(int32_t target, bool is_chosen) {
    if (!qdq_target_usable(target)) {
        return qdq_target_problem(target);
    }
    if (is_chosen) {
        return qdq_current_target_reason();
    }
    return qdq_target_device(target) == QDQ_DEVICE_HOST ? "it can run here, and another is chosen"
                                                        : "for tensors on its device";
}

}  // namespace

void run_targets(const targets_options &options) {
    const std::string chosen = text_or_nothing(qdq_current_target());
    std::vector<std::vector<std::string>> rows = {{"target", "usable", "chosen", options.why ? "why" : "problem"}};
    for (int32_t i = 0; i < qdq_target_count(); ++i) {
        const std::string name = qdq_target_name(i);
        const bool is_chosen = name == chosen;
        rows.push_back({name, qdq_target_usable(i) ? "yes" : "no", is_chosen ? "yes" : "",
                        options.why ? why(i, is_chosen) : text_or_nothing(qdq_target_problem(i))});
    }
    std::cout << table(rows, 4);
    if (options.why && chosen.empty()) {
        std::cout << "no target is chosen: " << qdq_last_error() << "\n";
    }
}

}  // namespace qdq_cli
