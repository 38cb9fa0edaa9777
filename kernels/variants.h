// The specializations inside one kernel. The dispatcher passes the number; both sides include this file.
#pragma once

namespace qdq::kernels {

// What the fast variants take: zero points up to a magnitude, and divisors between the bits of 2^-60 and 2^60. To codes
// of up to 8 bits some kernels add a zero point in 16 bits that saturate, and all that saturate there are to be out of
// the codes' range.
constexpr int small_zero_point = 1 << 20, small_zero_point_of_bytes = 1 << 14;
constexpr unsigned smallest_divisor = (127u - 60) << 23, largest_divisor = (127u + 60) << 23;

// Quantize. The fast variants saturate, and but for the `rounded` ones, which integers have in the row and column
// forms, round to nearest even. Those that divide need every scale in [2^-60, 2^60] and its reciprocal, and every
// variant of a float format needs a positive one; those with a zero point take it as an f32 within 2^20, after rounding
// to codes of up to 8 bits within 2^14; those without one saturate to the type's whole range, but for i32. The general
// ones, which are last, exist in the column form alone.
enum class quantize_variant {
    multiply,         // round(x * scale)
    multiply_after,   // round(x * scale) + zero_point, to a given range
    multiply_before,  // round(x * scale + zero_point), to a given range
    divide,           // the same with x / scale
    divide_after,
    divide_before,
    rounded_multiply,  // the same with another rounding, any of the zero points or none, to a given range; not to i32
                       // with a zero point after rounding
    rounded_divide,
    general_multiply,  // any rounding, zero point, range and scale
    general_divide,
};

// Dequantize: magnitudes whose products are no subnormals, as instructions that convert those to 16 bits may make zeros
// of them. A code is 2^-17 at least, and so is its sum with an offset, 2^-24.
constexpr unsigned smallest_scale = (127u - 60) << 23, smallest_offset = (127u - 24) << 23;

// `general` and `exact`, which are last, exist in the column form alone; `exact` of i32 in every form.
enum class dequantize_variant {
    plain,    // q * scale, scale 0 or finite from 2^-60 on, and of float formats in [2^-60, 2^100]
    offset,   // (q + offset) * scale, such a scale and an f32 offset that is 0 or finite from 2^-24 on
    general,  // (q + offset) * scale, any values
    exact,    // (q + sign * zero_point) * scale, an int32 zero point, any values
};

}  // namespace qdq::kernels
