// dequantize: y = (q - zero_point) * scale, over the same forms as quantize.

#include "arithmetic.h"
#include "formats.h"
#include "forms.h"
#include "schedule.h"
#include "variants.h"

namespace {

using namespace Halide;
using namespace qdq;

class Dequantize : public Generator<Dequantize> {
public:
    GeneratorParam<format> stored{"stored", format::i8, format_names()};
    GeneratorParam<form> shape{"form", form::row, form_names()};

    Input<Buffer<void, 2>> x{"x"};
    Input<Buffer<float, 1>> scale{"scale"};              // along r (row) or c (column, block)
    Input<Buffer<int32_t, 1>> zero_point{"zero_point"};  // like scale; the bits of an f32, or an int32 (exact)
    Input<int32_t> variant{"variant"};                   // dequantize_variant
    Input<int32_t> sign{"sign"};                         // exact: 1 adds the zero point, -1 subtracts it
    Output<Buffer<void, 2>> y{"y"};                      // f32, f16 or bf16

    void generate() {
        declare_views(shape, x, scale, zero_point);
        Expr s = scale(operand_index(shape, c, r));
        Expr z = zero_point(operand_index(shape, c, r));
        Expr code = x(c, r);
        Expr q = decode(stored, code);
        Expr with_offset = multiply(add(q, reinterpret<float>(z)), s);
        Expr plain = multiply(q, s);
        y(c, r) = select(variant_is(dequantize_variant::plain), is_float(stored) ? rounded(plain) : cast(y.type(), plain),
                         variant_is(dequantize_variant::offset), cast(y.type(), with_offset),
                         variant_is(dequantize_variant::general), rounded(with_offset),
                         rounded(multiply(exact_difference(code, q, z), s)));
    }

    void schedule() {
        dequantize_stages stages;
        stages.output = y;
        stages.form = shape;
        for (int v = 0; v < dequantize_variant_count; v++) {
            stages.variants.push_back(variant == v);
        }
        apply_schedule(get_target(), stages);
    }

private:
    Expr variant_is(dequantize_variant v) { return variant == static_cast<int>(v); }

    Expr exact_difference(Expr code, Expr q, Expr z) {
        return is_float(stored) ? q : exact_sum_as_float(cast<int32_t>(code), z, sign);
    }

    // y's type from f32, with one NaN: instruction sets differ in the sign and payload of those they make.
    Expr rounded(Expr a) {
        const Type type = y.type();
        const uint64_t nan = type == Float(32) ? 0x7fc00000 : type == Float(16) ? 0x7e00 : 0x7fc0;
        return select(not_a_number(a), reinterpret(type, Internal::make_const(UInt(type.bits()), nan)), cast(type, a));
    }

    Var c{"c"}, r{"r"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Dequantize, dequantize)
