#include "files/onnx_model.h"

#include "support/error.h"
#include "support/protobuf_scanner.h"
#include "support/text.h"
#include "tensors/tensor_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace qdq::model {

namespace fs = std::filesystem;

namespace {

struct onnx_type {
    int number;
    std::string_view name;  // in the table of types
};

constexpr onnx_type onnx_types[] = {
    {1, "F32"},  {2, "U8"},    {3, "I8"},       {4, "U16"},          {5, "I16"},      {6, "I32"},
    {7, "I64"},  {9, "BOOL"},  {10, "F16"},     {11, "F64"},         {12, "U32"},     {13, "U64"},
    {14, "C64"}, {16, "BF16"}, {17, "F8_E4M3"}, {18, "F8_E4M3FNUZ"}, {19, "F8_E5M2"}, {20, "F8_E5M2FNUZ"},
    {21, "U4"},  {22, "I4"},   {23, "F4"},      {24, "F8_E8M0"},
};

bool is_own_domain(const std::string &domain) { return domain.empty() || domain == "ai.onnx"; }

uint64_t parse_number(const std::string &text, const std::string &key) {
    uint64_t value = 0;
    auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || rest != text.data() + text.size()) {
        throw failure("the \"" + key + "\" of its external data is " + shortened(text) + ", not a natural number");
    }
    return value;
}

void check_location(const std::string &location) {
    fs::path path = location;
    bool named = !location.empty() && location.find('\0') == std::string::npos;
    if (!named || path.is_absolute() || std::ranges::count(path, "..") != 0) {
        throw failure("its external data would be in " + shortened(location) + ", outside the model's folder");
    }
}

// A StringStringEntryProto.
std::pair<std::string, std::string> read_entry(protobuf_scanner &scanner, const protobuf_field &entry) {
    std::pair<std::string, std::string> found;
    scanner.for_each_field(entry, [&](const protobuf_field &part) {
        (part.number == 1 ? found.first : found.second) = scanner.text(part);
    });
    return found;
}

// The messages that tensors are in beside the graph of a model, and which of their fields lead there.
enum class holder { model, training, function, graph, node, attribute, sparse_tensor, tensor };

struct inner_holder {
    holder in;
    uint32_t field;
    holder kind;
};

constexpr inner_holder inner_holders[] = {
    {holder::model, onnx_field::training, holder::training},
    {holder::model, onnx_field::function, holder::function},
    {holder::training, onnx_field::initialization, holder::graph},
    {holder::training, onnx_field::algorithm, holder::graph},
    {holder::function, onnx_field::function_node, holder::node},
    {holder::function, onnx_field::attribute_default, holder::attribute},
    {holder::graph, onnx_field::node, holder::node},
    {holder::graph, onnx_field::initializer, holder::tensor},
    {holder::graph, onnx_field::sparse_initializer, holder::sparse_tensor},
    {holder::node, onnx_field::attribute, holder::attribute},
    {holder::attribute, onnx_field::tensor, holder::tensor},
    {holder::attribute, onnx_field::tensors, holder::tensor},
    {holder::attribute, onnx_field::subgraph, holder::graph},
    {holder::attribute, onnx_field::subgraphs, holder::graph},
    {holder::attribute, onnx_field::sparse_tensor, holder::sparse_tensor},
    {holder::attribute, onnx_field::sparse_tensors, holder::sparse_tensor},
    {holder::sparse_tensor, onnx_field::sparse_values, holder::tensor},
    {holder::sparse_tensor, onnx_field::sparse_indices, holder::tensor},
};

class model_parser {
public:
    model_parser(const input_file &file, const open_function &open) : file_(file), open_(open), scanner_(file) {}

    onnx_model parse() {
        bool has_graph = false;
        scanner_.for_each_field(0, file_.size(), [&](const protobuf_field &field) {
            if (field.number == onnx_field::ir_version && !field.has_length()) {
                model_.ir_version = field.value;
            } else if (field.number == onnx_field::opset_import) {
                add_opset(field);
            } else if (field.number != onnx_field::graph) {
                refuse_external(field, holder::model);
                model_.other_model_fields.push_back({"", field.begin, field.end()});
            } else if (!field.has_length() || std::exchange(has_graph, true)) {
                throw failure("it has not one graph");
            } else {
                parse_graph(field);
            }
        });
        if (!has_graph) {
            throw failure("not an ONNX model: it has no graph");
        }
        return std::move(model_);
    }

private:
    void add_opset(const protobuf_field &field) {
        std::string domain;
        uint64_t version = 0;
        scanner_.for_each_field(field, [&](const protobuf_field &part) {
            if (part.number == 1) {
                domain = scanner_.text(part);
            } else if (part.number == 2) {
                version = part.value;
            }
        });
        if (is_own_domain(domain)) {
            model_.opset = std::max(model_.opset, version);
        } else {
            model_.other_opsets.push_back({domain, field.begin, field.end()});
        }
    }

    void parse_graph(const protobuf_field &graph) {
        scanner_.for_each_field(graph, [&](const protobuf_field &field) {
            if (field.number != onnx_field::initializer) {
                refuse_external(field, holder::graph);
            }
            switch (field.number) {
            case onnx_field::node: parse_node(field, false); break;
            case onnx_field::initializer: parse_initializer(field); break;
            case onnx_field::input: model_.inputs.push_back({name_in(field, 1), field.begin, field.end()}); break;
            case onnx_field::output: model_.outputs.push_back({name_in(field, 1), field.begin, field.end()}); break;
            default: model_.other_graph_fields.push_back({"", field.begin, field.end()});
            }
        });
    }

    std::string name_in(const protobuf_field &message, uint32_t number) {
        std::string name;
        scanner_.for_each_field(message, [&](const protobuf_field &field) {
            if (field.number == number) {
                name = utf8_name(scanner_.text(field));
            }
        });
        return name;
    }

    void parse_node(const protobuf_field &message, bool is_nested) {
        onnx_node node;
        node.begin = message.begin;
        node.end = message.end();
        node.is_nested = is_nested;
        size_t index = model_.nodes.size();
        model_.nodes.emplace_back();  // before those of its subgraphs
        scanner_.for_each_field(message, [&](const protobuf_field &field) {
            switch (field.number) {
            case onnx_field::node_input: node.inputs.push_back(utf8_name(scanner_.text(field))); break;
            case onnx_field::node_output: node.outputs.push_back(utf8_name(scanner_.text(field))); break;
            case onnx_field::node_name: node.name = utf8_name(scanner_.text(field)); break;
            case onnx_field::op_type: node.op_type = utf8_name(scanner_.text(field)); break;
            case onnx_field::domain: node.is_standard = is_own_domain(scanner_.text(field)); break;
            case onnx_field::attribute: parse_attribute(field, node); break;
            default: break;
            }
        });
        if (node.op_type.empty()) {
            throw failure("a node has no operator");
        }
        if (is_nested) {
            model_.nested_names.insert(node.outputs.begin(), node.outputs.end());
        }
        model_.nodes[index] = std::move(node);
    }

    void parse_attribute(const protobuf_field &message, onnx_node &node) {
        std::string name;
        uint64_t value = 0;
        scanner_.for_each_field(message, [&](const protobuf_field &field) {
            switch (field.number) {
            case onnx_field::attribute_name: name = scanner_.text(field); break;
            case onnx_field::integer: value = field.value; break;
            case onnx_field::subgraph:
            case onnx_field::subgraphs: parse_subgraph(field); break;
            default: break;
            }
        });
        node.attributes[name] = value;
    }

    void parse_subgraph(const protobuf_field &graph) {
        scanner_.for_each_field(graph, [&](const protobuf_field &field) {
            switch (field.number) {
            case onnx_field::node: parse_node(field, true); break;
            case onnx_field::initializer: model_.nested_names.insert(name_in(field, onnx_field::name)); break;
            case onnx_field::input: model_.nested_names.insert(name_in(field, 1)); break;
            default: break;
            }
        });
    }

    // Tensors other than the initializers of the model's graph are copied as they are, to a place where a path in them
    // may lead nowhere, or to any file.
    void refuse_external(const protobuf_field &field, holder in) {
        const auto *inner = std::ranges::find_if(
            inner_holders, [&](const inner_holder &each) { return each.in == in && each.field == field.number; });
        if (inner == std::end(inner_holders)) {
            return;
        }
        if (inner->kind == holder::tensor) {
            refuse_external_tensor(field);
            return;
        }
        scanner_.for_each_field(field, [&](const protobuf_field &each) { refuse_external(each, inner->kind); });
    }

    void refuse_external_tensor(const protobuf_field &tensor) {
        std::string name;
        std::map<std::string, std::string> entries;
        bool is_external = false;
        scanner_.for_each_field(tensor, [&](const protobuf_field &field) {
            switch (field.number) {
            case onnx_field::name: name = scanner_.text(field); break;
            case onnx_field::external_data: add_entry(field, entries); break;
            case onnx_field::data_location: is_external |= field.value != 0; break;
            default: break;
            }
        });
        if (is_external || !entries.empty()) {
            throw failure("the tensor " + shortened(name) + " has external data in " + shortened(entries["location"]) +
                          ", which only initializers of the model's graph may have");
        }
    }

    void parse_initializer(const protobuf_field &message) {
        onnx_initializer found;
        found.begin = message.begin;
        found.end = message.end();
        uint64_t data_type = 0;
        std::map<std::string, std::string> external;
        std::vector<protobuf_field> values;  // in the fields of numbers
        scanner_.for_each_field(message, [&](const protobuf_field &field) {
            switch (field.number) {
            case onnx_field::dims: add_dims(field, found.shape); break;
            case onnx_field::data_type: data_type = field.value; break;
            case onnx_field::name: found.name = utf8_name(scanner_.text(field)); break;
            case onnx_field::segment: throw failure("an initializer in segments is not supported");
            case onnx_field::raw_data:
                if (!field.has_length()) {
                    throw failure("raw data are no bytes");
                }
                found.data.file = &file_;
                found.data.offset = field.payload;
                found.data.size = field.size;
                break;
            case onnx_field::external_data: add_entry(field, external); break;
            case onnx_field::data_location: found.data.external = field.value == 1; break;
            case onnx_field::float_data:
            case onnx_field::int32_data:
            case onnx_field::int64_data:
            case onnx_field::double_data:
            case onnx_field::uint64_data: values.push_back(field); break;
            default: append(field, found.other_fields);
            }
        });
        name_in_failures(shortened(found.name), [&] { complete(found, data_type, external, values); });
        model_.initializers.push_back(std::move(found));
    }

    void append(const protobuf_field &field, std::string &to) {
        std::string bytes(field.end() - field.begin, '\0');
        file_.read(field.begin, std::as_writable_bytes(std::span(bytes)));
        to += bytes;
    }

    void add_dims(const protobuf_field &field, std::vector<int64_t> &shape) {
        for (uint64_t extent : scanner_.varints(field)) {
            shape.push_back(static_cast<int64_t>(extent));
            if (extent > INT64_MAX || shape.size() > max_rank) {
                throw failure("an initializer has a negative dimension, or more than " + std::to_string(max_rank));
            }
        }
    }

    void add_entry(const protobuf_field &field, std::map<std::string, std::string> &entries) {
        auto [key, value] = read_entry(scanner_, field);
        entries[key] = value;
    }

    void complete(onnx_initializer &found, uint64_t data_type, std::map<std::string, std::string> &external,
                  const std::vector<protobuf_field> &values) {
        found.type = find_onnx_dtype(data_type);
        if (found.type == nullptr) {
            if (found.data.external || !external.empty()) {
                throw failure("external data of the type " + std::to_string(data_type) + " are not supported");
            }
            return;
        }
        uint64_t size = byte_size({found.name, found.type, found.shape});
        if (found.data.external) {
            locate(found.data, external, size);
        } else if (!values.empty()) {
            decode(found, values);
        }
        uint64_t actual = found.data.decoded.empty() ? found.data.size : found.data.decoded.size();
        if (actual != size) {
            throw failure("it has " + std::to_string(actual) + " bytes, but its shape " + shape_text(found.shape) +
                          " of " + std::string(found.type->name) + " takes " + std::to_string(size));
        }
    }

    void locate(onnx_data &data, std::map<std::string, std::string> &external, uint64_t size) {
        check_location(external["location"]);
        data.file = &open_(external["location"]);
        data.offset = external.contains("offset") ? parse_number(external["offset"], "offset") : 0;
        data.size = external.contains("length") ? parse_number(external["length"], "length") : size;
        if (data.offset > data.file->size() || data.size > data.file->size() - data.offset) {
            throw failure("its external data would be " + std::to_string(data.size) + " bytes at " +
                          std::to_string(data.offset) + " of the " + std::to_string(data.file->size()) + " in " +
                          shortened(external["location"]));
        }
    }

    // Each number of int32_data is one code, but of 4 bits two; floats are in the file as in memory.
    void decode(onnx_initializer &found, const std::vector<protobuf_field> &values) {
        bool whole = values.size() == 1 && values[0].has_length();
        if (whole && (values[0].number == onnx_field::float_data || values[0].number == onnx_field::double_data)) {
            found.data = {&file_, values[0].payload, values[0].size, {}, false};
            return;
        }
        size_t width = static_cast<size_t>(std::max(found.type->bits, 8)) / 8;
        for (const protobuf_field &field : values) {
            if (field.number == onnx_field::float_data || field.number == onnx_field::double_data) {
                std::string bytes(field.size, '\0');
                file_.read(field.payload, std::as_writable_bytes(std::span(bytes)));
                std::ranges::transform(bytes, std::back_inserter(found.data.decoded),
                                       [](char byte) { return static_cast<std::byte>(byte); });
                continue;
            }
            for (uint64_t value : scanner_.varints(field)) {
                for (size_t i = 0; i < width; ++i) {
                    found.data.decoded.push_back(static_cast<std::byte>(value >> 8 * i));
                }
            }
        }
    }

    const input_file &file_;
    const open_function &open_;
    protobuf_scanner scanner_;
    onnx_model model_;
};

}  // namespace

int onnx_type_of(const dtype &type) {
    const auto *found = std::ranges::find(onnx_types, type.name, &onnx_type::name);
    return found == std::end(onnx_types) ? 0 : found->number;
}

const dtype *find_onnx_dtype(uint64_t data_type) {
    for (const onnx_type &each : onnx_types) {
        if (static_cast<uint64_t>(each.number) == data_type) {
            return each.name == "I4"   ? &dtype_of(QDQ_I4)
                   : each.name == "U4" ? &dtype_of(QDQ_U4)
                                       : find_dtype(each.name);
        }
    }
    return nullptr;
}

int64_t onnx_node::attribute(const std::string &key, int64_t otherwise) const {
    auto found = attributes.find(key);
    return found == attributes.end() ? otherwise : static_cast<int64_t>(found->second);
}

std::set<std::string> data_locations(const input_file &file) {
    std::set<std::string> found;
    protobuf_scanner scanner(file);
    constexpr uint32_t fields[] = {onnx_field::graph, onnx_field::initializer, onnx_field::external_data};
    std::function<void(const protobuf_field &, size_t)> visit = [&](const protobuf_field &field, size_t depth) {
        if (field.number != fields[depth]) {
            return;
        }
        if (depth + 1 < std::size(fields)) {
            scanner.for_each_field(field, [&](const protobuf_field &inner) { visit(inner, depth + 1); });
        } else if (auto [key, value] = read_entry(scanner, field); key == "location") {
            found.insert(value);
        }
    };
    scanner.for_each_field(0, file.size(), [&](const protobuf_field &field) { visit(field, 0); });
    return found;
}

onnx_model read_onnx_model(const input_file &file, const open_function &open) {
    return model_parser(file, open).parse();
}

}  // namespace qdq::model
