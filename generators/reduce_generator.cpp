// reduce: the numbers of each row, or each column, that are furthest above and below zero, or the largest magnitude.
// `above` is the largest of the elements' bits as signed integers, or 0, `below` the largest as unsigned ones: for
// floats with the sign in the highest bit that is the largest positive number, and where it has the sign bit the most
// negative one. A magnitude is an `above` whose sign was cleared, and `below` is 0. NaNs are beyond the infinities. All
// are exact in any order, and of an element twice.

#include "schedule.h"

namespace {

using namespace Halide;
using namespace qdq;

class Reduce : public Generator<Reduce> {
public:
    GeneratorParam<int> bits{"bits", 32};  // of an element
    GeneratorParam<reduction> form{"form", reduction::row, reduction_names()};
    GeneratorParam<reduced_numbers> numbers{"numbers", reduced_numbers::extremes, reduced_numbers_names()};
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
        stages.interleaved = interleaved;
        stages.halves = halves;
        stages.met = met;
        stages.steps = steps;
        stages.all = all;
        stages.form = form;
        cpu_schedule_named(schedule_name).reduce(stages, tuned);
    }

private:
    // `above` and `below`, or a magnitude alone.
    using found = std::vector<Expr>;

    found zeros() const { return of_numbers({cast(Int(bits), 0), cast(UInt(bits), 0)}); }

    found of_numbers(found all) const {
        all.resize(numbers == reduced_numbers::magnitudes ? 1 : 2);
        return all;
    }

    found values(const FuncRef &stage) const {
        return numbers == reduced_numbers::magnitudes ? found{stage} : found{stage[0], stage[1]};
    }

    static Tuple larger(const found &a, const found &b) {
        found all;
        for (size_t k = 0; k < a.size(); k++) {
            all.push_back(max(a[k], b[k]));
        }
        return Tuple(all);
    }

    found element(const Expr &column, const Expr &row) const {
        Expr element = x(column, row);
        if (numbers == reduced_numbers::magnitudes) {
            element = element & (x.type().max() >> 1);
        }
        return of_numbers({reinterpret(Int(bits), element), element});
    }

    void write(const found &own) {
        extremes(i) = Tuple(cast<int32_t>(own[0]), own.size() > 1 ? cast<uint32_t>(own[1]) : Expr(uint32_t{0}));
    }

    // Where step k of a row begins: the last one ends where the row does.
    Expr step_begin(const Expr &k, const Expr &width) { return min(k * width, x.dim(0).extent() - width); }

    // Each row by itself, so many elements at a time; their lanes meet at its end.
    void reduce_rows() {
        const int width = tuned.reduced_elements;
        steps = RDom(0, (x.dim(0).extent() + width - 1) / width, "steps");
        lanes(j, i) = Tuple(zeros());
        lanes(j, i) = larger(values(lanes(j, i)), element(step_begin(steps, width) + j, i));
        all = RDom(0, width, "all");
        found own;
        for (const Expr &lane : values(lanes(all, i))) {
            Func whole("met");
            whole(i) = cast(lane.type(), 0);
            whole(i) = max(whole(i), lane);
            met.push_back(whole);
            own.push_back(whole(i));
        }
        write(own);
    }

    // 16 rows at a time, 16 elements of each. Then each row and the one half way down are interleaved, and of that row
    // of 32 lanes both halves meet: until one row is left, with a lane of each. What is read after the last row is that
    // one again: results are rounded up to 16.
    void reduce_short_rows() {
        steps = RDom(0, (x.dim(0).extent() + short_step - 1) / short_step, "steps");
        const Expr row = min(short_rows * b + i, x.dim(1).extent() - 1);
        lanes(j, i, b) = Tuple(zeros());
        lanes(j, i, b) = larger(values(lanes(j, i, b)), element(step_begin(steps, short_step) + j, row));
        Func rows("rows");
        rows(j, i, b) = widened(values(lanes(j, i, b)));
        halves.push_back(rows);
        for (int height = short_rows / 2; height > 0; height /= 2) {
            Func both("both_" + std::to_string(height)), half("rows_" + std::to_string(height));
            both(j, i, b) = Tuple(values(halves.back()(j / 2, i + height * (j % 2), b)));
            half(j, i, b) = larger(values(both(j, i, b)), values(both(j + short_step, i, b)));
            interleaved.push_back(both);
            halves.push_back(half);
        }
        write(values(halves.back()(i % short_rows, 0, i / short_rows)));
    }

    static Tuple widened(found all) {
        for (Expr &number : all) {
            number = cast(number.type().with_bits(32), number);
        }
        return Tuple(all);
    }

    void reduce_columns() {
        steps = RDom(0, x.dim(1).extent(), "steps");
        lanes(i) = Tuple(zeros());
        lanes(i) = larger(values(lanes(i)), element(i, steps));
        write(values(lanes(i)));
    }

    Var i{"i"}, j{"j"}, b{"b"};
    RDom steps, all;
    Func lanes{"lanes"};
    std::vector<Func> met, interleaved, halves;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Reduce, reduce)
