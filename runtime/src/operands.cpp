#include "operands.h"

#include "dtype.h"
#include "variants.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace qdq {

namespace {

template<typename T>
T element(const void *data, int64_t i) {
    T value;
    std::memcpy(&value, static_cast<const char *>(data) + i * int64_t{sizeof(T)}, sizeof(T));
    return value;
}

// Calls visit.operator()<T>() with the C++ type of an operand dtype.
template<typename Visit>
auto with_type(qdq_dtype dtype, Visit visit) {
    switch (dtype) {
    case QDQ_I8:
        return visit.template operator()<int8_t>();
    case QDQ_U8:
        return visit.template operator()<uint8_t>();
    case QDQ_I16:
        return visit.template operator()<int16_t>();
    case QDQ_U16:
        return visit.template operator()<uint16_t>();
    case QDQ_I32:
        return visit.template operator()<int32_t>();
    default:
        return visit.template operator()<float>();
    }
}

template<typename T>
void load(const void *data, int64_t at, int64_t stride, int64_t count, T *to) {
    if (stride == 1) {
        std::memcpy(to, static_cast<const T *>(data) + at, count * sizeof(T));
    } else {
        for (int64_t i = 0; i < count; i++) {
            to[i] = element<T>(data, at + i * stride);
        }
    }
}

// An integer zero point from a float: the nearest, ties to even, saturated; 0 for NaN.
int32_t nearest_integer(float z) {
    if (!(z < 2147483648.0f)) {
        return z == z ? INT32_MAX : 0;
    }
    return z <= -2147483648.0f ? INT32_MIN : static_cast<int32_t>(std::nearbyintf(z));
}

// Whether every scale's bits lie in [first, last], as unsigned integers.
bool all_within(const float *scale, int64_t count, uint32_t first, uint32_t last) {
    uint32_t outside = 0;
    for (int64_t i = 0; i < count; i++) {
        outside |= std::bit_cast<uint32_t>(scale[i]) - first > last - first;
    }
    return outside == 0;
}

bool all_finite(const float *values, int64_t count) {
    uint32_t beyond = 0;
    for (int64_t i = 0; i < count; i++) {
        beyond |= (std::bit_cast<uint32_t>(values[i]) & 0x7fffffffu) >= 0x7f800000u;
    }
    return beyond == 0;
}

// What the fast variants ask of zero points (variants.h).
constexpr int32_t fast_zero_point = 1 << 20;

bool all_small(const int32_t *z, int64_t count) {
    uint32_t large = 0;
    for (int64_t i = 0; i < count; i++) {
        large |= static_cast<uint32_t>(z[i]) + fast_zero_point > 2u * fast_zero_point;
    }
    return large == 0;
}

void load_integers(const call &what, int64_t at, int64_t stride, int64_t count, int32_t *to) {
    with_type(what.zero_point_type, [&]<typename T>() {
        for (int64_t i = 0; i < count; i++) {
            const T z = element<T>(what.zero_point, at + i * stride);
            if constexpr (std::is_same_v<T, float>) {
                to[i] = nearest_integer(z);
            } else {
                to[i] = z;
            }
        }
    });
}

// The bits of f32 zero points, each multiplied by sign (1 or -1).
void load_floats(const call &what, int64_t at, int64_t stride, int64_t count, float sign, int32_t *to) {
    with_type(what.zero_point_type, [&]<typename T>() {
        for (int64_t i = 0; i < count; i++) {
            to[i] = std::bit_cast<int32_t>(sign * static_cast<float>(element<T>(what.zero_point, at + i * stride)));
        }
    });
}

bool all_small_floats(const int32_t *bits, int64_t count) {
    bool small = true;
    for (int64_t i = 0; i < count; i++) {
        small &= std::fabs(std::bit_cast<float>(bits[i])) <= float{fast_zero_point};
    }
    return small;
}

quantize_variant choose(const call &what, const operands &loaded, int64_t count, bool small_zero_points) {
    using enum quantize_variant;
    constexpr uint32_t two_to_minus_60 = (127u - 60) << 23, two_to_60 = (127u + 60) << 23;
    const bool scale_is_fast = what.multiply || all_within(loaded.scale, count, two_to_minus_60, two_to_60);
    if (!is_integer(what.y_type)) {
        return what.multiply ? multiply : scale_is_fast ? divide : general_divide;
    }
    const bool is_i32 = what.y_type == QDQ_I32;
    const bool after = (what.zero_point && !what.before) || (what.narrowed && !is_i32 && !what.before);
    if (!scale_is_fast || what.rounding != QDQ_NEAREST_EVEN || !small_zero_points || (is_i32 && after)) {
        return what.multiply ? general_multiply : general_divide;
    }
    if (what.before && (what.zero_point || what.narrowed)) {
        return what.multiply ? multiply_before : divide_before;
    }
    if (after) {
        return what.multiply ? multiply_after : divide_after;
    }
    return what.multiply ? multiply : divide;
}

void pad(operands &loaded, int64_t count) {
    for (int64_t i = count; i % 64 != 0; i++) {
        loaded.scale[i] = 1;
        loaded.zero_point[i] = 0;
    }
}

void load_for_quantize(const call &what, int64_t at, int64_t stride, int64_t count, operands &loaded) {
    bool small = true;
    if (!what.zero_point) {
        std::memset(loaded.zero_point, 0, count * sizeof(int32_t));
    } else if (what.before) {
        load_floats(what, at, stride, count, 1, loaded.zero_point);
        small = all_small_floats(loaded.zero_point, count);
    } else {
        load_integers(what, at, stride, count, loaded.zero_point);
        small = all_small(loaded.zero_point, count);
    }
    loaded.variant = static_cast<int32_t>(choose(what, loaded, count, small));
}

// An f32 holds the difference of a code and this zero point exactly.
bool zero_points_fit_f32(const call &what) {
    return what.x_type != QDQ_I32 && what.zero_point_type != QDQ_I32;
}

void load_for_dequantize(const call &what, int64_t at, int64_t stride, int64_t count, operands &loaded) {
    using enum dequantize_variant;
    const bool finite = all_finite(loaded.scale, count);
    dequantize_variant variant = finite || !is_integer(what.x_type) ? plain : general;
    if (!what.zero_point) {
        std::memset(loaded.zero_point, 0, count * sizeof(int32_t));
    } else if (what.zero_point_type == QDQ_F32 || zero_points_fit_f32(what)) {
        load_floats(what, at, stride, count, what.add ? 1 : -1, loaded.zero_point);
        variant = finite && all_small_floats(loaded.zero_point, count) ? offset : general;
    } else {
        load_integers(what, at, stride, count, loaded.zero_point);
        variant = exact;
    }
    loaded.variant = static_cast<int32_t>(variant);
}

}  // namespace

bool can_load(qdq_dtype dtype) {
    return dtype == QDQ_F32 || (is_integer(dtype) && !is_packed(dtype));
}

void load_operands(const call &what, int64_t scale_at, int64_t scale_stride, int64_t zero_point_at,
                   int64_t zero_point_stride, int64_t count, operands &loaded) {
    load(what.scale, scale_at, scale_stride, count, loaded.scale);
    if (what.op == operation::quantize) {
        load_for_quantize(what, zero_point_at, zero_point_stride, count, loaded);
    } else {
        load_for_dequantize(what, zero_point_at, zero_point_stride, count, loaded);
    }
    pad(loaded, count);
}

bool all_zero(const qdq_tensor &zero_point, const int64_t *strides, int64_t &bad) {
    int64_t elements = 1;
    for (int d = 0; d < zero_point.rank; d++) {
        elements *= zero_point.shape[d];
    }
    for (bad = 0; bad < elements; bad++) {
        int64_t at = 0, rest = bad;
        for (int d = zero_point.rank - 1; d >= 0; d--) {
            at += rest % zero_point.shape[d] * strides[d];
            rest /= zero_point.shape[d];
        }
        const bool zero = with_type(zero_point.dtype,
                                    [&]<typename T>() { return element<T>(zero_point.data, at) == T{0}; });
        if (!zero) {
            return false;
        }
    }
    return true;
}

}  // namespace qdq
