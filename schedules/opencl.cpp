#include "gpu.h"

namespace qdq {

void map_to_opencl(device_stages &stages) { map_to_threads(stages, Halide::DeviceAPI::OpenCL, 256); }

}  // namespace qdq
