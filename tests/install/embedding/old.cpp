// qdq.h before C++20.
#include <qdq/qdq.h>

#include <cstdio>

int main() {
    float weights[2][3] = {{0.5f, -1.0f, 0.25f}, {4.0f, 2.0f, -3.0f}}, restored[2][3];
    float scales[2] = {1.0f / 127, 4.0f / 127};
    int8_t codes[2][3];
    const int64_t shape[2] = {2, 3}, rows[1] = {2};
    const qdq_tensor x = {weights, QDQ_F32, 2, shape, nullptr, qdq_device()};
    const qdq_tensor scale = {scales, QDQ_F32, 1, rows, nullptr, qdq_device()};
    const qdq_tensor y = {codes, QDQ_I8, 2, shape, nullptr, qdq_device()};
    const qdq_tensor z = {restored, QDQ_F32, 2, shape, nullptr, qdq_device()};
    if (qdq_quantize(&x, &scale, nullptr, &y, nullptr) || qdq_dequantize(&y, &scale, nullptr, &z, nullptr)) {
        std::puts(qdq_last_error());
        return 1;
    }
    for (int i = 0; i < 6; i++) {
        std::printf("%4d %8.5f\n", codes[i / 3][i % 3], static_cast<double>(restored[i / 3][i % 3]));
    }
}
