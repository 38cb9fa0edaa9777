#pragma once

#include "tensors/tensor_file.h"

#include <cstdint>
#include <map>
#include <string>

namespace qdq::model {

// What the shapes and types of a quantized tensor do not tell. It is kept in the metadata of the file.
struct quantization_record {
    const dtype *source = &f32_dtype();
    int64_t axis = 0, block_size = 0, block_rows = 0;  // as in `blocking`
    bool packs_bytes = false;       // an I32 has codes of 8 bits, which rows of 4 codes or fewer do not tell
    bool quantizes_inputs = false;  // of a graph: nodes that use it quantize what they use beside it, as they run
};
using record_map = std::map<std::string, quantization_record>;

record_map read_records(const tensor_reader &file);
record_map read_records(const metadata_map &metadata);  // throws failure where they are corrupt
// Metadata with these records, and no others.
metadata_map with_records(metadata_map metadata, const record_map &records);
metadata_map without_records(metadata_map metadata);

}  // namespace qdq::model
