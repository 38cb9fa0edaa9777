#include "cpu/transcoding.h"

#include "cpu/consecutive.h"
#include "cpu/region_runner.h"
#include "plan/stochastic.h"

#include <algorithm>

namespace qdq::runtime {

namespace {

constexpr int64_t most_values = 32 * group;
constexpr int64_t few_rows = 8;  // of a run of several

// Whether a plan's operands differ along the first dimension, and do not along the second.
bool has_operands_of_columns(const plan &p) {
    const auto &[columns, block] = p.dimensions[0];
    const auto &[rows, block_of_rows] = p.dimensions[1];
    return columns.varies() && block < group && (!rows.varies() || block_of_rows >= few_rows);
}

// Cuts a dimension into parts of so many steps, which divide its blocks or are whole ones. The parts are counted by a
// dimension of their own, at that place.
void cut(plan &p, int dimension, int64_t steps, int place) {
    blocked_dimension &part = p.dimensions[dimension];
    blocked_dimension parts = part;
    parts.whole.extent = part.whole.extent / steps;
    parts.whole.x = part.whole.x * steps;
    parts.whole.y = part.whole.y * steps;
    part.whole.extent = steps;
    if (part.block >= steps) {
        part.block = steps;
        part.whole.scale = part.whole.zero_point = 0;
        parts.block = std::max<int64_t>(parts.block / steps, 1);
    } else {
        parts.block = 1;
        parts.whole.scale *= steps / part.block;
        parts.whole.zero_point *= steps / part.block;
    }
    std::copy_backward(p.dimensions + place, p.dimensions + p.dimension_count, p.dimensions + p.dimension_count + 1);
    p.dimensions[place] = parts;
    p.dimension_count++;
}

bool may_cut(const blocked_dimension &d, int64_t steps) {
    return d.whole.extent % steps == 0 && (!d.whole.varies() || d.block % steps == 0 || steps % d.block == 0);
}

// Has runs take some rows of some columns where each column has an operand, which is converted once for them: i8 of
// [4096, 4096] with a scale a column takes 0.19 ns an element, and by runs of one row 0.42 (Zen 5). Runs follow one
// another along rows, as memory does.
void run_by_columns(transcoding &plans) {
    plan *const both[] = {&plans.dequantize, &plans.quantize};
    const plan &p = plans.quantize;
    const auto may_cut_both = [&](int d, int64_t steps) {
        return may_cut(plans.dequantize.dimensions[d], steps) && may_cut(p.dimensions[d], steps);
    };
    if (p.dimension_count < 2 || p.dimension_count + 2 > most_dimensions || !may_cut_both(1, few_rows) ||
        (!has_operands_of_columns(p) && !has_operands_of_columns(plans.dequantize))) {
        return;
    }
    for (int64_t columns = most_values / few_rows; columns >= group; columns /= 2) {
        if (may_cut_both(0, columns)) {
            for (plan *each : both) {
                cut(*each, 0, columns, 2);
                cut(*each, 1, few_rows, 3);
            }
            set_dense(innermost_first(plans.dequantize), &dimension::y);
            set_dense(innermost_first(plans.quantize), &dimension::x);
            return;
        }
    }
}

struct transcoded_tensors {
    const transcoding &plans;
    const void *x;
    void *y;
};

void transcode_some(const consecutive_elements &all, int64_t begin, int64_t end, const void *context) {
    const transcoded_tensors &whole = *static_cast<const transcoded_tensors *>(context);
    alignas(64) float values[most_values];
    region_runner dequantize(whole.plans.dequantize), quantize(whole.plans.quantize, whole.plans.bypasses_caches);
    for (int64_t number = begin; number < end; number++) {
        interval region[most_dimensions];
        const int64_t first = all.set_region(number, region);
        void *const tensor = tensor_of(values, first);
        dequantize.run(region, whole.x, tensor);
        quantize.run(region, tensor, whole.y);
    }
}

}  // namespace

void transcode(transcoding &plans, const void *x, void *y) {
    if (plans.quantize.path == execution_path::stochastic) {
        consecutive_elements(plans.dequantize).choose_path(plans.dequantize);
        qdq_linked_stochastic_rounding->run(plans.quantize, x, y, &plans.dequantize);
        return;
    }
    run_by_columns(plans);
    const consecutive_elements all(plans.quantize, most_values);
    for (plan *p : {&plans.dequantize, &plans.quantize}) {
        all.choose_path(*p);
    }
    const transcoded_tensors whole{plans, x, y};
    all.run(transcode_some, &whole);
}

}  // namespace qdq::runtime
