#include "cpu/flat_windows.h"

#include "cpu/float_environment.h"
#include "cpu/movement.h"
#include "cpu/operands.h"
#include "cpu/packing.h"
#include "plan/loops.h"
#include "plan/regions.h"

#include <algorithm>
#include <cstring>

namespace qdq::runtime {

namespace {

class window {
public:
    window(const plan &p, const void *x, void *y)
        : p(p),
          op(p.op),
          x(static_cast<const char *>(x)),
          y(static_cast<char *>(y)),
          loaded(op, operand_memory, sizeof(operand_memory)),
          x_elements(op.quantizes() ? floats : codes),
          y_elements(op.quantizes() ? codes : floats) {}

    void run(int64_t first_element, int64_t count) {
        first = first_element;
        phase = op.quantizes() ? collect_all : collect_operands;
        visit(count);
        if (!op.quantizes()) {
            const int64_t bytes = (count * op.x_bits + 7) / 8;
            std::memcpy(x_elements, address(x, first, op.x_bits), bytes);
            from_packing(*op.target, op.packing, as_bytes(x_elements), bytes);
        }
        compute(count);
        if (op.quantizes()) {
            write_codes(count);
        } else {
            phase = scatter_results;
            visit(count);
        }
    }

private:
    alignas(64) char operand_memory[3 * sizeof(float) * (window_elements + spare_operands)];
    // One of x and y is packed, the other is floats.
    alignas(64) char floats[window_elements * sizeof(float)];
    alignas(64) char codes[window_elements / 2];
    const plan &p;
    const call &op;
    const char *const x;
    char *const y;
    int64_t first = 0;
    operands loaded;
    char *const x_elements, *const y_elements;
    enum { collect_all, collect_operands, scatter_results } phase = collect_all;

    static uint8_t *as_bytes(char *codes) { return reinterpret_cast<uint8_t *>(codes); }

    // Calls row() for runs of elements that follow one another in the packed order and stride through the other tensor.
    void visit(int64_t count) {
        for_each_region(
            p.dimensions, p.dimension_count, first, first + count,
            [](void *self, const interval *region) {
                const window &w = *static_cast<window *>(self);
                for_each_regular_part(w.p.dimensions, region, w.p.dimension_count, visit_part, self);
            },
            this);
    }

    static void visit_part(void *self, const blocked_dimension *dimensions, int count, const offsets &at) {
        window &w = *static_cast<window *>(self);
        loop_nest nest;
        normalize(w.op, dimensions, count, nest);
        int64_t index[most_loops] = {};
        offsets here = at;
        for (bool more = true; more;) {
            w.run_of(nest.loops[0], here);
            more = false;
            for (int i = 1; i < nest.count && !more; i++) {
                more = ++index[i] < nest.loops[i].extent;
                here.advance(nest.loops[i], more ? 1 : 1 - nest.loops[i].extent);
                if (!more) {
                    index[i] = 0;
                }
            }
        }
    }

    void run_of(const dimension &c, offsets at) {
        if ((op.quantizes() ? c.y : c.x) == 1) {
            row(c, at);
            return;
        }
        for (int64_t i = 0; i < c.extent; i++) {
            row({1, 1, 1, 0, 0}, at);
            at.advance(c, 1);
        }
    }

    // The packed tensor is dense: its offsets count places in the flat order.
    void row(const dimension &c, const offsets &at) {
        const int64_t place = (op.quantizes() ? at.y : at.x) - first;
        const rectangle size{c.extent, 1};
        if (phase == collect_all) {
            gather(*op.target, op.x_bits, address(x, at.x, op.x_bits), c.x, 0, size,
                   address(x_elements, place, op.x_bits), 0);
        }
        if (phase == scatter_results) {
            scatter(*op.target, op.y_bits, address(y_elements, place, op.y_bits), 0, size, address(y, at.y, op.y_bits),
                    c.y, 0);
        } else {
            loaded.read({at.scale, c.scale, at.zero_point, c.zero_point, c.extent}, place);
        }
    }

    void compute(int64_t count) {
        const int32_t variant = loaded.finish(count);
        const float_environment environment(loaded.flushes);
        kernel_caller(op, kernel_form::column, false, variant, 1)
            .run(loaded, {x_elements, 0}, {y_elements, 0}, (count + group - 1) / group * group, 1);
    }

    void write_codes(int64_t count) {
        const int64_t bytes = (count * op.y_bits + 7) / 8;
        clear_padding(y_elements, op.y_bits, count);
        to_packing(*op.target, op.packing, as_bytes(y_elements), bytes);
        std::memcpy(address(y, first, op.y_bits), y_elements, bytes);
    }
};

}  // namespace

// Out of line for its memory, as run_serially.
[[gnu::noinline]] void run_windows(const plan &p, const void *x, void *y, int64_t first, int64_t end) {
    window w(p, x, y);
    for (; first < end; first += window_elements) {
        w.run(first, std::min(window_elements, end - first));
    }
}

}  // namespace qdq::runtime
