// Stochastic rounding in one pass, by a kernel that is written by hand: kernels/stochastic_row.h.
#pragma once

#include "plan/plan.h"
#include "targets/stochastic_table.h"

namespace qdq::runtime {

// Computes y, and returns whether it did: dense x and y, a scale for at least some hundred elements or for blocks of
// whole 32 of them, and operands that the kernel takes. If it did not, y may hold anything.
bool quantize_stochastic_rows(const plan &p, const stochastic_kernels &kernels, const void *x, void *y);

}  // namespace qdq::runtime
