// Counts what `operator new` hands out in this program, in the test of aclnn what malloc does, and lets it fail.
#pragma once

#include <cstdint>

namespace compat_test {

int64_t live_allocations();

// While one exists, what may return NULL does so, after the first `after` calls.
class memory_shortage {
public:
    explicit memory_shortage(int64_t after = 0);
    ~memory_shortage();
    memory_shortage(const memory_shortage &) = delete;
};

}  // namespace compat_test
