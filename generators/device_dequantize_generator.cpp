// dequantize on a device: y = (q - zero_point) * scale, with operands of any type read where they are used.

#include "arithmetic.h"
#include "device_kernel.h"
#include "formats.h"
#include "schedule.h"
#include "variants.h"

namespace {

using namespace Halide;
using namespace qdq;

class DeviceDequantize : public Generator<DeviceDequantize> {
public:
    GeneratorParam<format> stored{"stored", format::i8, format_names()};
    GeneratorParam<float_type> floats{"floats", float_type::f32, float_type_names()};
    GeneratorParam<device_form> shape{"form", device_form::group, device_form_names()};
    GeneratorParam<instructions> on{"instructions", instructions::opencl, instruction_names()};

    Input<Buffer<void, 2>> x{"x"};  // as in device_quantize_generator.cpp
    Input<Buffer<uint8_t, 2>> scale{"scale"};
    Input<Buffer<uint8_t, 2>> zero_point{"zero_point"};
    place_inputs in;
    operand_inputs operands;
    Input<int32_t> sign{"sign"};  // 1 adds the zero point, -1 subtracts it
    Output<Buffer<void, 2>> y{"y"};

    void generate() {
        kernel = {shape, code_bits(stored), bits_of(floats)};
        kernel.define_places(in);
        kernel.define(element, kernel.lanes(), cast<uint32_t>(kernel.element_bits(x, in)));
        define_operands();
        define_products();
        kernel.store(y, in, product);
    }

    void schedule() { apply_schedule(get_target(), kernel.stages); }

private:
    void define_operands() {
        const places at = kernel.place_of(kernel.lane, in);
        define_operand(factor,
                       operand_as_float(operand_bits(scale, at.scale, operands.scale_bytes), operands.scale_code));
        if (is_float(stored)) {
            return;
        }
        Expr bits = operand_bits(zero_point, at.zero_point, operands.zero_point_bytes), type = operands.zero_point_code;
        Expr z = multiply(operand_as_float(bits, type), cast<float>(sign));
        define_operand(offset, lazily(uses(zero_point_use::as_float), z, 0.0f));
        define_operand(addend, lazily(uses(zero_point_use::as_integer), operand_as_integer(bits, type), 0));
    }

    void define_operand(Func &stage, const Expr &e) { kernel.define(stage, kernel.operand_lanes(), spelled(on, e)); }

    Expr uses(zero_point_use use) { return operands.zero_point_use == static_cast<int>(use); }

    Expr operand(Func &stage, const Expr &lane) {
        return stage(kernel.operand_lanes() == 1 ? Expr(0) : lane, kernel.unit);
    }

    // Where a sum of integers needs more than 24 bits it is made in two parts, otherwise in f32.
    void define_products() {
        product(kernel.lane, kernel.unit) = undef<uint32_t>();
        if (is_float(stored)) {
            define_way(Internal::const_true(), [&](const Expr &lane) { return decode(on, stored, code(lane)); });
            return;
        }
        Expr wide = uses(zero_point_use::as_integer);
        if (stored != format::i32) {
            Expr small = Internal::const_true();
            for (int i = 0; i < kernel.operand_lanes(); i++) {
                small = small && operand(addend, i) >= -small_zero_point && operand(addend, i) <= small_zero_point;
            }
            wide = wide && !small;
        }
        kernel.define(exact, 1, cast<int32_t>(wide));
        define_way(exact(0, kernel.unit) != 0,
                   [&](const Expr &lane) { return exact_sum_as_float(integer(lane), operand(addend, lane), sign); });
        define_way(exact(0, kernel.unit) == 0, [&](const Expr &lane) {
            Expr joined = add(operand(offset, lane), cast<float>(operand(addend, lane) * sign));
            return add(cast<float>(integer(lane)), joined);
        });
    }

    template<typename Difference>
    void define_way(const Expr &condition, Difference &&difference) {
        RDom lanes(0, kernel.lanes());
        lanes.where(condition);
        Expr a = multiply(difference(lanes), operand(factor, lanes));
        product(lanes, kernel.unit) = spelled(on, output_bits(a));
        kernel.stages.ways.push_back(lanes);
        kernel.stages.code = product;
    }

    Expr code(const Expr &lane) {
        return element(lane, kernel.unit) & bit_pattern(uint32_t((uint64_t{1} << code_bits(stored)) - 1));
    }

    Expr integer(const Expr &lane) {
        Expr bits = element(lane, kernel.unit);
        const int above = 32 - code_bits(stored);
        const bool is_signed = stored == format::i4 || (!is_packed(stored) && code_type(stored).is_int());
        return is_signed ? cast<int32_t>(bits << above) >> above : cast<int32_t>(code(lane));
    }

    // Devices differ in the sign and payload of the NaNs they make.
    Expr output_bits(Expr a) {
        Expr is_nan = not_a_number(a);
        switch (floats) {
        case float_type::f32:
            return select(is_nan, bit_pattern(0x7fc00000), reinterpret<uint32_t>(a));
        case float_type::f16:
            return cast<uint32_t>(select(is_nan, Internal::make_const(UInt(16), 0x7e00), nearest_f16(a)));
        default:
            return cast<uint32_t>(select(is_nan, Internal::make_const(UInt(16), 0x7fc0), bf16_bits(a)));
        }
    }

    Expr nearest_f16(Expr a) { return convert_f16(on) ? reinterpret<uint16_t>(cast<float16_t>(a)) : f16_code(on, a); }

    device_kernel kernel;
    Func element{"element"}, factor{"factor"}, offset{"offset"}, addend{"addend"}, exact{"exact"}, product{"product"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(DeviceDequantize, device_dequantize)
