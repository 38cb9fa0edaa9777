#include "gpu_threads.h"
#include "targets.h"

namespace qdq {

namespace {

void kernel(device_stages &stages, const device_parameters &tuned) {
    map_to_threads(stages, tuned, Halide::DeviceAPI::CUDA);
    for (const Halide::Expr &calls : stages.apart) {
        stages.output.update().specialize(calls);
    }
}

void scales(scales_stages &stages, const scales_parameters &tuned) {
    map_groups_to_threads(stages, tuned, Halide::DeviceAPI::CUDA);
}

}  // namespace

const device_schedule cuda = {"cuda", kernel, scales};

}  // namespace qdq
