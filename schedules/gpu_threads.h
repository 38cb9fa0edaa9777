// The mapping to blocks of threads that devices share: a thread computes one unit, lane by lane in registers, and loads
// and stores several words at a time where x and y are dense.
#pragma once

#include "schedule.h"

namespace qdq {

void map_to_threads(device_stages &stages, const device_parameters &tuned, Halide::DeviceAPI device);

// Of kernels that compute scales: threads reduce in registers, and meet in memory that their block shares.
void map_groups_to_threads(scales_stages &stages, const scales_parameters &tuned, Halide::DeviceAPI device);

}  // namespace qdq
