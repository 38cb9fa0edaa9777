#include "mapping.h"

namespace qdq {

void schedule_x86_avx2(quantize_stages &stages) {
    const lane_order &lanes = stages.lanes;
    map_to_vectors(stages, read_parameters("x86_avx2"), {lanes.lane, lanes.half, lanes.vector});
}

void schedule_x86_avx2(dequantize_stages &stages) { map_to_vectors(stages, read_parameters("x86_avx2")); }

void schedule_x86_avx2(transpose_stages &stages) { map_to_vectors(stages, 8); }

void schedule_x86_avx2(pack_stages &stages) { map_to_vectors(stages); }

void schedule_x86_avx2(unpack_stages &stages) { map_to_vectors(stages); }

}  // namespace qdq
