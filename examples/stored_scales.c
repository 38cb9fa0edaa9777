/* NVFP4 as engines store it, dequantized by one call: e4m3 scales of 16 elements in cuBLAS's tiles, and one of the
 * tensor's own. */
#include <qdq/qdq.h>

#include <stdio.h>
#include <string.h>

enum { rows = 2, columns = 64, tile = 512 };

int main(void) {
    static uint8_t codes[rows * columns / 2], scales[tile];
    static float y[rows * columns];
    const float global = 0.25f;
    const int64_t shape[] = {rows, columns}, scale_shape[] = {rows, columns / 16};
    memset(codes, 0x57, sizeof(codes)); /* 6 and 3, in the order of elements */
    memset(scales, 0x38, 4);            /* 1, of the blocks of the first row */
    memset(scales + 16, 0x40, 4);       /* 2, of those of the second one */
    const qdq_tensor of_codes = {codes, QDQ_F4E2M1, 2, shape, NULL, {0}}, of_y = {y, QDQ_F32, 2, shape, NULL, {0}};
    const qdq_tensor of_scale = {scales, QDQ_F8E4M3, 2, scale_shape, NULL, {0}};
    const qdq_options options = {.axis = -1,
                                 .block_size = 16,
                                 .scale_is_arranged = 1,
                                 .scale_layout = QDQ_SCALES_TILED_128X4,
                                 .global_sense = QDQ_GLOBAL_SCALE,
                                 .global_scale = &global};
    if (qdq_dequantize(&of_codes, &of_scale, NULL, &of_y, &options) != QDQ_OK) {
        return puts(qdq_last_error());
    }
    printf("%g %g, %g %g\n", y[0], y[1], y[columns], y[columns + 1]);
    return y[0] == 1.5f && y[columns + 1] == 1.5f ? 0 : 1;
}
