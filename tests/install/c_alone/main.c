#include <qdq/qdq.h>

#include <stdio.h>
#include <string.h>

int main(void) {
    float x[] = {-1.0f, 0.2f, 0.5f, 300.0f}, scale = 0.5f;
    int8_t y[4];
    const int8_t expected[4] = {-2, 0, 1, 127};
    const int64_t shape[] = {4};
    const qdq_tensor of_x = {x, QDQ_F32, 1, shape, NULL, {0}}, of_scale = {&scale, QDQ_F32, 0, NULL, NULL, {0}};
    const qdq_tensor of_y = {y, QDQ_I8, 1, shape, NULL, {0}};
    if (qdq_quantize(&of_x, &of_scale, NULL, &of_y, NULL) != QDQ_OK) {
        puts(qdq_last_error());
        return 1;
    }
    return memcmp(y, expected, sizeof y) == 0 ? 0 : 2;
}
