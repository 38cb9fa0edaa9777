// One number for many results.
#pragma once

#include <cstdint>

namespace test_support {

// FNV-1a.
inline uint64_t digest(const void *data, int64_t bytes) {
    const uint8_t *p = static_cast<const uint8_t *>(data);
    uint64_t hash = 0xcbf29ce484222325u;
    for (int64_t i = 0; i < bytes; ++i) {
        hash = (hash ^ p[i]) * 0x100000001b3u;
    }
    return hash;
}

}  // namespace test_support
