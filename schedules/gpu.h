// The mapping to blocks of threads that devices share: a thread computes one unit, lane by lane in registers, and loads
// and stores 16 bytes at a time where x and y are dense. A target's file gives what differs.
#pragma once

#include "schedule.h"

namespace qdq {

void map_to_threads(device_stages &stages, const Halide::DeviceAPI device, int threads);

// One per target file.
void map_to_cuda(device_stages &stages);
void map_to_opencl(device_stages &stages);

}  // namespace qdq
