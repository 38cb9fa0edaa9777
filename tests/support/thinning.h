// Emulators and sanitizers take ten to fifty times as long: there QDQ_TEST_THIN=<n> has tests of very many like cases
// take one in n.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace test_support {

// 1, unless it is set.
inline int64_t thinning() {
    const char *wanted = std::getenv("QDQ_TEST_THIN");
    return wanted != nullptr ? std::max(1ll, std::strtoll(wanted, nullptr, 10)) : 1;
}

inline bool is_taken(int64_t i) {
    static const int64_t step = thinning();
    return i % step == 0;
}

}  // namespace test_support
