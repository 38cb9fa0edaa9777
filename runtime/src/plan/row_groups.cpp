#include "plan/row_groups.h"

#include "plan/draft.h"
#include "plan/memory.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <numeric>

namespace qdq::runtime {

namespace {

template<typename... Values> qdq_status invalid(const row_groups &groups, const char *format, Values... values) {
    return fail(QDQ_INVALID_ARGUMENT, format, groups.whole.function, values...);
}

// A tensor whose first dimension is looked at.
qdq_status check_first_dimension(const row_groups &groups, const char *name, const qdq_tensor *t) {
    if (!t) {
        return invalid(groups, "%s: %s: NULL", name);
    }
    if (t->rank < 1 || t->rank > most_dimensions) {
        return invalid(groups, "%s: %s: rank %d is not in 1..%d", name, int(t->rank), most_dimensions);
    }
    if (const int dtype = stored_value(t->dtype); dtype < 0 || dtype >= dtype_count) {
        return invalid(groups, "%s: %s: dtype %d is not a qdq_dtype", name, dtype);
    }
    return t->shape ? QDQ_OK : invalid(groups, "%s: %s: shape is NULL and rank is %d", name, int(t->rank));
}

qdq_status check_operand(const row_groups &groups, const char *name, const qdq_tensor *t) {
    const qdq_status status = check_first_dimension(groups, name, t);
    return status || t->shape[0] == groups.count
               ? status
               : invalid(groups, "%s: %s: shape[0] is %" PRId64 ", and there are %" PRId64 " groups", name, t->shape[0],
                         groups.count);
}

qdq_status check_count(const row_groups &groups) {
    if (groups.count < 0) {
        return invalid(groups, "%s: groups: %" PRId64 " is below 0", groups.count);
    }
    return groups.offsets ? QDQ_OK : invalid(groups, "%s: offsets: NULL");
}

// Reads as many as there are groups, and one more.
qdq_status check_offsets(const row_groups &groups) {
    const auto &[whole, offsets, count] = groups;
    if (offsets[0] != 0) {
        return invalid(groups, "%s: offsets[0] is %" PRId64 ", not 0", offsets[0]);
    }
    for (int64_t g = 0; g < count; g++) {
        if (offsets[g + 1] < offsets[g]) {
            return invalid(groups, "%s: offsets[%" PRId64 "] is %" PRId64 ", below the one before it, %" PRId64, g + 1,
                           offsets[g + 1], offsets[g]);
        }
    }
    const int64_t rows = whole.x->shape[0];
    return offsets[count] == rows
               ? QDQ_OK
               : invalid(groups, "%s: offsets[%" PRId64 "] is %" PRId64 ", and x has %" PRId64 " rows", count,
                         offsets[count], rows);
}

// What a step of the first dimension is, in elements.
int64_t first_stride(const qdq_tensor &t) {
    int64_t strides[most_dimensions];
    element_strides(t, strides);
    return strides[0];
}

// Strides of a tensor without elements lead nowhere.
void *address_of(const qdq_tensor &t, int64_t step) {
    return t.data && !is_empty(t) ? static_cast<char *>(t.data) + step * first_stride(t) * type_of(t.dtype).bits / 8
                                  : t.data;
}

// An index of the first dimension as a tensor of its own.
qdq_tensor part_of(const qdq_tensor &t, int64_t index) {
    qdq_tensor part = t;
    part.data = address_of(t, index);
    part.rank--;
    part.shape++;
    part.strides = t.strides ? t.strides + 1 : nullptr;
    return part;
}

// Without a row they may begin past the last one, which may be past the address space.
qdq_tensor rows_of(const qdq_tensor &t, int64_t first, const int64_t *shape) {
    qdq_tensor rows = t;
    rows.data = shape[0] == 0 ? t.data : address_of(t, first);
    rows.shape = shape;
    return rows;
}

// Of an x with elements.
int64_t elements_of_row(const qdq_tensor &x) {
    return std::accumulate(x.shape + 1, x.shape + x.rank, int64_t{1}, std::multiplies<>());
}

// A tensor without dimensions, of the same first element.
qdq_tensor first_of(const qdq_tensor &t) { return {t.data, t.dtype, 0, nullptr, nullptr, t.device}; }

}  // namespace

// Offsets are read once their number is known to be that of scales.
qdq_status check_groups(const row_groups &groups) {
    const arguments &whole = groups.whole;
    qdq_status s;
    if ((s = check_first_dimension(groups, "x", whole.x)) || (s = check_count(groups)) ||
        (s = check_operand(groups, "scale", whole.scale)) ||
        (s = whole.zero_point ? check_operand(groups, "zero_point", whole.zero_point) : QDQ_OK)) {
        return s;
    }
    return check_offsets(groups);
}

ungrouped_call::ungrouped_call(const row_groups &groups, bool has_zero_point)
    : scale(first_of(*groups.whole.scale)), given(groups.whole) {
    if (given.options) {
        std::memcpy(&options, given.options, sizeof(options));
        options.axis = 0;
        options.block_size = 0;
        options.block_shape = nullptr;
    }
    given.options = &options;
    given.scale = &scale;
    if (given.zero_point && has_zero_point) {
        zero_point = first_of(*given.zero_point);
        given.zero_point = &zero_point;
    } else {
        given.zero_point = nullptr;
    }
}

group_call::group_call(const row_groups &groups, int64_t group) : options{}, given(groups.whole) {
    const int64_t first = groups.offsets[group];
    std::copy_n(given.x->shape, given.x->rank, shape);
    shape[0] = groups.rows(group);
    x = rows_of(*given.x, first, shape);
    y = rows_of(*given.y, first, shape);
    scale = part_of(*given.scale, group);
    if (given.options) {
        std::memcpy(&options, given.options, sizeof(options));
        options.random_offset += is_empty(*given.x) ? 0 : static_cast<uint64_t>(first * elements_of_row(x));
    }
    if (given.zero_point) {
        zero_point = part_of(*given.zero_point, group);
    }
    given = {given.function, given.op, &x, &scale, given.zero_point ? &zero_point : nullptr, &y, &options, true};
}

group_name::group_name(const row_groups &groups, int64_t group) {
    std::snprintf(text, sizeof(text), "%s: group %" PRId64, groups.whole.function, group);
}

qdq_status check_memory(const row_groups &groups, const plan &of_all, bool writes_operands) {
    const arguments &whole = groups.whole;
    if (of_all.path == execution_path::device) {
        return fail(QDQ_UNSUPPORTED, "%s: x: it is on a device, and groups are of tensors on the host alone",
                    whole.function);
    }
    const bool has_elements = of_all.elements > 0;
    for (int64_t g = 1; has_elements && g < groups.count; g++) {
        const int64_t first = groups.offsets[g] * elements_of_row(*whole.x);
        if (groups.rows(g) > 0 && first % of_all.op.packed_unit() != 0) {
            return invalid(groups, "%s: offsets[%" PRId64 "] is %" PRId64 ", where no whole byte of codes begins", g,
                           groups.offsets[g]);
        }
    }
    const struct {
        const char *name;
        const qdq_tensor *tensor;
        bool is_written;
    } tensors[] = {{"scale", whole.scale, writes_operands},
                   {"zero_point", whole.zero_point, writes_operands},
                   {"x", whole.x, false},
                   {"y", whole.y, true}};
    place places[std::size(tensors)];
    for (size_t i = 0; i < std::size(tensors); i++) {
        const auto &[name, tensor, is_written] = tensors[i];
        if (!tensor || is_empty(*tensor)) {
            continue;
        }
        int64_t strides[most_dimensions];
        element_strides(*tensor, strides);
        if (const qdq_status s = find(whole.function, *of_all.op.target, name, *tensor, strides, places[i])) {
            return s;
        }
        if (is_written && !elements_are_distinct(*tensor, strides)) {
            return invalid(groups, "%s: %s: its strides make elements overlap one another", name);
        }
        for (size_t j = 0; j < i; j++) {
            const bool is_output = is_written || tensors[j].is_written, are_x_and_y = i == 3 && j == 2;
            if (is_output && !are_x_and_y && places[i].overlaps(places[j])) {
                return invalid(groups, "%s: %s: it overlaps %s", name, tensors[j].name);
            }
        }
    }
    return has_elements ? check_overlap(whole.function, of_all, whole.x->data, whole.y->data) : QDQ_OK;
}

}  // namespace qdq::runtime
