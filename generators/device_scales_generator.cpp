// The scales, or the zero points, of a dynamic call on a device: threads reduce a group's elements to its extremes,
// meet in shared memory, and one of them applies the rule. Both numbers are exact in any order, and of an element
// twice.
#include "arithmetic.h"
#include "device_code.h"
#include "device_inputs.h"
#include "scale_rules.h"
#include "scales_arguments.h"
#include "schedule.h"

namespace {

using namespace Halide;
using namespace qdq;

class DeviceScales : public Generator<DeviceScales> {
public:
    GeneratorParam<int> bits{"bits", 32};  // of an element
    GeneratorParam<scales_form> form{"form", scales_form::wide, scales_form_names()};
    GeneratorParam<std::string> abilities{"instructions", "opencl"};
    GeneratorParam<std::string> schedule_name{"schedule", "opencl"};
    scales_parameters tuned;
    device_code_parameters made;

    Input<Buffer<void, 2>> x{"x"};                // words of a unit, and units; strided: elements of a page, and pages
    Output<Buffer<uint8_t, 2>> output{"output"};  // bytes of a page, and pages

    void configure() {
        x.set_type(UInt(dense() ? 32 : bits));
        for_each_argument(in, form, [&]<typename T>(const char *name, int d, GeneratorInput<T> *&field) {
            field = add_input<T>(d < 0 ? name : name + ("_" + std::to_string(d)));
        });
    }

    void generate() {
        if (dense()) {
            x.set_host_alignment(scales_unit_bytes);
            x.dim(0).set_bounds(0, words).set_stride(1);
            x.dim(1).set_min(0).set_stride(words);
        } else {
            assume_pages(x);
        }
        assume_pages(output);
        define_threads();
        define_group();
        define_result();
        store();
        set_estimates();
    }

    void schedule() {
        if (!using_autoscheduler()) {
            device_schedule_named(schedule_name).scales(stages, tuned);
        }
        made.apply_to(get_pipeline(), get_target());
    }

private:
    static constexpr int words = scales_unit_bytes / 4, most_bytes = 8;

    instructions on() const { return instructions_named(abilities); }
    bool dense() const { return form != scales_form::strided; }
    int dimensions() const { return scales_dimensions_of(form); }
    int threads_of_group() const { return form == scales_form::wide ? int(tuned.threads) : int(tuned.group_threads); }
    int groups_of_block() const { return tuned.threads / threads_of_group(); }

    // Of a thread of a block: which of the block's groups is its, and which of the group's threads it is.
    Expr own_group(const Expr &i) const { return dense() ? i / threads_of_group() : i % groups_of_block(); }
    Expr own_part(const Expr &i) const { return dense() ? i % threads_of_group() : i / groups_of_block(); }
    Expr thread_of(const Expr &g, const Expr &part) const {
        return dense() ? g * threads_of_group() + part : part * groups_of_block() + g;
    }

    Tuple zeros() const { return {0, bit_pattern(0)}; }
    static Tuple larger(const Tuple &a, const Tuple &b) { return {max(a[0], b[0]), max(a[1], b[1])}; }

    // Of 32 bits, an element of 16 in the upper half: the largest as a signed integer, and as an unsigned one.
    static Tuple extremes_of(const Expr &word) { return {reinterpret<int32_t>(word), word}; }

    Expr group_number(const Expr &g, const Expr &b) const {
        return min(b * groups_of_block() + g, Expr(*in.groups) - 1);
    }

    // The block of a group along each dimension.
    std::vector<Expr> blocks_of(Expr rest) {
        std::vector<Expr> all;
        for (int d = 0; d < dimensions(); d++) {
            const bool is_last = d + 1 == dimensions();
            Expr outer = is_last ? Expr(0) : quotient(on(), rest, *in.blocks_multiplier[d], *in.blocks_shift[d]);
            all.push_back(is_last ? rest : rest - outer * Expr(*in.blocks[d]));
            rest = outer;
        }
        return all;
    }

    // Where the unit of a thread's step is in x. What lies past the end of a last block that is shorter is the
    // dimension's last unit.
    Expr place_of(const Expr &step, const Expr &i, const Expr &b) {
        Expr rest = min(step * threads_of_group() + own_part(i), Expr(*in.units) - 1);
        Expr place = *in.first_x;
        for (int d = 0; d < dimensions(); d++) {
            const bool is_last = d + 1 == dimensions();
            Expr outer = is_last ? Expr(0) : quotient(on(), rest, *in.block_multiplier[d], *in.block_shift[d]);
            Expr within = is_last ? rest : rest - outer * Expr(*in.block[d]);
            Expr index = min(begin(i, b)[d] + within, Expr(*in.extent[d]) - 1);
            place += cast<int64_t>(index) * Expr(*in.x_step[d]);
            rest = outer;
        }
        return place;
    }

    // Each thread's own units: every so many of the group's, and after the last that one again.
    void define_threads() {
        std::vector<Expr> begins = blocks_of(group_number(own_group(thread), block));
        for (int d = 0; d < dimensions(); d++) {
            begins[d] = begins[d] * Expr(*in.block[d]);
        }
        begin(thread, block) = Tuple(begins);

        RDom steps(0, (Expr(*in.units) + threads_of_group() - 1) / threads_of_group(), "steps");
        own(thread, block) = zeros();
        own(thread, block) = larger(own(thread, block), extremes_of_unit(steps));
        met(thread, block) = own(thread, block);
        stages.begin = begin;
        stages.own = own;
        stages.steps = steps;
        stages.met = met;
    }

    Tuple extremes_of_unit(const Expr &of_step) {
        if (!dense()) {
            Expr element = x(page_and_place(place_of(of_step, thread, block), x.dim(0).extent(), x.dim(1).extent()));
            return extremes_of(cast<uint32_t>(element) << (32 - bits));
        }
        place(step, thread, block) = cast<int32_t>(place_of(step, thread, block));
        loaded(word, step, thread, block) =
            x(word, unsafe_promise_clamped(place(step, thread, block), 0, x.dim(1).extent() - 1));
        stages.place = place;
        stages.loaded = loaded;
        stages.loaded_words = words;
        Tuple all = zeros();
        for (int w = 0; w < words; w++) {
            Expr bits_of_word = loaded(w, of_step, thread, block);
            all = larger(all, extremes_of(bits == 32 ? bits_of_word : bits_of_word & bit_pattern(0xffff0000)));
            all = bits == 32 ? all : larger(all, extremes_of(bits_of_word << 16));
        }
        return all;
    }

    // What the threads of a group have found: of many, some at a time.
    void define_group() {
        const int threads = threads_of_group(), at_once = form == scales_form::wide ? 16 : threads;
        RDom each(0, threads / at_once, "each"), all(0, at_once, "all");
        part(i, group, block) = zeros();
        part(i, group, block) = larger(part(i, group, block), met(thread_of(group, i + each * at_once), block));
        found(group, block) = zeros();
        found(group, block) = larger(found(group, block),
                                     at_once < threads ? part(all, group, block) : met(thread_of(group, all), block));
        if (at_once < threads) {
            stages.part = part;
            stages.parts = at_once;
        }
        stages.found = found;
    }

    // As f32: the sign bit is that of the word.
    Expr value(const Expr &word) {
        Expr of_f16 = float_value(on(), type_of(QDQ_F16), word >> 16);
        return bits == 32 ? reinterpret<float>(word)
                          : select(*in.x_type == int(QDQ_F16), of_f16, reinterpret<float>(word));
    }

    void define_result() {
        Expr below = found(group, block)[1], above = reinterpret<uint32_t>(found(group, block)[0]);
        Expr has_negative = (below & bit_pattern(0x80000000)) != 0;
        value_of(group, block) =
            Tuple(spelled(on(), value(select(has_negative, below, bit_pattern(0)))), spelled(on(), value(above)));
        const extreme_values of{value_of(group, block)[0], value_of(group, block)[1]};
        const scale_rule how{*in.rule,          *in.clip_ratio, *in.least_scale, *in.largest,   *in.largest_exponent,
                             *in.mantissa_bits, *in.lowest,     *in.highest,     *in.scale_type};
        scale(group, block) = spelled(on(), scale_bits(on(), how, of));
        Expr zero_point = spelled(on(), zero_point_beside(on(), how, of, scale(group, block)));
        Expr of_rule =
            lazily(*in.kind == int(scales_output::zero_point), reinterpret<uint32_t>(zero_point), scale(group, block));
        Expr is_extreme = *in.kind == int(scales_output::extremes);
        result(group, block) =
            Tuple(lazily(is_extreme, reinterpret<uint32_t>(of.lowest), of_rule), reinterpret<uint32_t>(of.highest));
        stages.scalars = {value_of, scale, result};
    }

    void store() {
        RDom out(0, most_bytes, 0, groups_of_block(), 0, (Expr(*in.groups) + groups_of_block() - 1) / groups_of_block(),
                 "out");
        out.where(out.x < *in.output_bytes && out.z * groups_of_block() + out.y < *in.groups);
        std::vector<Expr> blocks = blocks_of(group_number(group, block));
        Expr at = *in.first_output;
        for (int d = 0; d < dimensions(); d++) {
            at += cast<int64_t>(blocks[d]) * Expr(*in.output_step[d]);
        }
        output_place(group, block) = at * Expr(*in.output_bytes);
        stages.scalars.push_back(output_place);
        Var byte("byte"), page("page");
        output(byte, page) = undef<uint8_t>();
        Expr place = output_place(out.y, out.z) + out.x;
        Expr bits = select(out.x < 4, result(out.y, out.z)[0], result(out.y, out.z)[1]);
        output(page_and_place(place, output.dim(0).extent(), output.dim(1).extent())) =
            cast<uint8_t>(bits >> cast<uint32_t>(8 * (out.x % 4)));
        stages.output = output;
        stages.byte = out.x;
        stages.group = out.y;
        stages.block = out.z;
        stages.threads = tuned.threads;
        stages.groups = groups_of_block();
    }

    void set_estimates() {
        for_each_argument(in, form, [](const char *, int, auto *&field) { field->set_estimate(1); });
        in.groups->set_estimate(estimated_units);
        x.set_estimates({{0, dense() ? words : estimated_page}, {0, dense() ? estimated_units : 1}});
        output.set_estimates({{0, estimated_page}, {0, 1}});
    }

    scales_arguments<input_pointer> in;
    scales_stages stages;
    Var thread{"thread"}, block{"block"}, group{"group"}, step{"step"}, i{"i"}, word{"word"};
    Func begin{"begin"}, place{"place"}, loaded{"loaded"}, own{"own"}, met{"met"}, part{"part"}, found{"found"},
        value_of{"value_of"}, scale{"scale"}, result{"result"}, output_place{"output_place"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(DeviceScales, device_scales)
