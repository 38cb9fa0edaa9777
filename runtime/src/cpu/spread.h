// Operands of short blocks, as columns take them: each value several times over.
#pragma once

#include "cpu/kernel_call.h"

#include <cstdint>
#include <span>

namespace qdq::runtime {

// Places along a dimension, of which `block` share a value. The first value has `phase` places less, the last what is
// left.
struct spread_dimension {
    int64_t extent, step;  // places
    int64_t block, phase, blocks;
    int64_t from;  // from a value to the next

    int64_t end_of(int64_t i) const { return i + 1 == blocks ? extent : (i + 1) * block - phase; }
    bool is_continued_by(const spread_dimension &outer) const {
        return blocks * block == extent && outer.block == 1 && outer.from == blocks * from;
    }
};

// Values, and the places that they are put in.
struct spread_values {
    const void *from;
    void *to;
};

// Puts its value in each place of a box of dimensions, the innermost first, for several arrays of values. A step along
// the innermost is a run of `step` places, which share a value. Up to spare_operands places after the box may be
// written over.
void spread(const target &on, std::span<const spread_values> arrays, std::span<const spread_dimension> box);

constexpr int64_t spread_past = 16;  // values past the last that may be written over

// to[i] = from[i / times] for count * times places, of values of 32 bits. What lies after them may be, too.
void spread(const target &on, const void *from, int64_t count, int64_t times, void *to);

}  // namespace qdq::runtime
