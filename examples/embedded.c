/* A static program without a heap: a plan made once, and run for each frame of a signal on the calling thread alone. */
#include <qdq/qdq.h>

#include <stdio.h>

enum { frame_length = 256, frames = 4 };

static float samples[frame_length];
static int8_t codes[frame_length];
static qdq_plan plan;

static void read_frame(int frame) {
    for (int i = 0; i < frame_length; i++) {
        samples[i] = (float)((i * 37 + frame * 101) % 256 - 128) / 64;
    }
}

static int sum_of_codes(void) {
    int sum = 0;
    for (int i = 0; i < frame_length; i++) {
        sum += codes[i];
    }
    return sum;
}

int main(void) {
    const float step = 2.0f / 127;
    const int64_t shape[1] = {frame_length};
    const qdq_tensor x = {.dtype = QDQ_F32, .rank = 1, .shape = shape};
    const qdq_tensor scale = {.data = (void *)&step, .dtype = QDQ_F32};
    const qdq_tensor y = {.dtype = QDQ_I8, .rank = 1, .shape = shape};

    qdq_set_num_threads(1);
    if (qdq_plan_quantize(&plan, &x, &scale, NULL, &y, NULL) != QDQ_OK) {
        puts(qdq_last_error());
        return 1;
    }
    for (int frame = 0; frame < frames; frame++) {
        read_frame(frame);
        if (qdq_run(&plan, samples, codes, NULL) != QDQ_OK) {
            puts(qdq_last_error());
            return 1;
        }
        printf("frame %d: first code %d, sum %d\n", frame, codes[0], sum_of_codes());
    }
    return 0;
}
