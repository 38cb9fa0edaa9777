// dequantize on a processor: where codes and operands come from, and where values go. What a value is:
// dequantize_element.h.
#include "cpu_kernel.h"
#include "dequantize_element.h"
#include "schedule.h"

namespace {

using namespace Halide;
using namespace qdq;
using kind = dequantize_variant;

class Dequantize : public Generator<Dequantize> {
public:
    GeneratorParam<std::string> float_name{"float", "f32"};  // of kernels/manifest.cmake, as the next
    GeneratorParam<std::string> stored_name{"stored", "i8"};
    GeneratorParam<kernels::form> form{"form", kernels::form::row, form_names()};
    GeneratorParam<std::string> abilities{"instructions", ""};
    GeneratorParam<std::string> schedule_name{"schedule", "x86_portable"};
    dequantize_parameters tuned;

    Input<Buffer<void, 2>> x{"x"};                       // bytes of packed codes
    Input<Buffer<float, 1>> scale{"scale"};              // along r (row) or c (column, block)
    Input<Buffer<int32_t, 1>> zero_point{"zero_point"};  // like scale; the bits of an f32, or an int32 (exact)
    Input<int32_t> variant{"variant"};                   // dequantize_variant
    Input<int32_t> sign{"sign"};                         // exact: 1 adds the zero point, -1 subtracts it
    Output<Buffer<void, 2>> y{"y"};

    void configure() {
        x.set_type(buffer_type(stored()));
        y.set_type(buffer_type(type_named(float_name)));
    }

    void generate() {
        x.dim(0).set_min(0);
        x.dim(1).set_min(0);
        declare_operand_view(form, scale);
        declare_operand_view(form, zero_point);
        if (decodes_as_f16()) {
            decoded(c, place, r) = splits_bytes() ? cast<uint16_t>(f16_top(stored().layout, top_of_byte())) << 8
                                                  : f16_bits(stored().layout, code_in(UInt(16)));
        } else if (splits_bytes()) {
            decoded(c, place, r) = cast<int16_t>(code_of_byte());
        }
        value(c, place, r) = select_variant(variant, variants(), [&](kind k) { return value_of(k); });
        const int places = stored().codes_per_byte();
        y(c, r) = element().element(value(c / places, c % places, r));
    }

    void schedule() {
        dequantize_stages stages;
        stages.output = y;
        stages.decoded = decoded;
        stages.value = value;
        stages.codes_per_byte = stored().codes_per_byte();
        stages.variants = conditions_of(variant, variants());
        cpu_schedule_named(schedule_name).dequantize(stages, tuned);
    }

private:
    const element_type &stored() const { return type_named(stored_name); }
    instructions on() const { return instructions_named(abilities); }
    dequantize_element element() const { return {on(), stored(), type_named(float_name)}; }

    std::vector<kind> variants() const {
        std::vector<kind> used = {kind::plain};
        if (stored().is_integer()) {
            used.push_back(kind::offset);
        }
        if (form == kernels::form::column) {
            used.push_back(kind::general);
        }
        if (form == kernels::form::column && stored().is_integer()) {
            used.push_back(kind::exact);
        }
        return used;
    }

    bool decodes_as_f16() const { return stored().is_float() && on().f16 && has_f16_layout(stored().layout); }

    // The codes of a byte part while lanes are bytes: at the top of one, or alone in it.
    bool splits_bytes() const { return stored().is_packed() && on().byte_shifts; }
    Expr top_of_byte() { return x(c, r) << cast<uint8_t>(stored().bits * (stored().codes_per_byte() - 1 - place)); }
    Expr code_of_byte() {
        return stored().is_signed() ? reinterpret<int8_t>(top_of_byte()) >> (8 - stored().bits)
                                    : top_of_byte() >> (8 - stored().bits);
    }

    // The code at a place of an element of x, in lanes of a type; other bits may stand above it.
    Expr code_in(Type lanes) {
        return stored().is_packed() ? cast(lanes, x(c, r)) >> cast(lanes, stored().bits * place) : cast(lanes, x(c, r));
    }

    Expr integer() {
        return splits_bytes() ? cast<int32_t>(decoded(c, place, r))
                              : integer_value(stored(), x(c, r), stored().is_packed() ? Expr(place) : 0);
    }

    Expr value_of(kind k) {
        Expr at = operand_index(form, stored().block, stored().codes_per_byte() * c + place, r);
        Expr s = scale(at), z = zero_point(at);
        if (k == kind::plain && decodes_as_f16()) {
            return element().value_of_f16(decoded(c, place, r), s);
        }
        return element().value(k, stored().is_float() ? code_in(UInt(32)) : integer(),
                               {s, reinterpret<float>(z), z, sign});
    }

    Var c{"c"}, place{"place"}, r{"r"};
    Func decoded{"decoded"}, value{"value"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Dequantize, dequantize)
