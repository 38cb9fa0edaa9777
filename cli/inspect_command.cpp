#include "commands.h"
#include "console.h"
#include "progress.h"
#include "support/text.h"

#include <cstdio>
#include <iostream>

namespace qdq::cli {

namespace {

std::string number(float value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", static_cast<double>(value));
    return text;
}

std::string range(const statistics &of) { return number(of.least) + " .. " + number(of.most); }

void print_inspection(const std::vector<inspection> &all) {
    std::vector<std::vector<std::string>> rows = {
        {"tensor", "type", "shape", "scales", "range of scales", "range", "bytes", "zeros", "NaN"}};
    uint64_t bytes = 0;
    for (const inspection &each : all) {
        bool quantized = !each.scale_shape.empty();
        rows.push_back({shortened(each.name), each.type + (each.supported ? "" : " (unsupported)"),
                        shape_text(each.shape), quantized ? shape_text(each.scale_shape) : "",
                        quantized ? range(each.scales) : "", each.values ? range(*each.values) : "",
                        std::to_string(each.bytes), each.values ? std::to_string(each.values->zeros) : "-",
                        each.values ? std::to_string(each.values->nans) : "-"});
        bytes += each.bytes;
    }
    rows.push_back({"total", "", "", "", "", "", std::to_string(bytes), "", ""});
    std::cout << terminal_table(rows, 6);
}

}  // namespace

void run_inspect(const inspect_options &options) {
    std::unique_ptr<tensor_reader> file = open_reader(options.input, other_types::listed);
    std::vector<std::string> warnings = odd_scales(*file);
    warn(warnings, options.console);
    std::vector<inspection> all;
    {
        progress bar(stored_bytes(*file), progress::unit::bytes, options.console.quiet);
        all = inspect(*file, [&](uint64_t bytes) { bar.advance(bytes); });
    }
    if (options.console.json) {
        std::cout << json_text(to_json(all, warnings), 1) << "\n";
    } else if (!options.console.quiet) {
        print_inspection(all);
    }
}

}  // namespace qdq::cli
