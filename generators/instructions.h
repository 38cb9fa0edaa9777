// What a target's instructions offer to arithmetic. The same result is sometimes faster one way, sometimes another;
// tests hold every way to the same bits.
#pragma once

#include <map>
#include <string>

namespace qdq {

enum class instructions {
    sse41,  // no fused multiply-add, no f16
    avx2,
    neon,
    rvv,  // LLVM 21 takes calls of its fma apart where vectors are scalable, and Halide emulates f16
    ptx,  // CUDA
    opencl,
    generic,  // a fused multiply-add; nothing else is taken for granted
};

// For GeneratorParam<instructions>: the names used in kernels.cmake.
inline const std::map<std::string, instructions> &instruction_names() {
    static const std::map<std::string, instructions> names = {
        {"sse41", instructions::sse41},    {"avx2", instructions::avx2}, {"neon", instructions::neon},
        {"rvv", instructions::rvv},        {"ptx", instructions::ptx},   {"opencl", instructions::opencl},
        {"generic", instructions::generic}};
    return names;
}

inline bool is_device(instructions i) { return i == instructions::ptx || i == instructions::opencl; }

// Exact division by a reciprocal needs it; the division instruction serves where it is missing.
inline bool have_fma(instructions i) { return i != instructions::sse41 && i != instructions::rvv; }

// Halide 21 passes a select of vectors by one condition to RISC-V's predicated select, which takes a vector of them.
inline bool select_by_one(instructions i) { return i != instructions::rvv; }

// f32 from f16 and back.
inline bool convert_f16(instructions i) {
    return i == instructions::avx2 || i == instructions::neon || i == instructions::ptx;
}

// f32 to the nearest int32 in one instruction, NaN to -2^31, and two registers of integers saturated into one: what
// need not be clamped before it is narrowed.
inline bool saturate_integers(instructions i) { return i == instructions::sse41 || i == instructions::avx2; }

// f32 to the nearest int32 or uint32 in one instruction that saturates, NaN to 0.
inline bool convert_saturating(instructions i) { return i == instructions::neon; }

// Shifts of lanes of 8 bits.
inline bool shift_bytes(instructions i) { return i == instructions::neon; }

// A shift right whose result is added, in one instruction.
inline bool shift_and_add(instructions i) { return i == instructions::neon; }

// The magnitude of an f32 in one instruction; a mask takes two.
inline bool have_absolute(instructions i) { return i == instructions::neon; }

// Products of subnormals as fast as any.
inline bool multiply_subnormals(instructions i) { return i == instructions::neon; }

// The minimum and maximum of IEEE 754: minNum and maxNum, which prefer numbers, and minimum, which prefers NaN.
inline bool have_number_minimum(instructions i) { return i == instructions::neon; }

}  // namespace qdq
