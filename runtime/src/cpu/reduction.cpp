#include "cpu/reduction.h"

#include "cpu/kernel_buffer.h"
#include "cpu/kernel_call.h"
#include "cpu/short_groups.h"
#include "plan/area_grid.h"
#include "plan/loops.h"
#include "support/types.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace qdq::runtime {

namespace {

using way = reduced_nest::way;

// No element counts twice, and order does not matter: strides of 0 are dropped, and negative ones turned round.
void append(reduced_nest &nest, reduced_loop l) {
    if (l.extent == 1 || (l.x == 0 && l.group == 0)) {
        return;
    }
    if (l.x < 0) {
        nest.x += (l.extent - 1) * l.x;
        nest.group += (l.extent - 1) * l.group;
        l = {l.extent, -l.x, -l.group};
    }
    nest.loops[nest.count++] = l;
}

constexpr int64_t most_results = 512;  // of a kernel call; a multiple of `short_rows` and of every kernel's columns

// The first loop from `from` on that is wanted, or -1.
template<typename Wanted> int find_loop(const reduced_nest &nest, int from, Wanted wanted) {
    for (int i = from; i < nest.count; i++) {
        if (wanted(nest.loops[i])) {
            return i;
        }
    }
    return -1;
}

// Puts a loop at a place, or one of one step where there is none.
void put_at(reduced_nest &nest, int place, int i) {
    if (i < 0) {
        i = nest.count++;
        nest.loops[i] = {1, 0, 0};
    }
    std::swap(nest.loops[place], nest.loops[i]);
}

// The longest loop but the first, or -1.
int longest_outer_loop(const reduced_nest &nest) {
    int longest = -1;
    for (int i = 1; i < nest.count; i++) {
        if (longest < 0 || nest.loops[i].extent > nest.loops[longest].extent) {
            longest = i;
        }
    }
    return longest;
}

// The loop of so many steps at least whose stride is the smallest, but the first, or -1.
int closest_outer_loop(const reduced_nest &nest, int64_t least) {
    int closest = -1;
    for (int i = 1; i < nest.count; i++) {
        const reduced_loop &l = nest.loops[i];
        if (l.extent >= least && (closest < 0 || l.x < nest.loops[closest].x)) {
            closest = i;
        }
    }
    return closest;
}

constexpr int64_t few = 4;  // elements of a group that are read at once

// An element at a time: those of a group inside, in registers, and in the order of memory but for short loops: f16
// [73, 3, 14, 14] by blocks of [2, 3, 14, 2] takes 0.99 ns an element so, and 1.3 else (Zen 5).
way by_elements(reduced_nest &nest) {
    const auto is_of_group = [](const reduced_loop &l) { return l.group == 0; };
    const int c = find_loop(nest, 0, [&](const reduced_loop &l) { return is_of_group(l) && l.extent >= few * few; });
    put_at(nest, 0, c >= 0 ? c : find_loop(nest, 0, is_of_group));
    const int r = closest_outer_loop(nest, few);
    put_at(nest, 1, r >= 0 ? r : longest_outer_loop(nest));
    return way::elements;
}

// Short rows that lie end to end are as many columns as a kernel takes. Rows that are left over meet in the last ones.
bool fuse_columns(int64_t least, reduced_nest &nest) {
    const int64_t columns = nest.loops[0].extent, rows = (least + columns - 1) / columns;
    const int r = find_loop(
        nest, 1, [=](const reduced_loop &l) { return l.group == 0 && l.x == columns && l.extent >= 2 * rows; });
    if (r < 0) {
        return false;
    }
    put_at(nest, 1, r);
    nest.loops[0].extent *= rows;
    return true;
}

way choose_columns(const reductions_of_size &kernels, reduced_nest &nest) {
    const reduced_loop column = nest.loops[0];
    nest.period = column.extent;
    const bool in_order = column.group == 1;  // else in the opposite one, as an x by negative strides has its columns
    const bool has_columns = column.extent >= kernels.columns || (in_order && fuse_columns(kernels.columns, nest));
    if (distance_of(column.group) != 1 || !has_columns) {
        return by_elements(nest);
    }
    if (nest.loops[0].extent == column.extent) {
        put_at(nest, 1, find_loop(nest, 1, [](const reduced_loop &l) { return l.group == 0; }));
    }
    return way::columns;
}

// Puts the loops of a kernel first, if one takes them, its columns before its rows.
way choose_way(const reductions_of_size &kernels, reduced_nest &nest) {
    const int c = find_loop(nest, 0, [](const reduced_loop &l) { return l.x == 1; });
    if (c < 0) {
        return by_elements(nest);
    }
    std::swap(nest.loops[0], nest.loops[c]);
    const reduced_loop column = nest.loops[0];
    if (column.group != 0) {
        return choose_columns(kernels, nest);
    }
    if (column.extent < short_step) {
        const int groups = find_loop(nest, 1, [=](const reduced_loop &l) {
            return l.group == 1 && l.x == column.extent && l.extent >= fewest_short_groups;
        });
        if (groups < 0) {
            return by_elements(nest);
        }
        put_at(nest, 1, groups);
        return way::short_groups;
    }
    const int neighbours =
        find_loop(nest, 1, [](const reduced_loop &l) { return l.group == 1 && l.extent >= short_rows; });
    put_at(nest, 1, neighbours >= 0 ? neighbours : longest_outer_loop(nest));
    return column.extent < kernels.row_elements ? way::short_rows : way::row;
}

void call_kernel(reduce_kernel *kernel, int bits, const halide_dimension_t *x_shape, int32_t results, const void *x,
                 const extremes &found) {
    const halide_dimension_t shape[] = {{0, results, 1, 0}};
    halide_buffer_t from, above, below;
    set_buffer(from, x, {halide_type_uint, static_cast<uint8_t>(bits), 1}, 2, x_shape);
    set_buffer(above, found.above, {halide_type_int, 32, 1}, 1, shape);
    set_buffer(below, found.below, {halide_type_uint, 32, 1}, 1, shape);
    kernel(&from, &above, &below);
}

template<typename Element> class nest_reducer {
public:
    nest_reducer(const dynamic_plan &p, const reduced_nest &nest, const void *x, const extremes &found)
        : on(*p.quantize.op.target),
          kernels(*p.reductions),
          nest(nest),
          x(static_cast<const Element *>(x)),
          found(found) {}

    // The loops outside the first two.
    void run(int64_t at, int64_t group) const {
        loop_counter outside(2, nest.count);
        do {
            run_inside(at, group);
        } while (outside.next([&](int i) { return nest.loops[i].extent; },
                              [&](int i, int64_t steps) {
                                  at += steps * nest.loops[i].x;
                                  group += steps * nest.loops[i].group;
                              }));
    }

private:
    static constexpr int bits = 8 * sizeof(Element);

    const target &on;
    const reductions_of_size &kernels;
    const reduced_nest &nest;
    const Element *const x;  // at any address
    const extremes found;

    bool is_fused() const { return nest.by == way::columns && nest.loops[0].extent > nest.period; }

    void run_inside(int64_t at, int64_t group) const {
        const way by = nest.by;
        if (by == way::elements) {
            reduce_elements(at, group);
            return;
        }
        if (by == way::short_groups) {
            reduce_short_groups(on, bits, nest.magnitudes,
                                reinterpret_cast<const char *>(x) + at * int64_t{sizeof(Element)}, nest.loops[0].extent,
                                nest.loops[1].extent, {found.above + group, found.below + group});
            return;
        }
        if (is_fused()) {
            reduce_fused({at, group});
            return;
        }
        const reduced_loop c = nest.loops[0], r = nest.loops[1];
        const int64_t most_rows = std::min(by == way::columns ? reach : most_results, rows_in_reach(r.x));
        const int64_t most_columns = by == way::columns ? most_results : reach;
        for (int64_t row = 0; row < r.extent; row += most_rows) {
            for (int64_t column = 0; column < c.extent; column += most_columns) {
                reduce_plane({at + row * r.x + column, group + row * r.group + column * c.group},
                             std::min(most_columns, c.extent - column), std::min(most_rows, r.extent - row));
            }
        }
    }

    struct start {
        int64_t x, group;
    };

    // Rows of columns * rows elements; what is left of them ends where the last such row does.
    void reduce_fused(start at) const {
        const int64_t columns = nest.loops[0].extent, elements = nest.period * nest.loops[1].extent;
        const int64_t whole = elements / columns;
        const int64_t most_rows = rows_in_reach(columns);
        for (int64_t row = 0; row < whole; row += most_rows) {
            reduce_plane({at.x + row * columns, at.group}, columns, std::min(most_rows, whole - row));
        }
        if (whole * columns < elements) {
            reduce_plane({at.x + elements - columns, at.group}, columns, 1);
        }
    }

    // What is left of a row or of columns may be less than the kernel takes at once: it begins earlier then.
    void reduce_plane(start at, int64_t columns, int64_t rows) const {
        const way by = nest.by;
        const reduced_loop c = nest.loops[0], r = nest.loops[1];
        const int64_t least = by == way::row ? kernels.row_elements : by == way::columns ? kernels.columns : short_step;
        const int64_t more = std::max<int64_t>(least - columns, 0);
        columns += more;
        at = {at.x - more, at.group - more * c.group};
        if (by != way::columns) {
            call(by == way::row ? kernels.row : kernels.short_rows, at, columns, rows, rows, r.group);
            return;
        }
        const int64_t whole = columns / least * least;
        call(kernels.column, at, whole, rows, whole, c.group);
        if (whole < columns) {
            const int64_t last = columns - least;
            call(kernels.column, {at.x + last, is_fused() ? at.group : at.group + last * c.group}, least, rows, least,
                 c.group, last);
        }
    }

    // Results are combined with those that there are, a step from one another.
    // Of fused rows the first one is `first` columns after where a row begins.
    void call(reduce_kernel *kernel, start at, int64_t columns, int64_t rows, int64_t results, int64_t step,
              int64_t first = 0) const {
        alignas(64) int32_t above[most_results];
        alignas(64) uint32_t below[most_results];
        const int64_t pitch = is_fused() ? nest.loops[0].extent : nest.loops[1].x;
        const halide_dimension_t shape[] = {{0, int32_t(columns), 1, 0},
                                            {0, int32_t(rows), rows == 1 ? 0 : int32_t(pitch), 0}};
        const int64_t rounded =
            kernel == kernels.short_rows ? (results + short_rows - 1) / short_rows * short_rows : results;
        call_kernel(kernel, bits, shape, int32_t(rounded), x + at.x, {above, below});
        if (is_fused()) {
            combine_fused(at.group, first % nest.period, results, above, below);
        } else if (step == 1) {
            combine(found.above + at.group, above, results);
            combine(found.below + at.group, below, results);
        } else {
            for (int64_t i = 0; i < results; i++) {
                combine(found.above + at.group + i * step, above + i, 1);
                combine(found.below + at.group + i * step, below + i, 1);
            }
        }
    }

    // Of rows that lie end to end the results come again after a period.
    void combine_fused(int64_t group, int64_t place, int64_t results, const int32_t *above,
                       const uint32_t *below) const {
        for (int64_t i = 0; i < results; i++, place++) {
            place = place == nest.period ? 0 : place;
            combine(found.above + group + place, above + i, 1);
            combine(found.below + group + place, below + i, 1);
        }
    }

    template<typename Result> static void combine(Result *to, const Result *results, int64_t count) {
        for (int64_t i = 0; i < count; i++) {
            to[i] = std::max(to[i], results[i]);
        }
    }

    void reduce_elements(int64_t at, int64_t group) const {
        const reduced_loop c = nest.loops[0], r = nest.loops[1];
        for (int64_t row = 0; row < r.extent; row++, at += r.x, group += r.group) {
            extreme found_here{found.above[group], found.below[group]};
            if (c.extent < few * few) {
                reduce_row(at, c.x, c.extent, found_here);
            } else {
                reduce_long_row(at, c.x, c.extent, found_here);
            }
            found.above[group] = found_here.above;
            found.below[group] = found_here.below;
        }
    }

    struct extreme {
        int32_t above;
        uint32_t below;

        void add(const extreme &other) {
            above = std::max(above, other.above);
            below = std::max(below, other.below);
        }
    };

    extreme at_place(int64_t i) const {
        const auto value = element<Element>(x, i);
        return {static_cast<std::make_signed_t<Element>>(value), value};
    }

    void reduce_row(int64_t at, int64_t step, int64_t count, extreme &most) const {
        for (int64_t i = 0; i < count; i++) {
            most.add(at_place(at + i * step));
        }
    }

    // By a few at once, as the next one waits for the last.
    void reduce_long_row(int64_t at, int64_t step, int64_t count, extreme &most) const {
        extreme first = most, second = most, third = most, fourth = most;  // an array would be in memory (GCC 12)
        const int64_t whole = count / few * few;
        for (int64_t i = 0; i < whole; i += few, at += few * step) {
            first.add(at_place(at));
            second.add(at_place(at + step));
            third.add(at_place(at + 2 * step));
            fourth.add(at_place(at + 3 * step));
        }
        reduce_row(at, step, count - whole, most);
        for (const extreme &e : {first, second, third, fourth}) {
            most.add(e);
        }
    }
};

int bits_of(const dynamic_plan &p) { return type_of(p.how.x_type).bits; }

}  // namespace

void set_reduction(const dynamic_plan &p, const blocked_dimension *dimensions, int count, reduced_nest &nest) {
    blocked_dimension merged[most_dimensions];
    count = merge_dimensions(dimensions, count, merge_order::of_x_strides, merged);
    nest.count = 0;
    nest.x = nest.group = 0;
    for (int i = 0; i < count; i++) {
        const auto &[w, block] = merged[i];
        if (!w.varies()) {
            append(nest, {w.extent, w.x, 0});
        } else {
            append(nest, {block, w.x, 0});
            append(nest, {w.extent / block, w.x * block, w.scale});
        }
    }
    nest.magnitudes = p.reductions == &find_reductions(*p.quantize.op.target, bits_of(p), reduced_numbers::magnitudes);
    nest.by = choose_way(*p.reductions, nest);
}

void reduce(const dynamic_plan &p, const reduced_nest &nest, int64_t first, int64_t first_group, const void *x,
            const extremes &found) {
    const int64_t at = nest.x + first, group = nest.group + first_group;
    if (bits_of(p) == 16) {
        nest_reducer<uint16_t>(p, nest, x, found).run(at, group);
    } else {
        nest_reducer<uint32_t>(p, nest, x, found).run(at, group);
    }
}

void prepare_reduction(dynamic_plan &p) {
    const plan &base = p.quantize;
    if (base.path != execution_path::nest || base.elements == 0 || p.candidates.count > 1 ||
        cut_into_areas(p).areas != 1) {
        return;
    }
    const dimension &c = base.nest.loops[0], r = base.nest.rows();
    if (base.nest.count > 2 || c.varies() || c.x != 1 || c.extent < p.reductions->row_elements || c.extent > reach ||
        r.extent > rows_in_reach(r.x) || (r.extent > 1 && (r.scale != 1 || (p.has_zero_point && r.zero_point != 1)))) {
        return;
    }
    p.direct = {int32_t(c.extent), int32_t(r.extent), r.extent == 1 ? 0 : int32_t(r.x)};
}

void call_reduction(const dynamic_plan &p, const void *x, const extremes &found) {
    const auto &[columns, rows, pitch] = p.direct;
    const halide_dimension_t shape[] = {{0, columns, 1, 0}, {0, rows, pitch, 0}};
    call_kernel(p.reductions->row, bits_of(p), shape, rows, x, found);
}

}  // namespace qdq::runtime
