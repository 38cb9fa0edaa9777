// What memory x and y share.
#pragma once

#include "plan/plan.h"
#include "support/status.h"
#include "targets/device_backend.h"

#include <algorithm>

namespace qdq::runtime {

struct span {
    int64_t first = 0, end = 0;  // bytes relative to data
};

inline bool is_empty(const qdq_tensor &t) {
    return std::any_of(t.shape, t.shape + t.rank, [](int64_t size) { return size == 0; });
}

// The bytes a non-empty tensor touches; false where an address computation overflows.
bool touched(const qdq_tensor &t, const int64_t *strides, span &bytes);

// Whether distinct indices are distinct elements: each stride steps over all that the smaller ones reach. Of strides
// within the address space.
bool elements_are_distinct(const qdq_tensor &t, const int64_t *strides);

inline bool has_addresses(const target &on) { return !on.device || on.device->has_addresses; }

// Where a tensor lies: in the address space, or in a memory object, whose handle is no address.
struct place {
    const void *object = nullptr;  // NULL for the address space
    uint64_t first = 0, end = 0;

    bool overlaps(const place &other) const { return object == other.object && first < other.end && other.first < end; }
};

// False where its bytes, of which the first element's are some, pass the end of that or reach below its beginning.
inline bool locate(const target &on, const void *data, const span &bytes, int64_t offset, place &at) {
    const bool is_address = has_addresses(on);
    const uint64_t begin = is_address ? reinterpret_cast<uintptr_t>(data) : static_cast<uint64_t>(offset);
    const uint64_t most = is_address ? UINT64_MAX : INT64_MAX;  // offsets are signed
    at = {is_address ? nullptr : data, begin + static_cast<uint64_t>(bytes.first),
          begin + static_cast<uint64_t>(bytes.end)};
    return at.first <= begin && begin <= at.end && at.end <= most;
}

qdq_status out_of_reach(const char *function, const target &on, const char *name);

// The same of the strides of a tensor that is not empty, on the host: it has data, and lies within the address space.
inline qdq_status find(const char *function, const target &on, const char *name, const qdq_tensor &t,
                       const int64_t *strides, place &at) {
    span bytes;
    if (!touched(t, strides, bytes)) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: %s: shape and strides reach past the address space", function, name);
    }
    if (!t.data) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: %s: data is NULL", function, name);
    }
    return locate(on, t.data, bytes, 0, at) ? QDQ_OK : out_of_reach(function, on, name);
}

inline bool is_in_place(const plan &p, const void *x, const void *y) {
    return x == y && p.same_layout && p.x_offset == p.y_offset;
}

qdq_status partial_overlap(const char *function);

// The rules about x's and y's memory, for a run with these addresses: inline, as each run asks.
inline qdq_status check_overlap(const char *function, const plan &p, const void *x, const void *y) {
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
