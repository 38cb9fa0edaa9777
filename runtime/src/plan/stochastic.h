// Stochastic rounding as plans run it. Nothing refers to what does but tables of kernels (qdq/link/kernels.h): programs
// that link only some kernels, and not these, link none of it.
#pragma once

#include "plan/plan.h"

namespace qdq::runtime {

struct draft;

// Whether a call that asks for it may have it: random numbers enough, and on the host a kernel of its type of codes
// from f32.
qdq_status check_stochastic_rounding(const draft &d);

}  // namespace qdq::runtime

struct qdq_stochastic_rounding {
    qdq_status (*check)(const qdq::runtime::draft &d);
    // A plan of the path `stochastic`. `values`: what makes values of x first, dense ones of f32, and as many as p has
    // elements; a plan of regions with the dimensions as the caller gave them. NULL where x is what is quantized.
    void (*run)(const qdq::runtime::plan &p, const void *x, void *y, const qdq::runtime::plan *values);
};
