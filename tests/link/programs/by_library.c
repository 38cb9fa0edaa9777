#include <stdint.h>

int encode(int8_t *codes);

int main(void) {
    int8_t y[3];
    return encode(y) && y[2] == 127 ? 0 : 1;
}
