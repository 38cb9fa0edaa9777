// Which target calls use: forced by name, else by QDQ_TARGET, else the best that this processor can run.
#pragma once

#include "targets/kernel_table.h"

namespace qdq::runtime {

bool can_run(const target &t, uint32_t cpu_features);

// The target in use for host tensors, or the forced one; NULL with the reason in qdq_last_error.
const target *current_target();

// The target for the tensors of a device, or NULL with the reason in qdq_last_error.
const target *device_target(const char *function, qdq_device_kind kind);

}  // namespace qdq::runtime
