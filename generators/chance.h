// Stochastic rounding of one element: random words, and the number that a quotient becomes by some of their bits.
#pragma once

#include "grids.h"
#include "instructions.h"

#include "Halide.h"

#include <vector>

namespace qdq {

using Halide::Expr;

// Philox 4x32-10 has a block of four words for each counter and key, in any order: Salmon, Moraes, Dror and Shaw,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
constexpr int philox_rounds = 10;

constexpr int philox_words = 4;
static_assert(kernels::random_elements == 2 * philox_words);

// The four words after one round, of so many before it. Words are of 32 bits, or the low halves of 64 bits, whose high
// halves are arbitrary. `key` has two of their type.
std::vector<Expr> philox_round(const std::vector<Expr> &words, const std::vector<Expr> &key, const Expr &round);

// t, up or down to a number of a grid, by a uint32 below 2^16: QDQ_STOCHASTIC of qdq.h. Saturating, and the codes
// themselves, are left to quantize: of these numbers every rounding gives the same. Of floats: the bits of the least
// normal as an f32, and of those of one width alignment_of(their mantissa bits).
Expr rounded_by_chance(const instructions &on, kernels::grid numbers, const Expr &t, const Expr &chance,
                       const Expr &least_normal, const Expr &alignment);

}  // namespace qdq
