// transpose: y(c, r) = x(r, c), for tiles that meet in one kernel's rows and another's columns.

#include "schedule.h"

namespace {

using namespace Halide;

class Transpose : public Generator<Transpose> {
public:
    Input<Buffer<void, 2>> x{"x"};
    Output<Buffer<void, 2>> y{"y"};

    // Halves the rows three times: a row and the one half way down become one row that has their elements in turns. Of
    // eight rows this leaves one, with the eight elements of each column together.
    void generate() {
        Func eight("eight"), four("four"), two("two"), one("one");
        eight(j, i, b) = x(j, 8 * b + i);
        four(j, i, b) = eight(j / 2, i + 4 * (j % 2), b);
        two(j, i, b) = four(j / 2, i + 2 * (j % 2), b);
        one(j, i, b) = two(j / 2, i + j % 2, b);
        y(c, r) = one(8 * r + c % 8, 0, c / 8);
        rows = {eight, four, two, one};
    }

    void schedule() {
        qdq::transpose_stages stages;
        stages.output = y;
        stages.rows = rows;
        stages.element_bytes = y.type().bytes();
        qdq::apply_schedule(get_target(), stages);
    }

private:
    Var c{"c"}, r{"r"}, j{"j"}, i{"i"}, b{"b"};
    std::vector<Func> rows;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Transpose, transpose)
