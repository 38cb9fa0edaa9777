#include "operands.h"

#include "dtype.h"
#include "small_float.h"
#include "variants.h"

#include <algorithm>
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
    case QDQ_F16:
        return visit.template operator()<float16>();
    case QDQ_BF16:
        return visit.template operator()<bfloat16>();
    case QDQ_E8M0:
        return visit.template operator()<e8m0>();
    case QDQ_F8E4M3:
        return visit.template operator()<e4m3fn>();
    default:
        return visit.template operator()<float>();
    }
}

void load_given_scales(const call &what, const operand_range &range, float *to) {
    if (what.scale_type == QDQ_F32 && range.scale_stride == 1) {
        std::memcpy(to, static_cast<const float *>(what.scale) + range.scale, range.count * sizeof(float));
        return;
    }
    with_type(what.scale_type, [&]<typename T>() {
        for (int64_t i = 0; i < range.count; i++) {
            to[i] = static_cast<float>(element<T>(what.scale, range.scale + i * range.scale_stride));
        }
    });
}

void load_scales(const call &what, const operand_range &range, float *to) {
    load_given_scales(what, range, to);
    if (what.reciprocal) {
        for (int64_t i = 0; i < range.count; i++) {
            to[i] = 1 / to[i];
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

bool all_within(const float *scale, int64_t count, bit_range range) {
    uint32_t outside = 0;
    for (int64_t i = 0; i < count; i++) {
        outside |= !range.contains(std::bit_cast<uint32_t>(scale[i]));
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

void load_integers(const call &what, const operand_range &range, int32_t *to) {
    with_type(what.zero_point_type, [&]<typename T>() {
        for (int64_t i = 0; i < range.count; i++) {
            const T z = element<T>(what.zero_point, range.zero_point + i * range.zero_point_stride);
            if constexpr (std::is_integral_v<T>) {
                to[i] = z;
            } else {
                to[i] = nearest_integer(z);
            }
        }
    });
}

// The bits of f32 zero points, each multiplied by sign (1 or -1).
void load_floats(const call &what, const operand_range &range, float sign, int32_t *to) {
    with_type(what.zero_point_type, [&]<typename T>() {
        for (int64_t i = 0; i < range.count; i++) {
            const T z = element<T>(what.zero_point, range.zero_point + i * range.zero_point_stride);
            to[i] = std::bit_cast<int32_t>(sign * static_cast<float>(z));
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

quantize_variant choose(const call &what, bool scale_is_fast, bool has_zero_point, bool small_zero_points) {
    using enum quantize_variant;
    if (!is_integer(what.y_type)) {
        return what.multiply ? multiply : scale_is_fast ? divide : general_divide;
    }
    const bool is_i32 = what.y_type == QDQ_I32;
    const bool after = !what.before && (has_zero_point || (what.narrowed && !is_i32));
    if (!scale_is_fast || what.rounding != QDQ_NEAREST_EVEN || !small_zero_points || (is_i32 && after)) {
        return what.multiply ? general_multiply : general_divide;
    }
    if (what.before && (has_zero_point || what.narrowed)) {
        return what.multiply ? multiply_before : divide_before;
    }
    if (after) {
        return what.multiply ? multiply_after : divide_after;
    }
    return what.multiply ? multiply : divide;
}

int32_t load_for_quantize(const call &what, const operand_range &range, const float *scale, int32_t *zero_point) {
    bool small = true;
    if (!what.zero_point) {
        std::fill_n(zero_point, range.count, 0);
    } else if (what.before) {
        load_floats(what, range, 1, zero_point);
        small = all_small_floats(zero_point, range.count);
    } else {
        load_integers(what, range, zero_point);
        small = all_small(zero_point, range.count);
    }
    const bool scale_is_fast = all_within(scale, range.count, fast_scale(what));
    return static_cast<int32_t>(choose(what, scale_is_fast, what.zero_point != nullptr, small));
}

// An f32 operation applies a float zero point by definition, and an integer one exactly where both are short.
bool joins_as_f32(const call &what) {
    return !is_integer(what.zero_point_type) || (what.x_type != QDQ_I32 && what.zero_point_type != QDQ_I32);
}

// A float format's plain variant takes care of NaN itself.
dequantize_variant plain_variant(const call &what, bool finite) {
    return finite || !is_integer(what.x_type) ? dequantize_variant::plain : dequantize_variant::general;
}

int32_t load_for_dequantize(const call &what, const operand_range &range, const float *scale, int32_t *zero_point) {
    using enum dequantize_variant;
    const bool finite = all_finite(scale, range.count);
    if (!what.zero_point) {
        std::fill_n(zero_point, range.count, 0);
        return static_cast<int32_t>(plain_variant(what, finite));
    }
    if (joins_as_f32(what)) {
        load_floats(what, range, what.add ? 1 : -1, zero_point);
        return static_cast<int32_t>(finite && all_small_floats(zero_point, range.count) ? offset : general);
    }
    load_integers(what, range, zero_point);
    return static_cast<int32_t>(exact);
}

}  // namespace

void pad_operands(operands &loaded, int64_t count) {
    for (int64_t i = count; i % 64 != 0; i++) {
        loaded.scale[i] = 1;
        loaded.zero_point[i] = 0;
    }
}

bit_range fast_scale(const call &what) {
    if (what.op == operation::dequantize) {
        return {0, 0x7f7fffffu};  // positive and finite; others only take the slower variant
    }
    if (what.multiply) {
        return {0, UINT32_MAX};
    }
    return {(127u - 60) << 23, (127u + 60) << 23};  // 2^-60 to 2^60
}

plain_variants variants_without_zero_point(const call &what) {
    if (what.op == operation::dequantize) {
        return {static_cast<int32_t>(plain_variant(what, true)), static_cast<int32_t>(plain_variant(what, false))};
    }
    return {static_cast<int32_t>(choose(what, true, false, true)), static_cast<int32_t>(choose(what, false, false, true))};
}

int32_t load_operands(const call &what, const operand_range &range, float *scale, int32_t *zero_point) {
    load_scales(what, range, scale);
    return what.op == operation::quantize ? load_for_quantize(what, range, scale, zero_point)
                                          : load_for_dequantize(what, range, scale, zero_point);
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
                                    [&]<typename T>() { return static_cast<float>(element<T>(zero_point.data, at)) == 0; });
        if (!zero) {
            return false;
        }
    }
    return true;
}

}  // namespace qdq
