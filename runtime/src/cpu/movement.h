// Moves elements between a caller's memory and tiles, whose elements lie end to end. Offsets and strides count
// elements; packed ones begin at whole bytes and are contiguous along one loop.
#pragma once

#include "plan/plan.h"

#include <cstdint>

namespace qdq::runtime {

// A loop over elements, and their strides on either side.
struct move_loop {
    int64_t extent, from, to;
};

// to[sum of index * loop.to] = from[sum of index * loop.from] over all of so many loops, which are used up.
void move(const target &on, int64_t bits, const void *from, void *to, move_loop *loops, int count);

// Drops loops of one step, and merges those that continue one another on both sides. Returns how many are left.
int merge(move_loop *loops, int count);

inline bool is_contiguous(const move_loop &l) { return l.from == 1 && l.to == 1; }

// Calls visit(from, to, count) for each run of contiguous elements, by its first place on either side. The loops are
// merged.
template<typename Visit> void for_each_run(const move_loop *loops, int count, Visit visit) {
    const bool has_runs = count > 0 && is_contiguous(loops[0]);
    const int64_t run = has_runs ? loops[0].extent : 1;
    loop_counter runs(has_runs ? 1 : 0, count);
    int64_t from = 0, to = 0;
    do {
        visit(from, to, run);
    } while (runs.next([=](int i) { return loops[i].extent; },
                       [&](int i, int64_t steps) {
                           from += steps * loops[i].from;
                           to += steps * loops[i].to;
                       }));
}

// The address of an element that begins a byte.
inline const char *address(const char *base, int64_t offset, int64_t bits) { return base + offset * bits / 8; }
inline char *address(char *base, int64_t offset, int64_t bits) { return base + offset * bits / 8; }

}  // namespace qdq::runtime
