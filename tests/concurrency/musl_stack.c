/* Calls on threads of musl that were asked to have 64 KiB of stack, and how much of a painted one each takes. The
 * library is the one that is compiled for glibc: it needs nothing that musl has not. */
#include <qdq/qdq.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rows = 130, columns = 132, elements = rows * columns, painted = 256 << 10, paint = 0xa5 };

static char x[elements * 4], y[elements * 4], stack[painted] __attribute__((aligned(4096)));
static float scales[elements];
static int32_t zero_points[elements];

struct call {
    const char *target;
    int quantizes;
    qdq_dtype float_type, stored_type;
    int64_t scale_shape[2], strides[2]; /* of x: what is transposed is gathered; packed types are dense */
    qdq_status status;
};

static void *make(void *given) {
    struct call *c = given;
    const int64_t shape[2] = {rows, columns};
    const int takes_zero_point = c->stored_type != QDQ_F8E4M3;
    const int packed = qdq_dtype_bits(c->quantizes ? c->float_type : c->stored_type) < 8;
    const qdq_tensor from = {x,  c->quantizes ? c->float_type : c->stored_type, 2, shape, packed ? NULL : c->strides,
                             {0}},
                     scale = {scales, QDQ_F32, 2, c->scale_shape, NULL, {0}},
                     zero_point = {zero_points, QDQ_I32, 2, c->scale_shape, NULL, {0}},
                     to = {y, c->quantizes ? c->stored_type : c->float_type, 2, shape, NULL, {0}};
    c->status =
        (c->quantizes ? qdq_quantize : qdq_dequantize)(&from, &scale, takes_zero_point ? &zero_point : NULL, &to, NULL);
    return NULL;
}

static void run_on_thread(pthread_attr_t *attributes, struct call *c) {
    pthread_t thread;
    c->status = QDQ_OUT_OF_MEMORY;
    if (pthread_create(&thread, attributes, make, c) != 0 || pthread_join(thread, NULL) != 0 || c->status != QDQ_OK) {
        fprintf(stderr, "%s: %s: %s\n", c->target, qdq_status_string(c->status), qdq_last_error());
        exit(1);
    }
}

static size_t taken_by(struct call *c) {
    pthread_attr_t attributes;
    size_t untouched = 0;
    memset(stack, paint, painted);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, painted);
    run_on_thread(&attributes, c);
    while (untouched < painted && (unsigned char)stack[untouched] == paint) {
        untouched++;
    }
    return painted - untouched;
}

static void run_on_small_thread(struct call *c) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    run_on_thread(&attributes, c);
}

int main(void) {
    const qdq_dtype stored_types[] = {QDQ_I8, QDQ_I16, QDQ_I32, QDQ_I4, QDQ_U2, QDQ_F8E4M3};
    const int64_t scale_shapes[][2] = {{1, 1}, {rows, 1}, {1, columns}, {13, 7}};
    const int64_t strides[][2] = {{columns, 1}, {1, rows}};
    size_t most = 0;
    for (int i = 0; i < elements; i++) {
        scales[i] = 0.25f;
    }
    for (int32_t target = 0; target < qdq_target_count(); target++) {
        if (!qdq_target_usable(target) || qdq_target_device(target) != QDQ_DEVICE_HOST ||
            qdq_force_target(qdq_target_name(target)) != QDQ_OK) {
            continue;
        }
        for (int i = 0; i < 2 * 6 * 4 * 2; i++) {
            struct call c = {qdq_target_name(target), i % 2, QDQ_F32, stored_types[i / 2 % 6], {0}, {0}, QDQ_OK};
            memcpy(c.scale_shape, scale_shapes[i / 12 % 4], sizeof c.scale_shape);
            memcpy(c.strides, strides[i / 48], sizeof c.strides);
            const size_t taken = taken_by(&c);
            most = taken > most ? taken : most;
            if (taken > QDQ_STACK_BYTES) {
                fprintf(stderr, "%s: call %d takes %zu bytes, more than %d\n", c.target, i, taken, QDQ_STACK_BYTES);
                return 1;
            }
            run_on_small_thread(&c);
        }
    }
    printf("at most %zu bytes\n", most);
    return most > 16 << 10 ? 0 : 1;
}
