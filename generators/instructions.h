// What a target's instructions offer to arithmetic. The same result is sometimes faster one way, sometimes another;
// tests hold every way to the same bits. A target's row in kernels/manifest.cmake names its abilities, and generators
// ask for an ability, never for a target: of one that is not named nothing is taken for granted.
#pragma once

#include <string>

namespace qdq {

struct instructions {
    bool fma = false;       // a fused multiply-add, for exact division by a reciprocal; else the division instruction
    bool rounding = false;  // f32 rounded to an integral f32, in any direction
    bool f16 = false;       // f32 from f16 and back
    bool bf16 = false;      // normal f32 to bf16; subnormal ones may become zero

    // f32 to the nearest int32 in one instruction, NaN to -2^31, and two registers of integers saturated into one: what
    // need not be clamped before it is narrowed.
    bool saturating_narrow = false;
    bool saturating_conversion = false;  // f32 to the nearest int32 or uint32, saturated, NaN to 0
    bool number_minimum = false;         // IEEE 754-2008's minNum and maxNum, which prefer numbers; minimum prefers NaN
    bool absolute = false;               // the magnitude of an f32 in one instruction; a mask takes two
    bool fast_subnormals = false;        // products of subnormals as fast as any
    bool byte_shifts = false;            // shifts of lanes of 8 bits
    bool shift_and_add = false;          // a shift right whose result is added, in one instruction
    bool f64 = false;                    // f64 from int32 and f32 and back, in vectors
    bool lane_masks = false;             // comparisons give masks of lanes, by which one instruction counts
    bool shared_select = false;          // a select of vectors by one condition (RISC-V's takes a vector of conditions)

    // Devices. Their compilers fuse and reorder unless every operation is called by its own name.
    bool ptx = false;  // CUDA
    bool opencl = false;

    bool device() const { return ptx || opencl; }

    // Of results at once. Halide's name for the conversion to bf16 is that of so many; and LLVM 21 loses half the lanes
    // of a shift of 8 bytes or fewer where processors with that conversion have GFNI (f4e2m1 to f16, stored_vector 4).
    int least_lanes() const { return bf16 ? 16 : 1; }
};

// From names with commas between, "fma,rounding": those of the fields. Throws std::invalid_argument for another name.
instructions instructions_named(const std::string &names);

// Throws std::invalid_argument unless a target has the ability that a method needs: "exact_division is fma".
void require(bool has, const char *method, const char *ability);

}  // namespace qdq
