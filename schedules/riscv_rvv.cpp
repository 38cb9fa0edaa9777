#include "mapping.h"

namespace qdq {

const cpu_mapping riscv_rvv = {
    .name = "riscv_rvv",
    .narrowing_order = [](const lane_order &lanes) -> std::vector<Halide::Var> {
        return {lanes.lane, lanes.half, lanes.vector};
    },
};

}  // namespace qdq
