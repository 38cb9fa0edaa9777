#include "targets.h"
#include "vectors.h"

namespace qdq {

const cpu_schedule arm_neon = {"arm_neon",     narrow_directly, decode,       transpose_in_registers,
                               repack_bytes,   reduce,          measure,      draw_words,
                               round_by_words, pack_blocks,     unpack_blocks};

}  // namespace qdq
