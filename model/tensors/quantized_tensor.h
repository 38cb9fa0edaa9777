#pragma once

#include "support/scratch_buffer.h"
#include "tensors/granularity.h"
#include "tensors/kernel_call.h"
#include "tensors/nibbles.h"
#include "tensors/quantized_type.h"
#include "tensors/records.h"
#include "tensors/tensor_file.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace qdq::model {

// What belongs to a quantized tensor x, by the conventions of compressed-tensors. Its codes are x, or, when they are
// packed, as all of 4 bits are, x_packed.
std::string scale_name(const std::string &name);
std::string block_scale_name(const std::string &name);  // of blocks of rows and columns, as DeepSeek's models have it
std::string zero_point_name(const std::string &name);
std::string packed_name(const std::string &name);
std::string shape_name(const std::string &name);  // of packed codes
std::string global_scale_name(const std::string &name);
std::string groups_name(const std::string &name);  // of packed codes that are not in order, which are not read

// Where a file holds the parts of a quantized tensor.
struct quantized_parts {
    const dtype *type;  // of the codes
    size_t codes = 0, scale = 0;
    std::optional<size_t> zero_point = {}, global_scale = {}, shape = {};
};

// A tensor as it was before it was quantized, if it is.
struct logical_tensor {
    std::string name;
    std::vector<int64_t> shape;
    size_t index;  // in the file: of the tensor, or of its codes
    std::optional<quantized_parts> parts;

    std::vector<size_t> stored() const;  // what the file has of it, the codes first
};

// What a reader makes of tensors with these names and types: of one that is no part of another, and of all. The shapes
// of packed codes are not there yet; data tell them. Throws when two have one name.
logical_tensor find_logical_tensor(const tensor_list &tensors, size_t index);
std::vector<logical_tensor> find_logical_tensors(const tensor_list &tensors);

// The tensors of a file. Throws, too, when the parts of packed codes do not fit together.
std::vector<logical_tensor> logical_tensors(const tensor_reader &file);

// The size of a tensor in the file, with all its parts.
uint64_t stored_bytes(const tensor_reader &file, const logical_tensor &tensor);

// A quantized tensor in memory, as the library takes it. The codes are in the buffers it was loaded to.
struct quantized_tensor {
    tensor_data codes, scale, zero_point;  // zero_point.data is null when there are none
    blocking granularity;
    std::vector<std::byte> scale_bytes, zero_point_bytes;

    kernel_arguments dequantize_to(const tensor_data &y) const;
};

struct code_buffers {
    scratch_buffer stored, flat;
};

// The scales of a quantized tensor in f32, divided by the global one where there is one.
std::vector<float> load_scales(const tensor_source &file, const quantized_parts &parts);

quantized_tensor load_quantized(const tensor_source &file, const logical_tensor &tensor, const record_map &records,
                                code_buffers &buffers);

// How compressed-tensors packs codes [..., n], by rows of whole elements; `codes` change. Those of 4 bits that are
// unsigned become signed, with their zero points: the convention has no others, and adds 8 to all.
std::span<std::byte> packed_codes(std::span<std::byte> codes, const dtype &code, const std::vector<int64_t> &shape,
                                  scratch_buffer &rows);
// Codes of 6 bits, which are one to a byte, as in_file() of their type.
std::span<std::byte> dense_codes(std::span<std::byte> codes, scratch_buffer &packed);
std::vector<std::byte> stored_zero_points(std::vector<std::byte> values, const dtype &code,
                                          const std::vector<int64_t> &shape);

// The zero points of codes, in that convention or one to a byte.
tensor_info zero_point_info(const std::string &name, const dtype &code, const std::vector<int64_t> &shape,
                            bool is_packed);

// The blocks of a scale_inv whose size is not told: 128 x 128 where the shapes allow, otherwise what they tell.
blocking usual_blocks(const std::vector<int64_t> &shape, const std::vector<int64_t> &scale_shape);

// Runs `work` for a tensor of a file; a failure in it then says which.
void name_in_failures(const tensor_reader &file, size_t index, const std::function<void()> &work);

}  // namespace qdq::model
