#include <qdq/qdq.hpp>

#include <array>
#include <cstdio>

int main() {
    const std::array<float, 4> x{-1.0f, 0.2f, 0.5f, 300.0f};
    const float scale = 0.5f;
    std::array<int8_t, 4> y{};
    const qdq::result done = qdq::quantize(x, qdq::scalar(scale), y);
    if (!done) {
        std::puts(done.message());
        return 1;
    }
    return y == std::array<int8_t, 4>{-2, 0, 1, 127} ? 0 : 2;
}
