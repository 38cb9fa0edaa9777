// quantize: y = saturate(round(x / scale) + zero_point) and its variants.

#include "arithmetic.h"
#include "formats.h"
#include "forms.h"
#include "schedule.h"
#include "variants.h"

namespace {

using namespace Halide;
using namespace qdq;
using kind = quantize_variant;

class Quantize : public Generator<Quantize> {
public:
    GeneratorParam<format> stored{"stored", format::i8, format_names()};
    GeneratorParam<form> shape{"form", form::row, form_names()};
    GeneratorParam<int> block{"block", 32};  // elements that share an operand in the block form
    GeneratorParam<instructions> on{"instructions", instructions::generic, instruction_names()};

    Input<Buffer<void, 2>> x{"x"};                       // f32, f16 or bf16
    Input<Buffer<float, 1>> scale{"scale"};              // along r (row) or c (column, block)
    Input<Buffer<float, 1>> inverse{"inverse"};          // like scale: 1 / scale
    Input<Buffer<int32_t, 1>> zero_point{"zero_point"};  // like scale; the bits of an f32, or an int32
    Input<int32_t> variant{"variant"};                   // quantize_variant
    Input<int32_t> before{"before"};                     // general: zero_point is an f32, and joins before rounding
    Input<int32_t> rounding{"rounding"};                 // general: qdq_rounding
    Input<int32_t> lowest{"lowest"};                     // integer formats: the range to saturate to
    Input<int32_t> highest{"highest"};
    Input<int32_t> no_saturate{"no_saturate"};  // general, float formats
    Output<Buffer<void, 2>> y{"y"};             // packed: half as many bytes as codes

    void generate() {
        x.dim(0).set_min(0);
        x.dim(1).set_min(0);
        declare_operand_view(shape, scale);
        declare_operand_view(shape, inverse);
        declare_operand_view(shape, zero_point);

        value(c, r) = widen(x(c, r));
        spread(c, r) = Tuple(scale(operand_index(shape, block, c, r)), inverse(operand_index(shape, block, c, r)),
                             zero_point(operand_index(shape, block, c, r)));
        // First and second of two neighbours stand apart in registers: the codes of a byte are lanes of one number.
        pairs(c, which, r) = value(2 * c + which, r);
        code(c, r) = for_each_variant([&](kind k) { return is_packed(stored) ? byte_of_pair(k) : element_code(k); });
        if (narrows_by_saturating()) {
            narrow();
        } else {
            y(c, r) = cast(y.type(), code(c, r));
        }
    }

    void schedule() {
        quantize_stages stages;
        stages.output = y;
        stages.value = value;
        stages.spread = spread;
        stages.pairs = pairs;
        stages.code = code;
        stages.narrowed = narrowed;
        stages.form = shape;
        stages.block = block;
        stages.packs = is_packed(stored);
        for (kind k : used_variants()) {
            stages.variants.push_back(variant_is(k));
        }
        apply_schedule(get_target(), stages);
    }

private:
    Expr widen(Expr element) {
        if (x.type() == BFloat(16)) {  // as cast<float> has it, which warns that it is emulated
            return bf16_value(reinterpret<uint16_t>(element));
        }
        if (x.type() == Float(16) && !convert_f16(on)) {
            return f16_value(on, reinterpret<uint16_t>(element));
        }
        return cast<float>(element);
    }

    bool narrows_by_saturating() {
        return saturate_integers(on) && is_integer(stored) && code_type(stored).bits() < 32 && !is_packed(stored);
    }

    Expr variant_is(kind k) { return variant == static_cast<int>(k); }

    // A float format takes no zero point and rounds one way.
    std::vector<kind> used_variants() const {
        std::vector<kind> used = {kind::multiply, kind::divide};
        if (is_integer(stored)) {
            used.insert(used.end(), {kind::multiply_before, kind::divide_before});
        }
        if (is_integer(stored) && stored != format::i32) {
            used.insert(used.end(), {kind::multiply_after, kind::divide_after});
        }
        if (shape == form::column) {
            used.insert(used.end(), {kind::general_multiply, kind::general_divide});
        }
        return used;
    }

    template<typename Code>
    Expr for_each_variant(Code &&code) {
        const std::vector<kind> used = used_variants();
        Expr all = code(used.back());
        for (size_t i = used.size() - 1; i-- > 0;) {
            all = select(variant_is(used[i]), code(used[i]), all);
        }
        return all;
    }

    static bool is_general(kind k) { return k == kind::general_multiply || k == kind::general_divide; }
    static bool multiplies(kind k) {
        return k == kind::multiply || k == kind::multiply_before || k == kind::multiply_after ||
               k == kind::general_multiply;
    }

    // An element of x with its operands.
    struct element {
        Expr x, scale, inverse, zero_point;
    };

    Expr element_code(kind k) {
        Tuple o = spread(c, r);
        return element_code(k, {value(c, r), o[0], o[1], o[2]});
    }

    Expr element_code(kind k, const element &e) {
        if (is_integer(stored)) {
            return integer_code(k, e);
        }
        return cast<int32_t>(is_general(k) ? encode_any(on, stored, scaled(k, e), e.x, no_saturate)
                                           : code_of(on, stored, encoded_by(k, e)));
    }

    Expr byte_of_pair(kind k) {
        const element first = pair_element(0), second = pair_element(1);
        if (is_float(stored) && !is_general(k)) {
            return cast<int32_t>(byte_of(on, stored, encoded_by(k, first), encoded_by(k, second)));
        }
        return (element_code(k, first) & 0xf) | (element_code(k, second) << 4);
    }

    element pair_element(int place) {
        Expr v = pairs(c, place, r);
        if (shape != form::block || block != 16) {
            Expr i = operand_index(shape, block, 2 * c + place, r);
            return {v, scale(i), inverse(i), zero_point(i)};
        }
        // Such that 16 pairs load the operands of two blocks of 16 elements.
        Expr in_first = c % 16 < 8, first = c / 16 * 2;
        auto own = [&](auto &operand) { return select(in_first, operand(first), operand(first + 1)); };
        return {v, own(scale), own(inverse), own(zero_point)};
    }

    Expr scaled(kind k, const element &e) { return multiplies(k) ? multiply(e.x, e.scale) : divide(e.x, e.scale); }

    encoded encoded_by(kind k, const element &e) {
        Expr magnitude = abs_bits(on, e.x);
        Expr t = multiplies(k) ? multiply(magnitude, e.scale) : quotient(magnitude, saturating_magnitude(stored), e);
        return encode(on, stored, t, e.x);
    }

    // x / scale where that is below a limit, otherwise the limit, nearly: neither product nor remainder overflows
    // upwards. A NaN passes; what overflows downwards becomes infinite, or NaN, and then the lowest code.
    Expr quotient(Expr x, float limit, const element &e) {
        Expr bounded = lesser(on, multiply(e.scale, limit), x);
        return have_fma(on) ? divide_by_reciprocal(bounded, e.scale, e.inverse) : divide(bounded, e.scale);
    }

    Expr integer_code(kind k, const element &e) {
        if (is_general(k)) {
            return general_code(on, scaled(k, e), before != 0, reinterpret<float>(e.zero_point), e.zero_point, rounding,
                                lowest, highest);
        }
        Expr t = multiplies(k) ? scaled(k, e) : quotient(e.x, saturating_magnitude(stored), e),
             offset = reinterpret<float>(e.zero_point);
        switch (k) {
        case kind::multiply:
        case kind::divide:
            if (narrows_by_saturating()) {  // t is to be below 2^31; NaN and all below -2^31 convert to -2^31
                return convert_nearest(on, multiplies(k) ? lesser(on, saturating_magnitude(stored), t) : t);
            }
            if (convert_saturating(on) && is_unsigned(stored)) {  // NaN gives 0, the lowest code
                return cast<int32_t>(convert_nearest_unsigned(lesser(on, cast<float>(highest), t)));
            }
            return stored == format::i32 ? nearest_i32(on, t, lowest, highest) : nearest_in_range(t);
        case kind::multiply_before:
        case kind::divide_before:
            return stored == format::i32 ? nearest_i32(on, add(t, offset), lowest, highest)
                                         : nearest_in_range(add(t, offset));
        default:
            return aligned_sum(on, t, offset, lowest, highest);
        }
    }

    Expr nearest_in_range(Expr t) {
        return in_low_bits(clamp_or_low(on, t, cast<float>(lowest), cast<float>(highest)));
    }

    Expr in_low_bits(Expr t) { return saturate_integers(on) ? convert_nearest(on, t) : align_nearest(t); }

    // The int32 code as an element of y, saturated: the plain variants leave that to narrowing instructions.
    void narrow() {
        const Type type = code_type(stored);
        Expr in_order = code(lanes.index(), r);
        narrowed(lanes.arguments(r)) = type == UInt(16) ? saturating_cast(type, in_order)
                                                        : saturating_cast(type, saturating_cast(Int(16), in_order));
        y(c, r) = narrowed(lanes.place(c, r));
    }

    Var c{"c"}, which{"which"}, r{"r"};
    lane_order lanes;
    Func value{"value"}, spread{"spread"}, pairs{"pairs"}, code{"code"}, narrowed{"narrowed"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Quantize, quantize)
