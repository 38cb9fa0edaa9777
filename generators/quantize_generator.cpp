// quantize on a processor: where elements and operands come from, and where codes go. What a code is:
// quantize_element.h.
#include "arithmetic.h"
#include "cpu_kernel.h"
#include "quantize_element.h"
#include "schedule.h"

#include <algorithm>

namespace {

using namespace Halide;
using namespace qdq;
using kind = quantize_variant;

class Quantize : public Generator<Quantize> {
public:
    GeneratorParam<std::string> float_name{"float", "f32"};  // of kernels/manifest.cmake, as the next
    GeneratorParam<std::string> stored_name{"stored", "i8"};
    GeneratorParam<kernels::form> form{"form", kernels::form::row, form_names()};
    GeneratorParam<std::string> abilities{"instructions", ""};
    GeneratorParam<std::string> schedule_name{"schedule", "x86_portable"};
    GeneratorParam<int> only_variant{"only_variant", -1};  // autoschedulers make no copy of the loops for each
    quantize_parameters tuned;

    Input<Buffer<void, 2>> x{"x"};
    Input<Buffer<float, 1>> scale{"scale"};              // along r (row) or c (column, block)
    Input<Buffer<float, 1>> inverse{"inverse"};          // like scale: 1 / scale
    Input<Buffer<int32_t, 1>> zero_point{"zero_point"};  // like scale; the bits of an f32, or an int32
    Input<int32_t> variant{"variant"};                   // quantize_variant
    Input<int32_t> before{"before"};      // general, rounded: zero_point is added before rounding, an f32
    Input<int32_t> rounding{"rounding"};  // general, rounded: qdq_rounding
    Input<int32_t> lowest{"lowest"};      // integer types: the range to saturate to
    Input<int32_t> highest{"highest"};
    Input<int32_t> no_saturate{"no_saturate"};  // general: float types; integer types: NaN gives 0
    Output<Buffer<void, 2>> y{"y"};             // bytes of packed codes

    void configure() {
        x.set_type(buffer_type(type_named(float_name)));
        y.set_type(buffer_type(type_named(stored_name)));
    }

    void generate() {
        x.dim(0).set_min(0);
        x.dim(1).set_min(0);
        declare_operand_view(form, scale);
        declare_operand_view(form, inverse);
        declare_operand_view(form, zero_point);

        value(c, r) = float_value(on(), type_named(float_name), x_bits(c));
        broadcast(c, r) = Tuple(selection(1).of(scale, c, 0, r), selection(1).of(inverse, c, 0, r),
                                selection(1).of(zero_point, c, 0, r));
        // The codes of a byte stand apart in registers: they are lanes of one number.
        neighbours(c, place, r) = value(places() * c + place, r);
        if (paired()) {
            pair(c, r) = concat_bits({x_bits(2 * c), x_bits(2 * c + 1)});
        }
        if (keeps_quads()) {
            lanes = words = lane_order::of_quads();
        }
        compute_code();
        if (narrows_floats()) {
            narrow_floats();
        } else if (paired() && !stored().is_packed()) {
            code_pair(c, r) = cast<uint16_t>(code(c, r));
            y(c, r) = extract_bits(y.type(), code_pair(c / 2, r), cast<uint16_t>(8 * (c % 2)));
        } else if (element().narrows_by_saturating()) {
            narrow();
        } else {
            y(c, r) = cast(y.type(), code(c, r));
        }
        set_estimates();
    }

    void schedule() {
        if (using_autoscheduler()) {
            return;
        }
        quantize_stages stages;
        stages.output = y;
        stages.value = value;
        stages.broadcast = broadcast;
        stages.neighbours = paired() ? Func() : neighbours;
        stages.code = code;
        stages.code_pair = code_pair;
        stages.half_narrowed = half_narrowed;
        stages.narrowed = narrowed;
        stages.lanes = lanes;
        stages.sum = sum;
        stages.narrowed_sum = narrowed_sum;
        stages.words = words;
        stages.packing = packing;
        stages.form = form;
        stages.longest_block = stored().longest_block;
        stages.codes_per_byte = stored().codes_per_byte();
        stages.variants = conditions();
        cpu_schedule_named(schedule_name).quantize(stages, tuned);
    }

private:
    void set_estimates() {
        estimate_view(x, type_named(float_name));
        estimate_view(y, stored());
        for (auto *operand : {&scale, &inverse}) {
            estimate_operand(form, stored(), *operand);
        }
        estimate_operand(form, stored(), zero_point);
        for (auto *option : {&variant, &before, &rounding, &no_saturate}) {
            option->set_estimate(0);
        }
        lowest.set_estimate(int32_t(stored().lowest()));
        highest.set_estimate(int32_t(stored().highest()));
    }

    // A float type takes no zero point and rounds one way. Quotients are not rounded, and those of integers are to be.
    std::vector<kind> variants() const {
        std::vector<kind> used = {kind::multiply, kind::divide};
        if (stored().is_integer() || stored().roles.floats) {
            used.insert(used.end(), {kind::multiply_before, kind::divide_before});
        }
        if (stored().is_integer()) {
            used.insert(used.end(), {kind::multiply_after, kind::divide_after});
        }
        if (stored().is_integer() && form != kernels::form::block) {
            used.insert(used.end(), {kind::rounded_multiply, kind::rounded_divide});
        }
        if (form == kernels::form::column) {
            used.push_back(kind::general_multiply);  // and general_divide
        }
        return only(only_variant, used);
    }

    // Rounded variants may have two ways each, general ones are one.
    std::vector<Expr> conditions() {
        std::vector<Expr> all;
        for (kind k : variants()) {
            Expr is_k = is_general(k) ? variant >= int(kind::general_multiply) : variant == int(k);
            if (is_rounded(k) && tuned.rounding_loops == rounding_loops::apart) {
                all.push_back(is_k && rounds_to_one_side(rounding));
                all.push_back(is_k && !rounds_to_one_side(rounding));
            } else {
                all.push_back(is_k);
            }
        }
        return with_and_without(selection(places()).has_longest_blocks(), all);
    }

    bool paired() const { return tuned.lane_holds == lane_holds::pair && pairs(type_named(float_name), stored()); }

    void compute_code() {
        const auto of_variant = [&](auto &&of) { return select_variant(variant, variants(), of); };
        if (!narrows_floats()) {
            code(c, r) = of_variant([&](kind k) { return places() > 1 ? codes_of(k) : element_code(k); });
            return;
        }
        const auto part = [&](Expr encoded::*of) {
            return of_variant([&](kind k) { return reinterpret<int32_t>(magnitude_and_sign(k).*of); });
        };
        code(c, r) = Tuple(part(&encoded::magnitude), part(&encoded::sign));
    }

    bool narrows_floats() const { return element().narrows_by_saturating() && stored().is_float(); }

    // Elements whose codes are computed into one number.
    int places() const { return paired() ? 2 : element().narrows_by_saturating() ? 1 : stored().codes_per_byte(); }

    Expr x_bits(const Expr &column) { return reinterpret(UInt(x.type().bits()), x(column, r)); }

    // The f32 at a place of number c.
    Expr neighbour(int i) {
        return paired() ? float_value(on(), type_named(float_name), cast<uint16_t>(pair(c, r) >> (16 * i)))
                        : neighbours(c, i, r);
    }

    static bool is_general(kind k) { return k == kind::general_multiply || k == kind::general_divide; }
    static bool is_rounded(kind k) { return k == kind::rounded_multiply || k == kind::rounded_divide; }
    static bool adds_after(kind k) { return k == kind::multiply_after || k == kind::divide_after; }
    static bool multiplies(kind k) {
        return k == kind::multiply || k == kind::multiply_before || k == kind::multiply_after ||
               k == kind::rounded_multiply;
    }

    // Where codes saturate while they are narrowed, schedules broadcast operands for the longest block at once.
    operand_selection selection(int places) const {
        const int lanes = element().narrows_by_saturating() ? stored().longest_block : int(tuned.vector);
        return {form, stored().block, stored().longest_block, places, lanes, x.dim(0).extent(), scale.dim(0).extent()};
    }

    // The zero point as a variant takes it.
    quantize_operands operands(kind k, const Expr &scale, const Expr &inverse, const Expr &zero_point) const {
        quantize_operands o{scale, inverse, {}, {}, {}};
        if (is_rounded(k)) {
            Expr z = reinterpret<float>(zero_point);
            o.offset = zero_unless(before != 0, z);
            o.addend = zero_unless(before == 0, z);
            o.rounding = rounding;
        }
        if (k == kind::multiply_before || k == kind::divide_before || is_general(k)) {
            o.offset = reinterpret<float>(zero_point);
        }
        if (adds_after(k)) {
            o.addend = reinterpret<float>(zero_point);
        } else if (is_general(k)) {
            o.addend = zero_point;
        }
        return o;
    }

    Expr code_of(kind k, const Expr &v, const quantize_operands &o) const {
        Expr is_product = variant == int(kind::general_multiply);
        return is_general(k) ? element().general_code(is_product, before != 0, v, o)
                             : element().fast_code(multiplies(k), v, o);
    }

    Expr element_code(kind k) { return code_of(k, value(c, r), operands_of_element(k)); }

    encoded magnitude_and_sign(kind k) {
        return is_general(k) ? element().magnitude_and_sign(element_code(k))
                             : element().fast_magnitude_and_sign(multiplies(k), value(c, r), operands_of_element(k));
    }

    Expr codes_of(kind k) {
        std::vector<Expr> values, codes;
        std::vector<quantize_operands> all;
        for (int i = 0; i < places(); i++) {
            values.push_back(neighbour(i));
            all.push_back(operands_of_place(k, i));
            codes.push_back(code_of(k, values[i], all[i]));
        }
        return is_general(k) ? element().packed(codes) : element().fast_codes(multiplies(k), values, all);
    }

    quantize_operands operands_of_element(kind k) {
        Tuple o = broadcast(c, r);
        return operands(k, o[0], o[1], o[2]);
    }

    quantize_operands operands_of_place(kind k, int place) {
        auto of_place = [&](auto &operand) { return selection(places()).of(operand, c, place, r); };
        return operands(k, of_place(scale), of_place(inverse), of_place(zero_point));
    }

    bool keeps_quads() const { return tuned.narrowing_lanes == 4 && stored().bits <= 8; }

    // In 16 bits, on the way to 8.
    std::vector<Expr> as_words(std::vector<Expr> codes) {
        for (Expr &e : codes) {
            e = saturating_cast(Int(16), e);
        }
        if (keeps_quads()) {
            half_narrowed(lanes.arguments(r)) = Tuple(codes);
            codes = parts_of(half_narrowed, lanes.arguments(r));
        }
        return codes;
    }

    template<typename Arguments> static std::vector<Expr> parts_of(const Func &f, const Arguments &arguments) {
        FuncRef all = f(arguments);
        return all.size() == 1 ? std::vector<Expr>{all} : Tuple(all).as_vector();
    }

    // The int32 code as an element of y, saturated: all but the general variants leave that to narrowing instructions.
    void narrow() {
        const int bits = std::max(stored().bits, 8);
        const Type type = stored().is_signed() ? Int(bits) : UInt(bits);
        Expr in_order = code(lanes.index(), r);
        narrowed(lanes.arguments(r)) = saturating_cast(type, type == UInt(16) ? in_order : as_words({in_order})[0]);
        Expr plain = narrowed(lanes.place(c, r));
        Expr added = element().adds_while_narrowing() ? narrowed_sums(type) : plain;
        store(select_variant(variant, variants(), [&](kind k) {
            const quantize_operands o = operands_of_element(k);
            const bool fills_type = o.is_plain() && !stored().is_packed();
            Expr e = o.addend.defined() ? added : plain;
            Expr in_range = clamp(e, cast(type, lowest), cast(type, highest));
            return is_general(k) ? plain : element().saturates(o) && !fills_type ? in_range : e;
        }));
    }

    Expr narrowed_sums(const Type &type) {
        Expr z = reinterpret<float>(broadcast(words.index(), r)[2]);
        Expr addend = zero_unless(before == 0, z);  // before: of rounded variants
        sum(words.arguments(r)) = element().sum_of_words(code(words.index(), r), addend);
        narrowed_sum(words.arguments(r)) = saturating_cast(type, sum(words.arguments(r)));
        return narrowed_sum(words.place(c, r));
    }

    // Magnitudes, and signs, of which only the highest bits are left.
    void narrow_floats() {
        Tuple in_order = code(lanes.index(), r);
        const std::vector<Expr> half = as_words(in_order.as_vector());
        narrowed(lanes.arguments(r)) = Tuple(saturating_cast(UInt(8), half[0]), saturating_cast(Int(8), half[1]));
        Tuple bytes = narrowed(lanes.place(c, r));
        const int sign_bit = stored().layout.sign_bit();
        Expr sign = reinterpret<uint8_t>(bytes[1]) >> (7 - sign_bit) & uint8_t(1 << sign_bit);
        store(bytes[0] | sign);
    }

    // Narrowed codes of elements; packed ones are summed, two neighbours at a time, until they fill a byte.
    void store(const Expr &of_element) {
        if (!stored().is_packed()) {
            y(c, r) = of_element;
            return;
        }
        Func codes("codes");
        codes(c, r) = cast<uint8_t>(of_element) & uint8_t((1 << stored().bits) - 1);
        for (int bits = stored().bits; bits < 8; bits *= 2) {
            const RDom place(0, 2);
            Func both("both"), narrowed_both("narrowed_both");
            Expr factor = cast<int8_t>(select(place == 0, 1, 1 << bits));
            both(c, r) = cast<int16_t>(0);
            both(c, r) = saturating_add(both(c, r), widening_mul(codes(2 * c + place, r), factor));
            narrowed_both(c, r) = saturating_cast(UInt(8), both(c, r));
            packing.insert(packing.end(), {codes, both});
            codes = narrowed_both;
        }
        y(c, r) = codes(c, r);
    }

    const element_type &stored() const { return type_named(stored_name); }
    instructions on() const { return instructions_named(abilities); }
    quantize_element element() const {
        // Not of bytes in zmm registers, which LLVM 21 then narrows by halves: f32 to i8 with an offset takes 37
        // instructions so, and 31.
        const bool clamps_narrowed = tuned.narrowing_lanes == 4 || stored().bits != 8;
        const quantize_methods by = {tuned.exact_division == exact_division::fma,
                                     tuned.narrowing == narrowing::saturating && !paired(), clamps_narrowed,
                                     form != kernels::form::column};
        return {on(), stored(), by, {rounding, lowest, highest, no_saturate}};
    }

    Var c{"c"}, place{"place"}, r{"r"};
    lane_order lanes, words = lane_order::of_words();
    Func value{"value"}, broadcast{"broadcast"}, neighbours{"neighbours"}, pair{"pair"}, code{"code"},
        code_pair{"code_pair"}, half_narrowed{"half_narrowed"}, narrowed{"narrowed"}, sum{"sum"},
        narrowed_sum{"narrowed_sum"};
    std::vector<Func> packing;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Quantize, quantize)
