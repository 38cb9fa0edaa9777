// Random words for stochastic rounding: Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011), and which of its bits an element of a tensor has.
#pragma once

#include <array>
#include <cstdint>

namespace reference {

using philox_counter = std::array<uint32_t, 4>;
using philox_key = std::array<uint32_t, 2>;

philox_counter philox4x32(philox_counter counter, philox_key key);

// The 16 bits of the element of a number, as qdq_rounding has it.
uint32_t random_bits(uint64_t seed, uint64_t number);

}  // namespace reference
