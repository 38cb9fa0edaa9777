#include "mapping.h"

namespace qdq {

const cpu_mapping x86_portable = {
    .name = "x86_portable",
    .narrowing_order = [](const lane_order &lanes) -> std::vector<Halide::Var> {
        return {lanes.lane, lanes.half, lanes.vector};
    },
};

}  // namespace qdq
