#include "mapping.h"

namespace qdq {

void schedule_x86_portable(quantize_stages &stages) {
    const lane_order &lanes = stages.lanes;
    map_to_vectors(stages, read_parameters("x86_portable"), {lanes.lane, lanes.half, lanes.vector});
}

void schedule_x86_portable(dequantize_stages &stages) { map_to_vectors(stages, read_parameters("x86_portable")); }

void schedule_x86_portable(transpose_stages &stages) { map_to_vectors(stages, 8); }

void schedule_x86_portable(pack_stages &stages) { map_to_vectors(stages); }

void schedule_x86_portable(unpack_stages &stages) { map_to_vectors(stages); }

}  // namespace qdq
