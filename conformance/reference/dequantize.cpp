#include "dequantize.h"

#include "tensor.h"

namespace reference {

uint32_t dequantize_element(qdq_dtype x, uint32_t code, float scale, const zero_point &z, qdq_dtype y,
                            qdq_dequantize_zp mode) {
    const float value = is_integer(x) ? shifted(decode_integer(x, code), z, mode) : decode_float(x, code);
    return encode_output(y, value * scale);
}

void dequantize(const qdq_tensor &x, const qdq_tensor &scale, const qdq_tensor *zero_points, const qdq_tensor &y,
                const qdq_options *options_or_null) {
    const qdq_options options = options_or_null != nullptr ? *options_or_null : qdq_options{};
    const parameters per_element(x, scale, zero_points, options);
    for_each_index(x, [&](const int64_t *index) {
        const uint32_t code =
            dequantize_element(x.dtype, load_code(x, index, options.packing), per_element.scale_at(index),
                               per_element.zero_point_at(index), y.dtype, options.dequantize_zp);
        store_code(y, index, code);
    });
}

}  // namespace reference
