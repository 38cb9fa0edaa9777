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

const cpu_schedule x86_avx2 = {"x86_avx2",
                               quantize,
                               decode,
                               transpose_in_registers,
                               repack_bytes,
                               reduce_in_registers,
                               measure_short_rows_apart,
                               draw_words,
                               round_by_words,
                               pack_blocks,
                               unpack_blocks};

}  // namespace qdq
