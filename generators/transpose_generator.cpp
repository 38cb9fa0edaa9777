// transpose: y(c, r) = x(r, c), for tiles that meet in one kernel's rows and another's columns.

#include "schedule.h"

namespace {

using namespace Halide;
using namespace qdq;

class Transpose : public Generator<Transpose> {
public:
    GeneratorParam<int> bits{"bits", 8};  // of an element
    GeneratorParam<std::string> schedule_name{"schedule", "x86_portable"};
    transpose_parameters tuned;

    Input<Buffer<void, 2>> x{"x"};
    Output<Buffer<void, 2>> y{"y"};

    void configure() {
        x.set_type(UInt(bits));
        y.set_type(UInt(bits));
    }

    // Halves the rows three times: a row and the one half way down are interleaved to one row. Of eight rows this
    // leaves one, with the eight elements of each column together.
    void generate() {
        Func eight("eight"), four("four"), two("two"), one("one");
        eight(j, i, b) = x(j, 8 * b + i);
        four(j, i, b) = eight(j / 2, i + 4 * (j % 2), b);
        two(j, i, b) = four(j / 2, i + 2 * (j % 2), b);
        one(j, i, b) = two(j / 2, i + j % 2, b);
        y(c, r) = one(8 * r + c % 8, 0, c / 8);
        rows = {eight, four, two, one};
        x.set_estimates({{0, 256}, {0, 256}});
        y.set_estimates({{0, 256}, {0, 256}});
    }

    void schedule() {
        if (using_autoscheduler()) {
            return;
        }
        transpose_stages stages;
        stages.output = y;
        stages.rows = rows;
        cpu_schedule_named(schedule_name).transpose(stages, tuned);
    }

private:
    Var c{"c"}, r{"r"}, j{"j"}, i{"i"}, b{"b"};
    std::vector<Func> rows;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Transpose, transpose)
