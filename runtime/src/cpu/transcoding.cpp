#include "cpu/transcoding.h"

#include "cpu/execute.h"
#include "cpu/threads.h"

#include <algorithm>
#include <numeric>

namespace qdq::runtime {

namespace {

constexpr int64_t most_values = 32 * group;  // that are f32 at a time

// Consecutive elements at a time: the inner dimensions whole, `step` places of the next one, and one of those outside.
struct runs_of_elements {
    int split = 0;
    int64_t inner = 1;  // elements of a place of that dimension
    int64_t step = 1, steps = 1, count = 1;
};

runs_of_elements runs_of(const plan &p) {
    runs_of_elements runs;
    const auto extent = [&](int d) { return p.dimensions[d].whole.extent; };
    while (runs.split + 1 < p.dimension_count && runs.inner * extent(runs.split) <= most_values) {
        runs.inner *= extent(runs.split++);
    }
    const int64_t most = std::max<int64_t>(most_values / runs.inner, 1), unit = group / std::gcd(runs.inner, group);
    runs.step = std::min(most >= unit ? most / unit * unit : most, extent(runs.split));
    runs.count = runs.steps = (extent(runs.split) + runs.step - 1) / runs.step;
    for (int d = runs.split + 1; d < p.dimension_count; d++) {
        runs.count *= extent(d);
    }
    return runs;
}

struct transcoded_parts {
    const transcoding &plans;
    const runs_of_elements &runs;
    const void *x;
    void *y;
    int64_t parts;
};

// The elements of a run; returns the number of the first one.
int64_t set_region(const plan &p, const runs_of_elements &runs, int64_t number, interval *region) {
    int64_t elements_before = 1, first = 0;
    for (int d = 0; d < p.dimension_count; d++) {
        const int64_t extent = p.dimensions[d].whole.extent;
        region[d] = {0, extent};
        if (d == runs.split) {
            const int64_t start = number % runs.steps * runs.step;
            region[d] = {start, std::min(runs.step, extent - start)};
            number /= runs.steps;
        } else if (d > runs.split) {
            region[d] = {number % extent, 1};
            number /= extent;
        }
        first += region[d].start * elements_before;
        elements_before *= extent;
    }
    return first;
}

void transcode_some(int64_t i, void *context) {
    const transcoded_parts &whole = *static_cast<const transcoded_parts *>(context);
    const int64_t count = whole.runs.count;
    alignas(64) float values[most_values];
    for (int64_t number = i * count / whole.parts; number < (i + 1) * count / whole.parts; number++) {
        interval region[most_dimensions];
        const int64_t first = set_region(whole.plans.quantize, whole.runs, number, region);
        float *const tensor = values - first;  // of which `values` are some
        run_region(whole.plans.dequantize, region, whole.x, tensor);
        run_region(whole.plans.quantize, region, tensor, whole.y);
    }
}

// Whether runs begin at whole bytes of packed codes.
bool runs_begin_at_bytes(const plan &p, const runs_of_elements &runs) {
    const int64_t unit = p.op.packed_unit(), outer = p.dimensions[runs.split].whole.extent * runs.inner;
    return runs.step * runs.inner % unit == 0 && (runs.count == runs.steps || outer % unit == 0);
}

// Whether the parts of runs do, which blocks cut: of 46 columns in blocks of 3 rows, codes of 2 bits, the part that
// begins at row 33 of a run from row 32 on does not.
bool parts_begin_at_bytes(const plan &p, const runs_of_elements &runs) {
    const auto &[whole, block] = p.dimensions[runs.split];
    const bool are_cut = whole.varies() && block * runs.inner % p.op.packed_unit() != 0;
    return runs_begin_at_bytes(p, runs) && (runs.steps == 1 || !are_cut);
}

}  // namespace

void transcode(transcoding &plans, const void *x, void *y) {
    const runs_of_elements runs = runs_of(plans.quantize);
    for (plan *p : {&plans.dequantize, &plans.quantize}) {
        p->path = parts_begin_at_bytes(*p, runs) ? p->path : execution_path::tiles;  // which may begin anywhere
    }
    // Else two threads would write to one byte.
    const bool may_split = runs_begin_at_bytes(plans.quantize, runs);
    const int64_t useful =
        may_split ? useful_parts(plans.quantize.elements, plans.quantize.op.tuned->part_elements) : 1;
    transcoded_parts whole{plans, runs, x, y, std::min(useful, runs.count)};
    if (whole.parts == 1) {
        transcode_some(0, &whole);
    } else {
        run_in_parallel(whole.parts, transcode_some, &whole);
    }
}

}  // namespace qdq::runtime
