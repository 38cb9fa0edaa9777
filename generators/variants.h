// The specializations inside one kernel. The dispatcher passes the number; both sides include this file.
#pragma once

namespace qdq {

// Quantize. The fast variants round to nearest even. Those that divide need every scale in [2^-60, 2^60]; those with a
// zero point need it within 2^20 (after: and not i32); those without one saturate to the type's whole range.
enum class quantize_variant {
    multiply,         // round(x * scale)
    multiply_after,   // round(x * scale) + zero_point
    multiply_before,  // round(x * scale + zero_point)
    divide,           // the same with x / scale
    divide_after,
    divide_before,
    general_multiply,  // any rounding, zero point, range and scale
    general_divide,
};

// Dequantize.
enum class dequantize_variant {
    plain,    // q * scale, scale finite: no NaN unless q is one
    offset,   // (q + offset) * scale, an f32 offset, scale and offset finite
    general,  // (q + offset) * scale, any values
    exact,    // (q + sign * zero_point) * scale, an int32 zero point, any values
};
constexpr int dequantize_variant_count = 4;

}  // namespace qdq
