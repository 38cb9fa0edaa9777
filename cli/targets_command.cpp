#include "commands.h"
#include "console.h"
#include "handwritten_kernels.h"  // generated from kernels/manifest.cmake
#include "support/json.h"
#include "support/text.h"
#include "support/version.h"

#include <iostream>

namespace qdq::cli {

namespace {

struct target_row {
    std::string name, problem, why;
    bool usable, chosen;
};

// A kernel that is not Halide's.
struct handwritten {
    std::string target, row, form, file;
};

const std::vector<handwritten> &handwritten_kernels() {
#define HANDWRITTEN(target, row, form, op, float_type, stored_type, blocks, file) \
    {#target, #row, #form, "kernels/handwritten/" file},
    static const std::vector<handwritten> all = {QDQ_HANDWRITTEN_KERNELS(HANDWRITTEN)};
    return all;
}

json handwritten_of(const std::string &target) {
    json kernels = json::array();
    for (const handwritten &each : handwritten_kernels()) {
        if (each.target == target) {
            kernels.push_back({{"kernel", each.row + "_" + each.form}, {"file", each.file}});
        }
    }
    return kernels;
}

void print_handwritten() {
    std::vector<std::vector<std::string>> rows = {{"target", "kernel", "written by hand, not by Halide"}};
    for (const handwritten &each : handwritten_kernels()) {
        rows.push_back({each.target, each.row + "_" + each.form, each.file});
    }
    if (rows.size() > 1) {
        std::cout << "\n" << terminal_table(rows, 3);
    }
}

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

std::vector<target_row> all_targets() {
    const std::string chosen = text_or_nothing(qdq_current_target());
    std::vector<target_row> rows;
    for (int32_t i = 0; i < qdq_target_count(); ++i) {
        const std::string name = qdq_target_name(i);
        const bool is_chosen = name == chosen;
        rows.push_back(
            {name, text_or_nothing(qdq_target_problem(i)), why(i, is_chosen), qdq_target_usable(i) != 0, is_chosen});
    }
    return rows;
}

}  // namespace

void run_targets(const targets_options &options) {
    std::vector<std::vector<std::string>> rows = {{"target", "usable", "chosen", options.why ? "why" : "problem"}};
    json targets = json::array();
    bool is_chosen = false;
    for (const target_row &each : all_targets()) {
        is_chosen |= each.chosen;
        rows.push_back(
            {each.name, each.usable ? "yes" : "no", each.chosen ? "yes" : "", options.why ? each.why : each.problem});
        targets.push_back({{"name", each.name},
                           {"usable", each.usable},
                           {"chosen", each.chosen},
                           {"problem", each.problem},
                           {"why", each.why},
                           {"handwritten", handwritten_of(each.name)}});
    }
    if (options.console.json) {
        std::cout << json_text({{"targets", targets}}, 1) << "\n";
        return;
    }
    std::cout << terminal_table(rows, 4);
    if (options.why && !is_chosen) {
        std::cout << "no target is chosen: " << one_line(qdq_last_error()) << "\n";
    }
    if (options.why) {
        print_handwritten();
    }
}

std::string version_text() {
    std::string text = std::string("qdq ") + qdq_version() + " (" + commit + ")\ntargets:";
    for (const target_row &each : all_targets()) {
        text += " " + each.name + (each.chosen ? " (chosen)" : each.usable ? "" : " (not usable here)");
    }
    return text;
}

}  // namespace qdq::cli
