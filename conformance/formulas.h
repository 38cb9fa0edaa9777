// What docs/conformance.md makes inputs and digests with.
#pragma once

#include <cstdint>

namespace conformance {

// splitmix64 by counter.
inline uint64_t mixed(uint64_t i) {
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// Bits of f32 where operations have their edges.
inline constexpr uint32_t special_x[] = {
    0x00000000, 0x00000001, 0x00000002, 0x007fffff, 0x00800000, 0x00800001, 0x33800000, 0x3effffff,
    0x3f000000, 0x3f000001, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x4affffff, 0x4b000000, 0x4b000001,
    0x4b7fffff, 0x4b800000, 0x4effffff, 0x4f000000, 0x4f000001, 0x4f800000, 0x5f000000, 0x7f000000,
    0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fbfffff, 0x7fc00000, 0x7fffffff,
};

// FNV-1a.
inline uint64_t digest_of(const void *data, int64_t bytes) {
    const uint8_t *p = static_cast<const uint8_t *>(data);
    uint64_t hash = 0xcbf29ce484222325u;
    for (int64_t i = 0; i < bytes; ++i) {
        hash = (hash ^ p[i]) * 0x100000001b3u;
    }
    return hash;
}

}  // namespace conformance
