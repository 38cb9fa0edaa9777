// The kernels that compute scales on devices. As with those of reduction_table.h, only what computes scales refers to
// their table.
#pragma once

#include "scales_arguments.h"
#include "targets/entry_of_target.h"

namespace qdq::runtime {

struct dynamic_plan;
struct dynamic_tensors;

using device_scale_kernels = qdq_device_kernel_function *[scales_form_count];  // on scales_arguments

struct device_scales {
    const char *target;  // NULL behind the last one
    // Runs a plan on its tensors: puts the work into the stream.
    qdq_status (*run)(const char *function, const device_scales &by, const dynamic_plan &p, const dynamic_tensors &at,
                      void *stream);
    device_scale_kernels of[2];  // of elements of 16 and 32 bits; no kernels: no row of the build quantizes such
};

extern const device_scales linked_device_scales[];

// A device target's.
inline const device_scales &find_device_scales(const target &t) { return entry_of(t, linked_device_scales); }

// In every entry of the table; a library without devices lacks it.
qdq_status run_dynamic_on_device(const char *function, const device_scales &by, const dynamic_plan &p,
                                 const dynamic_tensors &at, void *stream);

}  // namespace qdq::runtime
