#pragma once

#include "tensors/granularity.h"
#include "tensors/kernel_call.h"
#include "tensors/quantized_type.h"
#include "tensors/scale_method.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace qdq::model {

// A scale and a zero point for each block.
struct scale_set {
    std::vector<float> scales;
    std::vector<std::byte> stored;       // what the file keeps of the scales
    float global = 1;                    // of a two-level type
    std::vector<std::byte> zero_points;  // zero_point_dtype(); empty when all are 0 by the rule
};

// `stored` is the type of the scales in the file, to which they are rounded. Throws when x, of a float type, holds a
// NaN or an infinity, or where its range is beyond that of f32.
scale_set compute_scales(const tensor_data &x, const blocking &granularity, const quantized_type &type,
                         const scale_method &how, const dtype &stored, kernel_caller &kernels);

// The type of the scales in the file.
const dtype &stored_scale_dtype(const quantized_type &of);

// Whether compute_scales() gives zero points.
bool has_zero_points(const dtype &code, bool asymmetric);

// The code at an index of a dense array of codes, for integer types of whole bytes.
int64_t load_code(const dtype &code, const std::byte *codes, int64_t index);

}  // namespace qdq::model
