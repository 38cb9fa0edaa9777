// dequantize on a device: where codes and operands come from, and where values go.
#include "dequantize_element.h"
#include "device_code.h"
#include "device_kernel.h"
#include "schedule.h"

namespace {

using namespace Halide;
using namespace qdq;
using kind = dequantize_variant;

class DeviceDequantize : public Generator<DeviceDequantize> {
public:
    GeneratorParam<std::string> float_name{"float", "f32"};  // of kernels/manifest.cmake, as the next
    GeneratorParam<std::string> stored_name{"stored", "i8"};
    GeneratorParam<device_form> form{"form", device_form::group, device_form_names()};
    GeneratorParam<std::string> abilities{"instructions", "opencl"};
    GeneratorParam<std::string> schedule_name{"schedule", "opencl"};
    device_parameters tuned;
    device_code_parameters made;

    Input<Buffer<void, 2>> x{"x"};  // as in device_quantize_generator.cpp
    Input<Buffer<uint8_t, 2>> scale{"scale"};
    Input<Buffer<uint8_t, 2>> zero_point{"zero_point"};
    Output<Buffer<void, 2>> y{"y"};

    void configure() {
        in.add_to(*this, form);
        x.set_type(device_buffer_type(form, stored(), tuned.unit_elements, stored().bits));
        y.set_type(device_buffer_type(form, floats(), tuned.unit_elements, stored().bits));
    }

    void generate() {
        kernel = {form, stored().bits, floats().bits, tuned.unit_elements, on()};
        kernel.define_places(in);
        kernel.define(code, kernel.lanes(), cast<uint32_t>(kernel.element_bits(x, in)));
        define_operands();
        define_values();
        kernel.store(y, in, value);
        if (kernel.has_plain_kernel()) {
            kernel.stages.apart = {kernel.is_plain(in, x, scale, y)};
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
    dequantize_element element() const { return {on(), stored(), floats()}; }

    void define_operands() {
        const places at = kernel.place_of(kernel.lane, in);
        define_operand(factor, kernel.scale_of(in, scale, kernel.is_plain(in, x, scale, y)));
        if (stored().is_float()) {
            return;
        }
        define_operand(zero_point_bits, lazily(uses(zero_point_use::none), bit_pattern(0),
                                               operand_bits(zero_point, at.zero_point, *in.zero_point_bytes)));
        Expr bits = kernel.operand(zero_point_bits, kernel.lane), type = *in.zero_point_type;
        Expr is_integer = has_integers(type), is_read = !uses(zero_point_use::none);
        define_operand(zero_point_float, lazily(is_read && !is_integer, float_zero_point(bits, type), 0.0f));
        define_operand(zero_point_integer, lazily(is_read && is_integer, integer_zero_point(bits, type), 0));
        Expr real = kernel.operand(zero_point_float, kernel.lane),
             integer = kernel.operand(zero_point_integer, kernel.lane);
        Expr z = multiply(lazily(is_integer, cast<float>(integer), real), cast<float>(Expr(*in.sign)));
        define_operand(offset, lazily(uses(zero_point_use::as_float), z, 0.0f));
        define_operand(addend,
                       lazily(uses(zero_point_use::as_integer), lazily(is_integer, integer, nearest_integer(real)), 0));
    }

    void define_operand(Func &stage, const Expr &e) {
        kernel.define_operand(stage, kernel.operand_lanes(), spelled(on(), e));
    }

    Expr uses(zero_point_use use) { return *in.zero_point_use == static_cast<int>(use); }

    // Of ordinary scales a product is NaN where its code is alone.
    Expr is_plain_product() {
        if (!kernel.has_plain_ways() || (stored().is_float() && stored().layout.has_infinity())) {
            return Internal::const_false();
        }
        Expr plain = kernel.is_plain(in, x, scale, y);
        for (int i = 0; i < kernel.operand_lanes(); i++) {
            Expr bits = reinterpret<uint32_t>(kernel.operand(factor, i));
            plain = plain && bits >= bit_pattern(smallest_scale) && bits <= bit_pattern(largest_divisor);
        }
        return plain;
    }

    // Where a sum of integers needs more than 24 bits it is made in two parts, otherwise in f32.
    void define_values() {
        value(kernel.lane, kernel.unit) = undef<uint32_t>();
        Expr wide = Internal::const_false();
        if (stored().is_integer()) {
            wide = uses(zero_point_use::as_integer);
            if (stored().bits < 32) {
                Expr small = Internal::const_true();
                for (int i = 0; i < kernel.operand_lanes(); i++) {
                    small = small && kernel.operand(addend, i) >= -small_zero_point &&
                            kernel.operand(addend, i) <= small_zero_point;
                }
                wide = wide && !small;
            }
        }
        Expr plain = is_plain_product();
        kernel.define_operand(chosen, 1, select(plain, int(kind::plain), wide, int(kind::exact), int(kind::general)));
        std::vector<kind> ways = {kind::general};
        if (stored().is_integer()) {
            ways.push_back(kind::exact);
        }
        if (!Internal::is_const_zero(plain)) {
            ways.push_back(kind::plain);
        }
        for (kind k : ways) {
            define_way(k, ways.size() == 1 ? Internal::const_true() : chosen(0, kernel.sharing(kernel.unit)) == int(k));
        }
    }

    void define_way(kind k, const Expr &condition) {
        RDom lanes(0, kernel.lanes());
        lanes.where(condition);
        Expr y_element = element().element(k, element().value(k, code_of(lanes), operands(k, lanes)));
        value(lanes, kernel.unit) = spelled(on(), cast<uint32_t>(reinterpret(UInt(floats().bits), y_element)));
        kernel.stages.ways.push_back(lanes);
        kernel.stages.code = value;
    }

    Expr code_of(const Expr &lane) {
        Expr bits = code(lane, kernel.unit);
        return stored().is_float() ? bits : integer_value(stored(), bits);
    }

    dequantize_operands operands(kind k, const Expr &lane) {
        Expr unit = kernel.sharing(kernel.unit), scale = kernel.operand(factor, lane, unit);
        if (stored().is_float()) {
            return {scale, {}, {}, {}};
        }
        Expr integer = kernel.operand(addend, lane, unit);
        Expr sum =
            k == kind::exact ? Expr() : add(kernel.operand(offset, lane, unit), cast<float>(integer * Expr(*in.sign)));
        return {scale, sum, integer, *in.sign};
    }

    device_inputs in;
    device_kernel kernel;
    Func code{"code"}, factor{"factor"}, zero_point_bits{"zero_point_bits"}, zero_point_float{"zero_point_float"},
        zero_point_integer{"zero_point_integer"}, offset{"offset"}, addend{"addend"}, chosen{"chosen"}, value{"value"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(DeviceDequantize, device_dequantize)
