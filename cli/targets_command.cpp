#include "commands.h"
#include "text.h"

#include <iostream>

namespace qdq_cli {

void run_targets() {
    const char *current = qdq_current_target();
    std::string chosen = current == nullptr ? "" : current;
    std::vector<std::vector<std::string>> rows = {{"target", "usable", "chosen", "problem"}};
    for (int32_t i = 0; i < qdq_target_count(); ++i) {
        std::string name = qdq_target_name(i);
        rows.push_back({name, qdq_target_usable(i) ? "yes" : "no", name == chosen ? "yes" : "",
                        qdq_target_usable(i) ? "" : qdq_target_problem(i)});
    }
    std::cout << table(rows, 4);
}

}  // namespace qdq_cli
