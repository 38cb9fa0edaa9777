#pragma once

#include "tensors/granularity.h"
#include "tensors/quantized_type.h"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace qdq::model {

// A scale and a zero point for each block, by the rules of compressed-tensors, all in f32 and with 0 always inside
// [min, max]:
//   symmetric    scale = amax / ((highest - lowest) / 2), for i8 amax / 127.5, for floats amax / highest;
//                zero point 0, for unsigned codes the middle, for u8 128
//   asymmetric   scale = (max - min) / (highest - lowest)
//                zero point = round(lowest - min / scale), ties to even, clamped to the codes
//   A scale that would be 0 (the block is all zero, or too small to tell) is 2^-23, the f32 epsilon.
//   mxfp4, mxfp6e2m3, mxfp6e3m2, mxfp8
//                scale = 2^(e - 2), 2^(e - 2), 2^(e - 4), 2^(e - 8), where amax is in [7/8 2^e, 7/8 2^(e + 1))
//   nvfp4        scale = e4m3fn(global * amax / 6), 1/8 where that is 0, over global = 448 * 6 / (amax of the tensor)
struct scale_set {
    std::vector<float> scales;
    std::vector<std::byte> stored;       // what the file keeps of the scales
    float global = 1;                    // of a two-level type
    std::vector<std::byte> zero_points;  // zero_point_dtype(); empty when all are 0 by the rule
};

// Gives f32 values in f16, bf16 or e4m3fn.
using scale_encoder = std::function<std::vector<std::byte>(std::vector<float> &, const dtype &)>;

// `stored` is the type of the scales in the file; those of a float type are rounded to it. Throws when `bytes`, of the
// float type `source`, holds a NaN or an infinity.
scale_set compute_scales(const dtype &source, std::span<const std::byte> bytes, const scale_map &map,
                         const quantized_type &type, bool asymmetric, const dtype &stored, const scale_encoder &encode);

// The type of the scales in the file.
const dtype &stored_scale_dtype(const quantized_type &of);

// Whether compute_scales() gives zero points.
bool has_zero_points(const dtype &code, bool asymmetric);

// The code at an index of a dense array of codes, for integer types of whole bytes.
int64_t load_code(const dtype &code, const std::byte *codes, int64_t index);

}  // namespace qdq::model
