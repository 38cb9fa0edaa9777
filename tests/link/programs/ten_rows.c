/* A program does not name what it links once more: one call is enough of one. */
#include "quantize_three.h"

int main(void) {
    int8_t y[3];
    return quantize_three(QDQ_I8, y) == QDQ_OK && y[2] == 127 ? 0 : 1;
}
