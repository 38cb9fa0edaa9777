// Calls whose rows are in groups, each of which has operands of its own: the experts of a mixture.
#pragma once

#include "plan/make_plan.h"

namespace qdq::runtime {

struct row_groups {
    arguments whole;         // of all rows
    const int64_t *offsets;  // of the first row of each group, and of the end
    int64_t count;

    int64_t rows(int64_t group) const { return offsets[group + 1] - offsets[group]; }
};

// One group as a call of its own, whose arguments are the other members.
struct group_call {
    int64_t shape[most_dimensions];
    qdq_tensor x, scale, zero_point, y;
    qdq_options options;
    arguments given;

    group_call(const row_groups &groups, int64_t group);
    group_call(const group_call &) = delete;
};

// A function with the number of a group, as messages have it.
struct group_name {
    char text[80];

    group_name(const row_groups &groups, int64_t group);
};

// What can be said without looking at any group: the offsets, and as many operands as there are groups.
qdq_status check_groups(const row_groups &groups);

// A call of all rows by the first operands, by which what no group changes is checked.
struct ungrouped_call {
    qdq_tensor scale, zero_point;
    qdq_options options{};
    arguments given;

    ungrouped_call(const row_groups &groups, bool has_zero_point);
    ungrouped_call(const ungrouped_call &) = delete;
};

// Tensors on the host, whose groups of packed codes are whole bytes, and whose outputs are apart from all else: y, or
// of a dynamic call the operands, too.
qdq_status check_memory(const row_groups &groups, const plan &of_all, bool writes_operands);

// Whether a group of as many rows has been met. Groups of few rows are many.
class met_rows {
public:
    bool is_new(int64_t rows) {
        const bool is_known = rows < 64 && (few >> rows & 1) != 0;
        few |= rows < 64 ? uint64_t{1} << rows : 0;
        return !is_known;
    }

private:
    uint64_t few = 0;
};

}  // namespace qdq::runtime
