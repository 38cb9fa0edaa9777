/* One row, called without the dispatcher. */
#include <qdq/direct/quantize_f32_i8.h>

int main(void) {
    const float x[3] = {0.5f, -1.0f, 100.0f};
    int8_t y[3];
    if (qdq_direct_quantize_f32_i8(x, y, 3, 0.5f) != QDQ_OK) {
        return 1;
    }
    return y[0] == 1 && y[1] == -2 && y[2] == 127 ? 0 : 2;
}
