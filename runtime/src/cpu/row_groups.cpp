#include "cpu/row_groups.h"

#include "cpu/threads.h"

#include <algorithm>

namespace qdq::runtime {

namespace {

struct groups_in_parts {
    const row_groups &groups;
    int64_t elements_of_row, part_elements, parts, rows_of_part;
    void (*run)(int64_t group, const void *context);
    const void *context;

    bool is_split(int64_t group) const {
        return elements_of_row > 0 && useful_parts(groups.rows(group) * elements_of_row, part_elements) > 1;
    }

    // The first group of a part. Parts are by the groups' first rows, so that they have about as many rows.
    int64_t first_of(int64_t part) const {
        const int64_t *const end = groups.offsets + groups.count;
        return part == parts ? groups.count
                             : std::lower_bound(groups.offsets, end, part * rows_of_part) - groups.offsets;
    }
};

void run_part(int64_t part, void *context) {
    const groups_in_parts &all = *static_cast<const groups_in_parts *>(context);
    for (int64_t g = all.first_of(part), end = all.first_of(part + 1); g < end; g++) {
        if (!all.is_split(g)) {
            all.run(g, all.context);
        }
    }
}

}  // namespace

void run_groups(const row_groups &groups, const plan &of_all, void (*run)(int64_t group, const void *context),
                const void *context) {
    const bool is_empty = of_all.elements == 0;
    const int64_t rows = groups.offsets[groups.count], least = is_empty ? 1 : of_all.op.tuned->part_elements;
    const int64_t parts = is_empty ? 1 : useful_parts(of_all.elements, least);
    const int64_t elements_of_row = is_empty ? 0 : of_all.elements / rows;
    groups_in_parts all{groups, elements_of_row, least, parts, std::max<int64_t>((rows + parts - 1) / parts, 1),
                        run,    context};
    for (int64_t g = 0; g < groups.count; g++) {
        if (all.is_split(g)) {
            run(g, context);
        }
    }
    if (all.parts == 1) {
        run_part(0, &all);
    } else {
        run_in_parallel(all.parts, run_part, &all);
    }
}

}  // namespace qdq::runtime
