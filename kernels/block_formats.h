// What a block of ggml's formats holds, one after another: a scale, in some a minimum, the fifth bits of its codes, and
// their lower bits: qdq/blocks.h. In the order of qdq_block_format.
#pragma once

namespace qdq::kernels {

constexpr int block_elements = 32;
constexpr int most_block_bytes = 34;

struct block_format {
    const char *name;
    int bits;                // of a code
    bool has_minimum;        // an f16, and codes are at least 0; else they are around the code of 0
    bool has_power;          // the scale is a power of two, of a byte, and codes are of f4e2m1; else it is an f16
    bool has_table = false;  // codes are the places of `table_values`

    constexpr int minimum_at() const { return has_power ? 1 : 2; }
    constexpr int fifth_bits_at() const { return minimum_at() + (has_minimum ? 2 : 0); }
    constexpr int codes_at() const { return fifth_bits_at() + (bits == 5 ? block_elements / 8 : 0); }
    constexpr int bytes() const { return codes_at() + block_elements * (bits == 8 ? 8 : 4) / 8; }
};

inline constexpr block_format block_formats[] = {
    {"q8_0", 8, false, false}, {"q4_0", 4, false, false}, {"q4_1", 4, true, false},          {"q5_0", 5, false, false},
    {"q5_1", 5, true, false},  {"mxfp4", 4, false, true}, {"iq4_nl", 4, false, false, true},
};

// What the scale is multiplied by, of codes that are places. Midpoints of neighbours are numbers of f32.
inline constexpr int table_values[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr int table_size = 16;

// Blocks that a kernel quantizes at most: what it keeps of them is on the stack.
constexpr int most_blocks = 64;

}  // namespace qdq::kernels
