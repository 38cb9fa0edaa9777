// The samples of TensorRT's operator reference, line by line, in TensorRT's steps: an activation there and back, and
// weights in blocks of int4.
#include <qdq/compat/tensorrt.hpp>

#include "print.hpp"

#include <memory>
#include <vector>

using namespace qdq::tensorrt;

class Logger : public ILogger {
    void log(Severity, char const *message) noexcept override { std::fprintf(stderr, "%s\n", message); }
};

static Logger logger;
static const std::unique_ptr<IBuilder> builder{createInferBuilder(logger)};

static std::int64_t volume(const Dims &dims) {
    std::int64_t count = 1;
    for (std::int32_t d = 0; d < dims.nbDims; d++) {
        count *= dims.d[d];
    }
    return count;
}

// What the reference leaves to its reader: an engine of the network, and a run of it.
static void run(const char *title, const INetworkDefinition &network, const float *input) {
    const std::unique_ptr<IBuilderConfig> config{builder->createBuilderConfig()};
    const std::unique_ptr<ICudaEngine> engine{builder->buildEngineWithConfig(network, *config)};
    const std::unique_ptr<IExecutionContext> context{engine != nullptr ? engine->createExecutionContext() : nullptr};
    if (context == nullptr) {
        return;
    }
    const ITensor &output = *network.getOutput(0);
    const Dims dims = output.getDimensions();
    std::vector<float> y(static_cast<std::size_t>(volume(dims)));
    if (network.getNbInputs() > 0) {
        context->setInputTensorAddress(network.getInput(0)->getName(), input);
    }
    context->setTensorAddress(output.getName(), y.data());
    if (context->enqueueV3(nullptr)) {
        print(title, std::span<const float>(y), dims.d[dims.nbDims - 1]);
    }
}

static void activation() {
    const std::unique_ptr<INetworkDefinition> network{builder->createNetworkV2(0)};  // added: the reference has one
    const float value = 1.0f / 127;  // added: an array of the program's, where NumPy makes one
    ITensor *in1 = network->addInput("input1", DataType::kFLOAT, Dims4(1, 1, 3, 3));
    IConstantLayer *scale = network->addConstant(Dims{1, {1}}, Weights{DataType::kFLOAT, &value, 1});
    IQuantizeLayer *quantize = network->addQuantize(*in1, *scale->getOutput(0), DataType::kINT8);
    quantize->setAxis(3);
    IDequantizeLayer *dequantize =
        network->addDequantize(*quantize->getOutput(0), *scale->getOutput(0), DataType::kFLOAT);
    dequantize->setAxis(3);
    network->markOutput(*dequantize->getOutput(0));
    const float input[] = {0.56f, 0.89f, 1.4f, -0.56f, 0.39f, 6.0f, 0.67f, 0.11f, -3.6f};
    run("activation", *network, input);  // changed: inputs and outputs are set by address, not put into dictionaries
}

static void weights_in_blocks() {
    const std::unique_ptr<INetworkDefinition> network{builder->createNetworkV2(0)};  // added: the reference has one
    // added: two arrays of the program's, where NumPy makes them
    const float weights[] = {1, 1, 2, 2, 3, 3, 4, 4, 1.1f, 1.2f, 2.1f, 2.2f, 3.1f, 3.2f, 4.1f, 4.2f,
                             4, 4, 5, 5, 6, 6, 7, 7, 4.1f, 4.2f, 5.1f, 5.2f, 6.1f, 6.2f, 7.1f, 7.2f};
    const float scales[] = {1, 1, 2, 2, 3, 3, 4, 4, 4, 4, 5, 5, 6, 6, 7, 7};
    IConstantLayer *w = network->addConstant(Dims2(4, 8), Weights{DataType::kFLOAT, weights, 32});
    IConstantLayer *scale = network->addConstant(Dims2(2, 8), Weights{DataType::kFLOAT, scales, 16});
    IQuantizeLayer *quantize = network->addQuantize(*w->getOutput(0), *scale->getOutput(0), DataType::kINT4);
    IDequantizeLayer *dequantize =
        network->addDequantize(*quantize->getOutput(0), *scale->getOutput(0), DataType::kFLOAT);
    network->markOutput(*dequantize->getOutput(0));
    run("weights in blocks", *network, nullptr);  // changed: the same
}

int main() {
    activation();
    weights_in_blocks();
}
