// dequantize: y = (q - zero_point) * scale, over the same forms as quantize.

#include "arithmetic.h"
#include "formats.h"
#include "forms.h"
#include "schedule.h"
#include "variants.h"

#include <cmath>

namespace {

using namespace Halide;
using namespace qdq;
using kind = dequantize_variant;

class Dequantize : public Generator<Dequantize> {
public:
    GeneratorParam<format> stored{"stored", format::i8, format_names()};
    GeneratorParam<form> shape{"form", form::row, form_names()};
    GeneratorParam<int> block{"block", 32};  // elements that share an operand in the block form
    GeneratorParam<instructions> on{"instructions", instructions::generic, instruction_names()};

    Input<Buffer<void, 2>> x{"x"};                       // packed: half as many bytes as codes
    Input<Buffer<float, 1>> scale{"scale"};              // along r (row) or c (column, block)
    Input<Buffer<int32_t, 1>> zero_point{"zero_point"};  // like scale; the bits of an f32, or an int32 (exact)
    Input<int32_t> variant{"variant"};                   // dequantize_variant
    Input<int32_t> sign{"sign"};                         // exact: 1 adds the zero point, -1 subtracts it
    Output<Buffer<void, 2>> y{"y"};                      // f32, f16 or bf16

    void generate() {
        x.dim(0).set_min(0);
        x.dim(1).set_min(0);
        declare_operand_view(shape, scale);
        declare_operand_view(shape, zero_point);
        if (decodes_as_f16()) {
            decoded(c, which, r) = splits_bytes() ? cast<uint16_t>(f16_top(stored, top_of_byte())) << 8
                                                  : f16_bits(stored, code(cast<uint16_t>(byte())));
        } else if (splits_bytes()) {
            decoded(c, which, r) = cast<int16_t>(code_of_byte());
        }
        product(c, which, r) = for_each_variant([&](kind k) { return product_of(k); });
        y(c, r) = narrow(is_packed(stored) ? product(c / 2, c % 2, r) : product(c, 0, r));
    }

    void schedule() {
        dequantize_stages stages;
        stages.output = y;
        stages.decoded = decoded;
        stages.product = product;
        stages.form = shape;
        stages.packs = is_packed(stored);
        for (kind k : used_variants()) {
            stages.variants.push_back(variant_is(k));
        }
        apply_schedule(get_target(), stages);
    }

private:
    Expr variant_is(kind k) { return variant == static_cast<int>(k); }

    std::vector<kind> used_variants() const {
        std::vector<kind> used = {kind::plain};
        if (is_integer(stored)) {
            used.push_back(kind::offset);
        }
        if (shape == form::column) {
            used.push_back(kind::general);
        }
        if (shape == form::column && is_integer(stored)) {
            used.push_back(kind::exact);
        }
        return used;
    }

    template<typename Product>
    Expr for_each_variant(Product &&product) {
        const std::vector<kind> used = used_variants();
        Expr all = product(used.back());
        for (size_t i = used.size() - 1; i-- > 0;) {
            all = select(variant_is(used[i]), product(used[i]), all);
        }
        return all;
    }

    bool decodes_as_f16() const { return is_float(stored) && convert_f16(on) && has_f16_layout(stored); }

    // The two codes of a byte part while lanes are bytes: in the upper half of one, or alone in it.
    bool splits_bytes() const { return is_packed(stored) && shift_bytes(on); }
    Expr top_of_byte() { return select(which == 0, byte() << 4, byte()); }
    Expr code_of_byte() { return stored == format::u4 ? code(byte()) : reinterpret<int8_t>(top_of_byte()) >> 4; }

    // The element that holds the code of place `which` in element c, and the number of that code's place.
    Expr byte() { return x(c, r); }

    // Of packed formats the code at place `which` of a wider byte.
    Expr code(Expr byte) { return is_packed(stored) ? select(which == 0, byte & 0xf, byte >> 4) : byte; }

    Expr integer() {
        if (!is_packed(stored)) {
            return byte();
        }
        if (splits_bytes()) {
            return decoded(c, which, r);
        }
        if (stored == format::u4) {
            return code(cast<int32_t>(byte()));
        }
        Expr on_top = cast<uint32_t>(byte()) << select(which == 0, 28, 24);
        return cast<int32_t>(on_top) >> 28;
    }

    Expr operand_at() { return operand_index(shape, block, is_packed(stored) ? 2 * c + which : Expr(c), r); }

    Expr product_of(kind k) {
        Expr s = scale(operand_at()), z = zero_point(operand_at());
        if (is_float(stored)) {
            return k == kind::plain ? plain_float_product(s) : one_nan(multiply(decode(on, stored, code(byte())), s));
        }
        Expr q = cast<float>(integer());
        switch (k) {
        case kind::plain:
            return multiply(q, s);
        case kind::offset:
            return multiply(add(q, reinterpret<float>(z)), s);
        case kind::general:
            return one_nan(multiply(add(q, reinterpret<float>(z)), s));
        default:
            return one_nan(multiply(exact_sum_as_float(cast<int32_t>(integer()), z, sign), s));
        }
    }

    // A scale between 0 and 2^100: no NaN but of NaN codes.
    Expr plain_float_product(Expr s) {
        if (!decodes_as_f16()) {
            return multiply(decode(on, stored, code(byte())), s);
        }
        Expr short_of = cast<float>(reinterpret<float16_t>(decoded(c, which, r)));
        return multiply(short_of, multiply(s, std::ldexp(1.0f, f16_exponent_shift(stored))));
    }

    // Instruction sets differ in the sign and payload of the NaNs they make.
    Expr one_nan(Expr a) { return select(not_a_number(a), reinterpret<float>(bit_pattern(0x7fc00000)), a); }

    Expr narrow(Expr a) {
        if (y.type() == BFloat(16)) {
            return reinterpret<bfloat16_t>(bf16_bits(a));
        }
        if (y.type() == Float(16) && !convert_f16(on)) {
            return reinterpret<float16_t>(f16_code(on, a));
        }
        return cast(y.type(), a);
    }

    Var c{"c"}, which{"which"}, r{"r"};
    Func decoded{"decoded"}, product{"product"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Dequantize, dequantize)
