// The samples of torch_npu's document for single operators, line by line.
#include <qdq/compat/torch_npu.hpp>

#include "print.hpp"

#include <vector>

namespace torch_npu = qdq::torch_npu;

// As good as any: from -30 to 30, and no two neighbours alike.
static std::vector<float> randn(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; i++) {
        values[i] = static_cast<float>(i * 37 % 61) - 30.0f;
    }
    return values;
}

static void atlas_a2() {
    const auto x = torch_npu::tensor(randn(12), {1, 1, 12}).bfloat16();      // changed: no randn(), no npu()
    const auto scale = torch_npu::tensor(std::vector(12, 0.1f)).bfloat16();  // changed: a list of 12, no npu()
    const auto out = torch_npu::npu_quantize(x, scale, torch_npu::None, torch_npu::qint8, -1, false).value();
    print("Atlas A2", out);
}

static void atlas_inference() {
    const auto x = torch_npu::tensor(randn(72), {2, 3, 12});   // changed: no randn(), no npu()
    const auto scale = torch_npu::tensor(std::vector(12, 3));  // changed: a list of 12, no npu()
    const auto out = torch_npu::npu_quantize(x, scale, torch_npu::None, torch_npu::qint8, -1, false).value();
    print("Atlas inference", out);
}

int main() {
    atlas_a2();
    atlas_inference();
}
