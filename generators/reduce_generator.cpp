// reduce: the numbers of each row, or each column, that are furthest above and below zero. `above` is the largest of
// the elements' bits as signed integers, or 0, `below` the largest as unsigned ones: for floats with the sign in the
// highest bit that is the largest positive number, and where it has the sign bit the most negative one. NaNs are beyond
// the infinities.Both are exact in any order, and of an element twice.

#include "schedule.h"

namespace {

using namespace Halide;
using namespace qdq;

class Reduce : public Generator<Reduce> {
public:
    GeneratorParam<int> bits{"bits", 32};  // of an element
    GeneratorParam<reduction> form{"form", reduction::row, reduction_names()};
    GeneratorParam<std::string> schedule_name{"schedule", "x86_portable"};
    reduce_parameters tuned;

    Input<Buffer<void, 2>> x{"x"};
    Output<Func> extremes{"extremes", {Int(32), UInt(32)}, 1};  // above and below, of each row or column

    void configure() { x.set_type(UInt(bits)); }

    void generate() {
        x.dim(0).set_min(0);
        x.dim(1).set_min(0);
        switch (form) {
        case reduction::row: reduce_rows(); break;
        case reduction::short_rows: reduce_short_rows(); break;
        case reduction::column: reduce_columns(); break;
        }
        Func(extremes).output_buffers()[0].dim(0).set_min(0);
        x.set_estimates({{0, 4096}, {0, 16}});
        Func(extremes).set_estimate(i, 0, form == reduction::column ? 4096 : 16);
    }

    void schedule() {
        if (using_autoscheduler()) {
            return;
        }
        reduce_stages stages;
        stages.output = extremes;
        stages.lanes = lanes;
        stages.halves = halves;
        stages.above = above;
        stages.below = below;
        stages.steps = steps;
        stages.all = all;
        stages.form = form;
        cpu_schedule_named(schedule_name).reduce(stages, tuned);
    }

private:
    Tuple zeros() const { return {cast(Int(bits), 0), cast(UInt(bits), 0)}; }

    static Tuple larger(const Tuple &a, const Tuple &b) { return {max(a[0], b[0]), max(a[1], b[1])}; }

    Tuple element(const Expr &column, const Expr &row) {
        Expr element = x(column, row);
        return {reinterpret(Int(bits), element), element};
    }

    void write(const Expr &own_above, const Expr &own_below) {
        extremes(i) = Tuple(cast<int32_t>(own_above), cast<uint32_t>(own_below));
    }

    // Where step k of a row begins: the last one ends where the row does.
    Expr step_begin(const Expr &k, const Expr &width) { return min(k * width, x.dim(0).extent() - width); }

    // Each row by itself, so many elements at a time; their lanes meet at its end.
    void reduce_rows() {
        const int width = tuned.reduced_elements;
        steps = RDom(0, (x.dim(0).extent() + width - 1) / width, "steps");
        lanes(j, i) = zeros();
        lanes(j, i) = larger(lanes(j, i), element(step_begin(steps, width) + j, i));
        all = RDom(0, width, "all");
        above(i) = cast(Int(bits), 0);
        above(i) = max(above(i), lanes(all, i)[0]);
        below(i) = cast(UInt(bits), 0);
        below(i) = max(below(i), lanes(all, i)[1]);
        write(above(i), below(i));
    }

    // 16 rows at a time, 16 elements of each; then neighbouring lanes, as often as it takes. After the last row that is
    // read again: results are rounded up to 16.
    void reduce_short_rows() {
        steps = RDom(0, (x.dim(0).extent() + short_step - 1) / short_step, "steps");
        lanes(j, i) = zeros();
        lanes(j, i) = larger(lanes(j, i), element(step_begin(steps, short_step) + j, min(i, x.dim(1).extent() - 1)));
        Func whole("whole");
        whole(j, i) = lanes(j % short_step, i * short_rows + j / short_step);
        halves.push_back(whole);
        for (int width = short_step / 2; width > 0; width /= 2) {
            Func half("halves_" + std::to_string(width));
            half(j, i) = larger(whole(2 * j, i), whole(2 * j + 1, i));
            halves.push_back(half);
            whole = half;
        }
        Tuple last = whole(i % short_rows, i / short_rows);
        write(last[0], last[1]);
    }

    void reduce_columns() {
        steps = RDom(0, x.dim(1).extent(), "steps");
        lanes(i) = zeros();
        lanes(i) = larger(lanes(i), element(i, steps));
        write(lanes(i)[0], lanes(i)[1]);
    }

    Var i{"i"}, j{"j"};
    RDom steps, all;
    Func lanes{"lanes"}, above{"above"}, below{"below"};
    std::vector<Func> halves;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Reduce, reduce)
