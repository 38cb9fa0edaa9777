#include "cpu/short_groups.h"

#include "cpu/avx2.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace qdq::runtime {

namespace {

constexpr int64_t most_elements = 1024;  // at once: of 32 bits, and what two of them come to, in the L1 cache

template<typename Value>
[[gnu::always_inline]] inline void meet(const Value *__restrict values, int64_t distance, int64_t count,
                                        Value *__restrict to) {
    for (int64_t i = 0; i < count; i++) {
        to[i] = std::max(values[i], values[i + distance]);
    }
}

// The largest of each group. From each element on, of 2, 4 and 8 of them, by vectors of neighbours: a group is two such
// windows, which may overlap. One group after another takes 0.5 to 0.8 ns an element, and this 0.05 to 0.2 (Zen 5).
template<typename Value, typename Result>
[[gnu::always_inline]] inline void add_groups(const char *x, Value mask, int64_t length, int64_t groups,
                                              Result *found) {
    alignas(64) Value first[most_elements], second[most_elements];
    Value *values = first, *next = second;
    int64_t count = length * groups, width = 1;
    std::memcpy(values, x, static_cast<size_t>(count) * sizeof(Value));
    for (int64_t i = 0; i < count; i++) {
        values[i] &= mask;
    }
    for (; 2 * width <= length; width *= 2) {
        count -= width;
        meet(values, width, count, next);
        std::swap(values, next);
    }
    for (int64_t i = 0; i < groups; i++, values += length) {
        found[i] = std::max(found[i], static_cast<Result>(std::max(values[0], values[length - width])));
    }
}

template<typename Bits>
[[gnu::always_inline]] inline void reduce_some(bool magnitudes, const char *x, int64_t length, int64_t groups,
                                               const extremes &found) {
    using number = std::make_signed_t<Bits>;
    add_groups<number>(x, magnitudes ? std::numeric_limits<number>::max() : number{-1}, length, groups, found.above);
    if (!magnitudes) {
        add_groups<Bits>(x, std::numeric_limits<Bits>::max(), length, groups, found.below);
    }
}

[[gnu::always_inline]] inline void reduce_of_bits(int bits, bool magnitudes, const char *x, int64_t length,
                                                  int64_t groups, const extremes &found) {
    bits == 16 ? reduce_some<uint16_t>(magnitudes, x, length, groups, found)
               : reduce_some<uint32_t>(magnitudes, x, length, groups, found);
}

}  // namespace

void reduce_short_groups(const target &on, int bits, bool magnitudes, const char *x, int64_t length, int64_t groups,
                         const extremes &found) {
    const int64_t most = most_elements / length;
    for (int64_t i = 0; i < groups; i += most) {
        const extremes some{found.above + i, found.below + i};
        run_widest_loops<reduce_of_bits>(on, bits, magnitudes, x + i * length * bits / 8, length,
                                         std::min(most, groups - i), some);
    }
}

}  // namespace qdq::runtime
