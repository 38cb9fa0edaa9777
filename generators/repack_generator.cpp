// repack: bytes of 4-bit codes in another order.

#include "schedule.h"

namespace {

using namespace Halide;
using namespace qdq;

class Repack : public Generator<Repack> {
public:
    GeneratorParam<repacking> change{"change", repacking::swap_nibbles, repacking_names()};
    GeneratorParam<std::string> schedule_name{"schedule", "x86_portable"};

    Input<Buffer<uint8_t, 1>> x{"x"};
    Output<Buffer<uint8_t, 1>> y{"y"};

    void generate() {
        Expr base = i / 16 * 16, j = i % 16;
        switch (change) {
        case repacking::swap_nibbles: y(i) = (x(i) << 4) | (x(i) >> 4); break;
        case repacking::split_halves: {
            Expr low = x(base + j / 2), high = x(base + 8 + j / 2);
            y(i) = select(j % 2 == 0, (low & 0xf) | (high << 4), (low >> 4) | (high & 0xf0));
            break;
        }
        case repacking::join_halves: {
            Expr even = x(base + j % 8 * 2), odd = x(base + j % 8 * 2 + 1);
            y(i) = select(j < 8, (even & 0xf) | (odd << 4), (even >> 4) | (odd & 0xf0));
            break;
        }
        }
        x.set_estimates({{0, 4096}});
        y.set_estimates({{0, 4096}});
    }

    void schedule() {
        if (using_autoscheduler()) {
            return;
        }
        repack_stages stages{y, change};
        cpu_schedule_named(schedule_name).repack(stages);
    }

private:
    Var i{"i"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Repack, repack)
