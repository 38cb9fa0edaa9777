/* Scales that are computed of x: int8 by token, e2m1 in blocks of 32 as OCP's Microscaling Formats have them, and e4m3
 * with blocks along rows and along columns at once. */
#include <qdq/qdq.h>

#include <stdio.h>

enum { tokens = 2, channels = 64 };

static float x[tokens * channels];

static int by_token(void) {
    int8_t y[tokens * channels];
    float scale[tokens];
    const int64_t shape[] = {tokens, channels}, scale_shape[] = {tokens, 1};
    const qdq_tensor of_x = {x, QDQ_F32, 2, shape, NULL, {0}}, of_y = {y, QDQ_I8, 2, shape, NULL, {0}};
    const qdq_tensor of_scale = {scale, QDQ_F32, 2, scale_shape, NULL, {0}};
    if (qdq_quantize_dynamic(&of_x, &of_scale, NULL, &of_y, NULL, NULL) != QDQ_OK) {
        return puts(qdq_last_error());
    }
    printf("scales %g %g, codes %d ... %d\n", scale[0], scale[1], y[0], y[channels - 1]);
    return 0;
}

static int by_blocks(void) {
    uint8_t y[tokens * channels / 2], scale[tokens * channels / 32];
    const int64_t shape[] = {tokens, channels}, scale_shape[] = {tokens, channels / 32};
    const qdq_tensor of_x = {x, QDQ_F32, 2, shape, NULL, {0}}, of_y = {y, QDQ_F4E2M1, 2, shape, NULL, {0}};
    const qdq_tensor of_scale = {scale, QDQ_E8M0, 2, scale_shape, NULL, {0}};
    const qdq_scale_options how = {.rule = QDQ_SCALE_POWER_FLOOR};
    if (qdq_quantize_dynamic(&of_x, &of_scale, NULL, &of_y, &how, NULL) != QDQ_OK) {
        return puts(qdq_last_error());
    }
    printf("exponents %d %d %d %d\n", scale[0] - 127, scale[1] - 127, scale[2] - 127, scale[3] - 127);
    return 0;
}

static int by_rows_and_columns(void) {
    uint8_t y[tokens * channels], z[tokens * channels], along_row[tokens * channels / 32], along_column[channels];
    const int64_t shape[] = {tokens, channels}, row_shape[] = {tokens, channels / 32}, column_shape[] = {1, channels};
    const qdq_tensor of_x = {x, QDQ_F32, 2, shape, NULL, {0}};
    const qdq_tensor of_y = {y, QDQ_F8E4M3, 2, shape, NULL, {0}}, of_z = {z, QDQ_F8E4M3, 2, shape, NULL, {0}};
    const qdq_tensor row_scale = {along_row, QDQ_E8M0, 2, row_shape, NULL, {0}};
    const qdq_tensor column_scale = {along_column, QDQ_E8M0, 2, column_shape, NULL, {0}};
    const qdq_scale_options how = {.rule = QDQ_SCALE_POWER_FLOOR};
    const int64_t along_rows[] = {1, 32}, along_columns[] = {32, 1};
    const qdq_options rows = {.block_shape = along_rows}, columns = {.block_shape = along_columns};
    const qdq_dynamic_output first = {&row_scale, NULL, &of_y, &how, &rows};
    const qdq_dynamic_output second = {&column_scale, NULL, &of_z, &how, &columns};
    if (qdq_quantize_dynamic_pair(&of_x, &first, &second) != QDQ_OK) {
        return puts(qdq_last_error());
    }
    printf("exponents of rows %d %d ..., of columns %d %d ...\n", along_row[0] - 127, along_row[1] - 127,
           along_column[0] - 127, along_column[1] - 127);
    return 0;
}

int main(void) {
    for (int i = 0; i < tokens * channels; i++) {
        x[i] = (float)(i - 63) / 4;
    }
    return by_token() || by_blocks() || by_rows_and_columns();
}
