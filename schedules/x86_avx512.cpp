#include "mapping.h"

namespace qdq {

const cpu_mapping x86_avx512 = {
    .name = "x86_avx512",
    .narrowing_order = [](const lane_order &lanes) -> std::vector<Halide::Var> {
        return {lanes.lane, lanes.vector, lanes.half};
    },
};

}  // namespace qdq
