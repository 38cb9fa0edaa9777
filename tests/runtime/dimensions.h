// Dimensions as the dispatcher sees them, drawn, and the elements that they reach.
#pragma once

#include "plan/plan.h"

#include "support/choices.h"

#include <cstdint>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace runtime_test {

using qdq::runtime::blocked_dimension;
using qdq::runtime::dimension;

// Where an element and its operands are.
struct element {
    int64_t x = 0, y = 0, scale = 0, zero_point = 0;

    auto operator<=>(const element &) const = default;
};

inline void PrintTo(const element &e, std::ostream *out) {
    *out << "x " << e.x << ", y " << e.y << ", scale " << e.scale << ", zero point " << e.zero_point;
}

inline element moved(const element &from, const dimension &d, int64_t steps, int64_t blocks) {
    return {from.x + steps * d.x, from.y + steps * d.y, from.scale + blocks * d.scale,
            from.zero_point + blocks * d.zero_point};
}

// All of them, the last dimension innermost.
inline std::vector<element> elements_of(std::span<const blocked_dimension> dimensions) {
    std::vector<element> all{{}};
    for (const blocked_dimension &d : dimensions) {
        std::vector<element> longer;
        for (const element &e : all) {
            for (int64_t i = 0; i < d.whole.extent; i++) {
                longer.push_back(moved(e, d.whole, i, i / d.block));
            }
        }
        all = std::move(longer);
    }
    return all;
}

inline std::string description(std::span<const blocked_dimension> dimensions) {
    std::ostringstream out;
    for (const blocked_dimension &d : dimensions) {
        out << "{" << d.whole.extent << ", " << d.whole.x << ", " << d.whole.y << ", " << d.whole.scale << ", "
            << d.whole.zero_point << "; block " << d.block << "} ";
    }
    return out.str();
}

// Dense strides in a drawn order of the dimensions, some backwards, some with gaps.
inline std::vector<int64_t> drawn_strides(test_support::choices &random, const std::vector<int64_t> &extents,
                                          bool is_dense) {
    std::vector<size_t> order(extents.size());
    for (size_t i = 0; i < order.size(); i++) {
        order[i] = order.size() - 1 - i;
    }
    if (!is_dense && random.chance(2)) {
        random.shuffle(order);
    }
    std::vector<int64_t> strides(extents.size());
    int64_t next = 1;
    for (size_t i : order) {
        const bool backwards = !is_dense && random.chance(4), gap = !is_dense && random.chance(6);
        strides[i] = backwards ? -next : next;
        next *= extents[i] + (gap ? 1 : 0);
    }
    return strides;
}

enum class blocks { any, whole };  // whether a last block may be shorter

// One to four dimensions; elements of y are distinct.
inline std::vector<blocked_dimension> drawn_dimensions(test_support::choices &random, blocks which) {
    std::vector<int64_t> extents, block_lengths, counts;
    std::vector<bool> varies;
    const bool has_operands = !random.chance(4);
    for (int64_t rank = random.between(1, 4); rank > 0; rank--) {
        int64_t block = random.chance(2) ? 1 : random.between(1, 6);
        const int64_t extent = which == blocks::whole ? block * random.between(1, 4) : random.between(1, 12);
        const bool has_blocks = has_operands && !random.chance(3) && extent > block;
        block = has_blocks ? block : extent;
        extents.push_back(extent);
        block_lengths.push_back(block);
        varies.push_back(has_blocks);
        counts.push_back(has_blocks ? (extent + block - 1) / block : 1);
    }
    const bool both_dense = random.chance(2);
    const std::vector<int64_t> x = drawn_strides(random, extents, both_dense),
                               y = random.chance(2) ? x : drawn_strides(random, extents, both_dense),
                               scale = drawn_strides(random, counts, random.chance(2)),
                               zero_point = random.chance(2) ? scale : std::vector<int64_t>(counts.size());
    std::vector<blocked_dimension> drawn;
    for (size_t i = 0; i < extents.size(); i++) {
        drawn.push_back(
            {{extents[i], x[i], y[i], varies[i] ? scale[i] : 0, varies[i] ? zero_point[i] : 0}, block_lengths[i]});
    }
    return drawn;
}

}  // namespace runtime_test
