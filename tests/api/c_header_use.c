/* qdq.h in plain C: every type and function named once. Built as C99 and as C11, each under its own name. */
#include <qdq/qdq.h>

#include <stddef.h>

/* 0 on success, else the number of the step that failed. */
int QDQ_C_HEADER_USE(void);

static void run_in_order(void *context, int64_t count, qdq_task task, void *task_context) {
    int64_t i;
    (void)context;
    for (i = 0; i < count; i++) {
        task(i, task_context);
    }
}

int QDQ_C_HEADER_USE(void) {
    const float x[4] = {-1.0f, 0.0f, 0.5f, 1.0f};
    float restored[4] = {0};
    float scale = 0.5f;
    int8_t codes[4] = {0};
    const int64_t shape[2] = {2, 2}, strides[2] = {2, 1};
    qdq_tensor x_view = {(void *)x, QDQ_F32, 2, shape, strides, {QDQ_DEVICE_HOST, 0, 0}};
    qdq_tensor scale_view = {&scale, QDQ_F32, 0, NULL, NULL, {QDQ_DEVICE_HOST, 0, 0}};
    qdq_tensor codes_view = {codes, QDQ_I8, 2, shape, NULL, {QDQ_DEVICE_HOST, 0, 0}};
    qdq_tensor restored_view = {restored, QDQ_F32, 2, shape, NULL, {QDQ_DEVICE_HOST, 0, 0}};
    qdq_options options = {QDQ_DIVIDE,
                           QDQ_ZP_AFTER_ROUNDING,
                           QDQ_ZP_SUBTRACT,
                           QDQ_NEAREST_EVEN,
                           0,
                           0,
                           0,
                           0,
                           0,
                           QDQ_LOW_FIRST,
                           NULL,
                           NULL,
                           QDQ_STORES_BY_SIZE,
                           QDQ_NAN_LOWEST,
                           0,
                           0,
                           0,
                           QDQ_SCALES_TILED_128X4,
                           QDQ_GLOBAL_NONE,
                           NULL};
    qdq_plan plan;
    int i;

    qdq_set_num_threads(1);
    qdq_set_parallel_for(run_in_order, NULL);
    qdq_set_parallel_for(NULL, NULL);
    if (qdq_quantize(&x_view, &scale_view, NULL, &codes_view, &options) != QDQ_OK) {
        return 1;
    }
    if (qdq_dequantize(&codes_view, &scale_view, NULL, &restored_view, NULL) != QDQ_OK) {
        return 2;
    }
    for (i = 0; i < 4; i++) {
        if (restored[i] != x[i]) {
            return 3;
        }
    }
    if (qdq_plan_quantize(&plan, &x_view, &scale_view, NULL, &codes_view, NULL) != QDQ_OK) {
        return 4;
    }
    if (qdq_run(&plan, x, codes, NULL) != QDQ_OK) {
        return 5;
    }
    if (qdq_plan_dequantize(&plan, &codes_view, &scale_view, NULL, &restored_view, NULL) != QDQ_OK) {
        return 6;
    }
    if (qdq_run(&plan, codes, restored, NULL) != QDQ_OK) {
        return 7;
    }
    if (qdq_status_string(QDQ_OK) == NULL || qdq_last_error() == NULL) {
        return 8;
    }
    if (qdq_target_count() < 1 || qdq_target_name(0) == NULL || qdq_target_usable(-1) != 0) {
        return 9;
    }
    if (qdq_current_target() == NULL || qdq_force_target(NULL) != QDQ_OK) {
        return 10;
    }
    return 0;
}
