// The arithmetic of qdq_scale_rule: scales and zero points of the extremes of the elements that share them.
#pragma once

#include "formats.h"
#include "instructions.h"

#include "Halide.h"

namespace qdq {

// A rule with all that it needs to know about codes and operands, when the kernel runs.
struct scale_rule {
    Expr rule;  // qdq_scale_rule
    Expr clip_ratio, least_scale;
    Expr largest;           // L of the rules
    Expr largest_exponent;  // e there
    Expr mantissa_bits;     // of the codes' values
    Expr lowest, highest;   // integer codes
    Expr scale_type;        // qdq_dtype
};

// The numbers furthest below and above zero, as f32, or 0: NaN where an element on that side is one.
struct extreme_values {
    Expr lowest, highest;
};

// The bits of the scale in its type, as uint32.
Expr scale_bits(const instructions &on, const scale_rule &how, const extreme_values &of);

// The int32 of the zero point beside such a scale, by QDQ_SCALE_MINMAX.
Expr zero_point_beside(const instructions &on, const scale_rule &how, const extreme_values &of, Expr scale_bits);

}  // namespace qdq
