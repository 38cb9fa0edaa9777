// The numbers that stochastic rounding rounds to: those of a type's codes, as if they had no end.
#pragma once

#include "element_type.h"

#include <cstdint>
#include <map>
#include <string>

namespace qdq::kernels {

enum class grid {
    integers,
    floats,   // multiples of the step of their binade: 2^-mantissa_bits of its least, or of the least normal's
    tapered,  // the same, with as many bits of mantissa as the binade has
};

constexpr grid grid_of(const element_type &type) {
    return type.is_integer() ? grid::integers : type.layout.is_tapered() ? grid::tapered : grid::floats;
}

// The bits of a type's least normal as an f32.
constexpr uint32_t least_normal_of(const float_layout &layout) { return uint32_t(128 - layout.bias) << 23; }

// What, added to the bits of a binade's least number as an f32, makes 128 steps of it: of up to 5 bits of mantissa.
constexpr uint32_t alignment_of(int mantissa_bits) { return uint32_t(7 - mantissa_bits) << 23; }
constexpr int most_mantissa_bits = 5;

// Numbers of 16 bits that one block of the random generator has.
constexpr int random_elements = 8;

// How far elements that share 16 random bits are from one another: the first half of twice as many, and the second.
constexpr int sharing_distance = 16, sharing_elements = 2 * sharing_distance;

// Elements that take their bits from one block, and the blocks of all that share bits.
constexpr int random_block_elements = 2 * random_elements,
              shared_random_blocks = sharing_elements / random_block_elements;

// Saturates as every type's code, whatever is added to it.
constexpr float beyond_all_codes = 1099511627776.0f;  // 2^40

inline const std::map<std::string, grid> &grid_names() {
    static const std::map<std::string, grid> names = {
        {"integers", grid::integers}, {"floats", grid::floats}, {"tapered", grid::tapered}};
    return names;
}

}  // namespace qdq::kernels
