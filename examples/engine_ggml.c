/* qdq in an engine laid out as ggml: a table of types, each with functions on rows of blocks.
 *
 * A block of q8_0 is an f16 scale and 32 codes, 34 bytes. Strides say where the scales and the codes of the blocks lie,
 * so that qdq reads and writes them in place. */
#include <qdq/qdq.h>

#include <stdio.h>
#include <string.h>

enum { block = 32, row = 96 };

typedef struct {
    uint16_t scale; /* f16 */
    int8_t codes[block];
} block_q8_0;

typedef struct {
    const char *name;
    int64_t block_elements;
    size_t block_bytes;
    int (*to_float)(const void *x, float *y, int64_t count);
    int (*from_float)(const float *x, void *y, int64_t count);
} type_traits;

/* Views of `count` elements in blocks. Those of codes are 34 bytes apart; `scale_stride` is that of scales, in f16. */
typedef struct {
    int64_t shape[2], scale_shape[2], code_strides[2], scale_strides[2];
    qdq_tensor floats, codes, scales;
} views;

static void view(views *v, float *floats, block_q8_0 *blocks, uint16_t *scales, int64_t scale_stride, int64_t count) {
    memset(v, 0, sizeof *v);
    v->shape[0] = v->scale_shape[0] = count / block;
    v->shape[1] = block;
    v->scale_shape[1] = 1;
    v->code_strides[0] = sizeof(block_q8_0);
    v->code_strides[1] = 1;
    v->scale_strides[0] = scale_stride;
    v->scale_strides[1] = 1;
    v->floats = (qdq_tensor){.data = floats, .dtype = QDQ_F32, .rank = 2, .shape = v->shape};
    v->codes =
        (qdq_tensor){.data = blocks->codes, .dtype = QDQ_I8, .rank = 2, .shape = v->shape, .strides = v->code_strides};
    v->scales =
        (qdq_tensor){.data = scales, .dtype = QDQ_F16, .rank = 2, .shape = v->scale_shape, .strides = v->scale_strides};
}

static int report(qdq_status status) {
    if (status != QDQ_OK) {
        fprintf(stderr, "%s\n", qdq_last_error());
    }
    return status == QDQ_OK ? 0 : -1;
}

/* The scales are read where they lie, between the codes: 17 f16 apart. */
static int q8_0_to_float(const void *x, float *y, int64_t count) {
    block_q8_0 *blocks = (block_q8_0 *)x;
    views v;
    view(&v, y, blocks, &blocks->scale, sizeof(block_q8_0) / 2, count);
    return report(qdq_dequantize(&v.codes, &v.scales, NULL, &v.floats, NULL));
}

/* An output must not span its inputs, so the scales are beside the blocks while qdq divides by them. The engine finds
 * them as before; here they are powers of two. */
static int q8_0_from_float(const float *x, void *y, int64_t count) {
    enum { at_once = 64 };
    uint16_t scales[at_once];
    block_q8_0 *blocks = y;
    views v;
    for (int64_t i = 0; i < count / block; i += at_once) {
        const int64_t left = count / block - i, some = left < at_once ? left : at_once;
        for (int64_t j = 0; j < some; j++) {
            scales[j] = 0x2400; /* 2^-6 */
        }
        view(&v, (float *)x + i * block, blocks + i, scales, 1, some * block);
        if (report(qdq_quantize(&v.floats, &v.scales, NULL, &v.codes, NULL)) != 0) {
            return -1;
        }
        for (int64_t j = 0; j < some; j++) {
            blocks[i + j].scale = scales[j];
        }
    }
    return 0;
}

static const type_traits types[] = {
    {"q8_0", block, sizeof(block_q8_0), q8_0_to_float, q8_0_from_float},
};

int main(void) {
    float x[row], restored[row];
    block_q8_0 blocks[row / block];
    for (int i = 0; i < row; i++) {
        x[i] = (float)(i - 48) / 32;
    }
    if (types[0].from_float(x, blocks, row) != 0 || types[0].to_float(blocks, restored, row) != 0) {
        return 1;
    }
    printf("%s: %d bytes for %d floats\n", types[0].name, (int)sizeof blocks, row);
    printf("codes %d %d %d, restored %g %g %g\n", blocks[0].codes[0], blocks[1].codes[16], blocks[2].codes[31],
           restored[0], restored[48], restored[95]);
    return 0;
}
