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
    GeneratorParam<int> only_variant{"only_variant", -1};  // autoschedulers make no copy of the loops for each
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
        if (paired()) {
            value_pair(c, r) = element().element_pair(value(c, 0, r), value(c, 1, r));
            y(c, r) = extract_bits(y.type(), value_pair(c / 2, r), cast<uint32_t>(16 * (c % 2)));
        } else {
            y(c, r) = select_variant(variant, variants(), [&](kind k) {
                return element().element(k, value(c / places(), c % places(), r));
            });
        }
        set_estimates();
    }

    void schedule() {
        if (using_autoscheduler()) {
            return;
        }
        dequantize_stages stages;
        stages.output = y;
        stages.decoded = decoded;
        stages.value = value;
        stages.value_pair = value_pair;
        stages.codes_per_byte = loads_words() ? 1 : stored().codes_per_byte();
        stages.least_lanes = on().least_lanes();
        stages.variants = with_and_without(selection().has_longest_blocks(), conditions_of(variant, variants()));
        cpu_schedule_named(schedule_name).dequantize(stages, tuned);
    }

private:
    void set_estimates() {
        estimate_view(x, stored());
        estimate_view(y, type_named(float_name));
        estimate_operand(form, stored(), scale);
        estimate_operand(form, stored(), zero_point);
        variant.set_estimate(0);
        sign.set_estimate(1);
    }

    const element_type &stored() const { return type_named(stored_name); }
    instructions on() const { return instructions_named(abilities); }
    dequantize_element element() const {
        return {on(), stored(), type_named(float_name), tuned.decoding == decoding::table};
    }

    std::vector<kind> variants() const {
        std::vector<kind> used = {kind::plain};
        if (stored().is_integer()) {
            used.push_back(kind::offset);
        }
        if (form == kernels::form::column) {
            used.push_back(kind::general);
        }
        if (stored().is_integer() && (form == kernels::form::column || stored().bits == 32)) {
            used.push_back(kind::exact);
        }
        return only(only_variant, used);
    }

    bool decodes_as_f16() const {
        const bool natively = tuned.decoding == decoding::native;
        require(on().f16 || !natively, "decoding is native", "f16");
        return natively && stored().is_float() && has_f16_layout(stored().layout);
    }

    // The codes of a byte part while lanes are bytes: at the top of one, or alone in it.
    bool splits_bytes() const { return stored().is_packed() && on().byte_shifts && !loads_words(); }
    Expr top_of_byte() { return x(c, r) << cast<uint8_t>(stored().bits * (stored().codes_per_byte() - 1 - place)); }
    Expr code_of_byte() {
        return stored().is_signed() ? reinterpret<int8_t>(top_of_byte()) >> (8 - stored().bits)
                                    : top_of_byte() >> (8 - stored().bits);
    }

    bool paired() const {
        const element_type &floats = type_named(float_name);
        return tuned.lane_holds == lane_holds::pair && pairs(floats, stored()) && !converts_normals(on(), floats);
    }

    // Whether each lane loads the 32 bits that hold its code, and shifts them. Lanes then lie in the order of elements,
    // where the codes of bytes interleave: the column form takes half the time for i4 to f32 by AVX2, and a quarter for
    // i2 (Zen 3).
    bool loads_words() const { return stored().is_packed() && tuned.packed_load == packed_load::words && !paired(); }

    // Elements that are computed from one number: those of a byte of packed codes, or of two codes of 8 bits. A lane
    // that loads a word computes one element of it.
    int places() const { return paired() ? 2 : loads_words() ? 1 : stored().codes_per_byte(); }

    // Which of the codes of a word is that of column c.
    Expr place_in_word() const { return cast<uint32_t>(c % (32 / stored().bits)); }

    // The word that holds the code of column c.
    Expr word() {
        Expr first = c / (32 / stored().bits) * 4;
        auto byte = [&](int i) { return reinterpret<uint8_t>(x(first + i, r)); };
        return concat_bits({byte(0), byte(1), byte(2), byte(3)});
    }

    Expr number() {
        auto bits = [&](const Expr &column) { return reinterpret<uint8_t>(x(column, r)); };
        return paired() && !stored().is_packed() ? concat_bits({bits(2 * c), bits(2 * c + 1)}) : x(c, r);
    }

    // The code at a place of a number, in lanes of a type; of packed codes other bits may stand above it.
    Expr code_in(Type lanes) {
        if (loads_words()) {
            return cast(lanes, word() >> (stored().bits * place_in_word()));
        }
        if (places() == 1) {
            return cast(lanes, number());
        }
        Expr code = cast(lanes, number()) >> cast(lanes, stored().bits * place);
        return stored().is_packed() ? code : code & Internal::make_const(lanes, 0xff);
    }

    Expr integer() {
        if (loads_words()) {
            return integer_value(stored(), word(), place_in_word());
        }
        return splits_bytes() ? cast<int32_t>(decoded(c, place, r))
                              : integer_value(stored(), number(), places() > 1 ? Expr(place) : 0);
    }

    // A lane of packed bytes computes the place of its operand, and chooses none.
    operand_selection selection() const {
        const int lanes = stored().is_packed() && !loads_words() ? 1 : std::max<int>(tuned.vector, tuned.stored_vector);
        return {form,  stored().block,    stored().longest_block, places(),
                lanes, y.dim(0).extent(), scale.dim(0).extent()};
    }

    Expr value_of(kind k) {
        Expr s = selection().of(scale, c, place, r), z = selection().of(zero_point, c, place, r);
        if (k == kind::plain && decodes_as_f16()) {
            return element().value_of_f16(decoded(c, place, r), s);
        }
        return element().value(k, stored().is_float() ? code_in(UInt(32)) : integer(),
                               {s, reinterpret<float>(z), z, sign});
    }

    Var c{"c"}, place{"place"}, r{"r"};
    Func decoded{"decoded"}, value{"value"}, value_pair{"value_pair"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Dequantize, dequantize)
