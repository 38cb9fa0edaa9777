// The schedules, one of each target's file. A target of the manifest names the one that it uses.
#pragma once

#include "schedule.h"

namespace qdq {

extern const cpu_schedule x86_avx512, x86_avx2, x86_portable, arm_neon, riscv_rvv;
extern const device_schedule cuda, opencl;

}  // namespace qdq
