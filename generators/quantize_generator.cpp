// quantize: y = saturate(round(x / scale) + zero_point) and its variants, over a row form and a column form.

#include "arithmetic.h"
#include "formats.h"
#include "forms.h"
#include "schedule.h"
#include "variants.h"

namespace {

using namespace Halide;
using namespace qdq;

class Quantize : public Generator<Quantize> {
public:
    GeneratorParam<format> stored{"stored", format::i8, format_names()};
    GeneratorParam<form> shape{"form", form::row, form_names()};
    // Exact division by FMA needs FMA instructions; without them the division instruction serves.
    GeneratorParam<bool> has_fma{"has_fma", true};

    Input<Buffer<void, 2>> x{"x"};               // f32, f16 or bf16
    Input<Buffer<float, 1>> scale{"scale"};      // along r (row) or c (column, block)
    Input<Buffer<int32_t, 1>> zero_point{"zero_point"};  // like scale; the bits of an f32 in `before` variants
    Input<int32_t> variant{"variant"};           // quantize_variant
    Input<int32_t> before{"before"};             // the general variants: is zero_point an f32 added before rounding?
    Input<int32_t> rounding{"rounding"};         // the general variants: qdq_rounding
    Input<int32_t> lowest{"lowest"};             // integer formats: the range to saturate to
    Input<int32_t> highest{"highest"};
    Input<int32_t> no_saturate{"no_saturate"};   // float formats
    Output<Buffer<void, 2>> y{"y"};

    void generate() {
        declare_views(shape, x, scale, zero_point);
        Expr s = scale(operand_index(shape, c, r));
        reciprocal(operand) = divide(1.0f, scale(operand));
        Expr inverse = reciprocal(operand_index(shape, c, r));
        Expr z = zero_point(operand_index(shape, c, r));
        Expr value = cast<float>(x(c, r));

        code(c, r) = select(variant_is(quantize_variant::multiply), fast_multiply(value, s, z, offset::none),
                            variant_is(quantize_variant::multiply_after), fast_multiply(value, s, z, offset::after),
                            variant_is(quantize_variant::multiply_before), fast_multiply(value, s, z, offset::before),
                            variant_is(quantize_variant::divide), fast_divide(value, s, inverse, z, offset::none),
                            variant_is(quantize_variant::divide_after), fast_divide(value, s, inverse, z, offset::after),
                            variant_is(quantize_variant::divide_before),
                            fast_divide(value, s, inverse, z, offset::before),
                            variant_is(quantize_variant::general_multiply), general(multiply(value, s), value, z),
                            general(divide(value, s), value, z));
        narrow();
    }

    void schedule() {
        quantize_stages stages;
        stages.output = y;
        stages.reciprocal = reciprocal;
        stages.code = code;
        stages.narrowed = narrowed;
        stages.form = shape;
        for (quantize_variant v : used_variants()) {
            stages.variants.push_back(variant_is(v));
        }
        apply_schedule(get_target(), stages);
    }

private:
    enum class offset { none, after, before };

    Expr variant_is(quantize_variant v) { return variant == static_cast<int>(v); }

    // A float format takes no zero point and rounds one way.
    std::vector<quantize_variant> used_variants() const {
        using enum quantize_variant;
        if (is_float(stored)) {
            return {multiply, divide, general_divide};
        }
        return {multiply, multiply_after, multiply_before, divide, divide_after, divide_before, general_multiply,
                general_divide};
    }

    // Past this magnitude every code has saturated, whatever a fast variant's zero point (below 2^20).
    float bound() { return stored == format::i32 ? 8589934592.0f : 2097152.0f; }

    Expr fast_multiply(Expr value, Expr s, Expr z, offset how) {
        return finish(bounded_above(multiply(value, s), how), value, z, how);
    }

    Expr fast_divide(Expr value, Expr s, Expr inverse, Expr z, offset how) {
        if (!has_fma) {
            return finish(bounded_above(divide(value, s), how), value, z, how);
        }
        // Bounded so that neither the product nor the remainder overflows; a NaN passes.
        Expr limit = multiply(s, bound());
        Expr bounded = min_or_second(limit, value);
        if (is_float(stored)) {
            bounded = max_or_second(-limit, bounded);
        }
        Expr t = divide_by_reciprocal(bounded, s, inverse);
        return finish(is_float(stored) ? copy_sign(t, value) : t, value, z, how);  // the remainder loses -0
    }

    // Variants that narrow by saturation alone convert t to an integer as it is: keep it below 2^31. A NaN passes.
    Expr bounded_above(Expr t, offset how) {
        const bool converted_as_is = !is_float(stored) && stored != format::i32 && how == offset::none;
        return converted_as_is ? min_or_second(bound(), t) : t;
    }

    Expr finish(Expr t, Expr value, Expr z, offset how) {
        if (is_float(stored)) {
            return encode(stored, t, value, no_saturate);
        }
        if (stored == format::i32) {
            return finish_i32(how == offset::before ? add(t, reinterpret<float>(z)) : t);
        }
        Expr low = cast<float>(lowest), high = cast<float>(highest);
        switch (how) {
        case offset::none:  // the full range: narrowing saturates, and a NaN converts to -2^31
            return convert_nearest(t);
        case offset::after: {
            // Adding 1.5 * 2^23 rounds to an integer, so the zero point can join while still in floating point.
            const float aligner = 12582912.0f;
            Expr offset = cast<float>(z);
            Expr in_range = clamp_or_low(t, subtract(low, offset), subtract(high, offset));
            return convert_nearest(add(add(in_range, aligner), subtract(offset, aligner)));
        }
        default:
            return convert_nearest(clamp_or_low(add(t, reinterpret<float>(z)), low, high));
        }
    }

    // 2147483647 is not an f32: the largest below 2^31 is 2147483520. NaN and anything below -2^31 convert to -2^31.
    Expr finish_i32(Expr t) {
        Expr code = select(less(2147483520.0f, t), INT32_MAX, convert_nearest(t));
        return clamp(code, lowest, highest);
    }

    // t within [low, high]; low where t is NaN.
    Expr clamp_or_low(Expr t, Expr low, Expr high) { return min_or_second(max_or_second(t, low), high); }

    Expr general(Expr t, Expr value, Expr z) {
        if (is_float(stored)) {
            return encode(stored, t, value, no_saturate);
        }
        t = select(before != 0, add(t, reinterpret<float>(z)), t);
        Expr rounded = saturating_sum(round_to_integral(t, rounding), select(before != 0, 0, z));
        return clamp(select(not_a_number(t), lowest, rounded), lowest, highest);
    }

    // The int32 code as an element of y, saturated: the full-range variants leave that to narrowing instructions.
    void narrow() {
        const Type type = storage_type(stored);
        if (type.bits() == 32) {
            y(c, r) = code(c, r);
            return;
        }
        Expr in_order = code(lanes.index(), r);
        narrowed(lanes.arguments(r)) = type == UInt(16)
                                           ? saturating_cast(type, in_order)
                                           : saturating_cast(type, saturating_cast(Int(16), in_order));
        y(c, r) = narrowed(lanes.place(c, r));
    }

    Var c{"c"}, r{"r"}, operand{"operand"};
    lane_order lanes;
    Func reciprocal{"reciprocal"}, code{"code"}, narrowed{"narrowed"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Quantize, quantize)
