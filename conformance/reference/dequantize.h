// The dequantize half of the contract in qdq.h, spelled out for one element and a tensor.
#pragma once

#include "formats.h"
#include "quantize.h"

#include <qdq/qdq.h>

#include <cstdint>

namespace reference {

// q -+ zero point as an f32. Integers subtract exactly (34 bits at most) and convert once.
inline float shifted(int64_t q, const zero_point &z, qdq_dequantize_zp mode) {
    if (z.integral) {
        return static_cast<float>(mode == QDQ_ZP_ADD ? q + z.integer : q - z.integer);
    }
    const float value = static_cast<float>(q);
    return mode == QDQ_ZP_ADD ? value + z.real : value - z.real;
}

// f32 (NaN made canonical) rounded once to the code of f32, f16 or bf16.
inline uint32_t encode_output(qdq_dtype y, float value) {
    if (y == QDQ_F16) {
        return encode_ieee(f16_format, value);
    }
    if (y == QDQ_BF16) {
        return encode_ieee(bf16_format, value);
    }
    return encode_f32(value);
}

// The code of one dequantized element of x's type. A stored float takes no zero point (it must be zero), which keeps
// its -0.
uint32_t dequantize_element(qdq_dtype x, uint32_t code, float scale, const zero_point &z, qdq_dtype y,
                            qdq_dequantize_zp mode);

// qdq_dequantize for a valid call.
void dequantize(const qdq_tensor &x, const qdq_tensor &scale, const qdq_tensor *zero_point, const qdq_tensor &y,
                const qdq_options *options);

}  // namespace reference
