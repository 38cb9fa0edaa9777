#include "targets.h"
#include "vectors.h"

namespace qdq {

namespace {

void quantize(quantize_stages &stages, const quantize_parameters &tuned) {
    narrow(stages, tuned, {{}, stages.lanes.in_order()});
    narrow_sums(stages, {stages.words.in_order(), stages.words.in_order()});
}

}  // namespace

const cpu_schedule x86_portable = {"x86_portable", quantize,    decode,       transpose_in_registers,
                                   repack_bytes,   reduce,      measure,      draw_words,
                                   round_by_words, pack_blocks, unpack_blocks};

}  // namespace qdq
