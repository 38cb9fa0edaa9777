// How a dynamic plan is cut into areas.
#pragma once

#include "plan/dynamic_plan.h"

namespace qdq::runtime {

// The groups of elements that share a scale are cut into areas, boxes of whole groups.
struct area_grid {
    int64_t extent[most_dimensions];  // elements of an area along each dimension of the plan
    int64_t count[most_dimensions];   // of areas; the last one has what is left: less, or up to twice as many
    int64_t areas;                    // all of them
    bool may_quantize;                // whether the codes of an area lie in bytes of its own
};
constexpr int64_t most_groups = 1024;          // of an area
constexpr int64_t most_measured_groups = 128;  // where clip ratios are searched

area_grid cut_into_areas(const dynamic_plan &p);

}  // namespace qdq::runtime
