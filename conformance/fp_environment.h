// The floating-point control register, set to anything a caller may have left in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fp {

struct environment {
    std::string name;
    uint64_t control;
};

#if defined(__x86_64__)

// MXCSR without its sticky exception flags, which any arithmetic may raise.
inline uint64_t control() { return _mm_getcsr() & 0xffc0u; }
inline void set_control(uint64_t control) { _mm_setcsr(static_cast<unsigned>(control)); }

// The sticky exception flags.
inline constexpr uint64_t every_flag = 0x3f;
inline constexpr uint64_t subnormal_operand_flag = 0x02;
inline uint64_t flags() { return _mm_getcsr() & every_flag; }
inline void set_flags(uint64_t flags) { _mm_setcsr(static_cast<unsigned>((_mm_getcsr() & ~every_flag) | flags)); }

inline std::vector<environment> hostile_environments() {
    constexpr uint64_t masked = 0x1f80;
    return {{"flush_to_zero", masked | 0x8000},
            {"denormals_are_zero", masked | 0x0040},
            {"both_flushes", masked | 0x8040},
            {"round_down", masked | 0x2000},
            {"round_up", masked | 0x4000},
            {"round_toward_zero", masked | 0x6000},
            {"round_up_and_flush", masked | 0x4000 | 0x8040},
            {"exceptions_unmasked", 0x0000}};
}

#elif defined(__aarch64__)

inline uint64_t control() {
    uint64_t control;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}
inline void set_control(uint64_t control) { asm volatile("msr fpcr, %0" ::"r"(control) : "memory"); }

// The sticky exception flags, in FPSR.
inline constexpr uint64_t every_flag = 0x9f;
inline constexpr uint64_t subnormal_operand_flag = 0;  // one that is computed with raises none
inline uint64_t flags() {
    uint64_t status;
    asm volatile("mrs %0, fpsr" : "=r"(status));
    return status & every_flag;
}
inline void set_flags(uint64_t flags) { asm volatile("msr fpsr, %0" ::"r"(flags) : "memory"); }

inline std::vector<environment> hostile_environments() {
    constexpr uint64_t flush = uint64_t{1} << 24;
    constexpr uint64_t default_nan = uint64_t{1} << 25;
    return {{"flush_to_zero", flush},
            {"default_nan", default_nan},
            {"round_up", uint64_t{1} << 22},
            {"round_down", uint64_t{2} << 22},
            {"round_toward_zero", uint64_t{3} << 22},
            {"round_up_and_flush", (uint64_t{1} << 22) | flush},
            {"everything", (uint64_t{3} << 22) | flush | default_nan}};
}

#elif defined(__riscv)

// The rounding mode. There is no other.
inline uint64_t control() {
    uint64_t control;
    asm volatile("frrm %0" : "=r"(control));
    return control;
}
inline void set_control(uint64_t control) { asm volatile("fsrm %0" ::"r"(control) : "memory"); }

// The sticky exception flags.
inline constexpr uint64_t every_flag = 0x1f;
inline constexpr uint64_t subnormal_operand_flag = 0;  // there is none
inline uint64_t flags() {
    uint64_t flags;
    asm volatile("frflags %0" : "=r"(flags));
    return flags;
}
inline void set_flags(uint64_t flags) { asm volatile("fsflags %0" ::"r"(flags) : "memory"); }

inline std::vector<environment> hostile_environments() {
    return {{"round_toward_zero", 1}, {"round_down", 2}, {"round_up", 3}, {"round_nearest_away", 4}};
}

#endif

}  // namespace fp
