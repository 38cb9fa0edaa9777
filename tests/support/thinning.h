// Of very many like cases a test takes one in n: QDQ_TEST_THIN=<n>, 1 for all of them. Emulators and sanitizers take
// ten to fifty times as long; and where it is not set the longest tests take one in a few, of which each kind of case
// still has several.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace test_support {

// `usual`, unless it is set.
inline int64_t thinning(int64_t usual = 1) {
    static const char *const wanted = std::getenv("QDQ_TEST_THIN");
    return wanted != nullptr ? std::max(1ll, std::strtoll(wanted, nullptr, 10)) : usual;
}

inline bool is_taken(int64_t i, int64_t usual = 1) { return i % thinning(usual) == 0; }

}  // namespace test_support
