// Which target calls use: forced by name, else by QDQ_TARGET, else the best that this processor can run.
#pragma once

#include "kernel_table.h"

namespace qdq {

bool can_run(const target &t, uint32_t cpu_features);

// The target in use, or NULL with the reason in qdq_last_error.
const target *current_target();

}  // namespace qdq
