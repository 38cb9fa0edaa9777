#pragma once

#include "support/input_file.h"
#include "tensors/dtype_table.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace qdq::model {

// Field numbers of onnx.proto.
namespace onnx_field {
enum : uint32_t { ir_version = 1, graph = 7, opset_import = 8, training = 20, function = 25 };    // of a model
enum : uint32_t { initialization = 1, algorithm = 2 };                                            // of a training
enum : uint32_t { function_node = 7, attribute_default = 11 };                                    // of a function
enum : uint32_t { node = 1, initializer = 5, input = 11, output = 12, sparse_initializer = 15 };  // of a graph
enum : uint32_t { node_input = 1, node_output = 2, node_name = 3, op_type = 4, attribute = 5, domain = 7 };
enum : uint32_t { attribute_name = 1, integer = 3, tensor = 5, subgraph = 6, tensors = 10, subgraphs = 11, kind = 20 };
enum : uint32_t { sparse_tensor = 22, sparse_tensors = 23 };  // of an attribute, too
enum : uint32_t { sparse_values = 1, sparse_indices = 2 };    // of a sparse tensor
enum : uint32_t {                                             // of a tensor
    dims = 1,
    data_type = 2,
    segment = 3,
    float_data = 4,
    int32_data = 5,
    int64_data = 7,
    name = 8,
    raw_data = 9,
    double_data = 10,
    uint64_data = 11,
    external_data = 13,
    data_location = 14,
};
}  // namespace onnx_field

// TensorProto.DataType of a type, and back; 0 and null where there is none.
int onnx_type_of(const dtype &type);
const dtype *find_onnx_dtype(uint64_t data_type);

// Where the bytes of an initializer are: in a file, or decoded from one of the fields that hold a number each.
struct onnx_data {
    const input_file *file = nullptr;
    uint64_t offset = 0, size = 0;
    std::vector<std::byte> decoded;
    bool external = false;
};

struct onnx_initializer {
    std::string name;
    const dtype *type = nullptr;  // null: one that qdq does not know, as strings
    std::vector<int64_t> shape;
    onnx_data data;
    std::string other_fields;     // those beside name, type, shape and data, as they are in the file
    uint64_t begin = 0, end = 0;  // of the field in the file
};

struct onnx_node {
    std::string name, op_type;
    bool is_standard = true;  // of ONNX's own domain
    bool is_nested = false;   // in a graph that is an attribute
    std::vector<std::string> inputs, outputs;
    std::map<std::string, uint64_t> attributes;  // the integers of those that are one, by name; 0 of others
    uint64_t begin = 0, end = 0;

    int64_t attribute(const std::string &key, int64_t otherwise) const;
};

// A piece of the file by its name.
struct onnx_entry {
    std::string name;
    uint64_t begin, end;
};

// What an ONNX file says, but for the data of its initializers. All nodes are there, those of subgraphs too.
struct onnx_model {
    std::vector<onnx_initializer> initializers;
    std::vector<onnx_node> nodes;
    std::vector<onnx_entry> inputs, outputs;
    std::vector<onnx_entry> other_model_fields, other_graph_fields, other_opsets;
    std::set<std::string> nested_names;  // the values that subgraphs define
    uint64_t ir_version = 0, opset = 0;
};

// Opens a file that a tensor's external data are in, relative to the model's folder.
using open_function = std::function<const input_file &(const std::string &location)>;

// The places of external data that a model names for its initializers.
std::set<std::string> data_locations(const input_file &file);

// Throws failure where it is no ONNX model, or one that refers to data that qdq would lose.
onnx_model read_onnx_model(const input_file &file, const open_function &open);

}  // namespace qdq::model
