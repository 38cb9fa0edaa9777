#pragma once

#include "element_types.h"

#include <cstddef>
#include <cstring>

namespace qdq::model {

// The exact value of a code of a float type.
template<qdq_dtype type> float float_value(uint32_t code) {
    return qdq::kernels::value_of(qdq::kernels::type_of(type).layout, code);
}

// Widens `count` elements of 16 or 32 bits, the first at index `first` of `source`, exactly.
inline void widen(qdq_dtype type, const std::byte *source, int64_t first, int64_t count, float *to) {
    if (type == QDQ_F32) {
        std::memcpy(to, source + first * 4, static_cast<size_t>(count) * 4);
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        uint16_t bits;
        std::memcpy(&bits, source + (first + i) * 2, 2);
        to[i] = type == QDQ_F16 ? float_value<QDQ_F16>(bits) : float_value<QDQ_BF16>(bits);
    }
}

}  // namespace qdq::model
