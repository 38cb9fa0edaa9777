// stochastic: f32 rounded to numbers that a type's codes stand for, up or down by random bits: QDQ_STOCHASTIC of qdq.h.
#include "chance.h"
#include "schedule.h"

namespace {

using namespace Halide;
using namespace qdq;
using namespace qdq::kernels;

class Stochastic : public Generator<Stochastic> {
public:
    GeneratorParam<grid> numbers{"grid", grid::integers, grid_names()};
    GeneratorParam<std::string> abilities{"instructions", ""};
    GeneratorParam<std::string> schedule_name{"schedule", "x86_portable"};

    Input<Buffer<float, 1>> x{"x"};
    Input<Buffer<uint16_t, 1>> random{"random"};   // half as many as elements
    Input<uint32_t> least_normal{"least_normal"};  // of floats, as rounded_by_chance has it
    Input<uint32_t> alignment{"alignment"};        // the same
    Output<Buffer<float, 1>> y{"y"};               // may be x

    void generate() {
        x.dim(0).set_min(0);
        random.dim(0).set_min(0);
        y(i) = rounded_by_chance(instructions_named(abilities), numbers, x(i), cast<uint32_t>(random_bits()),
                                 least_normal, alignment);
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

    Var i{"i"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Stochastic, stochastic)
