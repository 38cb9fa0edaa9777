// dequantize_blocks: the values of the blocks of one of ggml's formats, by the formulas of qdq/blocks.h.
#include "block_kernel.h"
#include "schedule.h"

#include <string>
#include <vector>

namespace {

using namespace Halide;
using namespace qdq;

class DequantizeBlocks : public Generator<DequantizeBlocks> {
public:
    GeneratorParam<std::string> format_name{"format", "q8_0"};  // of kernels/block_formats.h
    GeneratorParam<std::string> float_name{"float", "f32"};     // of kernels/manifest.cmake
    GeneratorParam<std::string> abilities{"instructions", ""};
    GeneratorParam<std::string> schedule_name{"schedule", "x86_portable"};

    Input<Buffer<uint8_t, 2>> x{"x"};  // (byte, block), of at most most_blocks
    Output<Buffer<void, 2>> y{"y"};    // (i, block)

    void configure() { y.set_type(buffer_type(floats())); }

    void generate() {
        x.dim(0).set_bounds(0, format().bytes());
        x.dim(1).set_min(0);
        y.dim(0).set_bounds(0, block_elements);
        y.dim(1).set_min(0);
        if (format().bits == 5) {
            gather_fifth_bits();
        }
        if (format().has_power) {
            Func power("power");
            power(block) = half_power(cast<uint32_t>(x(0, block)));
            of_blocks.push_back(power);
            y(i, block) = element(multiply(number(i, block), power(block)));
        } else {
            Func scale = f16_at(0, "scale"), minimum;
            if (format().has_minimum) {
                minimum = f16_at(format().minimum_at(), "minimum");
            }
            const auto value = [&](const Expr &of, const Expr &b) {
                Expr product = multiply(number(of, b), scale(b));
                return format().has_minimum ? add(product, minimum(b)) : product;
            };
            y(i, block) = element(value(i, block));
            RDom each(0, block_elements, 0, y.dim(1).extent());
            each.where(has_specials());
            y(each.x, each.y) = element(one_nan(value(each.x, each.y)));
            specials = each;
        }
        x.set_estimates({{0, format().bytes()}, {0, most_blocks}});
        y.set_estimates({{0, block_elements}, {0, most_blocks}});
    }

    void schedule() {
        if (using_autoscheduler()) {
            return;
        }
        dequantize_blocks_stages stages;
        stages.output = y;
        stages.halves = halves;
        stages.peaks = peaks;
        stages.all = all;
        stages.of_blocks = of_blocks;
        stages.fifth_bits = fifth_bits;
        stages.specials = specials;
        cpu_schedule_named(schedule_name).dequantize_blocks(stages);
    }

private:
    Expr element(const Expr &value) { return nearest_element(on(), floats(), value); }

    static Expr one_nan(const Expr &value) {
        return select(not_a_number(value), reinterpret<float>(bit_pattern(0x7fc00000)), value);
    }

    // The f16 at a place of each block.
    Func f16_at(int at, const std::string &name) {
        Func half(name + "_half"), f(name), peak(name + "_peak");
        RDom each(0, y.dim(1).extent());
        Expr low = cast<uint16_t>(x(at, each)), high = cast<uint16_t>(x(at + 1, each));
        half(block) = cast<uint16_t>(0);
        half(each) = low | high << 8;
        f(block) = float_value(on(), type_named("f16"), half(block));
        peak() = cast<uint16_t>(0);
        peak() = max(peak(), half(all) & cast<uint16_t>(0x7fff));
        halves.push_back(half);
        of_blocks.push_back(f);
        peaks.push_back(peak);
        return f;
    }

    // Whether a scale or a minimum is infinite or NaN.
    Expr has_specials() {
        Expr any = Internal::const_false();
        for (Func &peak : peaks) {
            any = any || peak() >= cast<uint16_t>(0x7c00);
        }
        return any;
    }

    // What the scale is multiplied by.
    Expr number(const Expr &of, const Expr &b) { return cast<float>(integer(of, b)); }
    Expr integer(const Expr &of, const Expr &b) {
        if (format().bits == 8) {
            return reinterpret<int8_t>(x(format().codes_at() + of, b));
        }
        Expr byte = x(format().codes_at() + of % (block_elements / 2), b);
        Expr code = cast<int8_t>((byte >> cast<uint8_t>(4 * (of / (block_elements / 2)))) & cast<uint8_t>(15));
        if (format().has_power) {
            return e2m1_in_halves(code);
        }
        if (format().has_table) {
            return value_at(code);
        }
        if (format().bits == 5) {
            code = code | cast<int8_t>(((fifth_bits(b) >> cast<uint32_t>(of)) & 1) << 4);
        }
        return format().has_minimum ? code : code - cast<int8_t>(1 << (format().bits - 1));
    }

    void gather_fifth_bits() {
        Expr word = cast<uint32_t>(0);
        for (int k = 0; k < 4; k++) {
            word = word | cast<uint32_t>(x(format().fifth_bits_at() + k, block)) << (8 * k);
        }
        fifth_bits(block) = word;
    }

    static Expr value_at(const Expr &place) {
        Expr value = cast<int8_t>(table_values[0]);
        for (int k = 1; k < table_size; k++) {
            value = select(place >= cast<int8_t>(k), cast<int8_t>(table_values[k]), value);
        }
        return value;
    }

    static Expr e2m1_in_halves(const Expr &code) {
        const auto number = [](int value) { return cast<int8_t>(value); };
        Expr m = code & number(7);
        Expr magnitude = select(m < number(5), m, m == number(5), number(6), m == number(6), number(8), number(12));
        return select(code > number(7), -magnitude, magnitude);
    }

    const element_type &floats() const { return type_named(float_name); }
    const block_format &format() const { return block_format_named(format_name); }
    instructions on() const { return instructions_named(abilities); }

    Var i{"i"}, block{"block"};
    RDom all{0, most_blocks, "all"}, specials;
    std::vector<Func> halves, peaks, of_blocks;
    Func fifth_bits{"fifth_bits"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(DequantizeBlocks, dequantize_blocks)
