#include "safetensors.h"

#include "error.h"
#include "text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

namespace qdq_cli {

using nlohmann::json;

namespace {

constexpr size_t length_bytes = 8;
constexpr uint64_t max_header_bytes = 100'000'000;  // the limit of the format's own library
constexpr const char *metadata_key = "__metadata__";

uint64_t header_length(const input_file &file) {
    if (file.size() < length_bytes) {
        throw failure("not a safetensors file: it has only " + std::to_string(file.size()) + " bytes");
    }
    uint64_t length = 0;
    file.read(0, std::as_writable_bytes(std::span(&length, 1)));
    if (length > max_header_bytes) {
        throw failure("not a safetensors file: its header would have " + std::to_string(length) +
                      " bytes, more than the limit of " + std::to_string(max_header_bytes));
    }
    if (length > file.size() - length_bytes) {
        throw failure("the header is truncated: it should have " + std::to_string(length) + " bytes, the file has " +
                      std::to_string(file.size() - length_bytes));
    }
    return length;
}

std::string read_header(const input_file &file) {
    std::string header(header_length(file), '\0');
    file.read(length_bytes, std::as_writable_bytes(std::span(header)));
    if (header.empty() || header.front() != '{') {
        throw failure("not a safetensors file: its header is not a JSON object");
    }
    return header;
}

// The JSON library keeps one of two equal keys silently; a file with both is ambiguous.
json parse_without_duplicates(const std::string &text) {
    std::vector<std::set<std::string>> keys;
    auto check = [&](int, json::parse_event_t event, json &parsed) {
        if (event == json::parse_event_t::object_start) {
            keys.emplace_back();
        } else if (event == json::parse_event_t::object_end) {
            keys.pop_back();
        } else if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
            throw failure("the header names " + printable(parsed.get<std::string>()) + " twice");
        }
        return true;
    };
    try {
        return json::parse(text, check);
    } catch (const json::parse_error &error) {  // its text may quote the file, whatever bytes are there
        throw failure("the header is not valid JSON, at its byte " + std::to_string(error.byte));
    } catch (const json::exception &) {
        throw failure("the header is not valid JSON");
    }
}

const json &field(const json &entry, const std::string &name, const char *key) {
    auto found = entry.is_object() ? entry.find(key) : entry.end();
    if (!entry.is_object() || found == entry.end()) {
        throw failure("the entry of " + printable(name) + " has no \"" + key + "\"");
    }
    return *found;
}

std::vector<int64_t> parse_naturals(const json &values, const std::string &name, const char *key) {
    std::vector<int64_t> naturals;
    bool valid = values.is_array();
    for (size_t i = 0; valid && i < values.size(); ++i) {
        valid = values[i].is_number_unsigned() && values[i].get<uint64_t>() <= INT64_MAX;
        naturals.push_back(valid ? values[i].get<int64_t>() : 0);
    }
    if (!valid) {
        throw failure("the \"" + std::string(key) + "\" of " + printable(name) + " is not a list of natural numbers");
    }
    return naturals;
}

const dtype *parse_dtype(const json &value, const std::string &name) {
    std::string text = value.is_string() ? value.get<std::string>() : "not a string";
    const dtype *type = find_dtype(text);
    if (type == nullptr) {
        throw failure("the type of " + printable(name) + " is unknown: " + printable(text));
    }
    return type;
}

metadata_map parse_metadata(const json &entries) {
    metadata_map metadata;
    bool valid = entries.is_object();
    for (auto entry = entries.begin(); valid && entry != entries.end(); ++entry) {
        valid = entry.value().is_string();
        if (valid) {
            metadata[entry.key()] = entry.value().get<std::string>();
        }
    }
    if (!valid) {
        throw failure("the header's __metadata__ is not a map from strings to strings");
    }
    return metadata;
}

uint64_t parse_offsets(const json &values, const tensor_info &tensor) {
    std::vector<int64_t> offsets = parse_naturals(values, tensor.name, "data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1]) {
        throw failure("the \"data_offsets\" of " + printable(tensor.name) + " are not a begin and an end");
    }
    auto size = static_cast<uint64_t>(offsets[1] - offsets[0]);
    if (uint64_t expected = byte_size(tensor); size != expected) {
        throw failure(printable(tensor.name) + " has " + std::to_string(size) + " bytes, but its shape " +
                      shape_text(tensor.shape) + " of " + std::string(tensor.type->name) + " takes " +
                      std::to_string(expected));
    }
    return static_cast<uint64_t>(offsets[0]);
}

// Wide types first, as the format's own library writes them: each tensor is then aligned to its element.
std::vector<size_t> storage_order(const std::vector<tensor_info> &tensors) {
    std::vector<size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        int bits_a = tensors[a].type->bits, bits_b = tensors[b].type->bits;
        return bits_a != bits_b ? bits_a > bits_b : tensors[a].name < tensors[b].name;
    });
    return order;
}

std::vector<uint64_t> lay_out(const std::vector<tensor_info> &tensors) {
    std::vector<uint64_t> offsets(tensors.size());
    uint64_t end = 0;
    for (size_t index : storage_order(tensors)) {
        offsets[index] = end;
        end += byte_size(tensors[index]);
    }
    return offsets;
}

std::string make_header(const std::vector<tensor_info> &tensors, const std::vector<uint64_t> &offsets,
                        const metadata_map &metadata) {
    json header = json::object();
    if (!metadata.empty()) {
        header[metadata_key] = metadata;
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
        header[tensors[i].name] = {{"dtype", tensors[i].type->name},
                                   {"shape", tensors[i].shape},
                                   {"data_offsets", {offsets[i], offsets[i] + byte_size(tensors[i])}}};
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');  // keeps the data aligned to 8 bytes
    return text;
}

}  // namespace

safetensors_reader::safetensors_reader(const std::filesystem::path &path) : file_(path.string()) {
    files_.push_back(path);
    try {
        load();
    } catch (const failure &error) {
        throw failure(path.string() + ": " + error.what());
    }
}

void safetensors_reader::load() {
    std::string header = read_header(file_);
    data_begin_ = length_bytes + header.size();
    parse(header);
    check_layout();
}

void safetensors_reader::parse(const std::string &header) {
    json parsed = parse_without_duplicates(header);
    for (const auto &[name, entry] : parsed.items()) {
        if (name == metadata_key) {
            metadata_ = parse_metadata(entry);
            continue;
        }
        const dtype *type = parse_dtype(field(entry, name, "dtype"), name);
        tensor_info tensor = {name, type, parse_naturals(field(entry, name, "shape"), name, "shape")};
        offsets_.push_back(parse_offsets(field(entry, name, "data_offsets"), tensor));
        add(std::move(tensor));
    }
}

// Every byte after the header belongs to exactly one tensor.
void safetensors_reader::check_layout() const {
    std::vector<size_t> order(tensors().size());
    std::iota(order.begin(), order.end(), size_t{0});
    auto extent = [&](size_t i) { return std::pair(offsets_[i], offsets_[i] + byte_size(tensors()[i])); };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return extent(a) < extent(b); });
    uint64_t end = 0, available = file_.size() - data_begin_;
    for (size_t index : order) {
        auto [first, last] = extent(index);
        if (first != end) {
            throw failure("the data of " + printable(tensors()[index].name) +
                          (first < end ? " overlaps another tensor" : " leaves a gap before it"));
        }
        if (last > available) {
            throw failure("the data of " + printable(tensors()[index].name) + " ends at byte " + std::to_string(last) +
                          ", out of the file's " + std::to_string(available) + " bytes of data");
        }
        end = last;
    }
    if (end != available) {
        throw failure(std::to_string(available - end) + " bytes at the end belong to no tensor");
    }
}

void safetensors_reader::read(size_t index, std::span<std::byte> bytes) const {
    file_.read(data_begin_ + offsets_[index], bytes);
}

safetensors_writer::safetensors_writer(const std::filesystem::path &path, const std::vector<tensor_info> &tensors,
                                       const metadata_map &metadata)
    : offsets_(lay_out(tensors)), file_(path) {
    std::string header = make_header(tensors, offsets_, metadata);
    uint64_t length = header.size();
    file_.write(0, std::as_bytes(std::span(&length, 1)));
    file_.write(length_bytes, std::as_bytes(std::span(header)));
    for (uint64_t &offset : offsets_) {
        offset += length_bytes + length;
    }
}

void safetensors_writer::write(size_t index, std::span<const std::byte> bytes) { file_.write(offsets_[index], bytes); }

void safetensors_writer::commit() {
    file_.finish();
    file_.publish();
}

}  // namespace qdq_cli
