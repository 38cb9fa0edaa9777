#include "arithmetic.h"

#include "qdq/qdq.h"

namespace qdq {

using namespace Halide;
using Internal::Call;

namespace {

// LLVM's vectorizer turns calls of these, one for each lane, into one of the whole vector.
Expr scalar_intrinsic(const char *name, Expr a, Expr b) {
    return Call::make(Float(32), name, {std::move(a), std::move(b)}, Call::PureExtern);
}

// The same of one operand. Halide's own functions take a register of 512 bits by halves.
Expr rounded_by(const instructions &on, const char *name, Expr (*of_device)(Expr), Expr a) {
    return on.device() ? of_device(std::move(a)) : Call::make(Float(32), name, {std::move(a)}, Call::PureExtern);
}

// Of the operands' type.
Expr strict(Call::IntrinsicOp op, Expr a, Expr b) {
    const Type type = a.type();
    return Call::make(type, op, {std::move(a), std::move(b)}, Call::PureIntrinsic);
}

// Of a condition that does not vary along c: LLVM makes a vector of such a one by moving bytes, a lane at a time
// (AVX2).
Expr bits_where(const Expr &condition, uint32_t bits) { return select(condition, bit_pattern(bits), bit_pattern(0)); }

}  // namespace

Expr bit_pattern(uint32_t bits) { return Internal::make_const(UInt(32), uint64_t(bits)); }

Expr add(Expr a, Expr b) { return strict(Call::strict_add, std::move(a), std::move(b)); }
Expr subtract(Expr a, Expr b) { return strict(Call::strict_sub, std::move(a), std::move(b)); }
Expr multiply(Expr a, Expr b) { return strict(Call::strict_mul, std::move(a), std::move(b)); }
Expr divide(Expr a, Expr b) { return strict(Call::strict_div, std::move(a), std::move(b)); }
Expr less(Expr a, Expr b) {
    return Call::make(Bool(), Call::strict_lt, {std::move(a), std::move(b)}, Call::PureIntrinsic);
}

Expr fused_multiply_add(Expr a, Expr b, Expr c) {
    return Call::make(Float(32), "llvm.fma.f32", {std::move(a), std::move(b), std::move(c)}, Call::PureExtern);
}

Expr not_a_number(Expr a) {
    return (reinterpret<uint32_t>(std::move(a)) & bit_pattern(0x7fffffff)) > bit_pattern(0x7f800000);
}

// On x86 each of these is one instruction, minps or maxps, which gives its second operand where either is NaN.
Expr lesser(const instructions &on, Expr limit, Expr t) {
    return on.number_minimum ? scalar_intrinsic("llvm.minimum.f32", limit, t) : select(less(limit, t), limit, t);
}

Expr lesser_number(const instructions &on, Expr limit, Expr t) {
    return on.number_minimum || on.device() ? scalar_intrinsic("llvm.minnum.f32", limit, t)
                                            : select(less(t, limit), t, limit);
}

Expr greater_number(const instructions &on, Expr limit, Expr t) {
    return on.number_minimum || on.device() ? scalar_intrinsic("llvm.maxnum.f32", limit, t)
                                            : select(less(limit, t), t, limit);
}

Expr lazily(Expr condition, Expr then, Expr otherwise) {
    const Type type = then.type();
    return Call::make(type, Call::if_then_else, {std::move(condition), std::move(then), std::move(otherwise)},
                      Call::PureIntrinsic);
}

Expr clamp_or_low(const instructions &on, Expr t, Expr low, Expr high) {
    Expr bounded = greater_number(on, low, t);
    return on.device() ? lesser_number(on, high, bounded) : lesser(on, high, bounded);
}

Expr select_shared(const instructions &on, Expr condition, Expr a, Expr b) {
    if (on.shared_select) {
        return select(std::move(condition), std::move(a), std::move(b));
    }
    const Type type = a.type();
    Expr mask = bits_where(condition, 0xffffffff);
    return reinterpret(type,
                       (reinterpret<uint32_t>(std::move(a)) & mask) | (reinterpret<uint32_t>(std::move(b)) & ~mask));
}

Expr zero_unless(const Expr &condition, Expr a) {
    const Type type = a.type();
    return reinterpret(type, reinterpret<uint32_t>(std::move(a)) & bits_where(condition, 0xffffffff));
}

Expr abs_bits(const instructions &on, Expr a) {
    return on.absolute ? abs(std::move(a))
                       : reinterpret<float>(reinterpret<uint32_t>(std::move(a)) & bit_pattern(0x7fffffff));
}

Expr divide_by_reciprocal(const instructions &on, Expr x, Expr s, Expr r) {
    Expr q0 = multiply(x, r);
    // Once for a group of elements that share s, where the sign is not the instruction's.
    Expr e = on.device() ? fused_multiply_add(q0, -s, x) : fused_multiply_add(-q0, s, x);
    return fused_multiply_add(e, r, q0);
}

Expr bf16_in_upper_half(Expr a) {
    Expr bits = reinterpret<uint32_t>(std::move(a));
    // An odd result makes a tie sticky, and the sum carries past it.
    return (bits | ((bits >> 16) & 1)) + 0x7fff;
}

// Without an instruction: from 2^23 on floats are integral, and below it adding 2^23 to a magnitude rounds that. One
// step back makes the other directions of it.
Expr nearest_even(const instructions &on, Expr a) {
    if (on.rounding) {
        return rounded_by(on, "llvm.roundeven.f32", round, std::move(a));
    }
    Expr magnitude = abs_bits(on, a);
    Expr rounded = subtract(add(magnitude, 8388608.0f), 8388608.0f);
    return select(less(magnitude, 8388608.0f), select(less(a, 0.0f), subtract(0.0f, rounded), rounded), a);
}

Expr downward(const instructions &on, Expr a) {
    if (on.rounding) {
        return rounded_by(on, "llvm.floor.f32", floor, std::move(a));
    }
    Expr nearest = nearest_even(on, a);
    return select(less(a, nearest), subtract(nearest, 1.0f), nearest);
}

Expr upward(const instructions &on, Expr a) {
    if (on.rounding) {
        return rounded_by(on, "llvm.ceil.f32", ceil, std::move(a));
    }
    Expr nearest = nearest_even(on, a);
    return select(less(nearest, a), add(nearest, 1.0f), nearest);
}

Expr toward_zero(const instructions &on, Expr a) {
    return on.rounding ? rounded_by(on, "llvm.trunc.f32", trunc, a)
                       : select(less(a, 0.0f), upward(on, a), downward(on, a));
}

// The int32 of an integral f32 below 2^22.
Expr small_int32(const Expr &a) {
    return reinterpret<int32_t>(reinterpret<uint32_t>(align_nearest(a)) - bit_pattern(0x4b400000));
}

// The same in [-2^31, 2^31), in two halves. RISC-V, the one target without a conversion that suits, has an instruction
// for it, at two of which in a row the emulator that tests it stops (QEMU 7.2, decode_save_opc).
Expr exact_int32(const instructions &on, const Expr &a) {
    Expr high = downward(on, multiply(a, 1.0f / 65536));
    Expr low = subtract(a, multiply(high, 65536.0f));
    return (small_int32(high) << 16) + small_int32(low);
}

Expr convert_nearest(const instructions &on, Expr a) {
    if (on.saturating_narrow) {
        return Call::make(Int(32), "llvm.lrint.i32.f32", {std::move(a)}, Call::PureExtern);
    }
    if (on.saturating_conversion) {
        return Call::make(Int(32), "llvm.fptosi.sat.i32.f32", {nearest_even(on, std::move(a))}, Call::PureExtern);
    }
    Expr nearest = nearest_even(on, std::move(a));
    return on.device() ? cast<int32_t>(nearest) : exact_int32(on, nearest);
}

Expr convert_nearest_unsigned(const instructions &on, Expr a) {
    return Call::make(UInt(32), "llvm.fptoui.sat.i32.f32", {nearest_even(on, std::move(a))}, Call::PureExtern);
}

Expr align_nearest(Expr a) {
    // From 2^23 on floats are integers: 1.5 * 2^23 + a is rounded to one, with its sign in bit 22 and above.
    return reinterpret<int32_t>(add(std::move(a), 12582912.0f));
}

namespace {

// Downward, or of the number with its sign turned.
Expr to_one_side(const instructions &on, Expr a, const Expr &rounding) {
    Expr turned = bits_where(rounding == int(QDQ_UP), 0x80000000);
    Expr other = reinterpret<float>(reinterpret<uint32_t>(std::move(a)) ^ turned);
    return reinterpret<float>(reinterpret<uint32_t>(downward(on, other)) ^ turned);
}

// Toward zero, to round to nearest after the float below one half was added, with the sign of a: 0.5 + 0.49999997
// rounds up to 1, 0.49999997 + 0.49999997 does not; from 2^23 on, where a is integral, the sum is a.
Expr nearest_away_or_toward_zero(const instructions &on, Expr a, const Expr &rounding) {
    Expr sign = reinterpret<uint32_t>(a) & bit_pattern(0x80000000);
    Expr almost_half = reinterpret<float>(sign | bits_where(rounding == int(QDQ_NEAREST_AWAY), 0x3effffff));
    return toward_zero(on, add(std::move(a), almost_half));
}

}  // namespace

Expr rounds_to_one_side(const Expr &rounding) { return rounding >= int(QDQ_DOWN); }

Expr round_otherwise(const instructions &on, Expr a, Expr rounding) {
    return select_shared(on, rounds_to_one_side(rounding), to_one_side(on, a, rounding),
                         nearest_away_or_toward_zero(on, a, rounding));
}

Expr round_to_integral(const instructions &on, Expr a, Expr rounding) {
    return select_shared(on, rounding == int(QDQ_NEAREST_EVEN), nearest_even(on, a), round_otherwise(on, a, rounding));
}

Expr sum_in_range(const instructions &on, Expr r, Expr z, Expr lowest, Expr highest) {
    // Past 2^33 any int32 z leaves the sum saturated.
    Expr bounded = clamp_or_low(on, r, -8589934592.0f, 8589934592.0f);
    if (on.f64) {
        return cast<int32_t>(
            clamp(add(cast<double>(bounded), cast<double>(z)), cast<double>(lowest), cast<double>(highest)));
    }
    // r = r_high * 2^16 + r_low, exact.
    Expr r_high = downward(on, multiply(bounded, 1.0f / 65536));
    Expr r_low = subtract(bounded, multiply(r_high, 65536.0f));
    Expr addend = z.type().is_float() ? small_int32(z) : z;
    Expr low = small_int32(r_low) + (addend & 0xffff);
    Expr high = small_int32(r_high) + (addend >> 16) + (low >> 16);
    return clamp(select(high > INT16_MAX, INT32_MAX, high < INT16_MIN, Int(32).min(), (high << 16) | (low & 0xffff)),
                 lowest, highest);
}

Expr integer_code(const instructions &on, Expr t, Expr addend, Expr rounding, Expr nan, Expr lowest, Expr highest) {
    Expr sum = sum_in_range(on, round_to_integral(on, t, rounding), addend, lowest, highest);
    return select(not_a_number(t), clamp(nan, lowest, highest), sum);
}

Expr aligned_sum(const instructions &on, Expr t, Expr offset, Expr lowest, Expr highest) {
    const float aligner = 12582912.0f;
    Expr low = subtract(cast<float>(lowest), offset), high = subtract(cast<float>(highest), offset);
    Expr aligned = add(clamp_or_low(on, t, low, high), aligner);
    return on.saturating_narrow ? convert_nearest(on, add(aligned, subtract(offset, aligner)))
                                : reinterpret<int32_t>(add(aligned, offset));
}

// 2147483647 is not an f32: the largest below 2^31 is 2147483520.
Expr nearest_i32(const instructions &on, Expr t, Expr lowest, Expr highest) {
    if (on.saturating_conversion) {
        return clamp(convert_nearest(on, greater_number(on, -2147483648.0f, t)), lowest, highest);
    }
    Expr convertible = on.saturating_narrow ? t : clamp_or_low(on, t, -2147483648.0f, 2147483520.0f);
    return clamp(select(less(2147483520.0f, t), INT32_MAX, convert_nearest(on, convertible)), lowest, highest);
}

Expr exact_sum_as_float(const instructions &on, Expr q, Expr z, Expr sign) {
    if (on.f64) {
        return cast<float>(add(cast<double>(q), multiply(cast<double>(sign), cast<double>(z))));
    }
    // Two halves, each exact in f32; their one addition is the one rounding. 16777217 - (-1) = 16777218, not ...216.
    Expr high = (q >> 16) + sign * (z >> 16);
    Expr low = (q & 0xffff) + sign * (z & 0xffff);
    return add(multiply(cast<float>(high), 65536.0f), cast<float>(low));
}

namespace {

class spelling : public Internal::IRMutator {
public:
    explicit spelling(const instructions &on) : is_ptx(on.ptx), names(is_ptx ? ptx_names() : opencl_names()) {}

    using Internal::IRMutator::visit;
    Expr visit(const Call *op) override {
        if (op->is_intrinsic(Call::strict_sub) && is_ptx) {  // has no name of its own
            return mutate(add(op->args[0], negated(op->args[1])));
        }
        for (const auto &[intrinsic, name] : names) {
            if (op->name == intrinsic) {
                return Call::make(op->type, name, mutate(op->args), Call::PureExtern);
            }
        }
        return Internal::IRMutator::visit(op);
    }

    // Halide writes -a as 0 - a.
    Expr visit(const Internal::Sub *op) override {
        const bool negates = op->type == Float(32) && Internal::is_const_zero(op->a);
        return negates ? negated(mutate(op->b)) : Internal::IRMutator::visit(op);
    }

private:
    static Expr negated(Expr a) {
        return reinterpret<float>(reinterpret<uint32_t>(std::move(a)) ^ bit_pattern(0x80000000));
    }

    using name_list = std::vector<std::pair<std::string, std::string>>;

    // Halide compiles strict operations on PTX as if they might be fused, a multiplication and an addition to
    // fma.rn.f32, and the rounding functions so that they flush subnormals: ceil to cvt.rpi.ftz.f32.f32.
    static name_list ptx_names() {
        return {{Call::get_intrinsic_name(Call::strict_add), "llvm.nvvm.add.rn.f"},
                {Call::get_intrinsic_name(Call::strict_mul), "llvm.nvvm.mul.rn.f"},
                {Call::get_intrinsic_name(Call::strict_div), "llvm.nvvm.div.rn.f"},
                {"floor_f32", "llvm.nvvm.floor.f"},
                {"ceil_f32", "llvm.nvvm.ceil.f"},
                {"trunc_f32", "llvm.nvvm.trunc.f"},
                {Call::get_intrinsic_name(Call::round), "llvm.nvvm.round.f"}};
    }

    static name_list opencl_names() {
        return {{"llvm.fma.f32", "fma"}, {"llvm.minnum.f32", "fmin"}, {"llvm.maxnum.f32", "fmax"}};
    }

    const bool is_ptx;
    const name_list names;
};

}  // namespace

Expr spelled(const instructions &on, const Expr &e) { return on.device() ? spelling(on).mutate(e) : e; }

}  // namespace qdq
