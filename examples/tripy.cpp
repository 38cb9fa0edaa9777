// The samples of nvtripy's documents of quantize and dequantize, line by line.
#include <qdq/compat/tripy.hpp>

#include "print.hpp"

#include <vector>

namespace tp = qdq::tripy;

static void quantize_per_tensor() {
    const tp::Tensor input({{0, 1, 2}, {3, 4, 5}}, tp::float32);  // changed: no arange() and reshape()
    const auto scale = 0.99872;
    const auto output = tp::quantize(input, scale, tp::int8).value();
    print("quantize per tensor", output);
}

static void quantize_per_channel() {
    const tp::Tensor input({{0, 1, 2}, {3, 4, 5}}, tp::float32);
    const auto scale = {0.99872, 0.96125};
    const auto output = tp::quantize(input, scale, tp::int8, 0).value();
    print("quantize per channel", output);
}

static void dequantize_per_tensor() {
    const tp::Tensor input({1, 2, 3}, tp::int8);
    const auto scale = 0.99872;
    const auto output = tp::dequantize(input, scale, tp::float32).value();
    print("dequantize per tensor", output);
}

static void dequantize_per_channel() {
    const tp::Tensor input({{1, 2, 3}, {4, 5, 6}}, tp::int8);
    const auto scale = {0.99872, 0.96125};
    const auto output = tp::dequantize(input, scale, tp::float32, 0).value();
    print("dequantize per channel", output);
}

// Both documents have this one.
static void in_blocks() {
    const tp::Tensor input({{0, 1}, {2, 3}}, tp::float32);
    const std::vector<std::vector<double>> scale{{1.0, 1.0}};  // changed: a list of lists has no type of its own
    const auto quant = tp::quantize(input, scale, tp::int4).value();
    const auto output = tp::dequantize(quant, scale, tp::float32).value();
    print("in blocks", output);
}

int main() {
    quantize_per_tensor();
    quantize_per_channel();
    dequantize_per_tensor();
    dequantize_per_channel();
    in_blocks();
}
