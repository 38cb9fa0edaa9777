// What the runtime knows of each qdq_dtype.
#pragma once

#include "qdq/qdq.h"

#include <cstdint>
#include <cstring>

namespace qdq::runtime {

struct dtype_info {
    const char *name;
    int bits;
    bool is_float_side;  // what quantize reads and dequantize writes
    bool is_stored;      // what quantize writes and dequantize reads
    bool is_scale;
    bool is_zero_point;
    int64_t lowest, highest;  // of an integer type, 0 otherwise
};

inline constexpr dtype_info dtypes[] = {
    {"f32", 32, true, false, true, true, 0, 0},           {"f16", 16, true, false, true, true, 0, 0},
    {"bf16", 16, true, false, true, true, 0, 0},          {"i8", 8, false, true, false, true, INT8_MIN, INT8_MAX},
    {"u8", 8, false, true, false, true, 0, UINT8_MAX},    {"i16", 16, false, true, false, true, INT16_MIN, INT16_MAX},
    {"u16", 16, false, true, false, true, 0, UINT16_MAX}, {"i32", 32, false, true, false, true, INT32_MIN, INT32_MAX},
    {"i4", 4, false, true, false, false, -8, 7},          {"u4", 4, false, true, false, false, 0, 15},
    {"f8e4m3", 8, false, true, true, false, 0, 0},        {"f8e5m2", 8, false, true, false, false, 0, 0},
    {"f4e2m1", 4, false, true, false, false, 0, 0},       {"e8m0", 8, false, false, true, false, 0, 0},
    {"f8e4m3fnuz", 8, false, true, false, false, 0, 0},   {"f8e5m2fnuz", 8, false, true, false, false, 0, 0},
};
inline constexpr int dtype_count = sizeof(dtypes) / sizeof(dtypes[0]);
static_assert(dtype_count == QDQ_F8E5M2FNUZ + 1);

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
