// stochastic: f32 rounded to numbers that a type's codes stand for, up or down by random bits: QDQ_STOCHASTIC of qdq.h.
// Saturating, and the codes themselves, are left to quantize: of these numbers every rounding gives the same.
#include "arithmetic.h"
#include "formats.h"
#include "grids.h"
#include "schedule.h"

namespace {

using namespace Halide;
using namespace qdq;

constexpr float chances = 65536;  // of the 16 bits of an element

class Stochastic : public Generator<Stochastic> {
public:
    GeneratorParam<grid> numbers{"grid", grid::integers, grid_names()};
    GeneratorParam<std::string> abilities{"instructions", ""};
    GeneratorParam<std::string> schedule_name{"schedule", "x86_portable"};

    Input<Buffer<float, 1>> x{"x"};
    Input<Buffer<uint16_t, 1>> random{"random"};   // half as many as elements
    Input<uint32_t> least_normal{"least_normal"};  // of floats: its bits as an f32
    Input<uint32_t> alignment{"alignment"};        // of floats of one width: alignment_of(their mantissa bits)
    Output<Buffer<float, 1>> y{"y"};               // may be x

    void generate() {
        x.dim(0).set_min(0);
        random.dim(0).set_min(0);
        Expr t = x(i), magnitude = abs_bits(on(), t), chance = cast<uint32_t>(random_bits());
        Expr rounded = numbers == grid::integers ? to_integer(magnitude, chance) : to_float(magnitude, chance);
        Expr sign = reinterpret<uint32_t>(t) & bit_pattern(0x80000000);
        y(i) = reinterpret<float>(reinterpret<uint32_t>(rounded) | sign);
        x.set_estimates({{0, 4096}});
        random.set_estimates({{0, 2048}});
        least_normal.set_estimate(0x3c800000);
        alignment.set_estimate(alignment_of(3));
        y.set_estimates({{0, 4096}});
    }

    void schedule() {
        if (using_autoscheduler()) {
            return;
        }
        stochastic_stages stages{y};
        cpu_schedule_named(schedule_name).stochastic(stages);
    }

private:
    // Of two elements that share them, the second one's have their bytes swapped.
    Expr random_bits() {
        Expr bits = random(i / (2 * sharing_distance) * sharing_distance + i % sharing_distance);
        return select(i % (2 * sharing_distance) < sharing_distance, bits, (bits >> 8) | (bits << 8));
    }

    // The fraction is exact. As 2^23 plus the chances it has out of 65536, rounded, it is their number in low bits.
    Expr to_integer(const Expr &magnitude, const Expr &chance) const {
        Expr whole = downward(on(), magnitude);
        Expr fraction = subtract(magnitude, whole), aligner = 8388608.0f;
        Expr aligned = on().fma ? fused_multiply_add(fraction, chances, aligner)  // the product is exact
                                : add(multiply(fraction, chances), aligner);
        Expr goes_up = ((reinterpret<uint32_t>(aligned) + chance) & bit_pattern(uint32_t(chances))) != 0;
        return select(goes_up, add(whole, 1.0f), whole);
    }

    Expr alignment_at(const Expr &exponent) const {
        return numbers == grid::tapered
                   ? by_mantissa_bits(exponent, {alignment_of(0), alignment_of(1), alignment_of(2), alignment_of(3)})
                   : Expr(alignment);
    }

    // Of 128 steps, plus less than 64, the last bit counts 65536ths of a step.
    Expr to_float(const Expr &magnitude, const Expr &chance) const {
        Expr bounded = lesser(on(), beyond_all_codes, magnitude);
        Expr exponent = max(reinterpret<uint32_t>(bounded) & bit_pattern(0x7f800000), least_normal);
        Expr steps = reinterpret<float>(exponent + alignment_at(exponent));
        Expr sum = reinterpret<uint32_t>(add(bounded, steps)) + chance;
        Expr rounded = subtract(reinterpret<float>(sum & bit_pattern(0xffff0000)), steps);
        return select(not_a_number(magnitude), magnitude, rounded);
    }

    instructions on() const { return instructions_named(abilities); }

    Var i{"i"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Stochastic, stochastic)
