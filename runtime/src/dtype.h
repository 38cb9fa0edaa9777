// What the runtime knows of each qdq_dtype.
#pragma once

#include "element_types.h"
#include "qdq/qdq.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace qdq::runtime {

using namespace kernels;

struct dtype_info {
    const char *name;
    int bits;
    bool is_float_side;  // what quantize reads and dequantize writes
    bool is_stored;      // what quantize writes and dequantize reads
    bool is_scale;
    bool is_zero_point;
    int64_t lowest, highest;  // of an integer type, 0 otherwise
};

inline constexpr int dtype_count = std::size(element_types);
inline constexpr auto dtypes = [] {
    std::array<dtype_info, dtype_count> all{};
    for (int i = 0; i < dtype_count; i++) {
        const element_type &t = element_types[i];
        all[i] = {t.name,          t.bits,        t.roles.floats, t.roles.stored, t.roles.scale, t.roles.zero_point,
                  t.lowest(), t.highest()};
    }
    return all;
}();

// An enumeration's value as the caller stored it: it may be none of the enumerators.
template<typename Enum>
inline int stored_value(const Enum &field) {
    int value;
    static_assert(sizeof(field) == sizeof(value));
    std::memcpy(&value, &field, sizeof(value));
    return value;
}

inline const dtype_info &info(qdq_dtype dtype) { return dtypes[dtype]; }
inline bool is_packed(qdq_dtype dtype) { return info(dtype).bits < 8; }
inline bool is_integer(qdq_dtype dtype) { return info(dtype).highest != 0; }

}  // namespace qdq::runtime
