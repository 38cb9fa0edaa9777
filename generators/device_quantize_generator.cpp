// quantize on a device: where elements and operands come from, and where codes go. As the dispatcher cannot see the
// operands' values, each thread chooses between the fast variants and the general.
#include "chance.h"
#include "device_code.h"
#include "device_kernel.h"
#include "quantize_element.h"
#include "schedule.h"

namespace {

using namespace Halide;
using namespace qdq;

class DeviceQuantize : public Generator<DeviceQuantize> {
public:
    GeneratorParam<std::string> float_name{"float", "f32"};  // of kernels/manifest.cmake, as the next
    GeneratorParam<std::string> stored_name{"stored", "i8"};
    GeneratorParam<device_form> form{"form", device_form::group, device_form_names()};
    GeneratorParam<std::string> abilities{"instructions", "opencl"};
    GeneratorParam<std::string> schedule_name{"schedule", "opencl"};
    device_parameters tuned;
    device_code_parameters made;

    // Dense forms: the words of a group, and groups. Strided: elements (bytes of packed codes) of a page, and
    // pages. Operands are bytes of a page.
    Input<Buffer<void, 2>> x{"x"};
    Input<Buffer<uint8_t, 2>> scale{"scale"};
    Input<Buffer<uint8_t, 2>> zero_point{"zero_point"};
    Output<Buffer<void, 2>> y{"y"};

    void configure() {
        in.add_to(*this, form);
        x.set_type(device_buffer_type(form, floats(), tuned.unit_elements, stored().bits));
        y.set_type(device_buffer_type(form, stored(), tuned.unit_elements, stored().bits));
    }

    void generate() {
        kernel = {form, floats().bits, stored().bits, tuned.unit_elements, on()};
        kernel.codes_at_top =
            kernel.has_plain_ways() && stored().is_float() && stored().bits == 8 && stored().layout.sign_bit() == 7;
        kernel.define_places(in);
        bits(kernel.lane, kernel.unit) = kernel.element_bits(x, in);
        Expr own = bits(kernel.lane, kernel.unit), with_sign = float_value(on(), floats(), own);
        Expr without = float_value_or_nan(on(), floats(), own);
        kernel.define(value, kernel.lanes(),
                      spelled(on(), kernel.has_plain_ways() ? select(is_plain(), without, with_sign) : with_sign));
        define_operands();
        if (rounds_by_chance()) {
            define_random();
        }
        define_codes();
        kernel.store(y, in, code);
        if (kernel.has_plain_kernel()) {
            kernel.stages.apart = {is_plain()};
        }
        if (kernel.has_plain_ways() && rounds_by_chance()) {  // bf16 to i8 takes 45 registers without it, 55 with it
            kernel.stages.apart.push_back(is_by_chance());
        }
        kernel.set_estimates(in, x, scale, zero_point, y);
    }

    void schedule() {
        if (!using_autoscheduler()) {
            device_schedule_named(schedule_name).kernel(kernel.stages, tuned);
        }
        made.apply_to(get_pipeline(), get_target());
    }

private:
    const element_type &floats() const { return type_named(float_name); }
    const element_type &stored() const { return type_named(stored_name); }
    instructions on() const { return instructions_named(abilities); }
    quantize_element element() const {
        return {on(),
                stored(),
                {tuned.exact_division == exact_division::fma},
                {*in.rounding, *in.lowest, *in.highest, *in.no_saturate}};
    }

    enum way { general, fast_multiply, fast_divide, bounded };

    bool has_bounded_way() const { return kernel.has_plain_ways() && stored().is_integer() && stored().bits <= 16; }

    // Without a zero point, by division.
    Expr is_plain() {
        return kernel.is_plain(in, x, scale, y) && *in.reciprocal == 0 && *in.multiplies == 0 &&
               *in.rounding == int(QDQ_NEAREST_EVEN) && *in.no_saturate == 0;
    }

    void define_operand(Func &stage, const Expr &e) {
        kernel.define_operand(stage, kernel.operand_lanes(), spelled(on(), e));
    }

    void define_operands() {
        const places at = kernel.place_of(kernel.lane, in);
        Expr given = kernel.scale_of(in, scale, is_plain());
        define_operand(factor, lazily(*in.reciprocal != 0, divide(1.0f, given), given));
        define_operand(inverse, divide(1.0f, kernel.operand(factor, kernel.lane)));
        if (stored().is_integer()) {
            define_operand(zero_point_bits, lazily(uses(zero_point_use::none), bit_pattern(0),
                                                   operand_bits(zero_point, at.zero_point, *in.zero_point_bytes)));
            Expr bits = kernel.operand(zero_point_bits, kernel.lane), type = *in.zero_point_type;
            Expr is_integer = has_integers(type), is_read = !uses(zero_point_use::none);
            define_operand(zero_point_float, lazily(is_read && !is_integer, float_zero_point(bits, type), 0.0f));
            define_operand(zero_point_integer, lazily(is_read && is_integer, integer_zero_point(bits, type), 0));
            Expr real = kernel.operand(zero_point_float, kernel.lane),
                 integer = kernel.operand(zero_point_integer, kernel.lane);
            define_operand(
                offset, lazily(uses(zero_point_use::as_float), lazily(is_integer, cast<float>(integer), real), 0.0f));
            define_operand(addend, lazily(uses(zero_point_use::as_integer),
                                          lazily(is_integer, integer, nearest_integer(real)), 0));
        }
    }

    Expr uses(zero_point_use use) { return *in.zero_point_use == static_cast<int>(use); }

    quantize_operands operands(const Expr &lane, const Expr &unit) {
        quantize_operands o{kernel.operand(factor, lane, unit), kernel.operand(inverse, lane, unit), {}, {}};
        if (stored().is_integer()) {
            o.offset = kernel.operand(offset, lane, unit);
            o.addend = kernel.operand(addend, lane, unit);
        }
        return o;
    }

    // Groups of more elements than a block has bits for do not: the dispatcher gives them no such call.
    bool rounds_by_chance() const {
        return form != device_form::each && elements_at_once() <= kernels::random_elements;
    }
    Expr is_by_chance() { return *in.rounding == int(QDQ_STOCHASTIC); }

    // The elements of a unit, or of a strided lane, whose random bits follow one another.
    static constexpr int words = philox_words;
    int elements_at_once() const { return kernel.dense() ? kernel.group() : 1; }
    int parts_of_block() const { return kernels::random_elements / elements_at_once(); }

    // The number of a unit's, or a strided lane's, elements, in so many.
    Expr number_at(const Expr &lane) {
        Expr index = kernel.dense() ? kernel.unit : kernel.element_of(in, lane, kernel.unit);
        return *in.first_number + cast<uint64_t>(index);
    }

    // The block of the random generator that they have a part of, where a call rounds by chance: the words before a
    // round, and in the other half those after it. (Of a Tuple Halide 21 stores some of the words before it reads the
    // others.)
    void define_random() {
        const int lanes = kernel.dense() ? 1 : kernel.lanes();
        Expr eighth = number_at(kernel.lane / (2 * words)) / parts_of_block(), counter = eighth / 4 * 2 + eighth % 2;
        Expr place = kernel.lane % (2 * words);
        random(kernel.lane, kernel.unit) =
            select(place == 0, cast<uint32_t>(counter), place == 1, cast<uint32_t>(counter >> 32), bit_pattern(0));
        Expr pairs = select(is_by_chance(), philox_rounds / 2, 0);
        RDom round(0, words, 0, 2, 0, lanes, 0, pairs, "round");
        std::vector<Expr> before = block_at(round.z, round.y);
        std::vector<Expr> after =
            philox_round(before, {cast<uint32_t>(*in.seed), cast<uint32_t>(*in.seed >> 32)}, 2 * round.w + round.y);
        random(place_of_block(round.z, 1 - round.y) + round.x, kernel.unit) = one_of(after, round.x);
        kernel.stages.scalars.push_back({random, 2 * words * lanes, {round.x, round.y, round.z}});
    }

    static Expr place_of_block(const Expr &lane, const Expr &half) { return (lane * 2 + half) * words; }

    std::vector<Expr> block_at(const Expr &lane, const Expr &half) {
        std::vector<Expr> all;
        for (int i = 0; i < words; i++) {
            all.push_back(random(place_of_block(lane, half) + i, kernel.unit));
        }
        return all;
    }

    static Expr one_of(const std::vector<Expr> &block, const Expr &i) {
        return select(i == 0, block[0], i == 1, block[1], i == 2, block[2], block[3]);
    }

    // The 16 bits of a lane's element.
    Expr chance(const Expr &lane) {
        Expr number = number_at(lane), of_lane = kernel.dense() ? lane : Expr(0);
        Expr place = cast<int32_t>(number % parts_of_block()) * elements_at_once() + of_lane;
        Expr word = one_of(block_at(kernel.dense() ? Expr(0) : lane, 0), place / 2);
        Expr bits = (word >> cast<uint32_t>(place % 2 * 16)) & bit_pattern(0xffff);
        Expr is_second = (number / parts_of_block()) % 4 >= 2;  // of those that share them
        return select(is_second, (bits >> 8) | ((bits & bit_pattern(0xff)) << 8), bits);
    }

    void define_codes() {
        code(kernel.lane, kernel.unit) = undef<int32_t>();
        if (!kernel.dense()) {
            define_way(general, Internal::const_true());
            return;
        }
        Expr multiplies = *in.multiplies != 0;
        Expr fast = *in.rounding == int(QDQ_NEAREST_EVEN) && (stored().is_integer() || *in.no_saturate == 0);
        for (int i = 0; i < kernel.operand_lanes(); i++) {
            fast = fast && element().allows_fast(multiplies, operands(i, kernel.unit));
        }
        Expr divide = has_bounded_way() ? select(is_plain(), int(bounded), int(fast_divide)) : Expr(int(fast_divide));
        kernel.define_operand(chosen, 1, select(!fast, int(general), multiplies, int(fast_multiply), divide));
        std::vector<way> ways = {general, fast_multiply, fast_divide};
        if (has_bounded_way()) {
            ways.push_back(bounded);
        }
        for (way w : ways) {
            define_way(w, chosen(0, kernel.sharing(kernel.unit)) == int(w));
        }
    }

    void define_way(way w, const Expr &condition) {
        RDom lanes(0, kernel.lanes());
        lanes.where(condition);
        const bool by_copysign = kernel.codes_at_top && w != general;
        Expr low = code_by(w, lanes);
        code(lanes, kernel.unit) = spelled(on(), kernel.codes_at_top && !by_copysign ? low << 24 : low);
        kernel.stages.ways.push_back(lanes);
        kernel.stages.code = code;
    }

    Expr code_by(way w, const Expr &lane) {
        Expr v = value(lane, kernel.unit);
        quantize_operands o = operands(lane, kernel.sharing(kernel.unit));
        if (kernel.has_plain_ways() && floats().dtype == QDQ_F16 && stored().is_float()) {
            o.sign = bits(lane, kernel.unit) << 16;
        }
        if (w == general) {
            v = o.sign.defined() ? float_value(on(), floats(), bits(lane, kernel.unit)) : v;
            o.chance = rounds_by_chance() ? chance(lane) : Expr();
            return element().general_code(*in.multiplies != 0, uses(zero_point_use::as_float), v, o);
        }
        if (w == bounded) {
            return element().bounded_code(v, o);
        }
        if (o.addend.defined()) {
            o.addend = cast<float>(o.addend);
        }
        if (kernel.codes_at_top) {
            return element().fast_code_at_top(w == fast_multiply, v, o);
        }
        Expr code = element().fast_code(w == fast_multiply, v, o);
        if (stored().is_integer()) {  // the lowest of NaN
            Expr nan = clamp(element().nan_code(), *in.lowest, *in.highest);
            code = select(*in.no_saturate != 0 && not_a_number(v), nan, code);
        }
        return code;
    }

    device_inputs in;
    device_kernel kernel;
    Func bits{"bits"}, value{"value"}, factor{"factor"}, inverse{"inverse"}, zero_point_bits{"zero_point_bits"},
        zero_point_float{"zero_point_float"}, zero_point_integer{"zero_point_integer"}, offset{"offset"},
        addend{"addend"}, chosen{"chosen"}, random{"random"}, code{"code"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(DeviceQuantize, device_quantize)
