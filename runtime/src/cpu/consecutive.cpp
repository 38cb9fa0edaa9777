#include "cpu/consecutive.h"

#include "cpu/threads.h"
#include "support/types.h"

#include <algorithm>
#include <numeric>

namespace qdq::runtime {

namespace {

struct parallel_runs {
    const consecutive_elements &all;
    consecutive_elements::some_runs *some;
    const void *context;
    int64_t count, parts;
};

void run_some(int64_t i, void *context) {
    const parallel_runs &whole = *static_cast<const parallel_runs *>(context);
    whole.some(whole.all, i * whole.count / whole.parts, (i + 1) * whole.count / whole.parts, whole.context);
}

}  // namespace

consecutive_elements::consecutive_elements(const plan &p, int64_t most_of_run) : of(p) {
    const auto extent = [&](int d) { return p.dimensions[d].whole.extent; };
    while (split + 1 < p.dimension_count && inner * extent(split) <= most_of_run) {
        inner *= extent(split++);
    }
    const int64_t most = std::max<int64_t>(most_of_run / inner, 1), unit = group / std::gcd(inner, group);
    step = most >= extent(split) ? extent(split) : most >= unit ? most / unit * unit : most;
    count = steps = (extent(split) + step - 1) / step;
    for (int d = split + 1; d < p.dimension_count; d++) {
        count *= extent(d);
    }
}

int64_t consecutive_elements::set_region(int64_t number, interval *region) const {
    int64_t elements_before = 1, first = 0;
    for (int d = 0; d < of.dimension_count; d++) {
        const int64_t extent = of.dimensions[d].whole.extent;
        region[d] = {0, extent};
        if (d == split) {
            const int64_t start = number % steps * step;
            region[d] = {start, std::min(step, extent - start)};
            number /= steps;
        } else if (d > split) {
            region[d] = {number % extent, 1};
            number /= extent;
        }
        first += region[d].start * elements_before;
        elements_before *= extent;
    }
    return first;
}

bool consecutive_elements::begin_at_multiples(int64_t of_elements) const {
    const int64_t outer = of.dimensions[split].whole.extent * inner;
    return (steps == 1 || step * inner % of_elements == 0) && (count == steps || outer % of_elements == 0);
}

// Whether runs begin at whole bytes of packed codes.
bool consecutive_elements::begin_at_bytes(const plan &p) const {
    return begin_at_multiples(p.op.packing == QDQ_DENSE ? dense_unit : p.op.packed_unit());
}

// Whether the parts of runs do, which blocks cut: of 46 columns in blocks of 3 rows, codes of 2 bits, the part that
// begins at row 33 of a run from row 32 on does not.
bool consecutive_elements::parts_begin_at_bytes(const plan &p) const {
    const auto &[whole, block] = p.dimensions[split];
    const bool are_cut = whole.varies() && block * inner % p.op.packed_unit() != 0;
    return begin_at_bytes(p) && (steps == 1 || !are_cut);
}

void consecutive_elements::choose_path(plan &p) const {
    p.path = parts_begin_at_bytes(p) ? p.path : execution_path::tiles;  // which may begin anywhere
}

void consecutive_elements::run(some_runs *some, const void *context) const {
    // Else two threads would write to one byte.
    const int64_t useful = begin_at_bytes(of) ? useful_parts(of.elements, of.op.tuned->part_elements) : 1;
    parallel_runs whole{*this, some, context, count, std::min(useful, count)};
    if (whole.parts == 1) {
        run_some(0, &whole);
    } else {
        run_in_parallel(whole.parts, run_some, &whole);
    }
}

}  // namespace qdq::runtime
