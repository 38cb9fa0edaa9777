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

    // Halves some rows of x until one is left: a row and the one half way down are interleaved to one row. That has the
    // elements of each column together.
    void generate() {
        const int columns = tuned.transpose_columns;
        rows.emplace_back("rows_" + std::to_string(columns));
        rows.back()(j, i, b) = x(j, columns * b + i);
        for (int height = columns / 2; height > 0; height /= 2) {
            Func half("rows_" + std::to_string(height));
            half(j, i, b) = rows.back()(j / 2, i + height * (j % 2), b);
            rows.push_back(half);
        }
        y(c, r) = rows.back()(columns * r + c % columns, 0, c / columns);
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
