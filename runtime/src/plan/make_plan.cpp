#include "plan/make_plan.h"

#include "plan/draft.h"
#include "plan/loops.h"
#include "plan/regions.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace qdq::runtime {

namespace {

// Whether x and y together have more bits than that. Nothing overflows: a tuned number has 40 bits.
bool is_larger_than(int64_t bits, const call &op, int64_t elements) {
    return std::min(elements, bits) * (op.x_bits + op.y_bits) > bits;
}

bool stores_past_caches(qdq_stores hint, const call &op, int64_t elements) {
    return hint == QDQ_STORES_BY_SIZE ? is_larger_than(8 * op.tuned->nontemporal_bytes, op, elements)
                                      : hint == QDQ_STORES_NONTEMPORAL;
}

void set_call(draft &d) {
    const arguments &given = d.given;
    const qdq_options &options = d.options;
    call &op = d.op;
    const element_type &codes = d.code_type();
    op.multiply = options.scale_mode != QDQ_DIVIDE;
    op.reciprocal = op.quantizes() && options.scale_mode == QDQ_RECIPROCAL;
    op.adds_before_rounding = options.quantize_zp == QDQ_ZP_BEFORE_ROUNDING;
    op.adds_zero_point = options.dequantize_zp == QDQ_ZP_ADD;
    op.rounding = int8_t(options.rounding);
    op.no_saturate = op.quantizes() && !codes.is_integer() && options.no_saturate != 0;
    op.nan_is_zero = op.quantizes() && codes.is_integer() && options.nan == QDQ_NAN_ZERO && op.lowest < 0;
    op.narrowed = op.quantizes() && (op.lowest != codes.lowest() || op.highest != codes.highest());
    op.x_type = given.x->dtype;
    op.y_type = given.y->dtype;
    op.x_bits = int8_t(type_of(op.x_type).bits);
    op.y_bits = int8_t(type_of(op.y_type).bits);
    op.x_element = halide_types[op.x_type];
    op.y_element = halide_types[op.y_type];
    op.block = codes.block;
    op.packing = options.packing;
    op.scale_type = given.scale->dtype;
    op.scale = given.scale->data;
    op.zero_point = given.zero_point && d.zero_point_elements > 0 ? given.zero_point->data : nullptr;
    op.zero_point_type = given.zero_point ? given.zero_point->dtype : QDQ_I32;
    if (op.rounds_by_chance()) {
        d.result.path = d.is_on_device() ? execution_path::device : execution_path::stochastic;
        d.result.random = {options.random_seed, options.random_offset};
    }
    op.nontemporal = op.target->nontemporal && stores_past_caches(options.stores, op, d.x_elements);
}

// Whether every row of packed codes begins at a whole byte, or at the whole group of bytes that splits its halves.
bool rows_begin_at_bytes(const call &op, const loop_nest &nest) {
    const int64_t unit = op.packed_unit();
    auto stride = [&](const dimension &d) { return op.quantizes() ? d.y : d.x; };
    const dimension &c = nest.loops[0];
    const bool fused =
        nest.count > 1 && fuses_rows(op, c, nest.loops[1]) && (unit == op.codes_per_byte() || c.extent % unit == 0);
    return stride(c) == 1 &&
           std::ranges::all_of(nest.loops + (fused ? 2 : 1), nest.loops + std::max(nest.count, fused ? 2 : 1),
                               [&](const dimension &d) { return stride(d) % unit == 0; });
}

struct row_check {
    const call &op;
    bool by_rows, is_first;
};

bool may_run_by_rows(const call &op, const loop_nest &nest) {
    const dimension &c = nest.loops[0];
    return c.x == 1 && c.y == 1 && (!op.packs() || rows_begin_at_bytes(op, nest));
}

// What runs by tiles is the first part's to say, that of whole blocks: the others are few rows, or short.
void check_part(void *context, const blocked_dimension *dimensions, int count, const offsets &at) {
    row_check &check = *static_cast<row_check *>(context);
    loop_nest nest;
    normalize(check.op, dimensions, count, nest);
    const int64_t first = check.op.quantizes() ? at.y : at.x;
    check.by_rows = check.by_rows && first % check.op.packed_unit() == 0 && may_run_by_rows(check.op, nest) &&
                    (!check.is_first || !(runs_by_tiles(check.op, nest) || repeats_operands(check.op, nest)));
    check.is_first = false;
}

// The same of all regular parts, each of which begins so, too; and not better by tiles.
bool parts_run_by_rows(const plan &p) {
    interval all[most_dimensions];
    for (int d = 0; d < p.dimension_count; d++) {
        all[d] = {0, p.dimensions[d].whole.extent};
    }
    blocked_dimension ordered[most_dimensions];
    if (pads_ragged_rows(p.op, ordered, order_for_tiles(p.op, p.dimensions, p.dimension_count, ordered))) {
        return false;
    }
    row_check check{p.op, true, true};
    for_each_regular_part(p.dimensions, all, p.dimension_count, check_part, &check);
    return check.by_rows;
}

// The block of the block form for elements that share an operand, or the type's own.
int64_t block_of(const call &op, int64_t elements) {
    const int64_t dividing = dividing_block(op, elements);
    return dividing ? dividing : op.block;
}

}  // namespace

void set_tiles(plan &p, const blocked_dimension *dimensions, int count) {
    p.path = execution_path::tiles;
    std::copy_n(dimensions, count, p.dimensions);
    p.dimension_count = count;
    const auto &[c, block] = dimensions[0];
    p.op.block = block_of(p.op, pads_rows(p.op, dimensions, count) ? block : std::gcd(block, c.extent));
}

void choose_path(plan &p) {
    const bool is_ragged = std::ranges::any_of(p.dimensions, p.dimensions + p.dimension_count,
                                               [](const blocked_dimension &d) { return d.ragged(); });
    if (!is_ragged) {
        normalize(p.op, p.dimensions, p.dimension_count, p.nest);
        p.op.block = block_of(p.op, p.nest.loops[0].extent);
    }
    const bool nest_by_rows = !is_ragged && may_run_by_rows(p.op, p.nest) && !runs_by_tiles(p.op, p.nest);
    if (is_ragged ? parts_run_by_rows(p) : nest_by_rows) {
        p.path = is_ragged ? execution_path::parts : execution_path::nest;
        return;
    }
    blocked_dimension ordered[most_dimensions];
    set_tiles(p, ordered, order_for_tiles(p.op, p.dimensions, p.dimension_count, ordered));
}

// Whether columns are divided by more scales than staged pieces go well with: f32 to i8 by columns of 4096, AVX2 on Zen
// 3, takes 0.82 ns an element so, and 0.41 by way of the caches.
bool divides_many_columns(const plan &p) {
    const dimension &c = p.nest.loops[0];
    return p.path == execution_path::nest && p.op.has_inverses() && c.varies() &&
           c.extent > p.op.tuned->divided_columns && !p.op.quantize->nontemporal[int(kernel_form::column)];
}

qdq_status check_call(const arguments &given, plan &result) {
    result.made = plan_mark;
    result.x_offset = result.y_offset = result.scale_offset = result.zero_point_offset = 0;
    result.path = execution_path::nest;
    result.op.kind = given.op;
    result.op.stored = {};
    result.direct.possible = false;
    draft d{given, result};
    qdq_status s;
    if ((s = check_tensors(d)) || (s = choose_kernels(d)) || (s = check_options(d)) || (s = check_granularity(d))) {
        return s;
    }
    result.elements = d.x_elements;
    if (d.x_elements == 0) {
        result.nest.count = 0;
        return QDQ_OK;
    }
    if ((s = check_memory(d)) || (s = check_zero_point_values(d))) {
        return s;
    }
    set_call(d);
    return QDQ_OK;
}

qdq_status make_plan(const arguments &given, plan &result) {
    const qdq_status status = check_call(given, result);
    if (!status && runs_on_host(result) && result.path != execution_path::stochastic) {
        choose_path(result);
        const bool by_size = !given.options || given.options->stores == QDQ_STORES_BY_SIZE;
        if (by_size && result.elements > 0 && divides_many_columns(result)) {
            result.op.nontemporal = false;
        }
        result.path = result.op.packing == QDQ_DENSE ? execution_path::dense : result.path;
    }
    return status;
}

}  // namespace qdq::runtime
