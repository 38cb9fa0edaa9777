// Running a call on ggml's blocks.
#pragma once

#include "plan/block_plan.h"

namespace qdq::runtime {

void run_blocks(const block_plan &p, const void *x, void *y);

}  // namespace qdq::runtime
