#include "mapping.h"

namespace qdq {

const cpu_mapping arm_neon = {
    .name = "arm_neon",
    .narrowing_order = [](const lane_order &lanes) -> std::vector<Halide::Var> {
        return {lanes.lane, lanes.half, lanes.vector};
    },
};

}  // namespace qdq
