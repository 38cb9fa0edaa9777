/* One call of the dispatcher: three values, one scale. */
#include <qdq/qdq.h>

#include <stddef.h>

static qdq_status quantize_three(qdq_dtype to, void *codes) {
    static const int64_t shape[1] = {3};
    static float values[3] = {0.5f, -1.0f, 100.0f}, half = 0.5f;
    qdq_tensor x = {values, QDQ_F32, 1, shape, NULL, {QDQ_DEVICE_HOST, 0, 0}};
    qdq_tensor scale = {&half, QDQ_F32, 0, NULL, NULL, {QDQ_DEVICE_HOST, 0, 0}};
    qdq_tensor y = {codes, to, 1, shape, NULL, {QDQ_DEVICE_HOST, 0, 0}};
    return qdq_quantize(&x, &scale, NULL, &y, NULL);
}
