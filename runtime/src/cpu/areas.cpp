#include "cpu/areas.h"

#include "cpu/cache_lines.h"
#include "cpu/copied_areas.h"
#include "cpu/diagnostics.h"
#include "cpu/direct_call.h"
#include "cpu/execute.h"
#include "cpu/float_environment.h"
#include "cpu/group_errors.h"
#include "cpu/movement.h"
#include "cpu/nest_runner.h"
#include "cpu/reduction.h"
#include "cpu/row_stream.h"
#include "cpu/scale_rules.h"
#include "cpu/squared_errors.h"
#include "cpu/threads.h"
#include "cpu/tile_runner.h"
#include "plan/area_grid.h"
#include "plan/loops.h"
#include "support/types.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

namespace qdq::runtime {

namespace {

constexpr int64_t most_partial = 4 * most_groups;  // results of parts that are reduced apart

// A box of groups.
struct area {
    interval box[most_dimensions];
    blocked_dimension dimensions[most_dimensions];  // with the number of a group as the stride of the scale
    int64_t groups[most_dimensions];                // along each dimension
    const int *order;                               // of dimensions in which groups are numbered
    int64_t group_count = 1;
    int64_t first_group = 0;  // where numbers begin at the tensor's first group
    int64_t elements = 1;
};

int64_t groups_along(const blocked_dimension &d, const interval &i) {
    return d.whole.varies() ? (i.extent + d.block - 1) / d.block : 1;
}

// How many blocks are before a place; a dimension without elements has none.
int64_t blocks_before(const blocked_dimension &d, int64_t place) { return d.whole.varies() ? place / d.block : 0; }

void set_area(const dynamic_plan &p, const area_grid &grid, int64_t number, area &a) {
    const plan &base = p.quantize;
    find_area(grid, base.dimension_count, number, a.box);
    a.order = grid.order;
    for (int i = 0; i < base.dimension_count; i++) {
        const int d = grid.order[i];
        const auto &[w, block] = base.dimensions[d];
        a.groups[d] = groups_along(base.dimensions[d], a.box[d]);
        a.dimensions[d] = {{w.extent, w.x, w.x, w.varies() ? a.group_count : 0, 0}, block};
        a.first_group += blocks_before(base.dimensions[d], a.box[d].start) * a.group_count;
        a.group_count *= a.groups[d];
        a.elements *= a.box[d].extent;
    }
}

// The first element and operands of an area.
offsets first_of(const plan &base, const area &a) {
    offsets first;
    for (int d = 0; d < base.dimension_count; d++) {
        const dimension &w = base.dimensions[d].whole;
        const int64_t blocks = blocks_before(base.dimensions[d], a.box[d].start);
        first.x += a.box[d].start * w.x;
        first.y += a.box[d].start * w.y;
        first.scale += blocks * w.scale;
        first.zero_point += blocks * w.zero_point;
    }
    return first;
}

scale_computation how_of(const dynamic_plan &p, const dynamic_tensors &at) {
    scale_computation how = p.how;
    how.global = at.global;
    return how;
}

template<typename Element, typename Value>
void put(void *data, int64_t first, int64_t stride, const Value *values, int64_t count) {
    char *const to = static_cast<char *>(data) + first * int64_t{sizeof(Element)};
    const auto put_at = [&](int64_t i, int64_t place) {
        const auto value = static_cast<Element>(values[i]);
        std::memcpy(to + place * int64_t{sizeof(Element)}, &value, sizeof(Element));
    };
    if (stride == 1) {  // by vectors
        for (int64_t i = 0; i < count; i++) {
            put_at(i, i);
        }
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        put_at(i, i * stride);
    }
}

// The low bits of values as elements so far from one another.
template<typename Value>
void put(qdq_dtype type, void *data, int64_t first, int64_t stride, const Value *values, int64_t count) {
    switch (type_of(type).bits) {
    case 8: put<uint8_t>(data, first, stride, values, count); break;
    case 16: put<uint16_t>(data, first, stride, values, count); break;
    default: put<uint32_t>(data, first, stride, values, count);
    }
}

// Operands of so many groups at one stride.
struct operand_row {
    int64_t scale, zero_point, scale_stride, zero_point_stride;
};

void put_operands(const dynamic_plan &p, const dynamic_tensors &at, const operand_row &row, const uint32_t *scales,
                  const int32_t *zero_points, int64_t count) {
    put(p.how.scale_type, at.scale, row.scale, row.scale_stride, scales, count);
    if (p.has_zero_point) {
        put(p.how.zero_point_type, at.zero_point, row.zero_point, row.zero_point_stride, zero_points, count);
    }
}

// Puts the operands of groups where the caller wants them: by rows of the first dimension that has several groups.
void put_groups(const dynamic_plan &p, const area &a, const uint32_t *scales, const int32_t *zero_points,
                const dynamic_tensors &at) {
    const blocked_dimension *const dimensions = p.quantize.dimensions;
    const offsets first = first_of(p.quantize, a);
    operand_row row{first.scale, first.zero_point, 0, 0};
    const int dimension_count = p.quantize.dimension_count;
    int inner = 0;
    while (inner + 1 < dimension_count && a.groups[a.order[inner]] == 1) {
        inner++;
    }
    int64_t count = 1;
    if (dimension_count > 0) {
        const int d = a.order[inner];
        row.scale_stride = dimensions[d].whole.scale;
        row.zero_point_stride = dimensions[d].whole.zero_point;
        count = a.groups[d];
    }
    loop_counter rows(inner + 1, dimension_count);
    int64_t group = 0;
    do {
        put_operands(p, at, row, scales + group, zero_points + group, count);
        group += count;
    } while (rows.next([&](int i) { return a.groups[a.order[i]]; },
                       [&](int i, int64_t steps) {
                           const dimension &w = dimensions[a.order[i]].whole;
                           row.scale += steps * w.scale;
                           row.zero_point += steps * w.zero_point;
                       }));
}

[[gnu::noinline]] void diagnose_groups(const dynamic_plan &p, const area &a, const extremes &found,
                                       const uint32_t *scales, const int32_t *zero_points, const dynamic_tensors &at) {
    float values[most_groups];
    values_of_scales(*p.quantize.op.target, how_of(p, at), scales, a.group_count, values);
    at.diagnosed->add_groups(found, values, zero_points, a.group_count);
}

// Puts the operands of all groups of an area, and diagnoses those whose elements are to be.
void finish_operands(const dynamic_plan &p, const area &a, const extremes &found, const uint32_t *scales,
                     const int32_t *zero_points, const dynamic_tensors &at) {
    put_groups(p, a, scales, zero_points, at);
    if (at.diagnosed) {
        diagnose_groups(p, a, found, scales, zero_points, at);
    }
}

const tile_visitor *visitor_of(const dynamic_tensors &at) { return at.diagnosed ? at.diagnosed->visitor() : nullptr; }

// The squared errors of an area's groups by such operands.
void measure_errors(const dynamic_plan &p, const area &a, const void *x, const group_operands &with, double *errors) {
    struct measuring {
        const dynamic_plan &p;
        int64_t first_group;
        const void *x;
        const group_operands &with;
        uint64_t sums[most_measured_groups];
    } context{p, a.first_group, x, with, {}};
    for_each_regular_part(
        a.dimensions, a.box, p.quantize.dimension_count,
        [](void *given, const blocked_dimension *dimensions, int count, const offsets &at) {
            measuring &to = *static_cast<measuring *>(given);
            offsets within = at;
            within.scale -= to.first_group;
            add_squared_errors(to.p, dimensions, count, within, to.x, to.with, to.sums);
        },
        &context);
    for (int64_t i = 0; i < a.group_count; i++) {
        const double unit = error_unit(error_exponent(with.scale[i]));
        errors[i] = static_cast<double>(context.sums[i]) * (unit * unit);
    }
}

// Computes the operands of the candidate that has the least error in each group, and of the first of equals.
[[gnu::noinline]] void search_groups(const dynamic_plan &p, const area &a, const extremes &found,
                                     const dynamic_tensors &at) {
    uint32_t best_scales[most_measured_groups];
    int32_t best_zero_points[most_measured_groups];
    double least[most_measured_groups], errors[most_measured_groups];
    std::fill_n(least, a.group_count, std::numeric_limits<double>::infinity());
    scale_computation how = how_of(p, at);
    for (int32_t candidate = 0; candidate < p.candidates.count; candidate++) {
        uint32_t scales[most_measured_groups];
        int32_t zero_points[most_measured_groups]{};
        how.clip_ratio = p.candidates.ratio(candidate);
        compute_scales(*p.quantize.op.target, how, found, a.group_count, scales, zero_points);
        float values[most_measured_groups];
        values_of_scales(*p.quantize.op.target, how, scales, a.group_count, values);
        measure_errors(p, a, at.x, {values, p.has_zero_point ? zero_points : nullptr}, errors);
        for (int64_t i = 0; i < a.group_count; i++) {
            if (errors[i] < least[i]) {
                least[i] = errors[i];
                best_scales[i] = scales[i];
                best_zero_points[i] = zero_points[i];
            }
        }
    }
    finish_operands(p, a, found, best_scales, best_zero_points, at);
}

[[gnu::noinline]] void compute_groups(const dynamic_plan &p, const area &a, const extremes &found,
                                      const dynamic_tensors &at) {
    uint32_t scales[most_groups];
    int32_t zero_points[most_groups];
    zero_points[0] = 0;
    // Those of no elements are all the same: in 32 groups, most of them empty, 151 936 f16 with a scale each take 27
    // ns an element, and 11 so (Zen 5).
    const int64_t computed = a.elements == 0 ? 1 : a.group_count;
    compute_scales(*p.quantize.op.target, how_of(p, at), found, computed, scales, zero_points);
    std::fill_n(scales + computed, a.group_count - computed, scales[0]);
    std::fill_n(zero_points + computed, a.group_count - computed, zero_points[0]);
    finish_operands(p, a, found, scales, zero_points, at);
}

// What follows of the extremes of groups.
void finish_groups(const dynamic_plan &p, const area &a, const extremes &found, const dynamic_tensors &at) {
    const float_environment environment;
    if (p.candidates.count > 1 && a.elements > 0) {
        search_groups(p, a, found, at);
    } else {
        compute_groups(p, a, found, at);
    }
}

// The elements of a region of an area.
void reduce_region(const dynamic_plan &p, const area &a, const interval *region, const void *x, const extremes &found) {
    struct reducing {
        const dynamic_plan &p;
        int64_t first_group;
        const void *x;
        const extremes &found;
    } context{p, a.first_group, x, found};
    for_each_regular_part(
        a.dimensions, region, p.quantize.dimension_count,
        [](void *given, const blocked_dimension *dimensions, int count, const offsets &at) {
            const reducing &to = *static_cast<const reducing *>(given);
            reduced_nest nest;
            set_reduction(to.p, dimensions, count, nest);
            reduce(to.p, nest, at.x, at.scale - to.first_group, to.x, to.found);
        },
        &context);
}

// One area by several threads, each of which reduces a part of its longest dimension.
struct parallel_reduction {
    const dynamic_plan &p;
    const area &a;
    const void *x;
    extremes found;  // of each part
    int split;
    int64_t step;
};

void reduce_part_of_area(int64_t i, void *context) {
    const parallel_reduction &whole = *static_cast<const parallel_reduction *>(context);
    interval box[most_dimensions];
    std::copy_n(whole.a.box, most_dimensions, box);
    interval &part = box[whole.split];
    const int64_t first = i * whole.step;
    part = {part.start + first, std::min(whole.step, part.extent - first)};
    const int64_t place = i * whole.a.group_count;
    reduce_region(whole.p, whole.a, box, whole.x, {whole.found.above + place, whole.found.below + place});
}

[[gnu::noinline]] void compute_area_by_parts(const dynamic_plan &p, const area &a, const dynamic_tensors &at,
                                             int64_t parts) {
    int split = 0;
    for (int d = 1; d < p.quantize.dimension_count; d++) {
        split = a.box[d].extent > a.box[split].extent ? d : split;
    }
    const int64_t extent = a.box[split].extent, step = (extent + parts - 1) / parts;
    parts = (extent + step - 1) / step;
    int32_t above[most_partial] = {};
    uint32_t below[most_partial] = {};
    parallel_reduction whole{p, a, at.x, {above, below}, split, step};
    run_in_parallel(parts, reduce_part_of_area, &whole);
    for (int64_t i = a.group_count; i < parts * a.group_count; i++) {
        above[i % a.group_count] = std::max(above[i % a.group_count], above[i]);
        below[i % a.group_count] = std::max(below[i % a.group_count], below[i]);
    }
    finish_groups(p, a, {above, below}, at);
}

int64_t parts_of(const dynamic_plan &p, int64_t elements) {
    return elements == 0 ? 1 : useful_parts(elements, p.quantize.op.tuned->part_elements);
}

// Whether each area's codes leave for memory while the next area is fetched. A search takes longer than memory does.
bool streams_rows(const dynamic_plan &p) { return p.candidates.count == 1 && row_stream::takes(p.quantize); }

int64_t bytes_of_areas(const dynamic_plan &p, const void *y) {
    return streams_rows(p) ? row_stream::bytes_of(p.quantize, y) : area_bytes;
}

// Areas one after another. What areas of one shape have in common is found once.
class area_runner {
public:
    // `quantize`: with the operands' addresses; NULL for scales alone.
    area_runner(const dynamic_plan &p, const dynamic_tensors &at, const plan *quantize)
        : p(p), at(at), quantize(quantize), streams(quantize && streams_rows(p)), of_call(at.diagnosed) {}
    area_runner(const area_runner &) = delete;

    ~area_runner() {
        if (quantize && quantize->op.nontemporal) {
            quantize->op.target->nontemporal->fence();
        }
    }

    // `x`: where that begins for this area.
    void run(const area_grid &grid, int64_t number, const void *x) {
        at.x = x;
        run(grid, number);
    }

    void run(const area_grid &grid, int64_t number) {
        area a;
        set_area(p, grid, number, a);
        if (a.elements > 0 && !has_shape_of(a)) {
            prepare(a);
        }
        if (!quantize) {
            compute(a);
            return;
        }
        if (of_call) {
            at.diagnosed = &of_area.emplace(of_call->call);
        }
        compute(a);
        if (quantize->path == execution_path::tiles) {
            quantize_tiles(*quantize, a.box, at);
        } else if (parts == 1) {
            quantize_nest(first_of(p.quantize, a));
        } else if (parts > 1) {
            quantize_parts(a);
        }
    }

private:
    const dynamic_plan &p;
    dynamic_tensors at;
    const plan *const quantize;
    const bool streams;
    diagnosed_elements *const of_call;
    std::optional<diagnosed_elements> of_area;
    int parts = 0;  // regular ones of an area of the shape; of one alone there are
    int64_t shape[most_dimensions] = {};
    reduced_nest elements{};
    loop_nest codes{};
    direct_call direct{};  // of the nest

    bool has_shape_of(const area &a) const {
        return parts > 0 && std::equal(shape, shape + p.quantize.dimension_count, a.box,
                                       [](int64_t extent, const interval &i) { return extent == i.extent; });
    }

    // An area begins where a block does.
    void prepare(const area &a) {
        parts = 0;
        for (int d = 0; d < p.quantize.dimension_count; d++) {
            shape[d] = a.box[d].extent;
        }
        struct preparing {
            area_runner &runner;
        } context{*this};
        for_each_regular_part(
            a.dimensions, a.box, p.quantize.dimension_count,
            [](void *given, const blocked_dimension *dimensions, int count, const offsets &) {
                area_runner &runner = static_cast<preparing *>(given)->runner;
                runner.parts++;
                set_reduction(runner.p, dimensions, count, runner.elements);
            },
            &context);
        if (quantize && parts == 1) {
            for_each_regular_part(
                quantize->dimensions, a.box, quantize->dimension_count,
                [](void *given, const blocked_dimension *dimensions, int count, const offsets &) {
                    area_runner &runner = static_cast<preparing *>(given)->runner;
                    normalize(runner.quantize->op, dimensions, count, runner.codes);
                },
                &context);
            direct.possible = false;
            if (quantize->path == execution_path::nest && !quantize->op.nontemporal) {
                set_direct_call(quantize->op, codes, direct);
            }
        }
    }

    void quantize_nest(const offsets &first) const {
        const bool is_done =
            streams ? stream_rows(*quantize, codes.rows().extent, first, at) : quantize_directly(first);
        if (!is_done) {
            quantize_nest(*quantize, codes, first, at);
        }
    }

    // An area that is one call of a kernel: 4096 f32 to i8 take 160 ns less so than as a nest (Zen 4).
    bool quantize_directly(const offsets &first) const {
        return direct.possible && call_directly(quantize->op, direct, first, at.x, at.y);
    }

    // Out of line, as all that quantizes, for its memory, of which only one is on the stack then.
    [[gnu::noinline]] void compute(const area &a) const {
        int32_t above[most_groups];
        uint32_t below[most_groups];
        std::fill_n(above, a.group_count, 0);
        std::fill_n(below, a.group_count, 0u);
        const extremes found{above, below};
        if (parts == 1 && a.elements > 0) {
            reduce(p, elements, first_of(p.quantize, a).x, 0, at.x, found);
        } else if (a.elements > 0) {
            reduce_region(p, a, a.box, at.x, found);
        }
        finish_groups(p, a, found, at);
    }

    [[gnu::noinline]] static void quantize_tiles(const plan &quantize, const interval *box, const dynamic_tensors &at) {
        const float_environment environment;
        tile_runner(quantize, at.x, at.y, visitor_of(at)).run(box);
    }

    [[gnu::noinline]] static void quantize_nest(const plan &quantize, const loop_nest &nest, const offsets &first,
                                                const dynamic_tensors &at) {
        const float_environment environment;
        nest_runner(quantize.op, nest, at.x, at.y).run(first);
    }

    [[gnu::noinline]] static bool stream_rows(const plan &quantize, int64_t rows, const offsets &first,
                                              const dynamic_tensors &at) {
        const float_environment environment;
        return row_stream(quantize, at.x, at.y).run(first, rows);
    }

    void quantize_parts(const area &a) const {
        struct quantizing {
            const plan &quantize;
            const dynamic_tensors &at;
        } context{*quantize, at};
        for_each_regular_part(
            quantize->dimensions, a.box, quantize->dimension_count,
            [](void *given, const blocked_dimension *dimensions, int count, const offsets &first) {
                const quantizing &whole = *static_cast<const quantizing *>(given);
                loop_nest nest;
                normalize(whole.quantize.op, dimensions, count, nest);
                quantize_nest(whole.quantize, nest, first, whole.at);
            },
            &context);
    }
};

// The numbers of areas in a part of so many.
interval areas_of_part(const area_grid &grid, int64_t parts, int64_t i) {
    const int64_t each = grid.areas / parts, more = grid.areas % parts;
    return {i * each + std::min(i, more), each + (i < more)};
}

// All parts, by as many threads as are of use.
void run_parts(int64_t parts, void (*run)(int64_t part, void *context), void *context) {
    if (parts == 1) {
        run(0, context);
    } else {
        run_in_parallel(parts, run, context);
    }
}

struct areas_in_parts {
    const dynamic_plan &p;
    const area_grid &grid;
    const dynamic_tensors &at;
    const plan *quantize;
    int64_t parts;
    bool are_copied = false;
};

// Areas one after another. Out of line, as the other way, for what they have on the stack.
[[gnu::noinline]] void run_areas_in_place(const areas_in_parts &whole, int64_t first, int64_t count) {
    area_runner runner(whole.p, whole.at, whole.quantize);
    for (int64_t number = first; number < first + count; number++) {
        runner.run(whole.grid, number);
    }
}

// The same of an x whose elements lie apart.
[[gnu::noinline]] void run_copied_areas(const areas_in_parts &whole, int64_t first, int64_t count) {
    const auto &[p, grid, at, quantize, parts, are_copied] = whole;
    area_copy copied(p, *quantize);
    std::optional<area_runner> runner;
    for (int64_t number = first; number < first + count; number++) {
        interval box[most_dimensions];
        find_area(grid, p.quantize.dimension_count, number, box);
        if (copied.copy(at.x, box)) {
            runner.emplace(copied.reduction(), at, &copied.codes());
        }
        runner->run(grid, number, copied.x());
    }
}

void run_some_areas(int64_t i, void *context) {
    const areas_in_parts &whole = *static_cast<const areas_in_parts *>(context);
    const auto [first, count] = areas_of_part(whole.grid, whole.parts, i);
    (whole.are_copied ? run_copied_areas : run_areas_in_place)(whole, first, count);
}

void run_areas(areas_in_parts whole) { run_parts(whole.parts, run_some_areas, &whole); }

// Boxes of a pair, each of which has whole areas of both.
struct boxes_in_parts {
    const dynamic_pair &pair;
    const area_grid &boxes;
    const plan &of_first, &of_second;
    int64_t parts;
};

void run_box(const dynamic_plan &p, const interval *box, const void *y, area_runner &runner) {
    const area_grid grid = cut_into_areas(p, box, bytes_of_areas(p, y));
    for (int64_t number = 0; number < grid.areas; number++) {
        runner.run(grid, number);
    }
}

void run_some_boxes(int64_t i, void *context) {
    const boxes_in_parts &whole = *static_cast<const boxes_in_parts *>(context);
    const auto &[p, q, to_first, to_second] = whole.pair;
    const auto [first, count] = areas_of_part(whole.boxes, whole.parts, i);
    area_runner of_first(p, to_first, &whole.of_first), of_second(q, to_second, &whole.of_second);
    for (int64_t number = first; number < first + count; number++) {
        interval box[most_dimensions];
        find_area(whole.boxes, p.quantize.dimension_count, number, box);
        run_box(p, box, to_first.y, of_first);
        run_box(q, box, to_second.y, of_second);
    }
}

// Few areas: one after another.
[[gnu::noinline]] void compute_each_area(const dynamic_plan &p, const area_grid &grid, const dynamic_tensors &at) {
    for (int64_t number = 0; number < grid.areas; number++) {
        area a;
        set_area(p, grid, number, a);
        const int64_t parts =
            p.candidates.count > 1 ? 1 : std::min(parts_of(p, a.elements), most_partial / a.group_count);
        if (parts > 1) {
            compute_area_by_parts(p, a, at, parts);
        } else {
            area_runner(p, at, nullptr).run(grid, number);
        }
    }
}

call with_operands(const dynamic_plan &p, const dynamic_tensors &at) {
    call op = p.quantize.op;
    op.scale = at.scale;
    op.zero_point = p.has_zero_point ? at.zero_point : nullptr;
    op.stored.sense = p.how.global_sense;
    op.stored.global = p.how.global_sense == QDQ_GLOBAL_NONE ? nullptr : &at.global;
    return op;
}

void compute_scales(const dynamic_plan &p, const area_grid &grid, const dynamic_tensors &at) {
    const int64_t parts = parts_of(p, p.quantize.elements);
    if (grid.areas >= parts) {
        run_areas({p, grid, at, nullptr, parts});
    } else {
        compute_each_area(p, grid, at);
    }
}

// As a direct call takes several scales.
bool is_aligned(const void *scale) { return reinterpret_cast<uintptr_t>(scale) % alignof(float) == 0; }

// A call of few groups, each a row, that is one call of a kernel after another.
bool quantize_directly(const dynamic_plan &p, const dynamic_tensors &at) {
    const plan &base = p.quantize;
    const int64_t rows = p.direct.rows;
    if (p.direct.columns == 0 || !base.direct.possible || !is_aligned(at.scale)) {
        return false;
    }
    int32_t above[direct_call::most_operands], zero_points[direct_call::most_operands];
    uint32_t below[direct_call::most_operands], scales[direct_call::most_operands];
    std::fill_n(above, rows, 0);
    std::fill_n(below, rows, 0u);
    call_reduction(p, at.x, {above, below});
    {
        const float_environment environment;
        compute_scales(*base.op.target, how_of(p, at), {above, below}, rows, scales, zero_points);
    }
    put_operands(p, at, {0, 0, 1, 1}, scales, zero_points, rows);
    return call_directly(with_operands(p, at), base.direct, at.x, at.y);
}

plan plan_with_operands(const dynamic_plan &p, const dynamic_tensors &at) {
    plan quantize = p.quantize;
    quantize.op = with_operands(p, at);
    quantize.direct.possible = quantize.direct.possible && is_aligned(at.scale);
    return quantize;
}

bool runs_by_areas(const area_grid &grid, int64_t parts) {
    return grid.may_quantize && grid.areas >= std::max<int64_t>(parts, 2);
}

// Whether columns whose codes are too large for the caches go past them by a kernel of their own: rows of codes begin
// at cache lines. [8192, 8192] bf16 to e4m3, a scale for 32 rows of a column, takes 0.20 ns an element so, 0.23
// otherwise (Zen 5); f32 to i8, which would pass by copies, takes no less.
bool columns_bypass_caches(const plan &quantize, const void *y) {
    const call &op = quantize.op;
    const auto is_column_or_begins_line = [&](const blocked_dimension &d) {
        return d.whole.y == 1 ? d.whole.varies() && d.block == 1 : d.whole.y * op.y_bits / 8 % line == 0;
    };
    const bool has_nests = quantize.path == execution_path::nest || quantize.path == execution_path::parts;
    return op.nontemporal && has_nests && op.quantize->nontemporal[int(kernel_form::column)] &&
           reinterpret_cast<uintptr_t>(y) % line == 0 &&
           std::all_of(quantize.dimensions, quantize.dimensions + quantize.dimension_count, is_column_or_begins_line);
}

plan plan_of_areas(const dynamic_plan &p, const dynamic_tensors &at) {
    plan quantize = plan_with_operands(p, at);
    quantize.op.nontemporal = p.bypasses_caches || (streams_rows(p) && row_stream::bypasses_caches(quantize, at.y)) ||
                              columns_bypass_caches(quantize, at.y);
    return quantize;
}

[[gnu::noinline]] void quantize_by_areas(const dynamic_plan &p, const dynamic_tensors &at) {
    const int64_t parts = parts_of(p, p.quantize.elements);
    const bool are_copied = copies_areas(p);
    const area_grid grid = cut_into_areas(p, are_copied ? copied_bytes : bytes_of_areas(p, at.y));
    if (are_copied || runs_by_areas(grid, parts)) {
        const plan quantize = plan_of_areas(p, at);
        run_areas({p, grid, at, &quantize, std::min(parts, grid.areas), are_copied});
        return;
    }
    const plan quantize = plan_with_operands(p, at);
    compute_scales(p, grid, at);
    execute(quantize, at.x, at.y, visitor_of(at));
}

void compute_all_scales(const dynamic_plan &p, const dynamic_tensors &at) {
    if (p.groups > 0) {
        compute_scales(p, cut_into_areas(p), at);
    }
}

// Scales, y where there is one, and what the elements come to.
[[gnu::noinline]] void diagnose(const dynamic_plan &p, dynamic_tensors at) {
    call_diagnostics met(p);
    diagnosed_elements all(met);
    at.diagnosed = &all;
    if (p.quantize.elements > 0) {
        quantize_by_areas(p, at);
    } else {
        compute_all_scales(p, at);
    }
    const float_environment environment;
    const qdq_diagnostics total = met.total();
    std::memcpy(p.diagnostics, &total, sizeof(total));
}

// The largest magnitude of all elements, 1 for 0: the scale of one group for codes up to 1.
[[gnu::noinline]] float amax_of_all(const dynamic_plan &p, const void *x) {
    dynamic_plan whole = p;
    for (int i = 0; i < whole.quantize.dimension_count; i++) {
        blocked_dimension &d = whole.quantize.dimensions[i];
        d = {{d.whole.extent, d.whole.x, d.whole.y, 0, 0}, d.whole.extent};
    }
    whole.how.clip_ratio = whole.how.largest = 1;
    whole.how.least_scale = 0;
    whole.how.global_sense = QDQ_GLOBAL_NONE;
    whole.how.scale_type = QDQ_F32;
    whole.candidates.count = 1;
    whole.groups = 1;
    float amax = 0;
    compute_all_scales(whole, {x, &amax, nullptr, nullptr});
    return amax;
}

// The tensor's own scale, read or computed.
float global_scale_of(const dynamic_plan &p, const void *x) {
    if (p.global.largest == 0) {
        return element<float>(p.global.at, 0);
    }
    const float amax = amax_of_all(p, x);
    const float_environment environment;
    const float global = global_of_amax(p.how.global_sense, amax, p.global.largest);
    std::memcpy(p.global.at, &global, sizeof(global));
    return global;
}

dynamic_tensors with_global(const dynamic_plan &p, const dynamic_tensors &at) {
    dynamic_tensors all = at;
    all.global = p.how.global_sense == QDQ_GLOBAL_NONE ? 1 : global_scale_of(p, at.x);
    return all;
}

bool have_same_elements(const plan &p, const plan &q) {
    return std::equal(p.dimensions, p.dimensions + p.dimension_count, q.dimensions, q.dimensions + q.dimension_count,
                      [](const blocked_dimension &a, const blocked_dimension &b) {
                          return a.whole.extent == b.whole.extent && a.whole.x == b.whole.x;
                      });
}

bool may_quantize_box(const dynamic_plan &p, const area_grid &boxes) {
    interval box[most_dimensions];
    find_area(boxes, p.quantize.dimension_count, 0, box);
    return cut_into_areas(p, box).may_quantize;
}

// Consecutive elements that share a scale.
int64_t run_of_group(const dynamic_plan &p) { return p.quantize.dimensions[0].block; }

// The output that has the shorter runs comes first: it is faster to read columns from memory and rows from a cache.
// [16384, 4096] bf16 to e4m3 takes 64 ms so, and 71 the other way round (Xeon).
dynamic_pair in_order_of_runs(const dynamic_pair &pair) {
    const auto &[first, second, to_first, to_second] = pair;
    return run_of_group(second) < run_of_group(first) ? dynamic_pair{second, first, to_second, to_first} : pair;
}

// Box by box.
[[gnu::noinline]] void quantize_by_boxes(const dynamic_pair &pair, const area_grid &boxes, int64_t parts) {
    const auto &[p, q, to_first, to_second] = pair;
    const dynamic_pair at{p, q, with_global(p, to_first), with_global(q, to_second)};
    const plan of_first = plan_of_areas(p, at.to_first), of_second = plan_of_areas(q, at.to_second);
    boxes_in_parts whole{at, boxes, of_first, of_second, parts};
    run_parts(parts, run_some_boxes, &whole);
}

int64_t elements_of_box(const dynamic_plan &p) { return box_bytes / type_of(p.how.x_type).bytes(); }

// Whether groups reach across many rows. Boxes of those are narrow, and take longer than to read x twice: [8192, 4096]
// f32 to i8 in groups of 128 along rows and columns 0.61 ns an element, and 0.38; of 64 0.47 and 0.44, of 32 0.42 and
// 0.51 (Zen 5).
bool has_tall_groups(const plan &p) {
    constexpr int64_t tall = 64;
    return std::any_of(p.dimensions, p.dimensions + p.dimension_count, [](const blocked_dimension &d) {
        return distance_of(d.whole.x) != 1 && std::min(d.block, d.whole.extent) >= tall;
    });
}

// Boxes are small enough to stay in a cache from the first to the second, and there is not one alone.
bool runs_by_boxes(const dynamic_plan &p, const dynamic_plan &q, const area_grid &boxes, int64_t parts) {
    return runs_by_areas(boxes, parts) && boxes.elements <= elements_of_box(p) && may_quantize_box(p, boxes) &&
           may_quantize_box(q, boxes) && !has_tall_groups(p.quantize) && !has_tall_groups(q.quantize);
}

// Whether boxes are of use to two plans, whichever they are: an x of one box is in the cache anyway.
bool may_share_boxes(const dynamic_plan &p, const dynamic_plan &q) {
    return p.quantize.elements > elements_of_box(p) && !p.diagnostics && !q.diagnostics &&
           have_same_elements(p.quantize, q.quantize);
}

}  // namespace

void prepare(dynamic_plan &p) {
    if (p.quantize.elements > 0 && !p.is_on_device()) {
        prepare_direct_call(p.quantize);
        prepare_reduction(p);
    }
}

void compute_scales(const dynamic_plan &p, const dynamic_tensors &given) {
    const dynamic_tensors at = with_global(p, given);
    if (p.diagnostics) {
        diagnose(p, at);
    } else {
        compute_all_scales(p, at);
    }
}

void quantize_dynamic(const dynamic_plan &p, const dynamic_tensors &given) {
    const dynamic_tensors at = with_global(p, given);
    if (p.diagnostics) {
        diagnose(p, at);
    } else if (!quantize_directly(p, at)) {
        quantize_by_areas(p, at);
    }
}

bool shares_boxes(const dynamic_plan &p, const dynamic_plan &q) {
    return may_share_boxes(p, q) && runs_by_boxes(p, q, cut_into_boxes(p, q), 1);
}

void quantize_dynamic_pair(const dynamic_pair &given) {
    const dynamic_pair pair = in_order_of_runs(given);
    if (may_share_boxes(pair.first, pair.second)) {
        const area_grid boxes = cut_into_boxes(pair.first, pair.second);
        const int64_t parts = parts_of(pair.first, pair.first.quantize.elements);
        if (runs_by_boxes(pair.first, pair.second, boxes, parts)) {
            return quantize_by_boxes(pair, boxes, parts);
        }
    }
    quantize_dynamic(given.first, given.to_first);
    quantize_dynamic(given.second, given.to_second);
}

}  // namespace qdq::runtime
