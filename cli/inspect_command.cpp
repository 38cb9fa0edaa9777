#include "commands.h"
#include "float_values.h"
#include "json.h"
#include "progress.h"
#include "text.h"
#include "value_reader.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>

namespace qdq_cli {

namespace {

// What the values of a tensor are like.
struct statistics {
    float least = 0, most = 0;  // of those that are no NaN
    uint64_t zeros = 0, nans = 0;
};

struct inspection {
    std::string name, type;
    std::vector<int64_t> shape;
    uint64_t bytes = 0;
    bool supported = true;             // its type is one that qdq reads
    std::optional<statistics> values;  // nothing: they are no numbers that qdq knows
    std::vector<int64_t> scale_shape;  // empty: not quantized
    statistics scales;
};

statistics statistics_of(std::span<const float> values) {
    statistics found;
    bool any = false;
    for (float value : values) {
        if (std::isnan(value)) {
            ++found.nans;
            continue;
        }
        found.least = any ? std::min(found.least, value) : value;
        found.most = any ? std::max(found.most, value) : value;
        found.zeros += value == 0;
        any = true;
    }
    return found;
}

void add_scales(inspection &result, const quantized_tensor &codes) {
    int64_t count = element_count(codes.scale.shape);
    std::vector<float> scales(static_cast<size_t>(count));
    widen(*codes.scale.type->core, codes.scale.data, 0, count, scales.data());
    result.scale_shape = codes.scale.shape;
    result.scales = statistics_of(scales);
}

std::vector<inspection> inspect(value_reader &file, progress &bar) {
    std::vector<inspection> all;
    for (const logical_tensor &tensor : file.tensors()) {
        inspection result = {.name = tensor.name,
                             .type = std::string(file.codes_type(tensor)),
                             .shape = tensor.shape,
                             .bytes = file.bytes(tensor),
                             .supported = file.is_supported(tensor),
                             .values = {},
                             .scale_shape = {},
                             .scales = {}};
        file.name_in_failures(tensor, [&] {
            if (file.has_values(tensor)) {
                result.values = statistics_of(file.values(tensor));
            }
            if (tensor.parts) {
                add_scales(result, *file.quantized());
            }
        });
        bar.advance(result.bytes);
        all.push_back(std::move(result));
    }
    file.check_unchanged();
    return all;
}

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

// JSON has neither infinity nor NaN.
json finite(float value) { return std::isfinite(value) ? json(value) : json(); }

void print_json(const std::vector<inspection> &all) {
    json tensors = json::array();
    for (const inspection &each : all) {
        json entry = {{"name", each.name}, {"dtype", each.type}, {"shape", each.shape}, {"bytes", each.bytes}};
        if (!each.supported) {
            entry["unsupported"] = true;
        }
        if (each.values) {
            entry.update({{"min", finite(each.values->least)},
                          {"max", finite(each.values->most)},
                          {"zeros", each.values->zeros},
                          {"nans", each.values->nans}});
        }
        if (!each.scale_shape.empty()) {
            entry.update({{"scale_shape", each.scale_shape},
                          {"scale_min", finite(each.scales.least)},
                          {"scale_max", finite(each.scales.most)}});
        }
        tensors.push_back(std::move(entry));
    }
    std::cout << json_text({{"tensors", tensors}}, 1) << "\n";
}

}  // namespace

void run_inspect(const inspect_options &options) {
    value_reader file(options.input, other_types::listed);
    uint64_t total = 0;
    for (const logical_tensor &tensor : file.tensors()) {
        total += file.bytes(tensor);
    }
    std::vector<inspection> all;
    {
        progress bar(total, progress::unit::bytes, options.console.quiet);
        all = inspect(file, bar);
    }
    if (options.console.json) {
        print_json(all);
    } else if (!options.console.quiet) {
        print_inspection(all);
    }
}

}  // namespace qdq_cli
