#include "cpu/group_errors.h"

#include "cpu/movement.h"
#include "cpu/squared_errors.h"
#include "plan/area_grid.h"
#include "plan/loops.h"

#include <algorithm>
#include <cstring>

namespace qdq::runtime {

namespace {

// The loops of a part, the innermost first, with the number of a group as the stride of the scale.
void set_loops(const blocked_dimension *dimensions, int count, loop_nest &nest) {
    blocked_dimension merged[most_dimensions];
    count = merge_dimensions(dimensions, count, merge_order::of_x_strides, merged);
    nest.count = 0;
    for (int i = 0; i < count; i++) {
        const auto &[w, block] = merged[i];
        const int64_t inside = w.varies() ? block : w.extent;
        nest.loops[nest.count++] = {inside, w.x, 0, 0, 0};
        nest.loops[nest.count++] = {w.extent / inside, w.x * inside, 0, w.scale, 0};
    }
    const auto is_one = [](const dimension &d) { return d.extent == 1; };
    nest.count = int(std::remove_if(nest.loops, nest.loops + nest.count, is_one) - nest.loops);
}

// Puts the first loop from `from` on that is along groups, or is not, there; one of one step where there is none.
void put_loop(loop_nest &nest, int from, bool along_groups) {
    dimension *const begin = nest.loops + from, *const end = nest.loops + nest.count;
    dimension *const found = std::find_if(begin, end, [=](const dimension &d) { return d.varies() == along_groups; });
    if (found == end) {
        *end = {1, 0, 0, 0, 0};
        nest.count++;
    }
    std::rotate(begin, found, found + 1);
}

// Goes through planes of a part: loops[0] is columns, loops[1] rows, and one of the two goes along groups.
class plane_measurer {
public:
    plane_measurer(const dynamic_plan &p, const void *x, const group_operands &with, uint64_t *sums)
        : x(static_cast<const char *>(x)),
          with(with),
          sums(sums),
          quantize(with_own_operands(p.quantize.op, by.scales, with.zero_point ? by.zero_points : nullptr)),
          measurement(p),
          most(std::min(measured_rows::most_elements,
                        memory_bytes * 8 / (quantize.x_bits + quantize.y_bits) / group * group)),
          codes(elements + most * quantize.x_bits / 8) {}
    plane_measurer(const plane_measurer &) = delete;

    // Groups are rows where theirs are as long as kernels take them; else columns.
    void put_plane_first(loop_nest &nest) const {
        const auto is_along_groups = [](const dimension &d) { return d.varies(); };
        const bool has_groups = std::any_of(nest.loops, nest.loops + nest.count, is_along_groups);
        const bool has_rows = nest.count > 0 && !nest.loops[0].varies() &&
                              (nest.loops[0].extent >= group || is_block(nest.loops[0].extent) || !has_groups);
        put_loop(nest, 0, !has_rows);
        put_loop(nest, 1, has_rows);
    }

    void run(const dimension &c, const dimension &r, int64_t at, int64_t first_group) {
        const bool along_columns = c.varies();
        const int64_t most_columns = along_columns ? most_measured_groups : measured_rows::most_summed;
        for (int64_t column = 0; column < c.extent; column += most_columns) {
            const int64_t columns = std::min(most_columns, c.extent - column);
            const int64_t pitch = is_block(columns) && !along_columns ? columns : round_up(columns);
            const int64_t most_rows = std::min(measured_rows::most_operands, most / pitch);
            for (int64_t row = 0; row < r.extent; row += most_rows) {
                const int64_t rows = std::min(most_rows, r.extent - row);
                const dimension some_columns{columns, c.x, 0, c.scale, 0}, some_rows{rows, r.x, 0, r.scale, 0};
                const int64_t place = at + column * c.x + row * r.x;
                measure({rows_at(place, some_columns, some_rows, pitch), columns, rows, along_columns},
                        first_group + row * r.scale, along_columns ? c.scale : r.scale);
            }
        }
    }

private:
    static constexpr int64_t memory_bytes = measured_rows::most_elements * 5;  // of f32 and codes of a byte
    static_assert(most_measured_groups <= measured_rows::most_operands);

    alignas(64) char elements[memory_bytes];  // of x, and codes after them
    measured_rows by;
    const char *const x;
    const group_operands with;
    uint64_t *const sums;
    const call quantize;
    const error_measurement measurement;
    const int64_t most;  // elements of a plane
    char *const codes;

    // Whether kernels take rows of so many elements that lie end to end.
    bool is_block(int64_t columns) const { return columns < group && dividing_block(quantize, columns) == columns; }

    // Where they lie, if kernels may read them there; else gathered.
    rows_of_x rows_at(int64_t at, const dimension &c, const dimension &r, int64_t pitch) {
        const char *const from = address(x, at, quantize.x_bits);
        const bool lies_ready = r.x == pitch && c.extent % measured_step == 0 && pitch * r.extent % group == 0;
        if (c.x == 1 && (lies_ready || c.extent % group == 0) && r.extent <= rows_in_reach(r.x)) {
            return {from, r.x};
        }
        std::memset(elements, 0, static_cast<size_t>(round_up(pitch * r.extent) * quantize.x_bits / 8));
        move_loop loops[] = {{c.extent, c.x, 1}, {r.extent, r.x, pitch}};
        move(*quantize.target, quantize.x_bits, from, elements, loops, 2);
        return {elements, pitch};
    }

    void measure(const operand_rows &part, int64_t first_group, int64_t step) {
        const int64_t count = part.along_columns ? part.columns : part.rows;
        for (int64_t i = 0; i < count; i++) {
            by.scales[i] = with.scale[first_group + i * step];
            by.zero_points[i] = with.zero_point ? with.zero_point[first_group + i * step] : 0;
        }
        run_rows(quantize, part, codes);
        measurement.run(part, {codes, pitch_of_results(part)}, {false, true}, by);
        for (int64_t i = 0; i < count; i++) {
            uint64_t &sum = sums[first_group + i * step];
            sum = sum + by.squares[i] < sum ? UINT64_MAX : sum + by.squares[i];
        }
    }
};

}  // namespace

void add_squared_errors(const dynamic_plan &p, const blocked_dimension *dimensions, int count, const offsets &at,
                        const void *x, const group_operands &with, uint64_t *sums) {
    loop_nest nest;
    set_loops(dimensions, count, nest);
    plane_measurer planes(p, x, with, sums);
    planes.put_plane_first(nest);
    int64_t first = at.x, group = at.scale;
    loop_counter outside(2, nest.count);
    do {
        planes.run(nest.loops[0], nest.loops[1], first, group);
    } while (outside.next([&](int i) { return nest.loops[i].extent; },
                          [&](int i, int64_t steps) {
                              first += steps * nest.loops[i].x;
                              group += steps * nest.loops[i].scale;
                          }));
}

}  // namespace qdq::runtime
