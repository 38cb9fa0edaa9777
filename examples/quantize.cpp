// Quantizes the rows of a matrix to int8, each with a scale of its own, and restores them.
#include <qdq/qdq.hpp>

#include <array>
#include <cstdio>

int main() {
    const std::array<float, 6> weights{0.5f, -1.0f, 0.25f, 4.0f, 2.0f, -3.0f};
    const std::array<float, 2> scales{1.0f / 127, 4.0f / 127};
    std::array<int8_t, 6> codes{};
    std::array<float, 6> restored{};
    const qdq::options by_row{.axis = 0};

    const qdq::result done = qdq::quantize({weights, {2, 3}}, scales, {codes, {2, 3}}, by_row).and_then([&] {
        return qdq::dequantize({codes, {2, 3}}, scales, {restored, {2, 3}}, by_row);
    });
    if (!done) {
        std::fprintf(stderr, "%s\n", done.message());
        return 1;
    }
    for (size_t i = 0; i < codes.size(); i++) {
        std::printf("%4d %8.5f\n", codes[i], restored[i]);
    }
}
