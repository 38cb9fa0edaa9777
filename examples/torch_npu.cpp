// The example of torch_npu's documentation, with an x of its own: a bf16 tensor times 0.1, as qint8.
#include <qdq/compat/torch_npu.hpp>

#include "print.hpp"

#include <bit>

namespace torch_npu = qdq::torch_npu;

// As torch's .bfloat16() does for finite numbers: to the nearest, ties to even.
static qdq::bf16 bfloat16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

int main() {
    std::array<qdq::bf16, 12> x, scale;
    for (std::size_t i = 0; i < 12; i++) {
        x[i] = bfloat16(-600.0f + 121.0f * static_cast<float>(i));
        scale[i] = bfloat16(0.1f);
    }
    const auto out = torch_npu::npu_quantize({x, {1, 1, 12}}, scale, qdq::none, torch_npu::qint8, -1, false);
    return print<std::int8_t>("out", out);
}
