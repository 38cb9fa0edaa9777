// From a caller's arguments to a plan: every rule of qdq.h about arguments, and the reduction of a valid call.
#pragma once

#include "plan/loops.h"
#include "support/types.h"

namespace qdq::runtime {

struct arguments {
    const char *function;  // for messages
    operation op;
    const qdq_tensor *x, *scale, *zero_point, *y;
    const qdq_options *options;
    bool needs_data;                 // false while planning: x and y may come later
    bool has_scale_storage = false;  // options go on to those about how scales are stored
};

// Whether options say how scales are stored, or may say so wrongly.
inline bool tells_storage(const qdq_options *options) {
    return options && (options->scale_is_arranged || stored_value(options->global_sense) || options->global_scale);
}

// Everything but the path of a call on the host, where that is one by elements.
qdq_status check_call(const arguments &given, plan &result);

inline bool runs_on_host(const plan &p) { return p.elements > 0 && p.path != execution_path::device; }

// The path of a plan on the host, whose dimensions are as the caller gave them; and that of tiles of others.
void choose_path(plan &p);
void set_tiles(plan &p, const blocked_dimension *dimensions, int count);

// Fills `result`, or says what is wrong. An empty tensor gives a plan of no elements.
qdq_status make_plan(const arguments &given, plan &result);

// The same for run_region: of the dimensions that have several elements, in the order of the floats' strides, the
// smallest first. Plans of one shape and of the same floats, as x and as y, have regions in common. One that rounds
// stochastically stays what it is. Where `bypasses_caches` is given, it says whether the plan's stores would, and they
// do not: paths depend on that.
qdq_status make_plan_of_regions(const arguments &given, plan &result, bool *bypasses_caches = nullptr);

// Has a plan with elements on the host go by tiles, whatever its path.
void go_by_tiles(plan &p);

// Turns a plan on the host whose dimensions are as the caller gave them into one of regions, with dimensions in an
// order.
void set_regions(plan &p, merge_order order);

}  // namespace qdq::runtime
