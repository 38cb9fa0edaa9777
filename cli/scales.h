#pragma once

#include "dtype_table.h"
#include "granularity.h"

#include <cstddef>
#include <span>
#include <vector>

namespace qdq_cli {

// A scale and a zero point for each block, by the rules of compressed-tensors, all in f32 and with 0 always inside
// [min, max]:
//   symmetric    scale = amax / ((highest - lowest) / 2), for i8 amax / 127.5;
//                zero point 0, for unsigned codes the middle, for u8 128
//   asymmetric   scale = (max - min) / (highest - lowest)
//                zero point = round(lowest - min / scale), ties to even, clamped to the codes
// A scale that would be 0 (the block is all zero, or too small to tell) is 2^-23, the f32 epsilon.
struct scale_set {
    std::vector<float> scales;
    std::vector<std::byte> zero_points;  // codes; empty when all are 0 by the rule
};

// Throws when `bytes`, of the float type `source`, holds a NaN or an infinity.
scale_set compute_scales(const dtype &source, std::span<const std::byte> bytes, const scale_map &map, const dtype &code,
                         bool asymmetric);

// Whether compute_scales() gives zero points.
bool has_zero_points(const dtype &code, bool asymmetric);

// The code at an index of a dense array of codes, for integer types of whole bytes.
int64_t load_code(const dtype &code, const std::byte *codes, int64_t index);

}  // namespace qdq_cli
