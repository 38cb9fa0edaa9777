/* A call that rounds stochastically. A program that names kernels, and not these, gets a message that says what adds
 * them. */
#include <qdq/qdq.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    static const int64_t shape[1] = {3};
    static float values[3] = {1, -1, 100}, half = 0.5f;
    static int8_t codes[3];
    const char *const message =
        "qdq_quantize: options: rounding 5 was not picked; STOCHASTIC and KERNELS of qdq_link_kernels(" PROGRAM ")";
    qdq_tensor x = {values, QDQ_F32, 1, shape, NULL, {QDQ_DEVICE_HOST, 0, 0}};
    qdq_tensor scale = {&half, QDQ_F32, 0, NULL, NULL, {QDQ_DEVICE_HOST, 0, 0}};
    qdq_tensor y = {codes, QDQ_I8, 1, shape, NULL, {QDQ_DEVICE_HOST, 0, 0}};
    qdq_options options;
    qdq_status status;
    memset(&options, 0, sizeof(options));
    options.rounding = QDQ_STOCHASTIC;
    status = qdq_quantize(&x, &scale, NULL, &y, &options);
    if (strlen(PICKED) > 0) {
        return status == QDQ_OK && codes[0] == 2 && codes[1] == -2 && codes[2] == 127 ? 0 : 1;
    }
    printf("%s\n", qdq_last_error());
    return status == QDQ_UNSUPPORTED && strstr(qdq_last_error(), message) && codes[0] == 0 ? 0 : 1;
}
