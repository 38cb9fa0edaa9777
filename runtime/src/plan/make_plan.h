// From a caller's arguments to a plan: every rule of qdq.h about arguments, and the reduction of a valid call.
#pragma once

#include "plan/plan.h"

namespace qdq::runtime {

struct arguments {
    const char *function;  // for messages
    operation op;
    const qdq_tensor *x, *scale, *zero_point, *y;
    const qdq_options *options;
    bool needs_data;  // false while planning: x and y may come later
};

// Fills `result`, or says what is wrong. An empty tensor gives a plan of no elements.
qdq_status make_plan(const arguments &given, plan &result);

// The same, of x's own dimensions, the last one first, for run_region: plans of one shape have regions in common.
qdq_status make_plan_of_regions(const arguments &given, plan &result);

}  // namespace qdq::runtime
