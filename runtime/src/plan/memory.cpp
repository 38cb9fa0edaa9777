#include "plan/memory.h"

#include "plan/arrangement.h"
#include "plan/draft.h"

#include <algorithm>

namespace qdq::runtime {

bool touched(const qdq_tensor &t, const int64_t *strides, span &bytes) {
    int64_t lowest = 0, highest = 0;
    for (int d = 0; d < t.rank; d++) {
        int64_t reach;
        if (__builtin_mul_overflow(t.shape[d] - 1, strides[d], &reach) ||
            __builtin_add_overflow(reach < 0 ? lowest : highest, reach, reach < 0 ? &lowest : &highest)) {
            return false;
        }
    }
    const int64_t bits = type_of(t.dtype).bits;
    int64_t elements, last_bit;
    if (__builtin_mul_overflow(lowest, bits, &bytes.first) || __builtin_add_overflow(highest, 1, &elements) ||
        __builtin_mul_overflow(elements, bits, &last_bit)) {
        return false;
    }
    bytes.first /= 8;
    bytes.end = static_cast<int64_t>((static_cast<uint64_t>(last_bit) + 7) / 8);
    return true;
}

bool elements_are_distinct(const qdq_tensor &t, const int64_t *strides) {
    if (!t.strides) {
        return true;
    }
    struct step {
        int64_t stride, extent;
    } steps[most_dimensions]{};
    int count = 0;
    for (int d = 0; d < t.rank; d++) {
        if (t.shape[d] > 1) {
            steps[count++] = {strides[d] < 0 ? -strides[d] : strides[d], t.shape[d]};
        }
    }
    for (int i = 1; i < count; i++) {
        for (int j = i; j > 0 && steps[j].stride < steps[j - 1].stride; j--) {
            std::swap(steps[j], steps[j - 1]);
        }
    }
    int64_t reach = 0;
    for (int i = 0; i < count; i++) {
        if (steps[i].stride <= reach) {
            return false;
        }
        reach += steps[i].stride * (steps[i].extent - 1);
    }
    return true;
}

qdq_status out_of_reach(const char *function, const target &on, const char *name) {
    return fail(
        QDQ_INVALID_ARGUMENT, "%s: %s: its elements reach %s", function, name,
        has_addresses(on) ? "past the address space" : "below the beginning of a memory object, or 2^63 bytes past it");
}

qdq_status partial_overlap(const char *function) {
    return fail(QDQ_INVALID_ARGUMENT,
                "%s: y: it overlaps x; y may only be x itself, with the same strides and element size", function);
}

namespace {

// Finds where the bytes lie that a tensor touches, where it reaches none past the address space. The data of x and y
// may come later.
qdq_status find(const draft &d, const char *name, const void *data, bool is_within, const span &bytes, int64_t offset,
                place &at) {
    if (!is_within) {
        return d.invalid("%s: %s: shape and strides reach past the address space", name);
    }
    const target &on = *d.op.target;
    const bool is_placed = data || !has_addresses(on);
    return !is_placed || locate(on, data, bytes, offset, at) ? QDQ_OK : out_of_reach(d.given.function, on, name);
}

// y may not share memory with an operand. Out of line, which is less code for three of them.
[[gnu::noinline]] qdq_status check_operand(const draft &d, const char *name, const void *data, bool is_within,
                                           const span &bytes, int64_t offset, const place &y) {
    place at;
    if (qdq_status s = find(d, name, data, is_within, bytes, offset, at)) {
        return s;
    }
    return d.given.y->data && y.overlaps(at) ? d.invalid("%s: y: it overlaps %s", name) : QDQ_OK;
}

[[gnu::noinline]] bool touched_by_scales(const draft &d, span &bytes) {
    const scale_storage &how = d.op.stored;
    if (!how.is_arranged) {
        return touched(*d.given.scale, d.scale_strides, bytes);
    }
    const int64_t matrices = d.scale_elements / (how.rows * how.columns);
    bytes = {0, product(matrices, arrangement(how.layout, how.rows, how.columns).bytes())};
    return bytes.end != INT64_MAX;
}

qdq_status check_operands(const draft &d, const place &y) {
    const arguments &given = d.given;
    const plan &p = d.result;
    span bytes;
    const bool scales_within = touched_by_scales(d, bytes);
    if (qdq_status s = check_operand(d, "scale", given.scale->data, scales_within, bytes, p.scale_offset, y)) {
        return s;
    }
    if (given.zero_point) {
        const bool is_within = touched(*given.zero_point, d.zero_point_strides, bytes);
        if (qdq_status s =
                check_operand(d, "zero_point", given.zero_point->data, is_within, bytes, p.zero_point_offset, y)) {
            return s;
        }
    }
    const float *const global = d.op.stored.global;
    return global ? check_operand(d, "global_scale", global, true, {0, sizeof(*global)}, 0, y) : QDQ_OK;
}

}  // namespace

qdq_status check_memory(draft &d) {
    const arguments &given = d.given;
    plan &p = d.result;
    span of_x, of_y;
    place x, y;
    qdq_status s;
    const bool x_within = touched(*given.x, d.x_strides, of_x), y_within = touched(*given.y, d.y_strides, of_y);
    if (d.options.packing == QDQ_DENSE) {
        int64_t &end = d.op.quantizes() ? of_y.end : of_x.end;  // of bytes with a code in each
        end -= end / dense_unit;
    }
    if ((s = find(d, "x", given.x->data, x_within, of_x, p.x_offset, x)) ||
        (s = find(d, "y", given.y->data, y_within, of_y, p.y_offset, y))) {
        return s;
    }
    if (!elements_are_distinct(*given.y, d.y_strides)) {
        return d.invalid("%s: y: its strides make elements overlap one another");
    }
    if ((s = check_operands(d, y))) {
        return s;
    }
    p.x_first = of_x.first;
    p.x_end = of_x.end;
    p.y_first = of_y.first;
    p.y_end = of_y.end;
    p.same_layout = type_of(given.x->dtype).bits == type_of(given.y->dtype).bits &&
                    std::equal(d.x_strides, d.x_strides + given.x->rank, d.y_strides);
    const bool overlaps = given.x->data && given.y->data && x.overlaps(y);
    return overlaps && !is_in_place(p, given.x->data, given.y->data) ? partial_overlap(given.function) : QDQ_OK;
}

qdq_status check_places(const char *function, const plan &p, const void *x, const void *y) {
    const target &on = *p.op.target;
    place of_x, of_y;
    if (!locate(on, x, {p.x_first, p.x_end}, p.x_offset, of_x)) {
        return out_of_reach(function, on, "x");
    }
    if (!locate(on, y, {p.y_first, p.y_end}, p.y_offset, of_y)) {
        return out_of_reach(function, on, "y");
    }
    return of_x.overlaps(of_y) && !is_in_place(p, x, y) ? partial_overlap(function) : QDQ_OK;
}

}  // namespace qdq::runtime
