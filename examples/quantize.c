/* Quantizes the rows of a matrix to int8, each with a scale of its own, and restores them. */
#include <qdq/qdq.h>

#include <stdio.h>

static int fail(const char *call) {
    fprintf(stderr, "%s: %s\n", call, qdq_last_error());
    return 1;
}

int main(void) {
    float weights[2][3] = {{0.5f, -1.0f, 0.25f}, {4.0f, 2.0f, -3.0f}}, restored[2][3];
    float scales[2] = {1.0f / 127, 4.0f / 127};
    int8_t codes[2][3];
    const int64_t shape[2] = {2, 3}, rows[1] = {2};
    const qdq_tensor x = {.data = weights, .dtype = QDQ_F32, .rank = 2, .shape = shape};
    const qdq_tensor scale = {.data = scales, .dtype = QDQ_F32, .rank = 1, .shape = rows};
    const qdq_tensor y = {.data = codes, .dtype = QDQ_I8, .rank = 2, .shape = shape};
    const qdq_tensor z = {.data = restored, .dtype = QDQ_F32, .rank = 2, .shape = shape};
    const qdq_options options = {.axis = 0};

    if (qdq_current_target() == NULL) {
        return fail("qdq_current_target");
    }
    fprintf(stderr, "qdq %s, target %s: %s\n", qdq_version(), qdq_current_target(), qdq_current_target_reason());
    if (qdq_quantize(&x, &scale, NULL, &y, &options) != QDQ_OK) {
        return fail("qdq_quantize");
    }
    if (qdq_dequantize(&y, &scale, NULL, &z, &options) != QDQ_OK) {
        return fail("qdq_dequantize");
    }
    for (int row = 0; row < 2; row++) {
        for (int column = 0; column < 3; column++) {
            printf("%4d %8.5f\n", codes[row][column], restored[row][column]);
        }
    }
    return 0;
}
