// What the kernels of device targets are told by numbers. The dispatcher includes this file too.
//
// A kernel counts units, one a thread: groups of neighbouring elements, or in the strided form single elements (bytes
// of packed codes). It turns a unit's number into an index along each of a few dimensions, the innermost first, and
// those into places in x, y, the scale and the zero point.
#pragma once

#include <cstdint>

namespace qdq {

enum class device_form {
    group,    // x and y in one dense order; one scale and zero point for all elements of a group
    each,     // the same with an operand for each element
    strided,  // any places
};

constexpr int device_dimensions = 8;  // of the strided form
constexpr int dense_dimensions = 2;   // of the others

// Elements of a group: those that a load or store of 16 bytes takes of 16-bit types, and two take of 32-bit ones. With
// 16, f16 to f8e4m3 took 105 registers instead of 51.
constexpr int device_group = 8;

// Buffers are indexed by 32-bit numbers, so the strided form addresses them by page and place.
constexpr int page_bits = 30;

// How the bits of a scale or a zero point are read.
enum class operand_code { f32, f16, bf16, e8m0, f8e4m3, i8, u8, i16, u16, i32 };

// What a zero point does to the sum.
enum class zero_point_use {
    none,
    as_float,    // an f32 sum: quantize before rounding, dequantize with a float or a short integer
    as_integer,  // an exact sum
};

// Division by an invariant number below 2^31, of numbers below 2^31: (n * multiplier) >> shift. (Granlund, Montgomery
// 1994.)
struct invariant_divisor {
    uint32_t multiplier;
    int32_t shift;
};
inline invariant_divisor divisor_of(int64_t d) {
    int log2 = 0;
    while ((int64_t{1} << log2) < d) {
        log2++;
    }
    const uint64_t power = uint64_t{1} << (31 + log2);
    return {static_cast<uint32_t>((power + d - 1) / d), 31 + log2};
}

}  // namespace qdq
