#include "arithmetic.h"

namespace qdq {

using namespace Halide;
using Internal::Call;

namespace {

// LLVM's vectorizer turns calls of these, one for each lane, into one of the whole vector.
Expr scalar_intrinsic(const char *name, Expr a, Expr b) {
    return Call::make(Float(32), name, {std::move(a), std::move(b)}, Call::PureExtern);
}

Expr strict(Call::IntrinsicOp op, Type type, Expr a, Expr b) {
    return Call::make(type, op, {std::move(a), std::move(b)}, Call::PureIntrinsic);
}

}  // namespace

Expr bit_pattern(uint32_t bits) { return Internal::make_const(UInt(32), uint64_t(bits)); }

Expr add(Expr a, Expr b) { return strict(Call::strict_add, Float(32), std::move(a), std::move(b)); }
Expr subtract(Expr a, Expr b) { return strict(Call::strict_sub, Float(32), std::move(a), std::move(b)); }
Expr multiply(Expr a, Expr b) { return strict(Call::strict_mul, Float(32), std::move(a), std::move(b)); }
Expr divide(Expr a, Expr b) { return strict(Call::strict_div, Float(32), std::move(a), std::move(b)); }
Expr less(Expr a, Expr b) { return strict(Call::strict_lt, Bool(), std::move(a), std::move(b)); }

Expr fused_multiply_add(Expr a, Expr b, Expr c) {
    return Call::make(Float(32), "llvm.fma.f32", {std::move(a), std::move(b), std::move(c)}, Call::PureExtern);
}

Expr not_a_number(Expr a) {
    return (reinterpret<uint32_t>(std::move(a)) & bit_pattern(0x7fffffff)) > bit_pattern(0x7f800000);
}

// On x86 each of these is one instruction, minps or maxps, which gives its second operand where either is NaN.
Expr lesser(instructions on, Expr limit, Expr t) {
    return have_number_minimum(on) ? scalar_intrinsic("llvm.minimum.f32", limit, t) : select(less(limit, t), limit, t);
}

Expr lesser_number(instructions on, Expr limit, Expr t) {
    return have_number_minimum(on) ? scalar_intrinsic("llvm.minnum.f32", limit, t) : select(less(t, limit), t, limit);
}

Expr greater_number(instructions on, Expr limit, Expr t) {
    return have_number_minimum(on) ? scalar_intrinsic("llvm.maxnum.f32", limit, t) : select(less(limit, t), t, limit);
}

Expr clamp_or_low(instructions on, Expr t, Expr low, Expr high) { return lesser(on, high, greater_number(on, low, t)); }

Expr select_shared(instructions on, Expr condition, Expr a, Expr b) {
    if (select_by_one(on)) {
        return select(std::move(condition), std::move(a), std::move(b));
    }
    const Type type = a.type();
    Expr mask = select(std::move(condition), bit_pattern(0xffffffff), bit_pattern(0));
    return reinterpret(type,
                       (reinterpret<uint32_t>(std::move(a)) & mask) | (reinterpret<uint32_t>(std::move(b)) & ~mask));
}

Expr abs_bits(instructions on, Expr a) {
    return have_absolute(on) ? abs(std::move(a))
                             : reinterpret<float>(reinterpret<uint32_t>(std::move(a)) & bit_pattern(0x7fffffff));
}

Expr divide_by_reciprocal(Expr x, Expr s, Expr r) {
    Expr q0 = multiply(x, r);
    Expr e = fused_multiply_add(-q0, s, x);
    return fused_multiply_add(e, r, q0);
}

Expr bf16_bits(Expr a) {
    Expr bits = reinterpret<uint32_t>(std::move(a));
    // An odd result makes a tie sticky, and the sum carries past it.
    return cast<uint16_t>(((bits | ((bits >> 16) & 1)) + 0x7fff) >> 16);
}

Expr convert_nearest(instructions on, Expr a) {
    if (saturate_integers(on)) {
        return Call::make(Int(32), "llvm.lrint.i32.f32", {std::move(a)}, Call::PureExtern);
    }
    if (convert_saturating(on)) {
        return Call::make(Int(32), "llvm.fptosi.sat.i32.f32", {round(std::move(a))}, Call::PureExtern);
    }
    return cast<int32_t>(round(std::move(a)));
}

Expr convert_nearest_unsigned(Expr a) {
    return Call::make(UInt(32), "llvm.fptoui.sat.i32.f32", {round(std::move(a))}, Call::PureExtern);
}

Expr align_nearest(Expr a) {
    // From 2^23 on floats are integers: 1.5 * 2^23 + a is rounded to one, with its sign in bit 22 and above.
    return reinterpret<int32_t>(add(std::move(a), 12582912.0f));
}

Expr round_to_integral(instructions on, Expr a, Expr rounding) {
    Expr half_away = add(a, select(less(a, 0.0f), -0.5f, 0.5f));
    // 0.49999997 + 0.5 rounds up to 1: below one half nothing rounds away from zero. From 2^23 on, a is integral.
    Expr magnitude = abs(a);
    Expr away = select(less(magnitude, 0.5f), 0.0f, select(less(magnitude, 8388608.0f), trunc(half_away), a));
    Expr directed = select_shared(on, rounding == 3, floor(a), ceil(a));
    Expr not_nearest_even =
        select_shared(on, rounding == 1, away, select_shared(on, rounding == 2, trunc(a), directed));
    return select_shared(on, rounding == 0, round(a), not_nearest_even);
}

Expr saturating_sum(Expr r, Expr z) {
    // r = r_high * 2^16 + r_low, exact; past 2^33 any int32 z leaves the sum saturated.
    Expr bounded = select(less(8589934592.0f, r), 8589934592.0f, less(r, -8589934592.0f), -8589934592.0f, r);
    Expr r_high = floor(multiply(bounded, 1.0f / 65536));
    Expr r_low = subtract(bounded, multiply(r_high, 65536.0f));
    Expr low = cast<int32_t>(r_low) + (z & 0xffff);
    Expr high = cast<int32_t>(r_high) + (z >> 16) + (low >> 16);
    return select(high > INT16_MAX, INT32_MAX, high < INT16_MIN, Int(32).min(), (high << 16) | (low & 0xffff));
}

Expr exact_sum_as_float(Expr q, Expr z, Expr sign) {
    // Two halves, each exact in f32; their one addition is the one rounding. 16777217 - (-1) = 16777218, not ...216.
    Expr high = (q >> 16) + sign * (z >> 16);
    Expr low = (q & 0xffff) + sign * (z & 0xffff);
    return add(multiply(cast<float>(high), 65536.0f), cast<float>(low));
}

}  // namespace qdq
