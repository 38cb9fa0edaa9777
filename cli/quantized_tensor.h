#pragma once

#include "granularity.h"
#include "kernel_call.h"
#include "scratch_buffer.h"
#include "tensor_file.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace qdq_cli {

// The convention of compressed-tensors: x holds codes, x_scale and, if there are any, x_zero_point are beside it.
std::string scale_name(const std::string &name);
std::string zero_point_name(const std::string &name);

// Where a file holds the parts of a quantized tensor.
struct quantized_parts {
    size_t codes, scale;
    std::optional<size_t> zero_point;
};

// Nothing when the tensor is not quantized.
std::optional<quantized_parts> find_quantized(const tensor_reader &file, size_t index);

// Whether a tensor is the scale or the zero point of a quantized one.
bool is_parameter(const tensor_reader &file, size_t index);

// What the shapes and types of a quantized tensor do not tell. It is kept in the metadata of the file.
struct quantization_record {
    const dtype *source = &f32_dtype();
    int64_t axis = 0, block_size = 0;  // as in `blocking`
};
using record_map = std::map<std::string, quantization_record>;

record_map read_records(const tensor_reader &file);
metadata_map with_records(metadata_map metadata, const record_map &records);
metadata_map without_records(metadata_map metadata);

// A quantized tensor in memory. The codes are in the scratch buffer it was loaded to.
struct quantized_tensor {
    tensor_data codes, scale, zero_point;  // zero_point.data is null when there are none
    blocking granularity;
    std::vector<std::byte> scale_bytes, zero_point_bytes;

    kernel_arguments dequantize_to(const tensor_data &y) const;
};
quantized_tensor load_quantized(const tensor_reader &file, const quantized_parts &parts, const record_map &records,
                                scratch_buffer &codes);

// Runs `work` for a tensor of a file; a failure in it then says which.
void for_tensor(const tensor_reader &file, size_t index, const std::function<void()> &work);

}  // namespace qdq_cli
