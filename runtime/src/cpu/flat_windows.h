// Packed codes whose rows do not begin at whole bytes, window by window of the flat packed order: elements and operands
// are gathered one by one, whatever the layout of the other tensor and of the blocks.
#pragma once

#include "plan/plan.h"

namespace qdq::runtime {

constexpr int64_t window_elements = 2048;

// The elements [first, end) of a call, counted row-major; first is a multiple of window_elements.
void run_windows(const plan &p, const void *x, void *y, int64_t first, int64_t end);

}  // namespace qdq::runtime
