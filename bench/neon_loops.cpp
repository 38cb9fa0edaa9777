#include "neon_loops.h"

#include <arm_neon.h>

namespace neon {

namespace {

template<int n> struct floats {
    float32x4_t part[n];
};

// Elements of x as f32: 16 at a time, so that one store fills a register of bytes.
using floats16 = floats<4>;

struct f32 {
    using element = float;
    static floats16 load(const float *x) {
        const float32x4x4_t v = vld1q_f32_x4(x);
        return {{v.val[0], v.val[1], v.val[2], v.val[3]}};
    }
    static void store(float *y, const floats16 &v) { vst1q_f32_x4(y, {{v.part[0], v.part[1], v.part[2], v.part[3]}}); }
};

struct f16 {
    using element = float16_t;
    static floats16 load(const float16_t *x) {
        const float16x8_t low = vld1q_f16(x), high = vld1q_f16(x + 8);
        return {{vcvt_f32_f16(vget_low_f16(low)), vcvt_high_f32_f16(low), vcvt_f32_f16(vget_low_f16(high)),
                 vcvt_high_f32_f16(high)}};
    }
    static void store(float16_t *y, const floats16 &v) {
        vst1q_f16(y, vcvt_high_f16_f32(vcvt_f16_f32(v.part[0]), v.part[1]));
        vst1q_f16(y + 8, vcvt_high_f16_f32(vcvt_f16_f32(v.part[2]), v.part[3]));
    }
};

struct bf16 {
    using element = uint16_t;
    static floats16 load(const uint16_t *x) {
        const uint16x8_t low = vld1q_u16(x), high = vld1q_u16(x + 8);
        return {{vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(low), 16)),
                 vreinterpretq_f32_u32(vshll_high_n_u16(low, 16)),
                 vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(high), 16)),
                 vreinterpretq_f32_u32(vshll_high_n_u16(high, 16))}};
    }
    // An odd result makes a tie sticky, and the sum carries past it.
    static uint32x4_t sticky(float32x4_t a) {
        const uint32x4_t bits = vreinterpretq_u32_f32(a);
        return vsraq_n_u32(bits, vandq_u32(bits, vdupq_n_u32(0x10000)), 16);
    }
    static uint16x8_t round(float32x4_t low, float32x4_t high) {
        const uint32x4_t half = vdupq_n_u32(0x7fff);
        return vaddhn_high_u32(vaddhn_u32(sticky(low), half), sticky(high), half);
    }
    static void store(uint16_t *y, const floats16 &v) {
        vst1q_u16(y, round(v.part[0], v.part[1]));
        vst1q_u16(y + 8, round(v.part[2], v.part[3]));
    }
};

// How x meets the scale; `limit` times the scale is where every code has saturated.
struct multiply {
    static float32x4_t apply(float32x4_t x, const call &c, float) { return vmulq_n_f32(x, c.scale); }
};

struct divide {
    static float32x4_t apply(float32x4_t x, const call &c, float limit) {
        const float32x4_t bounded = vminq_f32(x, vdupq_n_f32(limit * c.scale));
        const float32x4_t quotient = vmulq_n_f32(bounded, 1 / c.scale);
        return vfmaq_n_f32(quotient, vfmsq_n_f32(bounded, quotient, c.scale), 1 / c.scale);
    }
};

// The zero point as an f32, joining before or after rounding.
template<typename Scaling> struct before : Scaling {
    static float32x4_t apply(float32x4_t x, const call &c, float limit) {
        return vaddq_f32(Scaling::apply(x, c, limit), vdupq_n_f32(c.zero_point));
    }
};

// fmaxnm prefers numbers, so that NaN becomes the lowest code; conversions saturate.
inline int32x4_t nearest(float32x4_t t, float lowest) { return vcvtnq_s32_f32(vmaxnmq_f32(t, vdupq_n_f32(lowest))); }

inline int8x16_t narrow(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
    return vqmovn_high_s16(vqmovn_s16(vqmovn_high_s32(vqmovn_s32(a), b)), vqmovn_high_s32(vqmovn_s32(c), d));
}

struct i8 {
    using element = int8_t;
    static constexpr float limit = 2097152;
    static void store(int8_t *y, const floats16 &t) {
        vst1q_s8(y, narrow(nearest(t.part[0], -128), nearest(t.part[1], -128), nearest(t.part[2], -128),
                           nearest(t.part[3], -128)));
    }
    static floats16 load(const int8_t *x);
};

// Rounded to an integer as a float, with the zero point added, and bounded before that: 1.5 * 2^23 aligns.
struct i8_after : i8 {
    static uint32x4_t code(float32x4_t t, const call &c) {
        const float32x4_t low = vdupq_n_f32(-128 - c.zero_point), high = vdupq_n_f32(127 - c.zero_point);
        const float32x4_t aligned = vaddq_f32(vminq_f32(vmaxnmq_f32(t, low), high), vdupq_n_f32(12582912));
        return vreinterpretq_u32_f32(vaddq_f32(aligned, vdupq_n_f32(c.zero_point)));
    }
};

inline uint8x16_t low_bytes(uint32x4_t a, uint32x4_t b, uint32x4_t c, uint32x4_t d) {
    const uint16x8_t low = vuzp1q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b));
    const uint16x8_t high = vuzp1q_u16(vreinterpretq_u16_u32(c), vreinterpretq_u16_u32(d));
    return vuzp1q_u8(vreinterpretq_u8_u16(low), vreinterpretq_u8_u16(high));
}

inline uint8x16_t high_bytes(uint32x4_t a, uint32x4_t b, uint32x4_t c, uint32x4_t d) {
    const uint16x8_t low = vuzp2q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b));
    const uint16x8_t high = vuzp2q_u16(vreinterpretq_u16_u32(c), vreinterpretq_u16_u32(d));
    return vuzp2q_u8(vreinterpretq_u8_u16(low), vreinterpretq_u8_u16(high));
}

struct u8 {
    using element = uint8_t;
    static constexpr float limit = 2097152;
    // NaN converts to 0, the lowest code.
    static void store(uint8_t *y, const floats16 &t) {
        const uint16x4_t a = vqmovn_u32(vcvtnq_u32_f32(t.part[0])), c = vqmovn_u32(vcvtnq_u32_f32(t.part[2]));
        const uint16x8_t low = vqmovn_high_u32(a, vcvtnq_u32_f32(t.part[1]));
        const uint16x8_t high = vqmovn_high_u32(c, vcvtnq_u32_f32(t.part[3]));
        vst1q_u8(y, vqmovn_high_u16(vqmovn_u16(low), high));
    }
};

struct i16 {
    using element = int16_t;
    static constexpr float limit = 2097152;
    static void store(int16_t *y, const floats16 &t) {
        for (int i = 0; i < 4; i += 2) {
            vst1q_s16(y + 4 * i,
                      vqmovn_high_s32(vqmovn_s32(nearest(t.part[i], -32768)), nearest(t.part[i + 1], -32768)));
        }
    }
};

struct i32 {
    using element = int32_t;
    static constexpr float limit = 8589934592;
    static int32x4_t code(float32x4_t t, const call &c) {
        return vmaxq_s32(vminq_s32(nearest(t, -2147483648.0f), vdupq_n_s32(c.highest)), vdupq_n_s32(c.lowest));
    }
};

// f8e4m3: 2^(e + 20), e the exponent of t but at least that of the least normal, leaves the code's mantissa in the low
// bits of the sum; the exponents passed complete it.
struct f8e4m3 {
    using element = uint8_t;
    static constexpr float limit = 448;
    static uint32x4_t magnitude(float32x4_t t) {
        const float32x4_t bounded = vminq_f32(t, vdupq_n_f32(448));
        const uint32x4_t exponent =
            vmaxq_u32(vandq_u32(vreinterpretq_u32_f32(bounded), vdupq_n_u32(0x7f800000)), vdupq_n_u32(121u << 23));
        const float32x4_t sum = vfmaq_f32(bounded, vreinterpretq_f32_u32(exponent), vdupq_n_f32(1048576 + 7));
        return vsraq_n_u32(vreinterpretq_u32_f32(sum), exponent, 20);
    }
};

struct f4e2m1 {
    using element = uint8_t;
    static constexpr float limit = 6;
    static uint32x4_t magnitude(float32x4_t t) {  // of NaN the largest
        const float32x4_t bounded = vminnmq_f32(t, vdupq_n_f32(6));
        const uint32x4_t exponent =
            vmaxq_u32(vandq_u32(vreinterpretq_u32_f32(bounded), vdupq_n_u32(0x7f800000)), vdupq_n_u32(127u << 23));
        const float32x4_t sum = vfmaq_f32(bounded, vreinterpretq_f32_u32(exponent), vdupq_n_f32(4194304 + 1));
        return vsraq_n_u32(vreinterpretq_u32_f32(sum), exponent, 22);
    }
};

// Two rows of 16 codes of 4 bits, one to a byte, into 16 bytes, the even codes low.
inline uint8x16_t pack(uint8x16_t first, uint8x16_t second) {
    return vsliq_n_u8(vuzp1q_u8(first, second), vuzp2q_u8(first, second), 4);
}

template<typename From, typename Scaling, typename To> void quantize(call c) {
    const auto *x = static_cast<const typename From::element *>(c.x);
    auto *y = static_cast<typename To::element *>(c.y);
    for (int64_t i = 0; i < c.elements; i += 16) {
        floats16 t = From::load(x + i);
        for (float32x4_t &part : t.part) {
            part = Scaling::apply(part, c, To::limit);
        }
        To::store(y + i, t);
    }
}

template<typename Scaling> void quantize_i8_after(call c) {
    const auto *x = static_cast<const float *>(c.x);
    for (int64_t i = 0; i < c.elements; i += 16) {
        const floats16 v = f32::load(x + i);
        uint32x4_t code[4];
        for (int k = 0; k < 4; k++) {
            code[k] = i8_after::code(Scaling::apply(v.part[k], c, i8::limit), c);
        }
        vst1q_u8(static_cast<uint8_t *>(c.y) + i, low_bytes(code[0], code[1], code[2], code[3]));
    }
}

template<typename Scaling> void quantize_i32(call c) {
    const auto *x = static_cast<const float *>(c.x);
    for (int64_t i = 0; i < c.elements; i += 16) {
        const floats16 v = f32::load(x + i);
        int32x4x4_t code;
        for (int k = 0; k < 4; k++) {
            code.val[k] = i32::code(Scaling::apply(v.part[k], c, i32::limit), c);
        }
        vst1q_s32_x4(static_cast<int32_t *>(c.y) + i, code);
    }
}

template<typename Scaling> [[gnu::always_inline]] inline uint8x16_t i4_codes(const float *x, const call &c) {
    const floats16 v = f32::load(x);
    uint32x4_t code[4];
    for (int k = 0; k < 4; k++) {
        const float32x4_t t = Scaling::apply(v.part[k], c, i8::limit);
        const float32x4_t bounded = vminq_f32(vmaxnmq_f32(t, vdupq_n_f32(-8)), vdupq_n_f32(7));
        code[k] = vreinterpretq_u32_f32(vaddq_f32(bounded, vdupq_n_f32(12582912)));
    }
    return low_bytes(code[0], code[1], code[2], code[3]);
}

template<typename Scaling> void quantize_i4(call c) {
    const auto *x = static_cast<const float *>(c.x);
    for (int64_t i = 0; i < c.elements; i += 32) {
        vst1q_u8(static_cast<uint8_t *>(c.y) + i / 2,
                 pack(i4_codes<Scaling>(x + i, c), i4_codes<Scaling>(x + i + 16, c)));
    }
}

template<typename Scaling, typename To>
[[gnu::always_inline]] inline uint8x16_t magnitudes(const floats16 &v, const call &c) {
    uint32x4_t code[4];
    for (int k = 0; k < 4; k++) {
        code[k] = To::magnitude(Scaling::apply(vabsq_f32(v.part[k]), c, To::limit));
    }
    return low_bytes(code[0], code[1], code[2], code[3]);
}

// In each byte all ones where the condition holds.
inline uint8x16_t numbers(const floats16 &v) {
    return low_bytes(vceqq_f32(v.part[0], v.part[0]), vceqq_f32(v.part[1], v.part[1]), vceqq_f32(v.part[2], v.part[2]),
                     vceqq_f32(v.part[3], v.part[3]));
}

inline uint8x16_t top_bytes(const floats16 &v) {
    return high_bytes(vreinterpretq_u32_f32(v.part[0]), vreinterpretq_u32_f32(v.part[1]),
                      vreinterpretq_u32_f32(v.part[2]), vreinterpretq_u32_f32(v.part[3]));
}

template<typename Scaling> void quantize_f8e4m3(call c) {
    const auto *x = static_cast<const float *>(c.x);
    for (int64_t i = 0; i < c.elements; i += 16) {
        const floats16 v = f32::load(x + i);
        const uint8x16_t magnitude = vornq_u8(magnitudes<Scaling, f8e4m3>(v, c), numbers(v));
        vst1q_u8(static_cast<uint8_t *>(c.y) + i, vbslq_u8(vdupq_n_u8(0x80), top_bytes(v), magnitude));
    }
}

template<typename Scaling> [[gnu::always_inline]] inline uint8x16_t f4e2m1_codes(const float *x, const call &c) {
    const floats16 v = f32::load(x);
    const uint8x16_t sign = vandq_u8(top_bytes(v), numbers(v));  // a NaN's is lost
    return vbslq_u8(vdupq_n_u8(7), magnitudes<Scaling, f4e2m1>(v, c), vshrq_n_u8(sign, 4));
}

template<typename Scaling> void quantize_f4e2m1(call c) {
    const auto *x = static_cast<const float *>(c.x);
    for (int64_t i = 0; i < c.elements; i += 32) {
        vst1q_u8(static_cast<uint8_t *>(c.y) + i / 2,
                 pack(f4e2m1_codes<Scaling>(x + i, c), f4e2m1_codes<Scaling>(x + i + 16, c)));
    }
}

inline floats16 as_floats(int16x8_t low, int16x8_t high) {
    return {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_high_s16(low)),
             vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_high_s16(high))}};
}

floats16 i8::load(const int8_t *x) {
    const int8x16_t v = vld1q_s8(x);
    return as_floats(vmovl_s8(vget_low_s8(v)), vmovl_high_s8(v));
}

struct u8_codes {
    using element = uint8_t;
    static floats16 load(const uint8_t *x) {
        const uint8x16_t v = vld1q_u8(x);
        return as_floats(vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(v))), vreinterpretq_s16_u16(vmovl_high_u8(v)));
    }
};

struct i16_codes {
    using element = int16_t;
    static floats16 load(const int16_t *x) { return as_floats(vld1q_s16(x), vld1q_s16(x + 8)); }
};

struct i32_codes {
    using element = int32_t;
    static floats16 load(const int32_t *x) {
        const int32x4x4_t v = vld1q_s32_x4(x);
        return {{vcvtq_f32_s32(v.val[0]), vcvtq_f32_s32(v.val[1]), vcvtq_f32_s32(v.val[2]), vcvtq_f32_s32(v.val[3])}};
    }
};

template<typename From, typename To> void dequantize(call c) {
    const auto *x = static_cast<const typename From::element *>(c.x);
    auto *y = static_cast<typename To::element *>(c.y);
    for (int64_t i = 0; i < c.elements; i += 16) {
        floats16 v = From::load(x + i);
        for (float32x4_t &part : v.part) {
            part = vmulq_n_f32(part, c.scale);
        }
        To::store(y + i, v);
    }
}

void dequantize_i8_offset(call c) {
    const auto *x = static_cast<const int8_t *>(c.x);
    for (int64_t i = 0; i < c.elements; i += 16) {
        floats16 v = i8::load(x + i);
        for (float32x4_t &part : v.part) {
            part = vmulq_n_f32(vsubq_f32(part, vdupq_n_f32(c.zero_point)), c.scale);
        }
        f32::store(static_cast<float *>(c.y) + i, v);
    }
}

void dequantize_i4(call c) {
    const auto *x = static_cast<const uint8_t *>(c.x);
    auto *y = static_cast<float *>(c.y);
    for (int64_t i = 0; i < c.elements; i += 32) {
        const int8x16_t v = vreinterpretq_s8_u8(vld1q_u8(x + i / 2));
        const int8x16_t even = vshrq_n_s8(vshlq_n_s8(v, 4), 4), odd = vshrq_n_s8(v, 4);
        for (const int8x16_t codes : {vzip1q_s8(even, odd), vzip2q_s8(even, odd)}) {
            floats16 f = as_floats(vmovl_s8(vget_low_s8(codes)), vmovl_high_s8(codes));
            for (float32x4_t &part : f.part) {
                part = vmulq_n_f32(part, c.scale);
            }
            f32::store(y, f);
            y += 16;
        }
    }
}

// The codes of f8e4m3 are f16 short of the top of their mantissas and 2^8 too small; `top` has one in each high byte.
inline uint16x8_t f16_bits(int16x8_t top) {
    const uint16x8_t bits = vandq_u16(vreinterpretq_u16_s16(vshrq_n_s16(top, 1)), vdupq_n_u16(0xbfff));
    const uint16x8_t is_number = vcltq_u16(vandq_u16(bits, vdupq_n_u16(0x7fff)), vdupq_n_u16(0x3f80));
    return vbslq_u16(is_number, bits, vdupq_n_u16(0x7e00));
}

struct f8e4m3_codes {
    using element = int8_t;
    static floats16 load(const int8_t *x) {
        const int8x16_t v = vld1q_s8(x);
        const float16x8_t low = vreinterpretq_f16_u16(f16_bits(vshll_n_s8(vget_low_s8(v), 8)));
        const float16x8_t high = vreinterpretq_f16_u16(f16_bits(vshll_high_n_s8(v, 8)));
        return {{vcvt_f32_f16(vget_low_f16(low)), vcvt_high_f32_f16(low), vcvt_f32_f16(vget_low_f16(high)),
                 vcvt_high_f32_f16(high)}};
    }
};

template<typename To> void dequantize_f8e4m3(call c) {
    c.scale *= 256;
    dequantize<f8e4m3_codes, To>(c);
}

// The high byte of an f16 for each code.
void dequantize_f4e2m1(call c) {
    static constexpr int8_t halves[16] = {0x00,  0x38,  0x3c,  0x3e,  0x40,  0x42,  0x44,  0x46,
                                          -0x80, -0x48, -0x44, -0x42, -0x40, -0x3e, -0x3c, -0x3a};
    const int8x16_t table = vld1q_s8(halves);
    const auto *x = static_cast<const uint8_t *>(c.x);
    auto *y = static_cast<float *>(c.y);
    for (int64_t i = 0; i < c.elements; i += 32) {
        const uint8x16_t v = vld1q_u8(x + i / 2);
        const int8x16_t even = vqtbl1q_s8(table, vandq_u8(v, vdupq_n_u8(15))),
                        odd = vqtbl1q_s8(table, vshrq_n_u8(v, 4));
        for (const int8x16_t top : {vzip1q_s8(even, odd), vzip2q_s8(even, odd)}) {
            const float16x8_t low = vreinterpretq_f16_s16(vshll_n_s8(vget_low_s8(top), 8));
            const float16x8_t high = vreinterpretq_f16_s16(vshll_high_n_s8(top, 8));
            floats16 f = {{vcvt_f32_f16(vget_low_f16(low)), vcvt_high_f32_f16(low), vcvt_f32_f16(vget_low_f16(high)),
                           vcvt_high_f32_f16(high)}};
            for (float32x4_t &part : f.part) {
                part = vmulq_n_f32(part, c.scale);
            }
            f32::store(y, f);
            y += 16;
        }
    }
}

constexpr qdq_options by_division{}, by_product{.scale_mode = QDQ_MULTIPLY};
constexpr qdq_options before_rounding{.quantize_zp = QDQ_ZP_BEFORE_ROUNDING};

constexpr loop all_loops[] = {
    {"f32 to i8, multiply", QDQ_F32, QDQ_I8, by_product, 0, quantize<f32, multiply, i8>},
    {"f32 to i8, divide", QDQ_F32, QDQ_I8, by_division, 0, quantize<f32, divide, i8>},
    {"f32 to i8, multiply, zero point after", QDQ_F32, QDQ_I8, by_product, 3, quantize_i8_after<multiply>},
    {"f32 to i8, divide, zero point after", QDQ_F32, QDQ_I8, by_division, 3, quantize_i8_after<divide>},
    {"f32 to i8, divide, zero point before", QDQ_F32, QDQ_I8, before_rounding, 3, quantize<f32, before<divide>, i8>},
    {"f32 to u8, multiply", QDQ_F32, QDQ_U8, by_product, 0, quantize<f32, multiply, u8>},
    {"f32 to u8, divide", QDQ_F32, QDQ_U8, by_division, 0, quantize<f32, divide, u8>},
    {"f16 to i8, divide", QDQ_F16, QDQ_I8, by_division, 0, quantize<f16, divide, i8>},
    {"bf16 to i8, divide", QDQ_BF16, QDQ_I8, by_division, 0, quantize<bf16, divide, i8>},
    {"f32 to i16, divide", QDQ_F32, QDQ_I16, by_division, 0, quantize<f32, divide, i16>},
    {"f32 to i32, divide", QDQ_F32, QDQ_I32, by_division, 0, quantize_i32<divide>},
    {"f32 to i4, divide", QDQ_F32, QDQ_I4, by_division, 0, quantize_i4<divide>},
    {"f32 to f8e4m3, multiply", QDQ_F32, QDQ_F8E4M3, by_product, 0, quantize_f8e4m3<multiply>},
    {"f32 to f8e4m3, divide", QDQ_F32, QDQ_F8E4M3, by_division, 0, quantize_f8e4m3<divide>},
    {"f32 to f4e2m1, divide", QDQ_F32, QDQ_F4E2M1, by_division, 0, quantize_f4e2m1<divide>},
    {"i8 to f32", QDQ_I8, QDQ_F32, {}, 0, dequantize<i8, f32>},
    {"u8 to f32", QDQ_U8, QDQ_F32, {}, 0, dequantize<u8_codes, f32>},
    {"i8 to f32, zero point", QDQ_I8, QDQ_F32, {}, 3, dequantize_i8_offset},
    {"i8 to f16", QDQ_I8, QDQ_F16, {}, 0, dequantize<i8, f16>},
    {"i8 to bf16", QDQ_I8, QDQ_BF16, {}, 0, dequantize<i8, bf16>},
    {"i16 to f32", QDQ_I16, QDQ_F32, {}, 0, dequantize<i16_codes, f32>},
    {"i32 to f32", QDQ_I32, QDQ_F32, {}, 0, dequantize<i32_codes, f32>},
    {"i4 to f32", QDQ_I4, QDQ_F32, {}, 0, dequantize_i4},
    {"f8e4m3 to f32", QDQ_F8E4M3, QDQ_F32, {}, 0, dequantize_f8e4m3<f32>},
    {"f8e4m3 to f16", QDQ_F8E4M3, QDQ_F16, {}, 0, dequantize_f8e4m3<f16>},
    {"f4e2m1 to f32", QDQ_F4E2M1, QDQ_F32, {}, 0, dequantize_f4e2m1},
};

}  // namespace

std::span<const loop> loops() { return all_loops; }

}  // namespace neon
