#include "targets.h"
#include "vectors.h"

namespace qdq {

namespace {

void quantize(quantize_stages &stages, const quantize_parameters &tuned) {
    const lane_order &lanes = stages.lanes;
    const word_order &words = stages.words;
    narrow(stages, tuned, {lanes.lane, lanes.half, lanes.vector});
    narrow_sums(stages, {words.lane, words.quad, words.vector, words.half});
}

}  // namespace

const cpu_schedule x86_avx2 = wide_vectors("x86_avx2", quantize);

}  // namespace qdq
