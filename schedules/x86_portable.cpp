#include "targets.h"
#include "vectors.h"

namespace qdq {

namespace {

void quantize(quantize_stages &stages, const quantize_parameters &tuned) {
    const lane_order &lanes = stages.lanes;
    narrow(stages, tuned, {lanes.lane, lanes.half, lanes.vector});
}

}  // namespace

const cpu_schedule x86_portable = {"x86_portable", quantize, decode, transpose_in_registers, repack_bytes};

}  // namespace qdq
