// Stochastic rounding: x becomes quotients, those become numbers of y's type by their random bits, and those are
// quantized by any of its kernels, which have nothing left to round. Each step is of a run of elements, in the L1 cache.
#include "plan/stochastic.h"

#include "cpu/consecutive.h"
#include "cpu/execute.h"
#include "cpu/float_environment.h"
#include "cpu/kernel_buffer.h"
#include "plan/make_plan.h"
#include "support/types.h"
#include "targets/stochastic_table.h"

namespace qdq::runtime {

namespace {

// Of random bits an element takes a byte, and those that begin with a block of the generator's 16 bytes are so many.
constexpr int64_t shared = 2 * kernels::sharing_distance, blocks = shared / 16;
constexpr int64_t drawn_bytes = 128;  // at once
constexpr float one = 1;

using strides_of = int64_t dimension::*;

// Those of a dense tensor of the plan's shape.
void set_dense(plan &p, strides_of strides) {
    int64_t step = 1;
    for (int d = p.dimension_count; d-- > 0;) {
        dimension &whole = p.dimensions[d].whole;
        whole.*strides = step;
        step *= whole.extent;
    }
}

bool x_is_dense(const plan &p) {
    int64_t step = 1;
    bool is_dense = true;
    for (int d = p.dimension_count; d-- > 0;) {
        const dimension &whole = p.dimensions[d].whole;
        is_dense = is_dense && (whole.x == step || whole.extent == 1);
        step *= whole.extent;
    }
    return is_dense;
}

void set_kernels(call &op, const quantize_row &row) {
    op.quantize = &row;
    op.tuned = &row.tuned;
    op.rounding = QDQ_NEAREST_EVEN;
}

// x to a dense tensor of t, with the zero point that is added before rounding.
plan plan_of_quotients(const plan &p, const stochastic_kernels &kernels) {
    plan made = p;
    call &op = made.op;
    op.adds_before_rounding = op.adds_before_rounding && op.codes().is_integer();  // that of floats is 0
    op.zero_point = op.adds_before_rounding ? op.zero_point : nullptr;
    const element_type &type = type_of(QDQ_F32);
    set_kernels(op, kernels.quotients[op.x_type]);
    op.y_type = type.dtype;
    op.y_bits = type.bits;
    op.y_element = halide_types[type.dtype];
    op.block = type.block;
    op.packing = QDQ_LOW_FIRST;
    op.narrowed = op.nan_is_zero = op.nontemporal = false;
    op.no_saturate = 0;
    set_dense(made, &dimension::y);
    set_regions(made, merge_order::as_given);
    return made;
}

// Rounded ones to y, by a scale of 1, with the zero point that is added after rounding.
plan plan_of_codes(const plan &p) {
    plan made = p;
    call &op = made.op;
    set_kernels(op, *find_quantize(*op.target, QDQ_F32, op.y_type));
    op.multiply = true;
    op.reciprocal = false;
    op.x_type = op.scale_type = QDQ_F32;
    op.x_bits = type_of(QDQ_F32).bits;
    op.x_element = halide_types[QDQ_F32];
    op.scale = &one;
    op.zero_point = op.adds_before_rounding ? nullptr : op.zero_point;
    op.adds_before_rounding = false;
    set_dense(made, &dimension::x);
    for (int d = 0; d < made.dimension_count; d++) {
        made.dimensions[d].whole.scale = 0;
    }
    set_regions(made, merge_order::as_given);
    return made;
}

struct stochastic_call {
    const stochastic_kernels &kernels;
    const random_numbers random;
    plan quotients, codes;
    const void *x;
    void *y;
    bool x_is_dense;
};

// Elements of a run, from the first on that shares random bits with one of them.
struct random_run {
    alignas(64) float values[most_consecutive + group] = {};
    alignas(64) uint64_t words[(most_consecutive + drawn_bytes) / sizeof(uint64_t)];
};

// The rounded values of so many elements, whose random bits begin with the block of that number.
void round_run(const stochastic_call &whole, uint64_t block, int64_t count, random_run &run) {
    const element_type &codes = whole.codes.op.codes();
    const float_layout &layout = codes.layout;
    const kernels::grid grid = codes.is_integer() ? kernels::grid::integers : kernels::grid::floats;
    const auto least_normal = uint32_t(128 - layout.bias) << 23;
    const auto elements = int32_t(round_up(count));
    const halide_dimension_t words_shape{0, int32_t((elements + drawn_bytes - 1) / drawn_bytes * (drawn_bytes / 8)), 1},
        random_shape{0, elements / 2, 1}, shape{0, elements, 1};
    halide_buffer_t words, random, values;
    set_buffer(words, run.words, {halide_type_uint, 64, 1}, 1, &words_shape);
    set_buffer(random, run.words, {halide_type_uint, 16, 1}, 1, &random_shape);
    set_buffer(values, run.values, halide_types[QDQ_F32], 1, &shape);
    const float_environment environment(true);  // what is subnormal rounds to 0, as all that is as small does
    whole.kernels.random(whole.random.seed, block, &words);
    whole.kernels.round[int(grid)](&values, &random, least_normal, kernels::alignment_of(layout.mantissa_bits),
                                   &values);
}

// Has so many elements of a dense x on their way while others are rounded, which takes as long and reads no memory.
void fetch_ahead(const stochastic_call &whole, int64_t first, int64_t count) {
    constexpr int64_t line = 64;
    const int64_t bytes = whole.quotients.op.x_bits / 8;
    const char *const begin = static_cast<const char *>(whole.x) + first * bytes;
    for (int64_t at = 0; at < count * bytes; at += line) {
        __builtin_prefetch(begin + at);
    }
}

void quantize_some(const consecutive_elements &all, int64_t begin, int64_t end, const void *context) {
    const stochastic_call &whole = *static_cast<const stochastic_call *>(context);
    random_run run;
    for (int64_t number = begin; number < end; number++) {
        interval region[most_dimensions];
        int64_t count = 1;
        const int64_t first = all.set_region(number, region);
        for (int d = 0; d < whole.codes.dimension_count; d++) {
            count *= region[d].extent;
        }
        const uint64_t at = whole.random.offset + uint64_t(first);
        const auto before = int64_t(at % shared);
        float *const tensor = run.values + before - first;
        run_region(whole.quotients, region, whole.x, tensor);
        if (whole.x_is_dense && number + 1 < end) {
            fetch_ahead(whole, first + count, count);
        }
        round_run(whole, at / shared * blocks, before + count, run);
        run_region(whole.codes, region, tensor, whole.y);
    }
}

void quantize_stochastically(const plan &p, const void *x, void *y) {
    const stochastic_kernels &kernels = find_stochastic(*p.op.target);
    stochastic_call whole{kernels, p.random, plan_of_quotients(p, kernels), plan_of_codes(p), x, y, x_is_dense(p)};
    const consecutive_elements all(whole.codes);
    all.choose_path(whole.quotients);
    all.choose_path(whole.codes);
    all.run(quantize_some, &whole);
}

}  // namespace

}  // namespace qdq::runtime

extern "C" const struct qdq_stochastic_rounding qdq_stochastic_rounding = {qdq::runtime::quantize_stochastically};
