#include <qdq/qdq.h>

#include <stdio.h>

int main(void) {
    float numbers[3] = {0.5f, -1.0f, 0.25f}, step = 1.0f / 127;
    int8_t codes[3];
    const int64_t shape[1] = {3};
    const qdq_tensor x = {.data = numbers, .dtype = QDQ_F32, .rank = 1, .shape = shape};
    const qdq_tensor scale = {.data = &step, .dtype = QDQ_F32};
    const qdq_tensor y = {.data = codes, .dtype = QDQ_I8, .rank = 1, .shape = shape};
    if (qdq_quantize(&x, &scale, NULL, &y, NULL) != QDQ_OK) {
        puts(qdq_last_error());
        return 1;
    }
    printf("%d %d %d\n", codes[0], codes[1], codes[2]);
    return 0;
}
