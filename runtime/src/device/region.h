// Parts of a plan that one launch can take.
#pragma once

#include "plan/plan.h"

namespace qdq::runtime {

// Dimensions, the innermost first, and where their first element and operands are.
struct region {
    int count = 0;
    blocked_dimension dimensions[most_dimensions];
    int64_t x = 0, y = 0, scale = 0, zero_point = 0;
    int64_t number = 0;  // of its first element, among all in their order

    int64_t elements() const;

    // Of one dimension or two, along the first of which x and y are contiguous; rows begin whole groups apart.
    bool has_dense_rows(int64_t group) const;
};

// A plan's dimensions, merged, in the order of y's elements, or as the caller has them: of packed ones, and of those
// whose numbers say how they are rounded.
region whole_region(const plan &p);

// Calls run(context, part) for parts that cover a region, each within most_elements, until one returns a failure. Only
// the outermost dimension that is too long is cut.
constexpr int64_t most_elements = int64_t{1} << 30;  // kernels count units with 31 bits
qdq_status for_each_part(const region &r, qdq_status (*run)(void *context, const region &part), void *context);

// The elements of a region of one dimension from `start` on, fewer than a group and within one block or with operands
// of their own.
region rest_of(const region &r, int64_t start);

}  // namespace qdq::runtime
