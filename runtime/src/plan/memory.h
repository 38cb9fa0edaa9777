// What memory x and y share.
#pragma once

#include "plan/plan.h"
#include "support/status.h"

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

// Where a tensor lies: in the address space, or in a memory object, whose handle is no address.
struct place {
    const void *object = nullptr;  // NULL for the address space
    uint64_t first = 0, end = 0;

    bool overlaps(const place &other) const;
};

// False where its bytes, of which the first element's are some, pass the end of that or reach below its beginning.
bool locate(const target &on, const void *data, const span &bytes, int64_t offset, place &at);
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

// The rules about x's and y's memory, for a run with these addresses.
qdq_status check_overlap(const char *function, const plan &p, const void *x, const void *y);

}  // namespace qdq::runtime
