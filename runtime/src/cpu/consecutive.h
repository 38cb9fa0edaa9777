// Calls by runs of consecutive elements, for what computes them by way of a dense tensor that is never whole.
#pragma once

#include "plan/plan.h"
#include "plan/regions.h"

#include <ranges>
#include <span>

namespace qdq::runtime {

constexpr int64_t most_consecutive = 20 * group;  // elements of a run, for the stack's sake (QDQ_STACK_BYTES)

// Where a dense tensor would begin whose elements from that number on are at `run`. No array begins there: it is
// computed as a number, not as a pointer.
template<typename T> inline void *tensor_of(T *run, int64_t first) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(run) - uintptr_t(first) * sizeof(T);
    return reinterpret_cast<void *>(begin);  // NOLINT(performance-no-int-to-ptr)
}

// The strides of a dense tensor, and whether a tensor is one. Its dimensions: the innermost first.
template<typename Dimensions> void set_dense(const Dimensions &dimensions, int64_t dimension::*strides) {
    int64_t step = 1;
    for (blocked_dimension &each : dimensions) {
        each.whole.*strides = step;
        step *= each.whole.extent;
    }
}
template<typename Dimensions> bool is_dense(const Dimensions &dimensions, int64_t dimension::*strides) {
    int64_t step = 1;
    bool is = true;
    for (const blocked_dimension &each : dimensions) {
        is = is && (each.whole.*strides == step || each.whole.extent == 1);
        step *= each.whole.extent;
    }
    return is;
}

// Those of a plan of regions, and of one whose dimensions are as the caller gave them.
inline auto innermost_first(plan &p) { return std::span(p.dimensions, size_t(p.dimension_count)); }
template<typename Plan> auto innermost_first_as_given(Plan &p) {
    return std::views::reverse(std::span(p.dimensions, size_t(p.dimension_count)));
}

// The elements of a plan of regions, in the order of its dimensions.
class consecutive_elements {
public:
    // By runs of at most so many elements, whole groups.
    explicit consecutive_elements(const plan &p, int64_t most = most_consecutive);

    // Sets the path of a plan of the same regions, such that a run of packed codes may begin within a byte.
    void choose_path(plan &p) const;

    // Whether the number of every run's first element is a multiple of that.
    bool begin_at_multiples(int64_t of_elements) const;

    // Sets the region of a run, and returns the number of its first element.
    int64_t set_region(int64_t number, interval *region) const;

    // Calls some(*this, begin, end, context) for all runs, split over threads where parts of y share no byte.
    using some_runs = void(const consecutive_elements &all, int64_t begin, int64_t end, const void *context);
    void run(some_runs *some, const void *context) const;

private:
    bool begin_at_bytes(const plan &p) const;
    bool parts_begin_at_bytes(const plan &p) const;

    // The inner dimensions whole, `step` places of the next one, and one of those outside.
    const plan &of;
    int split = 0;
    int64_t inner = 1;  // elements of a place of that dimension
    int64_t step = 1, steps = 1, count = 1;
};

}  // namespace qdq::runtime
