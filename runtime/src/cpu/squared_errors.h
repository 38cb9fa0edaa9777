// How far codes are from what they stand for, in whole numbers of a unit: sums of them are exact.
#pragma once

#include "cpu/operand_rows.h"
#include "measurement.h"
#include "plan/dynamic_plan.h"
#include "targets/measurement_table.h"

#include <bit>
#include <cstdint>

namespace qdq::runtime {

// The biased exponent, as of an f32, of how many units are 1.
inline uint32_t error_exponent(float scale) {
    const uint32_t exponent = std::bit_cast<uint32_t>(scale) >> 23 & 0xff;
    return 262 - (exponent < 8 ? 8 : exponent);
}

inline float error_unit(uint32_t exponent) { return 1 / std::bit_cast<float>(exponent << 23); }

// What is measured at a time. Kernels read and write whole steps of operands.
struct alignas(64) measured_rows {
    static constexpr int64_t most_elements = 2048;
    static constexpr int64_t most_summed = 512;  // of a sum of squares up to 2^54, or of 16 up to 2^27
    static constexpr int64_t most_operands = most_operands_of_rows, padded_operands = most_operands + measured_step;

    float values[most_elements];  // of codes
    float scales[most_operands];
    int32_t zero_points[most_operands];
    uint32_t exponents[most_operands];  // of units
    uint32_t least_exponent;
    float units[padded_operands], lowest[padded_operands], highest[padded_operands];
    uint64_t squares[padded_operands];
    uint32_t flushed[padded_operands];
    uint32_t counts[measured_count];
};

// How elements may differ from their codes.
struct measured_ways {
    bool may_be_outside;  // clipped, or not finite: `lowest` and `highest` say where
    bool is_far;          // by more units than near squares take
};

// Measures codes of a plan.
class error_measurement {
public:
    explicit error_measurement(const dynamic_plan &p);

    // Of rows of x and their codes, both in the same places, the squares and what is flushed of each operand, and
    // counts of the rest: by the operands that there are.
    void run(const operand_rows &x, rows_of_x codes, measured_ways how, measured_rows &all) const;

private:
    const call decoding;  // without operands
    const measurements_of_type &kernels;
    const halide_type_t x_type;
    const bool has_zero_points;
};

}  // namespace qdq::runtime
