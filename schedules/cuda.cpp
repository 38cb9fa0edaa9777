#include "gpu.h"

namespace qdq {

void map_to_cuda(device_stages &stages) { map_to_threads(stages, Halide::DeviceAPI::CUDA, 256); }

}  // namespace qdq
