// Stochastic rounding: x becomes quotients, those become numbers of y's type by their random bits, and those are
// quantized by any of its kernels, which have nothing left to round. Each step is of a run of elements, in the L1
// cache.
#include "plan/stochastic.h"

#include "cpu/cache_lines.h"
#include "cpu/consecutive.h"
#include "cpu/float_environment.h"
#include "cpu/kernel_buffer.h"
#include "cpu/region_runner.h"
#include "cpu/stochastic_rows.h"
#include "plan/make_plan.h"
#include "support/types.h"
#include "targets/stochastic_table.h"

#include <algorithm>

namespace qdq::runtime {

namespace {

constexpr int64_t drawn_bytes = 128;                       // of random bytes at once
constexpr int64_t most_values = most_consecutive + group;  // of a run, from the first on that shares bits with it
constexpr int64_t fetching_values = 512;  // that are rounded at a time where memory is fetched: lines are on their way
constexpr float one = 1;

// Whether a tensor is fetched ahead: it is dense, and too large for the caches.
bool fetches(const plan &p, int64_t dimension::*strides) {
    return p.op.nontemporal && is_dense(innermost_first_as_given(p), strides);
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
    op.no_saturate = false;
    set_dense(innermost_first_as_given(made), &dimension::y);
    set_regions(made, merge_order::as_given);
    return made;
}

// Rounded ones to y, by a scale of 1, with the zero point that is added after rounding.
plan plan_of_codes(const plan &p) {
    plan made = p;
    call &op = made.op;
    set_kernels(op, *find_quantize(*op.target, QDQ_F32, op.y_type));
    op.multiply = true;
    op.reciprocal = op.nontemporal = false;
    op.x_type = op.scale_type = QDQ_F32;
    op.x_bits = type_of(QDQ_F32).bits;
    op.x_element = halide_types[QDQ_F32];
    op.scale = &one;
    op.stored = {};
    op.zero_point = op.adds_before_rounding ? nullptr : op.zero_point;
    op.adds_before_rounding = false;
    set_dense(innermost_first_as_given(made), &dimension::x);
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
    const plan *values;  // of x, which are quantized; NULL: x is
    const void *x;
    void *y;
    bool fetches_x, fetches_y;
};

// Bytes of a dense tensor that are fetched while elements are rounded, which takes about as long and reads no memory
// itself.
struct bytes_ahead {
    const char *next, *end;
    int64_t step;

    bytes_ahead(const void *data, int64_t bits, int64_t first, int64_t count)
        : next(static_cast<const char *>(data) + first * bits / 8),
          end(next + count * bits / 8),
          step(bits * fetching_values / 8 / 2) {}

    bool is_done() const { return next >= end; }

    // GCC drops calls of functions that do nothing but prefetch, unless they are inlined.
    [[gnu::always_inline]] void fetch_some() {
        for (const char *const last = std::min(end, next + step); next < last; next += line) {
            __builtin_prefetch(next);
        }
    }
};

// Rounds so many values, of which the first is the first that takes random bits of the block of that number. Out of
// line for its memory, which is not needed beneath the steps before and after.
[[gnu::noinline]] void round_values(const stochastic_call &whole, uint64_t block, float *from, int64_t count,
                                    bytes_ahead &of_x, bytes_ahead &of_y) {
    const element_type &codes = whole.codes.op.codes();
    const uint32_t least_normal = kernels::least_normal_of(codes.layout);
    const uint32_t alignment = kernels::alignment_of(codes.layout.mantissa_bits);
    const int64_t at_once = of_x.is_done() && of_y.is_done() ? most_values : fetching_values;
    alignas(64) uint64_t memory[(most_values + drawn_bytes) / sizeof(uint64_t)];
    halide_dimension_t words_shape{0, 0, 1}, random_shape{0, 0, 1}, shape{0, 0, 1};
    halide_buffer_t words, random, values;
    set_buffer(words, memory, {halide_type_uint, 64, 1}, 1, &words_shape);
    set_buffer(random, memory, {halide_type_uint, 16, 1}, 1, &random_shape);
    const float_environment environment(true);  // what is subnormal rounds to 0, as all that is as small does
    for (int64_t i = 0; i < count; i += at_once, block += uint64_t(at_once / kernels::random_block_elements)) {
        const auto elements = int32_t(round_up(std::min(at_once, count - i)));
        words_shape.extent = int32_t((elements + drawn_bytes - 1) / drawn_bytes * (drawn_bytes / 8));
        random_shape.extent = elements / 2;
        shape.extent = elements;
        set_buffer(values, from + i, halide_types[QDQ_F32], 1, &shape);
        of_x.fetch_some();
        of_y.fetch_some();
        whole.kernels.random(whole.random.seed, block, &words);
        of_x.fetch_some();
        of_y.fetch_some();
        whole.kernels.round[int(kernels::grid_of(codes))](&values, &random, least_normal, alignment, &values);
    }
}

void quantize_some(const consecutive_elements &all, int64_t begin, int64_t end, const void *context) {
    const stochastic_call &whole = *static_cast<const stochastic_call *>(context);
    alignas(64) float values[most_values] = {};
    region_runner dequantize(whole.values ? *whole.values : whole.quotients), divide(whole.quotients),
        quantize(whole.codes);
    for (int64_t number = begin; number < end; number++) {
        interval region[most_dimensions];
        int64_t count = 1;
        const int64_t first = all.set_region(number, region);
        for (int d = 0; d < whole.codes.dimension_count; d++) {
            count *= region[d].extent;
        }
        const uint64_t at = whole.random.offset + uint64_t(first);
        const auto before = int64_t(at % kernels::sharing_elements);
        void *const tensor = tensor_of(values + before, first);
        if (whole.values) {
            dequantize.run(region, whole.x, tensor);
        }
        divide.run(region, whole.values ? tensor : whole.x, tensor);
        const int64_t next = whole.fetches_x && number + 1 < end ? count : 0;
        bytes_ahead of_x(whole.x, whole.quotients.op.x_bits, first + count, next);
        bytes_ahead of_y(whole.y, whole.codes.op.y_bits, first, whole.fetches_y ? count : 0);
        round_values(whole, at / kernels::sharing_elements * kernels::shared_random_blocks, values, before + count,
                     of_x, of_y);
        quantize.run(region, tensor, whole.y);
    }
}

void quantize_stochastically(const plan &p, const void *x, void *y, const plan *values) {
    const stochastic_kernels &kernels = find_stochastic(*p.op.target);
    if (!values && quantize_stochastic_rows(p, kernels, x, y)) {
        return;
    }
    stochastic_call whole{kernels, p.random, plan_of_quotients(p, kernels),        plan_of_codes(p),         values,
                          x,       y,        !values && fetches(p, &dimension::x), fetches(p, &dimension::y)};
    const consecutive_elements all(whole.codes);
    all.choose_path(whole.quotients);
    all.choose_path(whole.codes);
    all.run(quantize_some, &whole);
}

}  // namespace

}  // namespace qdq::runtime

extern "C" const struct qdq_stochastic_rounding qdq_stochastic_rounding = {qdq::runtime::check_stochastic_rounding,
                                                                           qdq::runtime::quantize_stochastically};
