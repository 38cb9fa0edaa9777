/* One row, called through the dispatcher, which says how to add another. */
#include "quantize_three.h"

#include <string.h>

int main(void) {
    int8_t y[3];
    if (quantize_three(QDQ_I8, y) != QDQ_OK || y[0] != 1 || y[1] != -2 || y[2] != 127) {
        return 1;
    }
    if (quantize_three(QDQ_U8, y) != QDQ_UNSUPPORTED ||
        !strstr(qdq_last_error(), "quantize_f32_u8 was not picked; KERNELS of qdq_link_kernels(one_row) adds it")) {
        return 2;
    }
    return 0;
}
