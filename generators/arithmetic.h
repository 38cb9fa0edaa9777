// Building blocks whose every operation is one IEEE operation: Halide may neither reorder nor contract them.
// Operators on float Exprs are fast-math in Halide, so the generators use these instead, node by node.
#pragma once

#include "instructions.h"

#include "Halide.h"

namespace qdq {

using Halide::Expr;

// A uint32 constant.
Expr bit_pattern(uint32_t bits);

// a + b, a - b, a * b, a / b of f32 or f64, each rounded once to nearest even.
Expr add(Expr a, Expr b);
Expr subtract(Expr a, Expr b);
Expr multiply(Expr a, Expr b);
Expr divide(Expr a, Expr b);

// a * b + c rounded once. Needs a target with FMA instructions to be fast.
Expr fused_multiply_add(Expr a, Expr b, Expr c);

// False when either is NaN. (Halide turns a <= b into !(b < a), which is true then: there is no such function here.)
Expr less(Expr a, Expr b);
Expr not_a_number(Expr a);

// The smaller of a limit (a number) and t. A NaN in t passes (lesser), or gives the limit (lesser_number).
Expr lesser(const instructions &on, Expr limit, Expr t);
Expr lesser_number(const instructions &on, Expr limit, Expr t);

// The larger of a limit (a number) and t, or the limit where t is NaN.
Expr greater_number(const instructions &on, Expr limit, Expr t);

// t within [low, high], which are numbers; low where t is NaN.
Expr clamp_or_low(const instructions &on, Expr t, Expr low, Expr high);

// a or b, of 32 bits, by a condition that does not vary along c.
Expr select_shared(const instructions &on, Expr condition, Expr a, Expr b);

// a, of 32 bits, or 0, by such a condition.
Expr zero_unless(const Expr &condition, Expr a);

// One of two values, of which the other is not computed. Scalars only.
Expr lazily(Expr condition, Expr then, Expr otherwise);

// a without its sign bit.
Expr abs_bits(const instructions &on, Expr a);

// x / s rounded once, from r = divide(1, s), for |x / s| below 2^100 and s in [2^-60, 2^60].
//
// q0 = x*r is less than 1.5 units in the last place from x/s, e = x - q0*s is exact, and q0 + e*r misses x/s by
// |x/s - q0| * |r*s - 1|. For that to move the result, x/s must lie within that distance of the midpoint of two floats.
// Distinct midpoints and quotients are at least 2^-48/s apart (mantissas in [1, 2)), further than the error unless q0
// is the full 1.5 units away, which takes a mantissa of x above 2 - 2^-23 and below that of s: there is none.
// (Markstein 1990 states it for q0 within one unit.) Where e underflows, |x| < 2^-120, the quotient is below 2^-60 and
// the error one unit of its last place, of which quantize sees only whether that makes it 0, rounding up or down.
Expr divide_by_reciprocal(const instructions &on, Expr x, Expr s, Expr r);

// A uint32 whose upper half is a as a bf16, rounded to nearest even; the lower half is arbitrary. The NaN 0x7fc00000
// stays itself; others may become infinite.
Expr bf16_in_upper_half(Expr a);

// a rounded to an integral float: nearest, ties to even; down; up; toward zero. Zeros may lose their sign.
Expr nearest_even(const instructions &on, Expr a);
Expr downward(const instructions &on, Expr a);
Expr upward(const instructions &on, Expr a);
Expr toward_zero(const instructions &on, Expr a);

// The integer nearest to a, ties to even, for |a| < 2^31; on x86 (cvtps2dq) NaN and a <= -2^31 give -2^31. Where
// conversion saturates, any other a saturates, and so it does to an unsigned integer; NaN gives 0.
Expr convert_nearest(const instructions &on, Expr a);
Expr convert_nearest_unsigned(const instructions &on, Expr a);

// Low bits of a float that are the integer nearest to a, for |a| < 2^22, in two's complement.
Expr align_nearest(Expr a);

// a rounded to an integral float, as a qdq_rounding says; by the first function as any but QDQ_NEAREST_EVEN.
Expr round_otherwise(const instructions &on, Expr a, Expr rounding);

// Whether that is down or up.
Expr rounds_to_one_side(const Expr &rounding);
Expr round_to_integral(const instructions &on, Expr a, Expr rounding);

// t as an integer code of any rounding, int32 that is added after it, and range, to which the code of NaN saturates,
// too.
Expr integer_code(const instructions &on, Expr t, Expr addend, Expr rounding, Expr nan, Expr lowest, Expr highest);

// Low bits of a float that are the code nearest to t + offset, for an integral offset within 2^20 and codes of 16 bits:
// after what aligns t to integers, as in align_nearest, the offset is added while still in floating point.
Expr aligned_sum(const instructions &on, Expr t, Expr offset, Expr lowest, Expr highest);

// The code of i32 nearest to t, ties to even, within a range; NaN gives the lowest.
Expr nearest_i32(const instructions &on, Expr t, Expr lowest, Expr highest);

// The exact sum r + z saturated to a range of int32, for an integral float r (any magnitude, infinities included; NaN
// gives the lowest) and z, an int32 or an integral float below 2^22.
Expr sum_in_range(const instructions &on, Expr r, Expr z, Expr lowest, Expr highest);

// q - z (sign = -1) or q + z (sign = 1) over int32, exact, rounded once to f32.
Expr exact_sum_as_float(const instructions &on, Expr q, Expr z, Expr sign);

// The same value where the compiler for a device would round otherwise: it says by name what it must not fuse.
Expr spelled(const instructions &on, const Expr &e);

}  // namespace qdq
