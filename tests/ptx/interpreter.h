// Runs a launch: its blocks on the processor's cores, in a drawn order, and in each block its warps in a drawn order.
// The lanes of a warp run together where they are at the same instruction. A barrier is where all warps of a block have
// come, and orders accesses to the block's shared memory; nothing else orders one thread before another, as an access
// to a byte that another thread of the launch writes is a fault.
#pragma once

#include "warp.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ptx {

struct launch {
    const program *kernel = nullptr;
    uint32_t blocks = 1, threads = 1;  // in each
    uint32_t shared_bytes = 0;
    std::span<const uint8_t> parameters;
    const memory *all_memory = nullptr;
    const void *context = nullptr;
    nan_choice nan = nan_choice::drawn;
    uint64_t seed = 1;
    int processors = 0;  // 0: all of them
};

// Throws fault; then some of the other threads have run. `executed` gets ones for the instructions that ran.
counts run(const launch &l, std::vector<uint8_t> &executed);

}  // namespace ptx
