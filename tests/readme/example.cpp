#include <qdq/qdq.h>

#include <cstdio>

int main() {
    float weights[2][3] = {{0.5f, -1.0f, 0.25f}, {4.0f, 2.0f, -3.0f}};
    float scales[2] = {1.0f / 127, 4.0f / 127};  // one for each row
    int8_t codes[2][3];
    const int64_t shape[] = {2, 3}, channels[] = {2};
    const qdq_tensor x{weights, QDQ_F32, 2, shape, nullptr, {}};
    const qdq_tensor scale{scales, QDQ_F32, 1, channels, nullptr, {}};
    const qdq_tensor y{codes, QDQ_I8, 2, shape, nullptr, {}};
    qdq_options options{};
    options.axis = 0;
    if (qdq_quantize(&x, &scale, nullptr, &y, &options) != QDQ_OK) {
        std::fprintf(stderr, "%s\n", qdq_last_error());
        return 1;
    }
    for (const auto &row : codes) {
        std::printf("%4d %4d %4d\n", row[0], row[1], row[2]);
    }
}
