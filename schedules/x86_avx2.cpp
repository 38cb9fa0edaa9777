#include "mapping.h"

namespace qdq {

const cpu_mapping x86_avx2 = {
    .name = "x86_avx2",
    .narrowing_order = [](const lane_order &lanes) -> std::vector<Halide::Var> {
        return {lanes.lane, lanes.half, lanes.vector};
    },
};

}  // namespace qdq
