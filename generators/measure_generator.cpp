// measure: how far what codes are worth is from x. Of each row, or each column, the sum of squared errors in units of
// its scale, and how many elements are flushed to 0; of all how many are NaN, infinite or clipped. What these are:
// qdq_diagnostics, and the error of a clip ratio in qdq_scale_options. They are whole numbers, exact in any order.
#include "arithmetic.h"
#include "cpu_kernel.h"
#include "formats.h"
#include "measurement.h"
#include "schedule.h"

namespace {

using namespace Halide;
using namespace qdq;

class Measure : public Generator<Measure> {
public:
    GeneratorParam<std::string> float_name{"float", "f32"};                        // of kernels/manifest.cmake
    GeneratorParam<kernels::form> form{"form", kernels::form::row, form_names()};  // row or column
    GeneratorParam<std::string> abilities{"instructions", ""};
    GeneratorParam<std::string> schedule_name{"schedule", "x86_portable"};

    Input<Buffer<void, 2>> x{"x"};                       // its rows end with whole steps, as those of y
    Input<Buffer<float, 2>> y{"y"};                      // what the codes of x are worth
    Input<Buffer<float, 1>> units{"units"};              // along r or c: how many units are 1
    Input<Buffer<float, 1>> lowest{"lowest"};            // like units: what is not above it is clipped. No NaN
    Input<Buffer<float, 1>> highest{"highest"};          // like units: what is not below it
    Input<int32_t> columns{"columns"};                   // that are measured
    Input<bool> is_outside{"is_outside"};                // whether an element may be clipped, or not finite
    Input<bool> is_far{"is_far"};                        // whether an error may be more than `most_near` units
    Output<Func> sums{"sums", {UInt(64), UInt(32)}, 1};  // squares, and how many are flushed, not finite ones too
    Output<Func> counts{"counts", UInt(32), 1};  // by kernels::measured; to the flushed ones those of `sums` are added

    void configure() { x.set_type(buffer_type(type_named(float_name))); }

    void generate() {
        for (int d = 0; d < 2; d++) {
            x.dim(d).set_min(0);
            y.dim(d).set_min(0);
        }
        for (auto *operand : {&units, &lowest, &highest}) {
            operand->dim(0).set_min(0);
        }
        sum_errors();
        count_what_is_outside();
        Expr found[measured_count];
        found[int(measured::nan)] = total(outside(all)[0]);
        found[int(measured::infinite)] = total(outside(all)[1]);
        found[int(measured::clipped)] = total(outside(all)[2]);
        found[int(measured::flushed)] = cast<uint32_t>(0) - total(outside(all)[3]);
        counts(i) = mux(i, std::vector<Expr>(found, found + measured_count));
        Func(sums).output_buffers()[0].dim(0).set_min(0);
        Func(counts).output_buffers()[0].dim(0).set_min(0);
        set_estimates();
    }

    void schedule() {
        if (using_autoscheduler()) {
            return;
        }
        measure_stages stages;
        stages.sums = sums;
        stages.lanes = sum_lanes;
        stages.steps = sum_steps;
        stages.met = met;
        stages.is_far = is_far;
        stages.columns = columns;
        stages.counts = counts;
        stages.outside = outside;
        stages.totals = totals;
        stages.all = all;
        stages.form = form;
        cpu_schedule_named(schedule_name).measure(stages);
    }

private:
    // Elements by so many at a time: the first column of a step and the row, and of the last columns which there are.
    struct steps {
        RDom over;
        Expr first, row, exists;
    };

    Expr rest() { return columns % measured_step; }

    // All steps of all rows, whole ones and then the rest.
    std::vector<steps> all_steps() {
        RDom whole(0, columns / measured_step, 0, x.dim(1).extent());
        RDom last(0, min(rest(), 1), 0, x.dim(1).extent());
        return {{whole, whole.x * measured_step, whole.y, Internal::const_true()},
                {last, columns - rest() + last.x, last.y, j < rest()}};
    }

    Expr value(const Expr &c, const Expr &r) {
        return float_value(on(), type_named(float_name), reinterpret(UInt(x.type().bits()), x(c, r)));
    }

    static Expr magnitude(const Expr &v) { return reinterpret<uint32_t>(v) & bit_pattern(0x7fffffff); }

    // Of a number, in units, rounded.
    static Expr whole(const Expr &error) { return cast<int32_t>(add(error, 0.5f)); }

    // Of at most 15 bits, of which a product is one instruction of x86.
    Expr near_square(const Expr &c, const Expr &r, const Expr &unit) {
        Expr error = multiply(reinterpret<float>(magnitude(subtract(value(c, r), y(c, r)))), unit);
        Expr units = whole(error) & most_near;
        return cast<uint32_t>(units * units);
    }

    // By bits: those of numbers that are not below 0 order them, and NaN is beyond all.
    Expr far_square(const Expr &c, const Expr &r, const Expr &unit) {
        Expr error = magnitude(subtract(value(c, r), y(c, r)));
        Expr limited = min(reinterpret<uint32_t>(multiply(reinterpret<float>(error), unit)), bit_pattern(0x4d000000));
        Expr finite = select(error < infinity(), limited, bit_pattern(0));
        Expr units = cast<uint32_t>(whole(reinterpret<float>(finite)));
        return widening_mul(units, units);
    }

    using square_of = Expr (Measure::*)(const Expr &c, const Expr &r, const Expr &unit);

    // Of each row or column, by one of two kinds of squares.
    void sum_errors() {
        const std::vector<Expr> far = sums_of("far", UInt(64), &Measure::far_square),
                                near = sums_of("near", UInt(32), &Measure::near_square);
        sums(i) = Tuple(select(is_far, far[0], near[0]), select(is_far, far[1], near[1]));
    }

    std::vector<Expr> sums_of(const std::string &name, Type type, square_of square) {
        Func lanes(name + "_lanes");
        form == kernels::form::column ? sum_along_column(lanes, type, square) : sum_along_row(lanes, type, square);
        sum_lanes.push_back(lanes);
        if (form == kernels::form::column) {
            return {cast<uint64_t>(lanes(i)[0] + lanes(i)[1]), lanes(i)[2]};
        }
        Func squares(name + "_squares"), flushed(name + "_flushed");
        squares(i) = cast<uint64_t>(0);
        squares(i) += cast<uint64_t>(lanes(all, i)[0] + lanes(all, i)[1]);
        flushed(i) = cast<uint32_t>(0);
        flushed(i) += lanes(all, i)[2];
        met.push_back(squares);
        met.push_back(flushed);
        return {squares(i), flushed(i)};
    }

    // Squares by two sums, as one would wait for its last product (x86: 4 cycles), and how many are flushed.
    static Tuple none(Type type) { return {cast(type, 0), cast(type, 0), cast<uint32_t>(0)}; }

    void sum_along_column(Func &lanes, Type type, square_of square) {
        const Expr rows = x.dim(1).extent();
        RDom pairs(0, rows / 2), last(0, rows % 2);
        const auto of = [&](const Expr &row) { return (this->*square)(i, row, units(i)); };
        Expr first = 2 * pairs, second = first + 1, row = rows - 1 + last;
        lanes(i) = none(type);
        lanes(i) = Tuple(lanes(i)[0] + of(first), lanes(i)[1] + of(second),
                         count_flushed(count_flushed(lanes(i)[2], i, first), i, second));
        lanes(i) = Tuple(lanes(i)[0] + of(row), lanes(i)[1], count_flushed(lanes(i)[2], i, row));
        sum_steps.push_back({pairs, last});
    }

    void sum_along_row(Func &lanes, Type type, square_of square) {
        constexpr int pair = 2 * measured_step;
        const Expr more = columns % pair;
        RDom pairs(0, columns / pair), rest(0, (more + measured_step - 1) / measured_step);
        const auto of = [&](const Expr &column) { return (this->*square)(column, i, units(i)); };
        Expr first = pairs * pair + j, second = first + measured_step;
        Expr place = rest * measured_step + j, exists = place < more, column = columns - more + place;
        lanes(j, i) = none(type);
        lanes(j, i) = Tuple(lanes(j, i)[0] + of(first), lanes(j, i)[1] + of(second),
                            count_flushed(count_flushed(lanes(j, i)[2], first, i), second, i));
        lanes(j, i) = Tuple(lanes(j, i)[0] + select(exists, of(column), cast(type, 0)), lanes(j, i)[1],
                            count_flushed(lanes(j, i)[2], column, i, exists));
        sum_steps.push_back({pairs, rest});
    }

    // Other than 0, also a NaN, and its code is worth 0.
    Expr is_flushed(const Expr &c, const Expr &r) {
        return magnitude(value(c, r)) != bit_pattern(0) && magnitude(y(c, r)) == bit_pattern(0);
    }

    // Without masks LLVM makes bytes of conditions and words of bytes, 14 instructions for 16 elements (AVX2). Of a
    // magnitude that is not 0 the sum has the highest bit.
    Expr count_flushed(const Expr &before, const Expr &c, const Expr &r, const Expr &exists = Internal::const_true()) {
        if (on().lane_masks) {
            return count(before, exists && is_flushed(c, r));
        }
        const auto of_not_0 = [](const Expr &v) { return magnitude(v) + bit_pattern(0x7fffffff); };
        Expr of_x = of_not_0(value(c, r)), flushed = (of_x ^ (of_x & of_not_0(y(c, r)))) >> 31;
        return before + select(exists, flushed, bit_pattern(0));
    }

    // NaNs, infinite and clipped elements of each lane, where there may be some, and those that count as flushed
    // before.
    void count_what_is_outside() {
        outside(j) = Tuple(cast<uint32_t>(0), cast<uint32_t>(0), cast<uint32_t>(0), cast<uint32_t>(0));
        for (steps &s : all_steps()) {
            s.over.where(is_outside);
            Expr c = s.first + j, v = value(c, s.row), bits = magnitude(v);
            Expr operand = form == kernels::form::row ? s.row : c;
            Expr is_finite = s.exists && bits < infinity();
            // Without a negation, of which Halide 21 makes a call that no function answers (RISC-V).
            Expr is_within = is_finite && less(v, highest(operand)) && less(lowest(operand), v);
            outside(j) = Tuple(count(outside(j)[0], s.exists && bits > infinity()),
                               count(outside(j)[1], s.exists && bits == infinity()),
                               count(outside(j)[2], is_finite) - cast<uint32_t>(is_within),
                               count(outside(j)[3], s.exists && bits >= infinity() && is_flushed(c, s.row)));
        }
    }

    static Expr count(const Expr &before, const Expr &is_one) { return select(is_one, before + 1, before); }

    // Of all lanes.
    Expr total(const Expr &of_lane) {
        Func sum("total");
        sum() = cast<uint32_t>(0);
        sum() += of_lane;
        totals.push_back(sum);
        return sum();
    }

    static Expr infinity() { return bit_pattern(0x7f800000); }

    void set_estimates() {
        estimate_view(x, type_named(float_name));
        estimate_view(y, type_named("f32"));
        for (auto *operand : {&units, &lowest, &highest}) {
            estimate_operand(form, type_named("f32"), *operand);
        }
        columns.set_estimate(estimated_columns);
        is_outside.set_estimate(false);
        is_far.set_estimate(false);
        Func(sums).set_estimate(i, 0, estimated_rows);
        Func(counts).set_estimate(i, 0, measured_count);
    }

    instructions on() const { return instructions_named(abilities); }

    static constexpr int most_near = 0x7fff;

    Var i{"i"}, j{"j"};
    RDom all{0, measured_step, "all"};
    Func outside{"outside"};
    std::vector<std::vector<RDom>> sum_steps;
    std::vector<Func> sum_lanes, met, totals;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Measure, measure)
