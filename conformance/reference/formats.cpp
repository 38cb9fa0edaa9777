#include "formats.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace reference {

namespace {

constexpr float_format e4m3fn_format{4, 3, 7, 0x80, 0x7e, 0x7f, 0x7f};
constexpr float_format e5m2_format{5, 2, 15, 0x80, 0x7b, 0x7c, 0x7e};
constexpr float_format e4m3fnuz_format{4, 3, 8, 0x80, 0x7f, 0x80, 0x80};
constexpr float_format e5m2fnuz_format{5, 2, 16, 0x80, 0x7f, 0x80, 0x80};
constexpr float_format e2m1_format{2, 1, 1, 0x8, 0x7, 0x7, 0x7};
constexpr float_format e1m2_format{1, 2, 1, 0x8, 0x7, 0x7, 0x7};
constexpr float_format e2m3_format{2, 3, 1, 0x20, 0x1f, 0x1f, 0x1f};
constexpr float_format e3m2_format{3, 2, 3, 0x20, 0x1f, 0x1f, 0x1f};

const float_format &format_of(qdq_dtype type) {
    switch (type) {
    case QDQ_F16: return f16_format;
    case QDQ_BF16: return bf16_format;
    case QDQ_F8E4M3: return e4m3fn_format;
    case QDQ_F8E5M2: return e5m2_format;
    case QDQ_F4E2M1: return e2m1_format;
    case QDQ_F8E4M3FNUZ: return e4m3fnuz_format;
    case QDQ_F8E5M2FNUZ: return e5m2fnuz_format;
    case QDQ_F6E2M3: return e2m3_format;
    case QDQ_F6E3M2: return e3m2_format;
    case QDQ_F4E1M2: return e1m2_format;
    default: std::abort();
    }
}

bool is_nan(qdq_dtype type, uint32_t code) {
    const uint32_t magnitude = code & (format_of(type).sign_bit - 1);
    switch (type) {
    case QDQ_F16: return magnitude > f16_format.infinity;
    case QDQ_BF16: return magnitude > bf16_format.infinity;
    case QDQ_F8E4M3: return magnitude == e4m3fn_format.nan;
    case QDQ_F8E5M2: return magnitude > e5m2_format.infinity;
    case QDQ_F8E4M3FNUZ:
    case QDQ_F8E5M2FNUZ: return code == 0x80;
    default: return false;
    }
}

bool has_infinity(qdq_dtype type) { return type == QDQ_F16 || type == QDQ_BF16 || type == QDQ_F8E5M2; }

float decode_finite(const float_format &format, uint32_t magnitude) {
    const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
    const int mantissa = static_cast<int>(magnitude & ((1u << format.mantissa_bits) - 1));
    const int hidden = 1 << format.mantissa_bits;
    const int lowest_exponent = 1 - format.bias - format.mantissa_bits;
    if (exponent == 0) {
        return static_cast<float>(std::ldexp(mantissa, lowest_exponent));
    }
    return static_cast<float>(std::ldexp(hidden + mantissa, exponent - 1 + lowest_exponent));
}

// HiFloat8 (arXiv 2409.16626): after the sign a prefix says how many bits the exponent has, the mantissa has the
// others.
constexpr uint32_t hif8_nan = 0x80, hif8_infinity = 0x6f, hif8_largest = 0x6e;
constexpr int hif8_least_exponent = -22, hif8_largest_exponent = 15;

struct hif8_fields {
    uint32_t prefix;
    int prefix_bits, exponent_bits, mantissa_bits;
};

constexpr hif8_fields hif8_all_fields[] = {{1, 4, 0, 3}, {1, 3, 1, 3}, {1, 2, 2, 3}, {2, 2, 3, 2}, {3, 2, 4, 1}};

// Those of an exponent of a number with a mantissa: the exponent's magnitude has as many bits as it needs.
const hif8_fields &hif8_fields_of(int exponent) {
    return hif8_all_fields[std::bit_width(static_cast<uint32_t>(std::abs(exponent)))];
}

bool has_hif8_mantissa(int exponent) { return std::abs(exponent) < 16; }

int hif8_mantissa_bits(int exponent) {
    return has_hif8_mantissa(exponent) ? hif8_fields_of(exponent).mantissa_bits : 0;
}

float decode_hif8(uint32_t code) {
    if (code == hif8_nan) {
        return std::numeric_limits<float>::quiet_NaN();
    }
    const float sign = (code & 0x80) != 0 ? -1.0f : 1.0f;
    const uint32_t magnitude = code & 0x7f;
    if (magnitude == hif8_infinity) {
        return sign * std::numeric_limits<float>::infinity();
    }
    for (const hif8_fields &f : hif8_all_fields) {
        if (magnitude >> (7 - f.prefix_bits) != f.prefix) {
            continue;
        }
        const uint32_t field = magnitude >> f.mantissa_bits & ((1u << f.exponent_bits) - 1);
        const uint32_t sign_bit = f.exponent_bits > 0 ? 1u << (f.exponent_bits - 1) : 0;
        const int exponent = static_cast<int>(field | sign_bit);
        const int units = 1 << f.mantissa_bits | static_cast<int>(magnitude & ((1u << f.mantissa_bits) - 1));
        return sign * std::ldexp(static_cast<float>(units),
                                 ((field & sign_bit) != 0 ? -exponent : exponent) - f.mantissa_bits);
    }
    return magnitude == 0 ? 0 : sign * std::ldexp(1.0f, static_cast<int>(magnitude) + hif8_least_exponent - 1);
}

// The code of units * 2^(exponent - mantissa bits), where units has one bit more than the mantissa.
uint32_t hif8_code(int exponent, uint32_t units) {
    if (!has_hif8_mantissa(exponent)) {
        return static_cast<uint32_t>(exponent - hif8_least_exponent + 1);
    }
    const hif8_fields &f = hif8_fields_of(exponent);
    const uint32_t sign_bit = f.exponent_bits > 0 ? 1u << (f.exponent_bits - 1) : 0;
    const uint32_t below = static_cast<uint32_t>(std::abs(exponent)) - sign_bit;
    const uint32_t field = below | (exponent < 0 ? sign_bit : 0);
    return f.prefix << (7 - f.prefix_bits) | field << f.mantissa_bits | (units - (1u << f.mantissa_bits));
}

// The code of |value|, to nearest, ties away from 0; infinity's where it is above the largest.
uint32_t round_to_hif8(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value) & 0x7fffffffu;
    const int own_exponent = static_cast<int>(bits >> 23) - 127;
    int exponent = std::max(own_exponent, hif8_least_exponent);
    const int shift = 23 - hif8_mantissa_bits(exponent) + exponent - own_exponent;
    if (own_exponent > hif8_largest_exponent || shift > 24) {
        return own_exponent > 0 ? hif8_infinity : 0;
    }
    uint32_t units = ((bits & 0x7fffffu) + 0x800000u + (1u << (shift - 1))) >> shift;
    if (units == 2u << hif8_mantissa_bits(exponent)) {
        exponent++;
        units = 1u << hif8_mantissa_bits(exponent);
    }
    return exponent > hif8_largest_exponent ? hif8_infinity : hif8_code(exponent, units);
}

uint32_t encode_hif8(float value, bool no_saturate) {
    if (value != value) {
        return hif8_nan;
    }
    const uint32_t magnitude = round_to_hif8(value);
    const uint32_t saturated = magnitude == hif8_infinity && !no_saturate ? hif8_largest : magnitude;
    return saturated == 0 || !std::signbit(value) ? saturated : saturated | 0x80;
}

float decode_e8m0(uint32_t code) {
    if (code == 0xff) {
        return std::numeric_limits<float>::quiet_NaN();
    }
    return static_cast<float>(std::ldexp(1.0, static_cast<int>(code) - 127));
}

int64_t sign_extend(uint32_t code, int bits) {
    const int64_t value = code;
    const int64_t sign = int64_t{1} << (bits - 1);
    return value < sign ? value : value - 2 * sign;
}

}  // namespace

bool is_integer(qdq_dtype type) {
    switch (type) {
    case QDQ_I8:
    case QDQ_U8:
    case QDQ_I16:
    case QDQ_U16:
    case QDQ_I32:
    case QDQ_I4:
    case QDQ_U4:
    case QDQ_I2:
    case QDQ_U2: return true;
    default: return false;
    }
}

bool is_packed(qdq_dtype type) { return bits_of(type) < 8; }

int64_t bits_of(qdq_dtype type) {
    switch (type) {
    case QDQ_F32:
    case QDQ_I32: return 32;
    case QDQ_F16:
    case QDQ_BF16:
    case QDQ_I16:
    case QDQ_U16: return 16;
    case QDQ_I8:
    case QDQ_U8:
    case QDQ_F8E4M3:
    case QDQ_F8E5M2:
    case QDQ_F8E4M3FNUZ:
    case QDQ_F8E5M2FNUZ:
    case QDQ_F6E2M3:
    case QDQ_F6E3M2:
    case QDQ_HIF8:
    case QDQ_E8M0: return 8;
    case QDQ_I4:
    case QDQ_U4:
    case QDQ_F4E2M1:
    case QDQ_F4E1M2: return 4;
    case QDQ_I2:
    case QDQ_U2: return 2;
    }
    std::abort();
}

const char *name_of(qdq_dtype type) {
    switch (type) {
    case QDQ_F32: return "f32";
    case QDQ_F16: return "f16";
    case QDQ_BF16: return "bf16";
    case QDQ_I8: return "i8";
    case QDQ_U8: return "u8";
    case QDQ_I16: return "i16";
    case QDQ_U16: return "u16";
    case QDQ_I32: return "i32";
    case QDQ_I4: return "i4";
    case QDQ_U4: return "u4";
    case QDQ_F8E4M3: return "f8e4m3";
    case QDQ_F8E5M2: return "f8e5m2";
    case QDQ_F4E2M1: return "f4e2m1";
    case QDQ_E8M0: return "e8m0";
    case QDQ_F8E4M3FNUZ: return "f8e4m3fnuz";
    case QDQ_F8E5M2FNUZ: return "f8e5m2fnuz";
    case QDQ_F6E2M3: return "f6e2m3";
    case QDQ_F6E3M2: return "f6e3m2";
    case QDQ_I2: return "i2";
    case QDQ_U2: return "u2";
    case QDQ_F4E1M2: return "f4e1m2";
    case QDQ_HIF8: return "hif8";
    }
    std::abort();
}

integer_range range_of(qdq_dtype type) {
    switch (type) {
    case QDQ_I8: return {-128, 127};
    case QDQ_U8: return {0, 255};
    case QDQ_I16: return {-32768, 32767};
    case QDQ_U16: return {0, 65535};
    case QDQ_I32: return {-2147483648LL, 2147483647LL};
    case QDQ_I4: return {-8, 7};
    case QDQ_U4: return {0, 15};
    case QDQ_I2: return {-2, 1};
    case QDQ_U2: return {0, 3};
    default: std::abort();
    }
}

int64_t decode_integer(qdq_dtype type, uint32_t code) {
    switch (type) {
    case QDQ_I8: return sign_extend(code & 0xff, 8);
    case QDQ_U8: return code & 0xff;
    case QDQ_I16: return sign_extend(code & 0xffff, 16);
    case QDQ_U16: return code & 0xffff;
    case QDQ_I32: return sign_extend(code, 32);
    case QDQ_I4: return sign_extend(code & 0xf, 4);
    case QDQ_U4: return code & 0xf;
    case QDQ_I2: return sign_extend(code & 3, 2);
    case QDQ_U2: return code & 3;
    default: std::abort();
    }
}

float decode_float(qdq_dtype type, uint32_t code) {
    if (type == QDQ_F32) {
        return std::bit_cast<float>(encode_f32(std::bit_cast<float>(code)));
    }
    if (type == QDQ_E8M0) {
        return decode_e8m0(code & 0xff);
    }
    if (type == QDQ_HIF8) {
        return decode_hif8(code & 0xff);
    }
    const float_format &format = format_of(type);
    const uint32_t magnitude = code & (format.sign_bit - 1);
    if (is_nan(type, code)) {
        return std::numeric_limits<float>::quiet_NaN();
    }
    const float value = has_infinity(type) && magnitude == format.infinity ? std::numeric_limits<float>::infinity()
                                                                           : decode_finite(format, magnitude);
    return (code & format.sign_bit) != 0 ? -value : value;
}

int step_exponent(qdq_dtype type, float value) {
    if (is_integer(type)) {
        return 0;
    }
    if (type == QDQ_HIF8) {
        const int exponent = value == 0 ? hif8_least_exponent : std::max(std::ilogb(value), hif8_least_exponent);
        return exponent - hif8_mantissa_bits(exponent);
    }
    const float_format &format = format_of(type);
    const int exponent = value == 0 ? 1 - format.bias : std::ilogb(value);
    return std::max(exponent, 1 - format.bias) - format.mantissa_bits;
}

uint32_t encode_quantized_float(qdq_dtype type, float value, bool nan_is_negative, bool no_saturate) {
    if (type == QDQ_HIF8) {
        return encode_hif8(value, no_saturate);
    }
    const float_format &format = format_of(type);
    if (value != value) {
        if (!format.has_nan()) {
            return format.largest_finite;  // +6 of e2m1, as ONNX says
        }
        return format.nan | (nan_is_negative ? format.sign_bit : 0);
    }
    const uint32_t sign = std::signbit(value) ? format.sign_bit : 0;
    const uint32_t magnitude = std::isinf(value) ? format.largest_finite + 1 : round_magnitude(format, value);
    if (magnitude > format.largest_finite) {
        return sign | (no_saturate ? format.infinity : format.largest_finite);
    }
    return magnitude == 0 && !format.has_negative_zero() ? 0 : sign | magnitude;
}

}  // namespace reference
