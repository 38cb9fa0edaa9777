// The state of 32 threads that run together, and what they share with the rest of a launch.
#pragma once

#include "memory.h"
#include "nan.h"
#include "program.h"

#include <cstdint>
#include <stdexcept>

namespace ptx {

// A kernel has done what it must not do.
struct fault : std::runtime_error {
    enum class kind { no_memory, misaligned, other } is;
    fault(kind what, const std::string &said) : std::runtime_error(said), is(what) {}
};

struct counts {
    uint64_t threads = 0, instructions = 0;
    // Of accesses to memory: those of a warp, sectors of 32 bytes that they touch, and bytes that they are for.
    uint64_t sectors = 0, bytes = 0;

    counts &operator+=(const counts &more) {
        threads += more.threads;
        instructions += more.instructions;
        sectors += more.sectors;
        bytes += more.bytes;
        return *this;
    }
};

struct warp {
    char *registers = nullptr;
    alignas(64) uint32_t active[lanes] = {};  // all ones or 0
    uint32_t mask = 0;                        // the same, as bits
    const uint8_t *parameters = nullptr;
    const program *of = nullptr;
    uint32_t block = 0, first_thread = 0, threads_in_block = 0;
    uint64_t launch = 0;  // its number
    const void *context = nullptr;
    const memory *all_memory = nullptr;
    allocation *latest = nullptr;  // that an access was in
    uint64_t latest_version = 0;
    allocation *shared = nullptr;  // the block's, whose addresses count from 0
    uint64_t phase = 0;            // the number of what runs between two barriers, as a launch's: accesses are ordered
    nan_source nan;
    counts done;

    template<typename T> T *lanes_of(int32_t at) { return reinterpret_cast<T *>(registers + at); }
    thread_stamp stamp(uint64_t number, int lane) const {
        return number << 32 | (uint64_t{block} * threads_in_block + first_thread + static_cast<uint32_t>(lane) + 1);
    }
    allocation *allocation_of(uint64_t address, uint64_t bytes) {
        if (latest == nullptr || latest_version != all_memory->version() || !latest->has(address, bytes)) {
            latest_version = all_memory->version();
            latest = all_memory->find(address, bytes);
        }
        return latest;
    }
    [[noreturn]] void stop(fault::kind what, const instruction &at, int lane, const std::string &why) const;
};

}  // namespace ptx
