#include "plan/draft.h"

#include <cinttypes>

namespace qdq::runtime {

namespace {

// A tensor's elements, or -1 where the product overflows.
int64_t count_elements(const qdq_tensor &t) {
    int64_t product = 1;
    bool is_empty = false, overflows = false;
    for (int i = 0; i < t.rank; i++) {
        is_empty |= t.shape[i] == 0;
        overflows |= __builtin_mul_overflow(product, t.shape[i], &product);
    }
    return is_empty ? 0 : overflows ? -1 : product;
}

qdq_status check_tensor(const draft &d, const char *name, const qdq_tensor *t, int64_t &elements) {
    if (!t) {
        return d.invalid("%s: %s: NULL", name);
    }
    if (const int dtype = stored_value(t->dtype); dtype < 0 || dtype >= dtype_count) {
        return d.invalid("%s: %s: dtype %d is not a qdq_dtype", name, dtype);
    }
    if (t->rank < 0 || t->rank > most_dimensions) {
        return d.invalid("%s: %s: rank %d is not in 0..%d", name, int(t->rank), most_dimensions);
    }
    if (t->rank > 0 && !t->shape) {
        return d.invalid("%s: %s: shape is NULL and rank is %d", name, int(t->rank));
    }
    for (int i = 0; i < t->rank; i++) {
        if (t->shape[i] < 0) {
            return d.invalid("%s: %s: shape[%d] is %" PRId64 ", below 0", name, i, t->shape[i]);
        }
    }
    elements = count_elements(*t);
    return elements >= 0 ? QDQ_OK : d.invalid("%s: %s: the shape has more than 2^63 - 1 elements", name);
}

qdq_status check_data(const draft &d) {
    const arguments &given = d.given;
    const char *missing = given.needs_data && !given.x->data            ? "x"
                          : given.needs_data && !given.y->data          ? "y"
                          : !given.scale->data                          ? "scale"
                          : given.zero_point && !given.zero_point->data ? "zero_point"
                                                                        : nullptr;
    return missing ? d.invalid("%s: %s: data is NULL", missing) : QDQ_OK;
}

}  // namespace

qdq_status check_tensors(draft &d) {
    const arguments &given = d.given;
    int64_t y_elements;
    qdq_status s;
    if ((s = check_tensor(d, "x", given.x, d.x_elements)) ||
        (s = check_tensor(d, "scale", given.scale, d.scale_elements)) ||
        (s = check_tensor(d, "y", given.y, y_elements)) ||
        (given.zero_point && (s = check_tensor(d, "zero_point", given.zero_point, d.zero_point_elements)))) {
        return s;
    }
    if (given.x->rank != given.y->rank) {
        return d.invalid("%s: y: rank %d is not x's, %d", int(given.y->rank), int(given.x->rank));
    }
    for (int i = 0; i < given.x->rank; i++) {
        if (given.x->shape[i] != given.y->shape[i]) {
            return d.invalid("%s: y: shape[%d] is %" PRId64 ", x's is %" PRId64, i, given.y->shape[i],
                             given.x->shape[i]);
        }
    }
    return d.x_elements == 0 ? QDQ_OK : check_data(d);
}

}  // namespace qdq::runtime
