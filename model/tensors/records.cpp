#include "tensors/records.h"

#include "support/error.h"
#include "support/interrupt.h"
#include "support/json_entries.h"

#include <utility>

namespace qdq::model {

namespace {

constexpr const char *record_key = "qdq";

quantization_record parse_record(const json &entry) {
    quantization_record record;
    record.source = find_dtype(entry.at("source_dtype").get<std::string>());
    if (entry.contains("block_size")) {
        record.axis = entry.at("axis").get<int64_t>();
        record.block_size = entry.at("block_size").get<int64_t>();
        record.block_rows = entry.value("block_rows", 0).get<int64_t>();
    }
    record.packs_bytes = entry.value("packs_bytes", false).get<bool>();
    record.quantizes_inputs = entry.value("quantizes_inputs", false).get<bool>();
    bool valid = record.source != nullptr && record.source->is_float() && record.axis >= 0 && record.axis < INT32_MAX &&
                 record.block_size >= 0 && record.block_rows >= 0;
    if (!valid) {
        throw failure("a value is out of range");
    }
    return record;
}

class record_visitor : public entry_visitor {
public:
    record_map records;

    void begin(const std::string &name, bool is_object) override {
        name_ = name;
        fields_ = is_object ? json::object() : json();
    }
    void field(const std::string &key, json value) override {
        if (key == "source_dtype" || key == "axis" || key == "block_size" || key == "block_rows" ||
            key == "packs_bytes" || key == "quantizes_inputs") {
            fields_[key] = std::move(value);
        }
    }
    void end() override { records[name_] = parse_record(fields_); }

private:
    std::string name_;
    json fields_;
};

json to_json(const quantization_record &record) {
    json entry = {{"source_dtype", record.source->name}};
    if (record.block_size != 0) {
        entry["axis"] = record.axis;
        entry["block_size"] = record.block_size;
    }
    if (record.block_rows != 0) {
        entry["block_rows"] = record.block_rows;
    }
    if (record.packs_bytes) {
        entry["packs_bytes"] = true;
    }
    if (record.quantizes_inputs) {
        entry["quantizes_inputs"] = true;
    }
    return entry;
}

}  // namespace

record_map read_records(const metadata_map &metadata) {
    record_visitor visitor;
    if (auto text = metadata.find(record_key); text != metadata.end()) {
        try {
            visit_entries(text->second, 0, visitor);
        } catch (const std::exception &) {
            throw failure("its \"qdq\" metadata is corrupt");
        }
    }
    return std::move(visitor.records);
}

record_map read_records(const tensor_reader &file) {
    record_map all;
    for (size_t shard = 0; shard < file.shard_count(); ++shard) {
        name_in_failures(file.path(), [&] { all.merge(read_records(file.metadata(shard))); });
    }
    return all;
}

metadata_map with_records(metadata_map metadata, const record_map &records) {
    std::string entries;
    for (const auto &[name, record] : records) {
        throw_if_interrupted();
        entries += (entries.empty() ? "" : ",") + json(name).dump() + ":" + to_json(record).dump();
    }
    metadata[record_key] = "{" + std::move(entries) + "}";
    return metadata;
}

metadata_map without_records(metadata_map metadata) {
    metadata.erase(record_key);
    return metadata;
}

}  // namespace qdq::model
