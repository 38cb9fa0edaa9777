// Stochastic rounding as plans run it. Nothing refers to what does but tables of kernels (qdq/link/kernels.h): programs
// that link only some kernels, and not these, link none of it.
#pragma once

#include "plan/plan.h"

struct qdq_stochastic_rounding {
    // A plan of the path `stochastic`.
    void (*run)(const qdq::runtime::plan &p, const void *x, void *y);
};
