// Prints the oracle's results for calls on standard input, so that programs in other languages can check them. All
// numbers of a call's first line are decimal, types and choices as qdq.h numbers them, -1 for no zero point:
//     x scale zero_point y scale_mode quantize_zp dequantize_zp rounding no_saturate quant_min quant_max count
// After it come `count` lines with the codes of x, scale and zero point, in hexadecimal. The answer is a line for each,
// the code of y.
#include "conformance/storage.h"
#include "reference/dequantize.h"
#include "reference/quantize.h"

#include <cstdint>
#include <iostream>

namespace {

using namespace reference;

// The numbers of a call's first line.
struct header {
    int x, scale, zero_point, y;
    qdq_options options{};
    int64_t count;

    bool read() {
        int scale_mode, quantize_zp, dequantize_zp, rounding;
        std::cin >> std::dec >> x >> scale >> zero_point >> y;
        std::cin >> scale_mode >> quantize_zp >> dequantize_zp >> rounding;
        std::cin >> options.no_saturate >> options.quant_min >> options.quant_max >> count;
        if (!std::cin) {
            return false;
        }
        options.scale_mode = static_cast<qdq_scale_mode>(scale_mode);
        options.quantize_zp = static_cast<qdq_quantize_zp>(quantize_zp);
        options.dequantize_zp = static_cast<qdq_dequantize_zp>(dequantize_zp);
        options.rounding = static_cast<qdq_rounding>(rounding);
        return true;
    }
};

bool is_float_side(qdq_dtype type) { return type == QDQ_F32 || type == QDQ_F16 || type == QDQ_BF16; }

void answer(const header &call) {
    const auto operand = [&](int dtype) { return conformance::storage(static_cast<qdq_dtype>(dtype), {call.count}); };
    const bool has_zero_point = call.zero_point >= 0;
    conformance::storage x = operand(call.x), scale = operand(call.scale), y = operand(call.y),
                         zero_point = operand(has_zero_point ? call.zero_point : QDQ_I32);
    for (int64_t i = 0; i < call.count; ++i) {
        uint32_t of_x, of_scale, of_zero_point;
        std::cin >> std::hex >> of_x >> of_scale >> of_zero_point;
        x.set_code(i, of_x);
        scale.set_code(i, of_scale);
        zero_point.set_code(i, of_zero_point);
    }
    const qdq_tensor zero_point_tensor = zero_point.tensor();
    const bool quantizes = is_float_side(static_cast<qdq_dtype>(call.x));
    (quantizes ? quantize : dequantize)(x.tensor(), scale.tensor(), has_zero_point ? &zero_point_tensor : nullptr,
                                        y.tensor(), &call.options);
    for (int64_t i = 0; i < call.count; ++i) {
        std::cout << std::hex << y.code(i) << '\n';
    }
}

}  // namespace

int main() {
    std::ios::sync_with_stdio(false);
    for (header call; call.read();) {
        answer(call);
    }
    return std::cin.eof() && std::cout.flush() ? 0 : 1;
}
