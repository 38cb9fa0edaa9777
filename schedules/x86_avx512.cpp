#include "mapping.h"

namespace qdq {

void schedule_x86_avx512(quantize_stages &stages) {
    const lane_order &lanes = stages.lanes;
    map_to_vectors(stages, read_parameters("x86_avx512"), {lanes.lane, lanes.vector, lanes.half});
}

void schedule_x86_avx512(dequantize_stages &stages) { map_to_vectors(stages, read_parameters("x86_avx512")); }

void schedule_x86_avx512(transpose_stages &stages) { map_to_vectors(stages, 8); }

void schedule_x86_avx512(pack_stages &stages) { map_to_vectors(stages); }

void schedule_x86_avx512(unpack_stages &stages) { map_to_vectors(stages); }

}  // namespace qdq
