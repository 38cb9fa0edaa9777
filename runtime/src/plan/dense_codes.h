// Calls on codes of 6 bits, four in three bytes. Nothing refers to what runs them but tables of kernels
// (qdq/link/kernels.h) that have such rows: programs that link others link none of it.
#pragma once

#include "plan/plan.h"

struct qdq_dense_codes {
    // A plan of the path `dense`.
    void (*run)(const qdq::runtime::plan &p, const void *x, void *y);
};
