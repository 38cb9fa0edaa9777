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
    const float_format &format = format_of(type);
    const int exponent = value == 0 ? 1 - format.bias : std::ilogb(value);
    return std::max(exponent, 1 - format.bias) - format.mantissa_bits;
}

uint32_t encode_quantized_float(qdq_dtype type, float value, bool nan_is_negative, bool no_saturate) {
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
