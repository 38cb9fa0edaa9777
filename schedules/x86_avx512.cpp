#include "targets.h"
#include "vectors.h"

namespace qdq {

namespace {

void quantize(quantize_stages &stages, const quantize_parameters &tuned) {
    const lane_order &l = stages.lanes;
    narrow(stages, tuned, {{}, {l.lane, l.vector, l.half}});
    const std::vector<Halide::Var> sums{l.lane, l.vector, l.quad, l.half};  // as vpackssdw leaves two registers
    narrow_sums(stages, {sums, sums});
}

}  // namespace

const cpu_schedule x86_avx512 = wide_vectors("x86_avx512", quantize);

}  // namespace qdq
