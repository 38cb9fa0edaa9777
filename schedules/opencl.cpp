#include "gpu_threads.h"
#include "targets.h"

namespace qdq {

namespace {

void kernel(device_stages &stages, const device_parameters &tuned) {
    map_to_threads(stages, tuned, Halide::DeviceAPI::OpenCL);
}

void scales(scales_stages &stages, const scales_parameters &tuned) {
    map_groups_to_threads(stages, tuned, Halide::DeviceAPI::OpenCL);
}

}  // namespace

const device_schedule opencl = {"opencl", kernel, scales};

}  // namespace qdq
