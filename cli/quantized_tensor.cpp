#include "quantized_tensor.h"

#include "error.h"
#include "text.h"

#include <nlohmann/json.hpp>

namespace qdq_cli {

using nlohmann::json;

namespace {

constexpr const char *record_key = "qdq";
constexpr std::string_view scale_suffix = "_scale", zero_point_suffix = "_zero_point";

quantization_record parse_record(const json &entry) {
    quantization_record record;
    record.source = find_dtype(entry.at("source_dtype").get<std::string>());
    if (entry.contains("block_size")) {
        record.axis = entry.at("axis").get<int64_t>();
        record.block_size = entry.at("block_size").get<int64_t>();
    }
    bool valid = record.source != nullptr && record.source->is_float() && record.axis >= 0 && record.axis < INT32_MAX &&
                 record.block_size >= 0;
    if (!valid) {
        throw failure("a value is out of range");
    }
    return record;
}

json to_json(const quantization_record &record) {
    json entry = {{"source_dtype", record.source->name}};
    if (record.block_size != 0) {
        entry["axis"] = record.axis;
        entry["block_size"] = record.block_size;
    }
    return entry;
}

tensor_data load(const tensor_reader &file, size_t index, std::span<std::byte> bytes) {
    file.read(index, bytes);
    const tensor_info &tensor = file.tensors()[index];
    return {tensor.type, tensor.shape, bytes.data()};
}

tensor_data load(const tensor_reader &file, size_t index, std::vector<std::byte> &bytes) {
    bytes.resize(byte_size(file.tensors()[index]));
    return load(file, index, std::span(bytes));
}

void check_zero_point(const quantized_tensor &tensor) {
    const tensor_data &zero_point = tensor.zero_point;
    if (zero_point.type != tensor.codes.type) {
        throw failure("its zero point is of type " + std::string(zero_point.type->name));
    }
    if (element_count(zero_point.shape) != 1 && zero_point.shape != tensor.scale.shape) {
        throw failure("its zero point has shape " + shape_text(zero_point.shape) + ", its scale " +
                      shape_text(tensor.scale.shape));
    }
}

}  // namespace

std::string scale_name(const std::string &name) { return name + std::string(scale_suffix); }
std::string zero_point_name(const std::string &name) { return name + std::string(zero_point_suffix); }

std::optional<quantized_parts> find_quantized(const tensor_reader &file, size_t index) {
    const tensor_info &tensor = file.tensors()[index];
    std::optional<size_t> scale = file.find(scale_name(tensor.name));
    if (!tensor.type->is_code() || !scale || !file.tensors()[*scale].type->is_float()) {
        return std::nullopt;
    }
    return quantized_parts{index, *scale, file.find(zero_point_name(tensor.name))};
}

bool is_parameter(const tensor_reader &file, size_t index) {
    std::string_view name = file.tensors()[index].name;
    for (std::string_view suffix : {scale_suffix, zero_point_suffix}) {
        if (name.ends_with(suffix)) {
            auto base = file.find(std::string(name.substr(0, name.size() - suffix.size())));
            if (base && find_quantized(file, *base)) {
                return true;
            }
        }
    }
    return false;
}

record_map read_records(const tensor_reader &file) {
    record_map records;
    auto text = file.metadata().find(record_key);
    if (text == file.metadata().end()) {
        return records;
    }
    try {
        json parsed = json::parse(text->second);
        for (const auto &[name, entry] : parsed.items()) {
            records[name] = parse_record(entry);
        }
    } catch (const std::exception &) {
        throw failure(file.files().front().string() + ": its \"qdq\" metadata is corrupt");
    }
    return records;
}

metadata_map with_records(metadata_map metadata, const record_map &records) {
    json entries = json::object();
    for (const auto &[name, record] : records) {
        entries[name] = to_json(record);
    }
    metadata[record_key] = entries.dump();
    return metadata;
}

metadata_map without_records(metadata_map metadata) {
    metadata.erase(record_key);
    return metadata;
}

kernel_arguments quantized_tensor::dequantize_to(const tensor_data &y) const {
    return {codes, scale, zero_point, y, granularity};
}

quantized_tensor load_quantized(const tensor_reader &file, const quantized_parts &parts, const record_map &records,
                                scratch_buffer &codes) {
    quantized_tensor tensor;
    tensor.codes = load(file, parts.codes, codes.take(byte_size(file.tensors()[parts.codes])));
    tensor.scale = load(file, parts.scale, tensor.scale_bytes);
    if (parts.zero_point) {
        tensor.zero_point = load(file, *parts.zero_point, tensor.zero_point_bytes);
        check_zero_point(tensor);
    }
    tensor.granularity.scale_shape = tensor.scale.shape;
    if (auto record = records.find(file.tensors()[parts.codes].name); record != records.end()) {
        tensor.granularity.axis = record->second.axis;
        tensor.granularity.block_size = record->second.block_size;
    }
    scale_map(tensor.codes.shape, tensor.granularity);  // throws when they do not fit
    return tensor;
}

void for_tensor(const tensor_reader &file, size_t index, const std::function<void()> &work) {
    try {
        work();
    } catch (const failure &error) {
        const tensor_info &tensor = file.tensors()[index];
        throw failure(file.files().front().string() + ": " + printable(tensor.name) + " (" +
                      std::string(tensor.type->name) + " " + shape_text(tensor.shape) + "): " + error.what());
    }
}

}  // namespace qdq_cli
