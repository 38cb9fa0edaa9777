#include "conversion/inspection.h"

#include "conversion/value_reader.h"
#include "support/text.h"
#include "tensors/float_values.h"

#include <algorithm>
#include <cmath>

namespace qdq::model {

namespace {

// JSON has neither infinity nor NaN.
json finite(float value) { return std::isfinite(value) ? json(value) : json(); }

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

json to_json(const inspection &tensor) {
    json entry = {{"name", tensor.name}, {"dtype", tensor.type}, {"shape", tensor.shape}, {"bytes", tensor.bytes}};
    if (!tensor.supported) {
        entry["unsupported"] = true;
    }
    if (tensor.values) {
        entry.update({{"min", finite(tensor.values->least)},
                      {"max", finite(tensor.values->most)},
                      {"zeros", tensor.values->zeros},
                      {"nans", tensor.values->nans}});
    }
    if (!tensor.scale_shape.empty()) {
        entry.update({{"scale_shape", tensor.scale_shape},
                      {"scale_min", finite(tensor.scales.least)},
                      {"scale_max", finite(tensor.scales.most)}});
    }
    return entry;
}

}  // namespace

std::vector<inspection> inspect(const tensor_reader &input, const progress_function &advance) {
    value_reader file(input);
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
        name_in_failures(input, tensor.index, [&] {
            if (file.has_values(tensor)) {
                result.values = statistics_of(file.values(tensor));
            }
            if (tensor.parts) {
                add_scales(result, *file.quantized());
            }
        });
        advance(result.bytes);
        all.push_back(std::move(result));
    }
    input.check_unchanged();
    return all;
}

json to_json(const std::vector<inspection> &all, const std::vector<std::string> &warnings) {
    json tensors = json::array();
    for (const inspection &each : all) {
        tensors.push_back(to_json(each));
    }
    return {{"tensors", tensors}, {"warnings", printable(warnings)}};
}

}  // namespace qdq::model
