// transpose: y(c, r) = x(r, c), for tiles that meet in one kernel's rows and another's columns.

#include "schedule.h"

namespace {

using namespace Halide;

class Transpose : public Generator<Transpose> {
public:
    Input<Buffer<void, 2>> x{"x"};
    Output<Buffer<void, 2>> y{"y"};

    void generate() {
        loaded(c, r) = x(c, r);
        turned(c, r) = loaded(r, c);
        y(c, r) = turned(c, r);
    }

    void schedule() {
        qdq::transpose_stages stages;
        stages.output = y;
        stages.loaded = loaded;
        stages.turned = turned;
        qdq::apply_schedule(get_target(), stages);
    }

private:
    Var c{"c"}, r{"r"};
    Func loaded{"loaded"}, turned{"turned"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Transpose, transpose)
