// The kernels that measure codes, for diagnostics and for the search of clip ratios. Their table is not part of a
// target (qdq/link/kernels.h): only what computes scales refers to it.
#pragma once

#include "HalideRuntime.h"
#include "measurement.h"
#include "targets/entry_of_target.h"

namespace qdq::runtime {

// generators/measure_generator.cpp
using measure_kernel = int(halide_buffer_t *x, halide_buffer_t *y, halide_buffer_t *units, halide_buffer_t *lowest,
                           halide_buffer_t *highest, int32_t columns, bool is_outside, bool is_far,
                           halide_buffer_t *squares, halide_buffer_t *flushed, halide_buffer_t *counts);

// Of one type of x. No kernels: no row of the build quantizes it.
struct measurements_of_type {
    measure_kernel *row, *column;
};

struct measurements {
    const char *target;
    measurements_of_type of[3];  // by qdq_dtype: QDQ_F32, QDQ_F16, QDQ_BF16
};

extern const measurements linked_measurements[];

// Every target of the processor has some.
inline const measurements &find_measurements(const target &t) { return entry_of(t, linked_measurements); }

}  // namespace qdq::runtime
