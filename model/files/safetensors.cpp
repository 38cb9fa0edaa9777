#include "files/safetensors.h"

#include "files/file_kinds.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/json_entries.h"
#include "support/parsing.h"
#include "support/text.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>

namespace qdq::model {

namespace {

constexpr size_t length_bytes = 8;
constexpr const char *metadata_key = "__metadata__", *offsets_key = "data_offsets";

uint64_t header_length(const input_file &file) {
    if (file.size() < length_bytes) {
        throw failure("not a safetensors file: it has only " + std::to_string(file.size()) + " bytes");
    }
    uint64_t length = 0;
    file.read(0, std::as_writable_bytes(std::span(&length, 1)));
    if (length > max_text_bytes) {
        throw failure("not a safetensors file: its header would have " + std::to_string(length) +
                      " bytes, more than the limit of " + std::to_string(max_text_bytes));
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

std::vector<int64_t> parse_naturals(const json &values, const std::string &name, const char *key) {
    std::vector<int64_t> naturals;
    bool valid = values.is_array();
    for (size_t i = 0; valid && i < values.size(); ++i) {
        valid = values[i].is_number_unsigned() && values[i].is_number_integer();
        naturals.push_back(valid ? values[i].get<int64_t>() : 0);
    }
    if (!valid) {
        throw failure("the \"" + std::string(key) + "\" of " + shortened(name) + " is not a list of natural numbers");
    }
    return naturals;
}

const dtype *parse_dtype(const json &value, const std::string &name) {
    std::string text = value.is_string() ? value.get<std::string>() : "not a string";
    const dtype *type = find_dtype(text);
    if (type == nullptr) {
        throw failure("the type of " + shortened(name) + " is unknown: " + shortened(text));
    }
    return type;
}

uint64_t parse_offsets(const json &values, const tensor_info &tensor) {
    std::vector<int64_t> offsets = parse_naturals(values, tensor.name, offsets_key);
    if (offsets.size() != 2 || offsets[0] > offsets[1]) {
        throw failure("the \"data_offsets\" of " + shortened(tensor.name) + " are not a begin and an end");
    }
    auto size = static_cast<uint64_t>(offsets[1] - offsets[0]);
    if (uint64_t expected = byte_size(tensor); size != expected) {
        throw failure(shortened(tensor.name) + " has " + std::to_string(size) + " bytes, but its shape " +
                      shape_text(tensor.shape) + " of " + std::string(tensor.type->name) + " takes " +
                      std::to_string(expected));
    }
    return static_cast<uint64_t>(offsets[0]);
}

struct stored_tensor {
    tensor_info info;
    uint64_t offset;
};

// Collects what the header says. A file that says something twice is ambiguous.
class header_visitor : public entry_visitor {
public:
    std::deque<stored_tensor> tensors;
    metadata_map metadata;

    void begin(const std::string &name, bool is_object) override {
        name_ = name;
        fields_ = json::object();
        if (is_metadata() && std::exchange(has_metadata_, true)) {
            throw failure("the header has two " + name_);
        }
        if (is_metadata() && !is_object) {
            fail_on_metadata();
        }
    }

    void field(const std::string &key, json value) override {
        if (is_metadata()) {
            add_metadata(key, value);
        } else if (key == dtype_key || key == shape_key || key == offsets_key) {
            if (!fields_.emplace(key, std::move(value))) {
                throw failure("the entry of " + shortened(name_) + " has two \"" + key + "\"");
            }
        }
    }

    void end() override {
        if (!is_metadata()) {
            tensor_info tensor = {name_, parse_dtype(required(dtype_key), name_),
                                  parse_naturals(required(shape_key), name_, shape_key)};
            uint64_t offset = parse_offsets(required(offsets_key), tensor);
            tensors.push_back({std::move(tensor), offset});
        }
    }

private:
    static constexpr const char *dtype_key = "dtype", *shape_key = "shape";

    bool is_metadata() const { return name_ == metadata_key; }

    [[noreturn]] static void fail_on_metadata() {
        throw failure("the header's __metadata__ is not a map from strings to strings");
    }

    void add_metadata(const std::string &key, const json &value) {
        if (!value.is_string()) {
            fail_on_metadata();
        }
        if (!metadata.emplace(key, value.get<std::string>()).second) {
            throw failure("the header's __metadata__ names " + shortened(key) + " twice");
        }
    }

    const json &required(const char *key) const {
        const json *found = fields_.find(key);
        if (found == nullptr) {
            throw failure("the entry of " + shortened(name_) + " has no \"" + key + "\"");
        }
        return *found;
    }

    std::string name_;
    json fields_;
    bool has_metadata_ = false;
};

// Wide types first, as the format's own library writes them: each tensor is then aligned to its element.
std::vector<size_t> storage_order(const tensor_list &tensors) {
    std::vector<size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        int bits_a = tensors[a].type->bits, bits_b = tensors[b].type->bits;
        return bits_a != bits_b ? bits_a > bits_b : tensors[a].name < tensors[b].name;
    });
    return order;
}

std::string metadata_text(const metadata_map &metadata) {
    std::string text;
    for (const auto &[key, value] : metadata) {
        throw_if_interrupted();
        text += (text.empty() ? "" : ",") + json(key).dump() + ":" + json(value).dump();
    }
    return "{" + std::move(text) + "}";
}

std::string header_entry(const tensor_info &tensor, uint64_t offset) {
    json fields = {
        {"dtype", tensor.type->name}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + byte_size(tensor)}}};
    return json(tensor.name).dump() + ":" + fields.dump();
}

}  // namespace

safetensors_reader::safetensors_reader(const std::filesystem::path &path)
    : tensor_reader(safetensors_files), file_(open(path)) {
    name_in_failures(path.string(), [&] { load(); });
}

void safetensors_reader::load() {
    std::string header = read_header(file_);
    data_begin_ = length_bytes + header.size();
    header_visitor found;
    visit_entries(header, max_rank, found);
    metadata_[0] = std::move(found.metadata);
    std::ranges::sort(found.tensors, {},
                      [](const stored_tensor &tensor) { return std::string_view(tensor.info.name); });
    for (stored_tensor &tensor : found.tensors) {
        throw_if_interrupted();
        offsets_.push_back(tensor.offset);
        tensors_.add(std::move(tensor.info));
    }
    check_layout();
}

// Every byte after the header belongs to exactly one tensor.
void safetensors_reader::check_layout() const {
    std::vector<size_t> order(tensors().size());
    std::iota(order.begin(), order.end(), size_t{0});
    auto extent = [&](size_t i) { return std::pair(offsets_[i], offsets_[i] + byte_size(tensors()[i])); };
    std::ranges::sort(order, {}, extent);
    uint64_t end = 0, available = file_.size() - data_begin_;
    for (size_t index : order) {
        throw_if_interrupted();
        auto [first, last] = extent(index);
        if (first != end) {
            throw failure("the data of " + shortened(tensors()[index].name) +
                          (first < end ? " overlaps another tensor" : " leaves a gap before it"));
        }
        if (last > available) {
            throw failure("the data of " + shortened(tensors()[index].name) + " ends at byte " + std::to_string(last) +
                          ", out of the file's " + std::to_string(available) + " bytes of data");
        }
        end = last;
    }
    if (end != available) {
        throw failure(std::to_string(available - end) + " bytes at the end belong to no tensor");
    }
}

void safetensors_reader::read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const {
    file_.read(data_begin_ + offsets_[index] + offset, bytes);
}

safetensors_writer::safetensors_writer(const output_options &output, const tensor_list &tensors,
                                       const metadata_map &metadata)
    : file_(output.path, output.replace), offsets_(tensors.size()) {
    begin(output.path.string(), tensors, metadata);
}

safetensors_writer::safetensors_writer(const folder &inside, const std::string &name, const tensor_list &tensors,
                                       const metadata_map &metadata)
    : file_(inside, name, true), offsets_(tensors.size()) {
    begin((inside.path() / name).string(), tensors, metadata);
}

void safetensors_writer::begin(const std::string &path, const tensor_list &tensors, const metadata_map &metadata) {
    if (tensors.find(metadata_key)) {
        throw failure("no tensor can be named " + std::string(metadata_key));
    }
    for (const tensor_info &tensor : tensors) {
        if (find_dtype(tensor.type->name) == nullptr) {  // as ONNX's uint4 that no DequantizeLinear reads
            throw failure(path + ": " + shortened(tensor.name) + " is of type " + std::string(tensor.type->name) +
                          ", which a .safetensors file cannot have");
        }
    }
    uint64_t length = write_header(tensors, metadata);
    if (length > max_text_bytes) {
        throw failure(path + ": its header would have " + std::to_string(length) + " bytes, more than the limit of " +
                      std::to_string(max_text_bytes));
    }
    file_.write(0, std::as_bytes(std::span(&length, 1)));
    for (uint64_t &offset : offsets_) {
        offset += length_bytes + length;
    }
}

// Fills offsets_, from the end of the header, and returns its length. The header is never in memory as a whole.
uint64_t safetensors_writer::write_header(const tensor_list &tensors, const metadata_map &metadata) {
    constexpr size_t piece = 1 << 20;
    std::string text = "{";
    uint64_t length = 0, end = 0;
    auto flush = [&] {
        file_.write(length_bytes + length, std::as_bytes(std::span(text)));
        length += text.size();
        text.clear();
    };
    if (!metadata.empty()) {
        text += json(metadata_key).dump() + ":" + metadata_text(metadata) + (tensors.size() != 0 ? "," : "");
    }
    std::vector<size_t> order = storage_order(tensors);
    for (size_t index : order) {
        throw_if_interrupted();
        offsets_[index] = end;
        text += header_entry(tensors[index], end) + (index != order.back() ? "," : "");
        end += byte_size(tensors[index]);
        if (text.size() >= piece) {
            flush();
        }
    }
    text += "}";
    text.resize((length + text.size() + 7) / 8 * 8 - length, ' ');  // keeps the data aligned to 8 bytes
    flush();
    return length;
}

void safetensors_writer::write_at(size_t index, uint64_t offset, std::span<const std::byte> bytes) {
    file_.write(offsets_[index] + offset, bytes);
}

void safetensors_writer::commit() { file_.publish(); }

const file_kind safetensors_files = {
    .name = "safetensors",
    .extension = ".safetensors",
    .open = [](const std::filesystem::path &path, other_types) -> std::unique_ptr<tensor_reader> {
        return std::make_unique<safetensors_reader>(path);
    },
    .create = [](const output_options &output, const tensor_reader &, const tensor_list &tensors,
                 const metadata_map &metadata) -> std::unique_ptr<tensor_writer> {
        return std::make_unique<safetensors_writer>(output, tensors, metadata);
    },
};

}  // namespace qdq::model
