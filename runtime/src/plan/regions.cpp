#include "plan/regions.h"

#include <algorithm>

namespace qdq::runtime {

namespace {

// What cutting one dimension's interval at block boundaries leaves: an end of a block, whole blocks, a start of one.
int cut(const blocked_dimension &d, const interval &whole, interval pieces[3]) {
    if (!d.whole.varies() || d.block == 1) {
        pieces[0] = whole;
        return 1;
    }
    int count = 0;
    const int64_t end = whole.start + whole.extent;
    const int64_t first_boundary = std::min(end, (whole.start + d.block - 1) / d.block * d.block);
    const int64_t last_boundary = std::max(first_boundary, end / d.block * d.block);
    for (const interval piece :
         {interval{whole.start, first_boundary - whole.start}, interval{first_boundary, last_boundary - first_boundary},
          interval{last_boundary, end - last_boundary}}) {
        if (piece.extent > 0) {
            pieces[count++] = piece;
        }
    }
    return count;
}

// Restricts a dimension to a piece that cut() made.
void restrict_to(const interval &piece, blocked_dimension &d, offsets &at) {
    dimension &w = d.whole;
    at.x += piece.start * w.x;
    at.y += piece.start * w.y;
    at.scale += piece.start / d.block * w.scale;
    at.zero_point += piece.start / d.block * w.zero_point;
    w.extent = piece.extent;
    if (piece.extent % d.block != 0 || piece.start % d.block != 0) {
        w.scale = w.zero_point = 0;  // within one block
    }
}

}  // namespace

void for_each_regular_part(const blocked_dimension *dimensions, const interval *region, int count, regular_part *run,
                           void *context) {
    interval pieces[most_dimensions][3];
    int64_t piece_count[most_dimensions], chosen[most_dimensions];
    for (int d = 0; d < count; d++) {
        chosen[d] = 0;
        piece_count[d] = cut(dimensions[d], region[d], pieces[d]);
    }
    loop_counter parts(0, count);
    blocked_dimension part[most_dimensions]{};
    do {
        offsets at;
        for (int d = 0; d < count; d++) {
            part[d] = dimensions[d];
            restrict_to(pieces[d][chosen[d]], part[d], at);
        }
        run(context, part, count, at);
    } while (parts.next([&](int d) { return piece_count[d]; }, [&](int d, int64_t steps) { chosen[d] += steps; }));
}

}  // namespace qdq::runtime
