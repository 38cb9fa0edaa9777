#include "targets.h"
#include "vectors.h"

namespace qdq {

namespace {

void quantize(quantize_stages &stages, const quantize_parameters &tuned) {
    const lane_order &l = stages.lanes;
    if (stages.half_narrowed.defined()) {
        // As vpackssdw leaves two registers, and vpacksswb two of those: f32 to i8 takes 37 instructions for 64
        // elements, and 41 in order.
        const narrowing_order quads = {{l.lane, l.half, l.quad, l.vector, l.pair},
                                       {l.lane, l.half, l.vector, l.quad, l.pair}};
        narrow(stages, tuned, quads);
        narrow_sums(stages, quads);
    } else {
        narrow(stages, tuned, {{}, l.in_order()});
        narrow_sums(stages, {stages.words.in_order(), stages.words.in_order()});
    }
}

}  // namespace

const cpu_schedule x86_avx2 = wide_vectors("x86_avx2", quantize);

}  // namespace qdq
