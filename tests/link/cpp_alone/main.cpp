// One row by the dispatcher, and one directly, whose targets are those of the table.
#include <qdq/direct/dequantize_i8_f32.h>
#include <qdq/qdq.h>

int main() {
    const int64_t shape[] = {3};
    float values[] = {0.5f, -1.0f, 100.0f}, half = 0.5f, restored[3];
    int8_t codes[3];
    const qdq_tensor x{values, QDQ_F32, 1, shape, nullptr, {QDQ_DEVICE_HOST, 0, 0}};
    const qdq_tensor scale{&half, QDQ_F32, 0, nullptr, nullptr, {QDQ_DEVICE_HOST, 0, 0}};
    const qdq_tensor y{codes, QDQ_I8, 1, shape, nullptr, {QDQ_DEVICE_HOST, 0, 0}};
    if (qdq_quantize(&x, &scale, nullptr, &y, nullptr) != QDQ_OK ||
        qdq_direct_dequantize_i8_f32(codes, restored, 3, half) != QDQ_OK) {
        return 1;
    }
    return restored[0] == 0.5f && restored[1] == -1.0f && restored[2] == 63.5f ? 0 : 2;
}
