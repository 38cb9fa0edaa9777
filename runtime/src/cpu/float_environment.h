// The contract's arithmetic rounds to nearest even and keeps subnormals, whatever mode the caller's thread is in.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace qdq::runtime {

#if defined(__x86_64__)

// MXCSR.
inline uint64_t float_modes() { return _mm_getcsr(); }
inline void set_float_modes(uint64_t modes) { _mm_setcsr(static_cast<unsigned>(modes)); }
constexpr uint64_t every_mode = 0xffc0;      // all but the sticky exception flags
constexpr uint64_t default_modes = 0x1f80;   // every exception masked, nearest even, no FTZ, no DAZ
constexpr uint64_t flushing_modes = 0x8040;  // FTZ, DAZ

#elif defined(__aarch64__)

// FPCR.
inline uint64_t float_modes() {
    uint64_t modes;
    asm volatile("mrs %0, fpcr" : "=r"(modes));
    return modes;
}
inline void set_float_modes(uint64_t modes) { asm volatile("msr fpcr, %0" : : "r"(modes) : "memory"); }
constexpr uint64_t every_mode = ~uint64_t{0};
// Nearest even, no flush to zero, no default NaN, no alternative handling, no traps.
constexpr uint64_t default_modes = 0;
constexpr uint64_t flushing_modes = 0;  // not FZ: NEON computes with subnormal numbers as fast as with any

#elif defined(__riscv)

// fcsr holds the rounding mode and sticky flags; there is no flush to zero.
inline uint64_t float_modes() {
    uint64_t modes;
    asm volatile("frrm %0" : "=r"(modes));
    return modes;
}
inline void set_float_modes(uint64_t modes) { asm volatile("fsrm %0" : : "r"(modes) : "memory"); }
constexpr uint64_t every_mode = 7;
constexpr uint64_t default_modes = 0;   // nearest even
constexpr uint64_t flushing_modes = 0;  // there are none

#else
#error "float_environment.h: not written for this processor"
#endif

// Leaves the sticky exception flags as they are: where a change of modes clears or raises one, the next stmxcsr takes
// 70 ns (Intel, AVX512-BF16). Compilers move arithmetic past a change of modes, as nothing says that it depends on
// them, but not past a barrier to the memory that it reads and writes.
[[gnu::noinline]] inline void change_float_modes(uint64_t modes) {
    asm volatile("" : : : "memory");
    set_float_modes(modes | (float_modes() & ~every_mode));
    asm volatile("" : : : "memory");
}

// Default floating-point modes while it lives; the caller's come back at the end. If asked to, it takes subnormal
// numbers for zeros, operands and results: that takes 4 ns (Intel, AVX512-BF16). The sticky exception flags are left as
// arithmetic leaves them.
class float_environment {
public:
    explicit float_environment(bool flushes = false)
        : saved(float_modes() & every_mode), wanted(default_modes | (flushes ? flushing_modes : 0)) {
        if (saved != wanted) {
            change_float_modes(wanted);
        }
    }
    ~float_environment() {
        if (saved != wanted) {
            change_float_modes(saved);
        }
    }
    float_environment(const float_environment &) = delete;

private:
    const uint64_t saved, wanted;
};

}  // namespace qdq::runtime
