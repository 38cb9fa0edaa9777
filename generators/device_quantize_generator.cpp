// quantize on a device: the arithmetic of quantize_generator.cpp, with operands of any type read where they are used.
// As the dispatcher cannot see their values, each thread chooses between the fast arithmetic and the general.

#include "arithmetic.h"
#include "device_kernel.h"
#include "formats.h"
#include "schedule.h"
#include "variants.h"

namespace {

using namespace Halide;
using namespace qdq;

class DeviceQuantize : public Generator<DeviceQuantize> {
public:
    GeneratorParam<format> stored{"stored", format::i8, format_names()};
    GeneratorParam<float_type> floats{"floats", float_type::f32, float_type_names()};
    GeneratorParam<device_form> shape{"form", device_form::group, device_form_names()};
    GeneratorParam<instructions> on{"instructions", instructions::opencl, instruction_names()};

    // Dense forms: the 32-bit words of a group, and groups. Strided: elements (bytes of packed codes) of a page, and
    // pages.
    Input<Buffer<void, 2>> x{"x"};
    Input<Buffer<uint8_t, 2>> scale{"scale"};
    Input<Buffer<uint8_t, 2>> zero_point{"zero_point"};
    place_inputs in;
    operand_inputs operands;
    Input<int32_t> multiplies{"multiplies"};
    Input<int32_t> rounding{"rounding"};  // integer formats: qdq_rounding
    Input<int32_t> lowest{"lowest"};      // and the range to saturate to
    Input<int32_t> highest{"highest"};
    Input<int32_t> no_saturate{"no_saturate"};  // float formats
    Output<Buffer<void, 2>> y{"y"};

    void generate() {
        kernel = {shape, bits_of(floats), code_bits(stored)};
        kernel.define_places(in);
        kernel.define(value, kernel.lanes(), spelled(on, value_of(kernel.element_bits(x, in))));
        define_operands();
        define_codes();
        kernel.store(y, in, code);
    }

    void schedule() { apply_schedule(get_target(), kernel.stages); }

private:
    enum way { general, fast_multiply, fast_divide };

    Expr value_of(Expr bits) {
        switch (floats) {
        case float_type::f32:
            return reinterpret<float>(bits);
        case float_type::f16:
            return signed_f16_value(cast<uint16_t>(bits));
        default:
            return reinterpret<float>(cast<uint32_t>(bits) << 16);
        }
    }

    // PTX's conversion may lose the sign of a NaN.
    Expr signed_f16_value(Expr bits) {
        if (!convert_f16(on)) {
            return f16_value(on, bits);
        }
        Expr magnitude = abs_bits(on, cast<float>(reinterpret<float16_t>(bits)));
        return reinterpret<float>(reinterpret<uint32_t>(magnitude) | (cast<uint32_t>(bits & 0x8000) << 16));
    }

    void define_operands() {
        const places at = kernel.place_of(kernel.lane, in);
        Expr given = operand_as_float(operand_bits(scale, at.scale, operands.scale_bytes), operands.scale_code);
        define_operand(factor, lazily(operands.reciprocal != 0, divide(1.0f, given), given));
        define_operand(inverse, divide(1.0f, operand(factor)));
        if (is_integer(stored)) {
            Expr bits = operand_bits(zero_point, at.zero_point, operands.zero_point_bytes),
                 type = operands.zero_point_code;
            define_operand(offset, lazily(uses(zero_point_use::as_float), operand_as_float(bits, type), 0.0f));
            define_operand(addend, lazily(uses(zero_point_use::as_integer), operand_as_integer(bits, type), 0));
        }
    }

    void define_operand(Func &stage, const Expr &e) { kernel.define(stage, kernel.operand_lanes(), spelled(on, e)); }

    Expr uses(zero_point_use use) { return operands.zero_point_use == static_cast<int>(use); }

    // The operand of a lane.
    Expr operand(Func &stage, const Expr &lane) {
        return stage(kernel.operand_lanes() == 1 ? Expr(0) : lane, kernel.unit);
    }
    Expr operand(Func &stage) { return operand(stage, kernel.lane); }

    void define_codes() {
        code(kernel.lane, kernel.unit) = undef<int32_t>();
        if (!kernel.dense()) {
            define_way(general, Internal::const_true());
            return;
        }
        Expr fast = rounding == 0 && no_saturate == 0;
        for (int i = 0; i < kernel.operand_lanes(); i++) {
            fast = fast && is_ordinary(i);
        }
        kernel.define(chosen, 1, select(!fast, int(general), multiplies != 0, int(fast_multiply), int(fast_divide)));
        for (way w : {general, fast_multiply, fast_divide}) {
            define_way(w, chosen(0, kernel.unit) == int(w));
        }
    }

    void define_way(way w, const Expr &condition) {
        RDom lanes(0, kernel.lanes());
        lanes.where(condition);
        code(lanes, kernel.unit) = spelled(on, w == general ? any_code(lanes) : ordinary_code(w, lanes));
        kernel.stages.ways.push_back(lanes);
        kernel.stages.code = code;
    }

    // What variants.h asks of the operands of the fast variants.
    Expr is_ordinary(int lane) {
        Expr bits = reinterpret<uint32_t>(operand(factor, lane));
        Expr divides = bits >= bit_pattern(smallest_divisor) && bits <= bit_pattern(largest_divisor);
        if (is_float(stored)) {
            return select(multiplies != 0, bits >= 1 && bits <= bit_pattern(0x7f7fffff), divides);
        }
        Expr z = operand(offset, lane), i = operand(addend, lane);
        Expr small = !less(float(small_zero_point), abs_bits(on, z)) && !not_a_number(z) && i >= -small_zero_point &&
                     i <= small_zero_point;
        return (multiplies != 0 || divides) && (stored == format::i32 ? small && i == 0 : small);
    }

    Expr ordinary_code(way w, const Expr &lane) {
        Expr v = value(lane, kernel.unit), s = operand(factor, lane), r = operand(inverse, lane);
        if (is_float(stored)) {
            Expr magnitude = abs_bits(on, v);
            Expr bounded = lesser_number(on, multiply(s, saturating_magnitude(stored)), magnitude);
            Expr t = w == fast_multiply ? multiply(magnitude, s) : divide_by_reciprocal(bounded, s, r);
            return cast<int32_t>(code_of(on, stored, encode(on, stored, t, v)));
        }
        Expr limit = multiply(s, saturating_magnitude(stored));
        Expr t = w == fast_multiply ? multiply(v, s) : divide_by_reciprocal(clamp_or_low(on, v, -limit, limit), s, r);
        Expr sum = add(t, operand(offset, lane));
        return stored == format::i32 ? nearest_i32(on, sum, lowest, highest)
                                     : aligned_sum(on, sum, cast<float>(operand(addend, lane)), lowest, highest);
    }

    Expr any_code(const Expr &lane) {
        Expr v = value(lane, kernel.unit), s = operand(factor, lane);
        Expr t = lazily(multiplies != 0, multiply(v, s), divide(v, s));
        if (is_float(stored)) {
            return cast<int32_t>(encode_any(on, stored, t, v, no_saturate));
        }
        return general_code(on, t, uses(zero_point_use::as_float), operand(offset, lane), operand(addend, lane),
                            rounding, lowest, highest);
    }

    device_kernel kernel;
    Func value{"value"}, factor{"factor"}, inverse{"inverse"}, offset{"offset"}, addend{"addend"}, chosen{"chosen"},
        code{"code"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(DeviceQuantize, device_quantize)
