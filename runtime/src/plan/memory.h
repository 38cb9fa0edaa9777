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

// The rules about x's and y's memory, for a run with these addresses.
qdq_status check_places(const char *function, const plan &p, const void *x, const void *y);

// Whether what a run touches lies in the address space, x's bytes apart from y's.
inline bool lie_apart(const plan &p, const void *x, const void *y) {
    const auto of_x = reinterpret_cast<uintptr_t>(x), of_y = reinterpret_cast<uintptr_t>(y);
    const uintptr_t x_first = of_x + static_cast<uintptr_t>(p.x_first), x_end = of_x + static_cast<uintptr_t>(p.x_end);
    const uintptr_t y_first = of_y + static_cast<uintptr_t>(p.y_first), y_end = of_y + static_cast<uintptr_t>(p.y_end);
    return x_first <= of_x && of_x <= x_end && y_first <= of_y && of_y <= y_end &&
           (x_end <= y_first || y_end <= x_first);
}

// The same rules. Inline, as each run asks, and nearly all keep them by the first look.
inline qdq_status check_overlap(const char *function, const plan &p, const void *x, const void *y) {
    return !p.op.target->device && lie_apart(p, x, y) ? QDQ_OK : check_places(function, p, x, y);
}

}  // namespace qdq::runtime
