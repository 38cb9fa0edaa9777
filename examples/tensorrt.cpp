// The examples of TensorRT's operator reference: an activation there and back, and weights in blocks of int4.
#include <qdq/compat/tensorrt.hpp>

#include "print.hpp"

using namespace qdq::tensorrt;

static int run(const char *title, INetworkDefinition &network, ITensor &output, std::span<float> y,
               std::int64_t columns) {
    network.markOutput(output);
    network.setTensorAddress(output.getName(), y.data());
    if (const qdq::result done = network.run(); !done) {
        std::fprintf(stderr, "%s\n", done.message());
        return 1;
    }
    print(title, std::span<const float>(y), columns);
    return 0;
}

static int activation() {
    const float x[] = {0.56f, 0.89f, 1.4f, -0.56f, 0.39f, 6.0f, 0.67f, 0.11f, -3.6f};
    const float scale_value = 1.0f / 127;
    float y[9];
    INetworkDefinition network;
    ITensor *in1 = network.addInput("input1", DataType::kFLOAT, Dims{4, {1, 1, 3, 3}});
    IConstantLayer *scale = network.addConstant(Dims{1, {1}}, Weights{DataType::kFLOAT, &scale_value, 1});
    IQuantizeLayer *quantize = network.addQuantize(*in1, *scale->getOutput(0));
    quantize->setAxis(3);
    IDequantizeLayer *dequantize = network.addDequantize(*quantize->getOutput(0), *scale->getOutput(0));
    dequantize->setAxis(3);
    network.setInputTensorAddress("input1", x);
    return run("activation", network, *dequantize->getOutput(0), y, 3);
}

static int weights_in_blocks() {
    const float weights[] = {1, 1, 2, 2, 3, 3, 4, 4, 1.1f, 1.2f, 2.1f, 2.2f, 3.1f, 3.2f, 4.1f, 4.2f,
                             4, 4, 5, 5, 6, 6, 7, 7, 4.1f, 4.2f, 5.1f, 5.2f, 6.1f, 6.2f, 7.1f, 7.2f};
    const float scales[] = {1, 1, 2, 2, 3, 3, 4, 4, 4, 4, 5, 5, 6, 6, 7, 7};
    float y[32];
    INetworkDefinition network;
    IConstantLayer *w = network.addConstant(Dims{2, {4, 8}}, Weights{DataType::kFLOAT, weights, 32});
    IConstantLayer *scale = network.addConstant(Dims{2, {2, 8}}, Weights{DataType::kFLOAT, scales, 16});
    IQuantizeLayer *quantize = network.addQuantize(*w->getOutput(0), *scale->getOutput(0));
    quantize->setToType(DataType::kINT4);
    IDequantizeLayer *dequantize = network.addDequantize(*quantize->getOutput(0), *scale->getOutput(0));
    return run("weights in blocks", network, *dequantize->getOutput(0), y, 8);
}

int main() { return activation() + weights_in_blocks(); }
