#include "targets.h"
#include "vectors.h"

namespace qdq {

namespace {

void quantize(quantize_stages &stages, const quantize_parameters &tuned) {
    const lane_order &lanes = stages.lanes;
    const word_order &words = stages.words;
    narrow(stages, tuned, {lanes.lane, lanes.vector, lanes.half});
    narrow_sums(stages, {words.lane, words.vector, words.quad, words.half});
}

}  // namespace

const cpu_schedule x86_avx512 = {"x86_avx512",
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
