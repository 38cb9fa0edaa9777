// How far values are from what they stand for, in whole numbers of a unit: sums of them are exact.
#pragma once

#include "targets/kernel_table.h"

#include <bit>
#include <cstdint>

namespace qdq::runtime {

// The biased exponent, as of an f32, of how many units are 1.
inline uint32_t error_exponent(float scale) {
    const uint32_t exponent = std::bit_cast<uint32_t>(scale) >> 23 & 0xff;
    return 262 - (exponent < 8 ? 8 : exponent);
}

inline float error_unit(uint32_t exponent) { return 1 / std::bit_cast<float>(exponent << 23); }

// Of at most 512 elements. What is not finite counts nothing.
uint64_t sum_of_squares(const target &on, const float *x, const float *y, int64_t count, uint32_t exponent);

}  // namespace qdq::runtime
