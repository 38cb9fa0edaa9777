// The types that benchmarks go through, by the names of their rows.
#pragma once

#include <qdq/qdq.h>

namespace bench {

struct element_type {
    qdq_dtype dtype;
    const char *name;
    int64_t bits;
};

constexpr element_type float_types[] = {{QDQ_F32, "f32", 32}, {QDQ_F16, "f16", 16}, {QDQ_BF16, "bf16", 16}};
constexpr element_type stored_types[] = {{QDQ_I8, "i8", 8},
                                         {QDQ_U8, "u8", 8},
                                         {QDQ_I16, "i16", 16},
                                         {QDQ_U16, "u16", 16},
                                         {QDQ_I32, "i32", 32},
                                         {QDQ_I4, "i4", 4},
                                         {QDQ_U4, "u4", 4},
                                         {QDQ_F8E4M3, "f8e4m3", 8},
                                         {QDQ_F8E5M2, "f8e5m2", 8},
                                         {QDQ_F8E4M3FNUZ, "f8e4m3fnuz", 8},
                                         {QDQ_F8E5M2FNUZ, "f8e5m2fnuz", 8},
                                         {QDQ_F4E2M1, "f4e2m1", 4}};

}  // namespace bench
