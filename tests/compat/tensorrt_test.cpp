// TensorRT's quantize and dequantize layers: their argument rules and agreement with the oracle.
// docs/frontends.md names these tests.
#include "allocations.h"
#include "cases.h"

#include "conformance/fp_environment.h"
#include "conformance/reference/scales.h"

#include <qdq/compat/tensorrt.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>

namespace compat_test {
namespace {

using namespace qdq::tensorrt;

constexpr DataType every_type[] = {DataType::kFLOAT, DataType::kHALF,  DataType::kINT8, DataType::kINT32,
                                   DataType::kBOOL,  DataType::kUINT8, DataType::kFP8,  DataType::kBF16,
                                   DataType::kINT64, DataType::kINT4,  DataType::kFP4,  DataType::kE8M0};
constexpr DataType floating_types[] = {DataType::kFLOAT, DataType::kHALF, DataType::kBF16};
constexpr DataType stored_types[] = {DataType::kINT8, DataType::kINT4, DataType::kFP4, DataType::kFP8};

template<size_t count> bool contains(const DataType (&list)[count], DataType type) {
    return std::ranges::find(list, type) != std::end(list);
}

Dims dims(const dimensions &shape) {
    Dims all{static_cast<int32_t>(shape.size()), {}};
    std::ranges::copy(shape, all.d);
    return all;
}

std::string name_of(DataType type) {
    constexpr const char *names[] = {"kFLOAT", "kHALF", "kINT8",  "kINT32", "kBOOL", "kUINT8",
                                     "kFP8",   "kBF16", "kINT64", "kINT4",  "kFP4",  "kE8M0"};
    return std::string("DataType ") + names[static_cast<size_t>(type)] + " is not";
}

int64_t volume(const dimensions &shape) { return qdq::compat::element_count(shape); }

// 1.0 of every element of a floating type, or as good as any codes.
const void *ones(DataType type) {
    static const std::vector<float> f32(4096, 1.0f);
    static const std::vector<uint16_t> f16(4096, 0x3c00), bf16(4096, 0x3f80);
    return type == DataType::kHALF   ? static_cast<const void *>(f16.data())
           : type == DataType::kBF16 ? static_cast<const void *>(bf16.data())
                                     : f32.data();
}

struct operand {
    dimensions shape;
    DataType type = DataType::kFLOAT;
    const void *values = nullptr;  // ones, unless given
    bool is_constant = true;
};

ITensor &add(INetworkDefinition &network, const char *name, const operand &what) {
    const void *values = what.values != nullptr ? what.values : ones(what.type);
    if (what.is_constant) {
        return *network.addConstant(dims(what.shape), {what.type, values, volume(what.shape)})->getOutput(0);
    }
    ITensor *tensor = network.addInput(name, what.type, dims(what.shape));
    network.setInputTensorAddress(name, values);
    return *tensor;
}

// A network of one layer on an input "x", with an output "y".
struct one_layer {
    bool quantizes = true;
    operand x{{2, 3}, quantizes ? DataType::kFLOAT : DataType::kINT8, nullptr, false};
    operand scale{};
    std::optional<operand> zero_point{};
    DataType to = quantizes ? DataType::kINT8 : DataType::kFLOAT;
    int32_t axis = -1;
    Dims block{};

    qdq::result run(void *y) const {
        INetworkDefinition network;
        ITensor &data = add(network, "x", x), &scales = add(network, "scale", scale);
        ITensor *zero = zero_point ? &add(network, "zeroPt", *zero_point) : nullptr;
        return quantizes ? run(network, *network.addQuantize(data, scales, to), zero, y)
                         : run(network, *network.addDequantize(data, scales, to), zero, y);
    }

private:
    template<typename Layer> qdq::result run(INetworkDefinition &network, Layer &layer, ITensor *zero, void *y) const {
        layer.setAxis(axis);
        EXPECT_TRUE(layer.setBlockShape(block));
        if (zero != nullptr) {
            layer.setInput(2, *zero);
        }
        layer.getOutput(0)->setName("y");
        network.markOutput(*layer.getOutput(0));
        EXPECT_TRUE(network.setTensorAddress("y", y));
        return network.run();
    }
};

void expect_runs(const one_layer &what) {
    std::vector<uint8_t> y(16384);
    const qdq::result done = what.run(y.data());
    EXPECT_TRUE(done) << done.message();
}

// Refused, by the layer's name, and nothing is written.
void expect_refused(const std::vector<std::string> &words, const one_layer &what) {
    std::vector<uint8_t> y(256, 77);
    EXPECT_TRUE(refused(what.run(y.data()), words));
    EXPECT_EQ(y, std::vector<uint8_t>(256, 77));
}

TEST(TensorRT, layers_have_the_documented_defaults) {
    INetworkDefinition network;
    ITensor &scale = add(network, "", {});
    IQuantizeLayer *q = network.addQuantize(add(network, "x", {{4}, DataType::kFLOAT, nullptr, false}), scale);
    EXPECT_EQ(q->getToType(), DataType::kINT8);
    EXPECT_EQ(q->getAxis(), -1);
    IDequantizeLayer *dq = network.addDequantize(*q->getOutput(0), scale);
    EXPECT_EQ(dq->getToType(), DataType::kFLOAT);
    EXPECT_EQ(dq->getAxis(), -1);
    EXPECT_EQ(dq->getInput(0), q->getOutput(0));
    EXPECT_EQ(dq->getInput(1), &scale);
    EXPECT_EQ(dq->getInput(2), nullptr);
    EXPECT_EQ(q->getOutput(1), nullptr);
    EXPECT_STREQ(q->getName(), "(Unnamed Layer* 1) [Quantize]");
    EXPECT_STREQ(q->getOutput(0)->getName(), "(Unnamed Layer* 1) [Quantize]_output");
}

TEST(TensorRT, quantizes_float_half_and_bf16_to_int8_int4_fp4_and_fp8) {
    for (DataType from : every_type) {
        for (DataType to : every_type) {
            one_layer what;
            what.x.type = what.scale.type = from;
            what.to = to;
            if (contains(floating_types, from) && contains(stored_types, to)) {
                expect_runs(what);
            } else if (!contains(floating_types, from)) {
                expect_refused({"y", "input", name_of(from), "kFLOAT, kHALF, kBF16"}, what);
            } else {
                expect_refused({"y", "toType", name_of(to), "kINT8, kINT4, kFP4, kFP8"}, what);
            }
        }
    }
}

TEST(TensorRT, dequantizes_int8_int4_fp4_and_fp8_to_float_half_and_bf16) {
    for (DataType from : every_type) {
        for (DataType to : every_type) {
            one_layer what{.quantizes = false};
            what.x.type = from;
            what.to = what.scale.type = to;
            if (contains(stored_types, from) && contains(floating_types, to)) {
                expect_runs(what);
            } else if (!contains(floating_types, to)) {
                expect_refused({"y", "toType", name_of(to), "kFLOAT, kHALF, kBF16"}, what);
            } else {
                expect_refused({"y", "input", name_of(from), "kINT8, kINT4, kFP4, kFP8"}, what);
            }
        }
    }
}

// Every other rule is the same for both layers.
class TensorRTLayer : public testing::TestWithParam<bool> {
protected:
    one_layer what{.quantizes = GetParam()};
};
INSTANTIATE_TEST_SUITE_P(, TensorRTLayer, testing::Bool(),
                         [](const auto &info) { return info.param ? "quantize" : "dequantize"; });

TEST_P(TensorRTLayer, wants_a_scale_of_the_floating_type) {
    for (DataType type : every_type) {
        if (type == DataType::kFLOAT) {
            continue;
        }
        what.scale.type = type;
        expect_refused({"y", "scale", name_of(type)}, what);
    }
}

TEST_P(TensorRTLayer, refuses_an_input_without_dimensions) {
    what.x.shape = {};
    expect_refused({"y", "input", "no dimensions"}, what);
}

TEST_P(TensorRTLayer, refuses_more_than_2147483647_elements) {
    what.x.shape = {2, int64_t{1} << 30};
    expect_refused({"y", "\"x\"", "2147483647"}, what);
    what.x.shape = {int64_t{1} << 62, int64_t{1} << 62};
    expect_refused({"y", "\"x\"", "2147483647"}, what);
}

TEST_P(TensorRTLayer, wants_a_constant_scale) {
    what.scale.is_constant = false;
    expect_refused({"y", "scale", "constant"}, what);
}

TEST_P(TensorRTLayer, takes_one_scale_whatever_the_axis) {
    for (const dimensions &shape : {dimensions{}, {1}}) {
        what.scale.shape = shape;
        for (what.axis = -1; what.axis < 5; what.axis++) {
            expect_runs(what);
        }
    }
}

TEST_P(TensorRTLayer, takes_a_scale_for_each_element_along_the_axis) {
    for (what.axis = 0; what.axis < 2; what.axis++) {
        what.scale.shape = {what.x.shape[static_cast<size_t>(what.axis)]};
        expect_runs(what);
        for (int64_t wrong : {0, 4, 6}) {
            what.scale.shape = {wrong};
            expect_refused({"y", "scale", std::to_string(wrong)}, what);
        }
    }
}

TEST_P(TensorRTLayer, wants_an_axis_of_input_for_more_than_one_scale) {
    what.scale.shape = {3};
    for (int32_t axis : {-1, -2, 2, 99, INT32_MIN, INT32_MAX}) {
        what.axis = axis;
        expect_refused({"y", "axis", std::to_string(axis)}, what);
    }
}

TEST_P(TensorRTLayer, takes_blocks_for_int4_fp8_and_fp4_only) {
    what.scale.shape = {2, 3};
    for (DataType type : stored_types) {
        (what.quantizes ? what.to : what.x.type) = type;
        if (type != DataType::kINT8) {
            expect_runs(what);
        } else {
            expect_refused({"y", "blocks", "kINT4, kFP8 and kFP4"}, what);
        }
    }
}

// 2^-1 of every block; NaN is no scale, and other types and forms take none.
TEST_P(TensorRTLayer, takes_scales_of_e8m0_for_blocks_of_fp8) {
    const std::vector<uint8_t> halves(64, 126), nan(64, 255);
    (what.quantizes ? what.to : what.x.type) = DataType::kFP8;
    what.x.shape = {2, 32};
    what.scale = {{2, 1}, DataType::kE8M0, halves.data()};
    expect_runs(what);
    what.scale.values = nan.data();
    expect_refused({"scale", "above 0"}, what);
    what.scale = {{}, DataType::kE8M0, halves.data()};
    expect_refused({"scale: DataType kE8M0 is not the"}, what);
    what.scale = {{2, 1}, DataType::kE8M0, halves.data()};
    for (DataType type : {DataType::kINT4, DataType::kFP4, DataType::kINT8}) {
        (what.quantizes ? what.to : what.x.type) = type;
        expect_refused({"scale: DataType kE8M0 is not the"}, what);
    }
}

TEST_P(TensorRTLayer, takes_blocks_of_a_shape) {
    (what.quantizes ? what.to : what.x.type) = DataType::kFP8;
    what.x.shape = {4, 6};
    what.block = Dims2(2, 3);
    what.scale.shape = {2, 2};
    expect_runs(what);
    what.block = Dims2(-1, 6);
    what.scale.shape = {1, 1};
    expect_runs(what);
    for (const Dims &block : {Dims{1, {2}}, Dims{3, {1, 2, 3}}, Dims{2, {3, 3}}, Dims{2, {2, 2}}}) {
        what.block = block;
        expect_refused({"y: blockShape: blocks of", "[4, 6]", "[1, 1]"}, what);
    }
    what.block = Dims2(4, 6);
    (what.quantizes ? what.to : what.x.type) = DataType::kINT8;
    expect_refused({"blockShape: blocks, [4, 6], are for kINT4, kFP8 and kFP4"}, what);
}

TEST_P(TensorRTLayer, cuts_the_last_or_the_last_but_one_dimension_evenly) {
    (what.quantizes ? what.to : what.x.type) = DataType::kINT4;
    what.x.shape = {2, 4, 6};
    for (const dimensions &shape : {dimensions{2, 4, 6}, {2, 2, 6}, {2, 1, 6}, {2, 4, 3}, {2, 4, 2}, {2, 4, 1}}) {
        what.scale.shape = shape;
        expect_runs(what);
    }
    for (const dimensions &shape : {dimensions{1, 4, 6}, {2, 2, 3}, {2, 3, 6}, {2, 4, 4}, {2, 8, 6}, {1, 1, 1}}) {
        what.scale.shape = shape;
        expect_refused({"y", "scale", "[2, 4, 6]", qdq::compat::shape_text(shape).c_str()}, what);
    }
}

TEST_P(TensorRTLayer, refuses_a_scale_of_another_rank) {
    what.x.shape = {2, 3, 4};
    for (const dimensions &shape : {dimensions{3, 4}, {1, 1}, {1, 2, 3, 4}}) {
        what.scale.shape = shape;
        expect_refused({"y", "scale", std::to_string(shape.size()) + " dimensions", "3"}, what);
    }
}

TEST_P(TensorRTLayer, wants_scales_above_0) {
    const float inf = std::numeric_limits<float>::infinity();
    for (float value : {1e-45f, 1e-10f, 3e38f, inf}) {
        what.scale.values = &value;
        expect_runs(what);
    }
    for (float value : {0.0f, -0.0f, -1.0f, -inf, NAN}) {
        what.scale.values = &value;
        expect_refused({"y", "scale", "above 0"}, what);
    }
    (what.quantizes ? what.x.type : what.to) = DataType::kHALF;
    what.scale.type = DataType::kHALF;
    for (uint16_t code : {0x0000, 0x8000, 0xbc00, 0x7c01, 0x7e00, 0xfe00}) {
        what.scale.values = &code;
        expect_refused({"y", "scale", "above 0"}, what);
    }
    (what.quantizes ? what.x.type : what.to) = DataType::kBF16;
    what.scale.type = DataType::kBF16;
    for (uint16_t code : {0x0000, 0x8000, 0xbf80, 0x7f81, 0x7fc0}) {
        what.scale.values = &code;
        expect_refused({"y", "scale", "above 0"}, what);
    }
}

TEST_P(TensorRTLayer, takes_a_zero_point_of_zeros_only) {
    std::vector<float> values{0.0f, -0.0f, 0.0f};
    what.axis = 1;
    what.scale.shape = {3};
    what.zero_point = operand{{3}, DataType::kFLOAT, values.data()};
    expect_runs(what);
    for (float value : {1.0f, -1.0f, 1e-45f, NAN}) {
        values[2] = value;
        expect_refused({"y", "zeroPt", "not 0"}, what);
    }
    // In any floating-point environment: subnormals are not 0, and signalling NaNs raise nothing.
    for (uint32_t bits : {0x00000001u, 0x807fffffu, 0x7f800001u}) {
        std::memcpy(&values[2], &bits, sizeof bits);
        for (const fp::environment &environment : fp::hostile_environments()) {
            SCOPED_TRACE(environment.name);
            const uint64_t before = fp::control();
            fp::set_control(environment.control);
            expect_refused({"y", "zeroPt", "not 0"}, what);
            fp::set_control(before);
        }
    }
}

TEST_P(TensorRTLayer, wants_a_zero_point_of_f32_of_the_shape_of_scale_and_constant) {
    const std::vector<float> zeros(8);
    what.axis = 1;
    what.scale.shape = {3};
    what.zero_point = operand{{3}, DataType::kHALF, zeros.data()};
    expect_refused({"y", "zeroPt", "kFLOAT"}, what);
    for (const dimensions &shape : {dimensions{}, {1}, {2}, {1, 3}}) {
        what.zero_point = operand{shape, DataType::kFLOAT, zeros.data()};
        expect_refused({"y", "zeroPt", "[3]"}, what);
    }
    what.zero_point = operand{{3}, DataType::kFLOAT, zeros.data(), false};
    expect_refused({"y", "zeroPt", "constant"}, what);
}

TEST_P(TensorRTLayer, takes_an_empty_input) {
    what.x.shape = {0, 3};
    expect_runs(what);
}

// What is wrong with a network itself.
class TensorRTNetwork : public testing::Test {
protected:
    INetworkDefinition network;
    ITensor &x = add(network, "x", {{4}, DataType::kFLOAT, nullptr, false});
    ITensor &scale = add(network, "", {});
    IQuantizeLayer &layer = *network.addQuantize(x, scale);
    std::vector<int8_t> y = std::vector<int8_t>(4, 77);

    void mark() {
        layer.getOutput(0)->setName("y");
        network.markOutput(*layer.getOutput(0));
        EXPECT_TRUE(network.setTensorAddress("y", y.data()));
    }
    void expect_refused(const std::vector<std::string> &words) {
        EXPECT_TRUE(refused(network.run(), words));
        EXPECT_EQ(y, std::vector<int8_t>(4, 77));
    }
    void expect_runs() {
        const qdq::result done = network.run();
        EXPECT_TRUE(done) << done.message();
    }
};

TEST_F(TensorRTNetwork, needs_an_output) { expect_refused({"no output"}); }

TEST_F(TensorRTNetwork, refuses_an_input_or_a_constant_as_output) {
    mark();
    network.markOutput(x);
    expect_refused({"x", "marked"});
    INetworkDefinition other;
    other.markOutput(add(other, "", {}));
    EXPECT_TRUE(refused(other.run(), {"Constant", "marked"}));
}

TEST_F(TensorRTNetwork, refuses_two_inputs_or_outputs_of_one_name) {
    mark();
    network.addInput("y", DataType::kFLOAT, dims({4}));
    expect_refused({"y", "two"});
}

TEST_F(TensorRTNetwork, knows_the_names_of_inputs_and_outputs_only) {
    mark();
    EXPECT_FALSE(network.setTensorAddress("z", y.data()));
    EXPECT_FALSE(network.setTensorAddress(scale.getName(), y.data()));
    EXPECT_FALSE(network.setInputTensorAddress("y", y.data()));
    EXPECT_TRUE(network.setTensorAddress("y", y.data()));
}

TEST_F(TensorRTNetwork, wants_an_address_for_every_input_and_output) {
    mark();
    network.setTensorAddress("x", nullptr);
    expect_refused({"x", "address"});
    network.setInputTensorAddress("x", ones(DataType::kFLOAT));
    network.setTensorAddress("y", nullptr);
    expect_refused({"y", "address"});
}

TEST_F(TensorRTNetwork, wants_an_address_for_a_tensor_that_is_marked_after_a_run) {
    mark();
    IDequantizeLayer *dq = network.addDequantize(*layer.getOutput(0), scale);
    expect_runs();
    network.markOutput(*dq->getOutput(0));
    EXPECT_TRUE(refused(network.run(), {dq->getOutput(0)->getName(), "address"}));
}

TEST_F(TensorRTNetwork, refuses_dimensions_that_are_not_0_to_8_or_negative) {
    mark();
    for (int32_t rank : {-1, 9}) {
        INetworkDefinition other;
        other.addInput("z", DataType::kFLOAT, {rank, {}});
        EXPECT_TRUE(refused(other.run(), {"z", std::to_string(rank) + " dimensions"}));
    }
    network.addInput("z", DataType::kFLOAT, {2, {3, -1}});
    expect_refused({"z", "[3, -1]"});
}

TEST_F(TensorRTNetwork, refuses_weights_that_do_not_fit_their_dimensions) {
    mark();
    INetworkDefinition other;
    other.addConstant(dims({2, 2}), {DataType::kFLOAT, ones(DataType::kFLOAT), 3});
    EXPECT_TRUE(refused(other.run(), {"Constant", "3 weights", "[2, 2]"}));
    network.addConstant(dims({2}), {DataType::kFLOAT, nullptr, 2});
    expect_refused({"Constant", "NULL"});
}

TEST_F(TensorRTNetwork, refuses_inputs_from_itself_later_layers_or_other_networks) {
    mark();
    layer.setInput(1, *layer.getOutput(0));
    expect_refused({"y", "earlier"});
    layer.setInput(1, add(network, "", {}));
    expect_refused({"y", "earlier"});
    INetworkDefinition other;
    layer.setInput(1, add(other, "", {}));
    expect_refused({"y", "scale", "earlier"});
    layer.setInput(1, scale);
    expect_runs();
}

TEST_F(TensorRTNetwork, keeps_no_tensor_of_another_network_which_may_be_gone_when_it_is_built) {
    mark();
    auto other = std::make_unique<INetworkDefinition>();
    ITensor *const foreign = other->addInput("x", DataType::kFLOAT, {1, {4}});
    IQuantizeLayer *const second = network.addQuantize(*foreign, scale);
    IDequantizeLayer *const third = network.addDequantize(*layer.getOutput(0), *foreign);
    layer.setInput(0, *foreign);
    EXPECT_NE(second->getInput(0), foreign);
    EXPECT_NE(third->getInput(1), foreign);
    EXPECT_NE(layer.getInput(0), foreign);
    other.reset();
    EXPECT_EQ(second->getOutput(0)->getDimensions().nbDims, -1);
    expect_refused({"y", "input", "earlier"});
    layer.setInput(0, *network.getInput(0));
    expect_refused({"Quantize", "input", "earlier"});
    second->setInput(0, *network.getInput(0));
    expect_refused({"Dequantize", "scale", "earlier"});
    third->setInput(1, scale);
    expect_runs();
}

TEST_F(TensorRTNetwork, reads_a_zero_point_that_has_been_marked_and_is_no_more) {
    mark();
    const float zero = 0, one = 1;
    ITensor &zero_point = add(network, "", {{}, DataType::kFLOAT, &zero});
    IQuantizeLayer *second = network.addQuantize(*network.getInput(0), scale);
    second->setInput(2, zero_point);
    network.markOutput(zero_point);
    network.unmarkOutput(zero_point);
    expect_runs();
    network.markOutput(zero_point);
    network.setTensorAddress(zero_point.getName(), const_cast<float *>(&one));
    network.unmarkOutput(zero_point);
    expect_runs();
}

TEST_F(TensorRTNetwork, follows_changes_between_runs) {
    mark();
    const std::vector<float> other_x{5, 6, 7, 8};
    const float half = 0.5f;
    expect_runs();
    EXPECT_EQ(y, (std::vector<int8_t>{1, 1, 1, 1}));
    network.setInputTensorAddress("x", other_x.data());
    expect_runs();
    EXPECT_EQ(y, (std::vector<int8_t>{5, 6, 7, 8}));
    IDequantizeLayer *dq = network.addDequantize(*layer.getOutput(0), add(network, "", {{}, DataType::kFLOAT, &half}));
    dq->getOutput(0)->setName("z");
    network.markOutput(*dq->getOutput(0));
    std::vector<float> z(4);
    ASSERT_TRUE(network.setTensorAddress("z", z.data()));
    expect_runs();
    EXPECT_EQ(z, (std::vector<float>{2.5f, 3, 3.5f, 4}));
    layer.setToType(DataType::kINT4);
    expect_runs();
    EXPECT_EQ(z, (std::vector<float>{2.5f, 3, 3.5f, 3.5f}));
}

TEST_F(TensorRTNetwork, says_when_memory_is_short) {
    mark();
    IDequantizeLayer *unmarked = network.addDequantize(*layer.getOutput(0), scale);
    for (int64_t after : {0, 1}) {  // the layer, the copy of its name
        const memory_shortage shortage(after);
        EXPECT_EQ(network.addInput("z", DataType::kFLOAT, dims({4})), nullptr);
        EXPECT_EQ(network.addConstant(dims({}), {DataType::kFLOAT, ones(DataType::kFLOAT), 1}), nullptr);
        EXPECT_EQ(network.addDequantize(x, scale), nullptr);
    }
    {
        const memory_shortage shortage;
        unmarked->getOutput(0)->setName("z");
        EXPECT_STREQ(unmarked->getOutput(0)->getName(), "(Unnamed Layer* 2) [Dequantize]_output");
        EXPECT_TRUE(ran_out_of_memory(network.run()));
    }
    expect_runs();
}

// Samples size their buffers by these, before anything is built.
TEST_F(TensorRTNetwork, knows_dimensions_when_a_layer_is_added_or_an_input_set) {
    const auto shape_of = [](ITensor *tensor) {
        const Dims dims = tensor->getDimensions();
        return dimensions(dims.d, dims.d + std::max(dims.nbDims, 0));
    };
    EXPECT_EQ(shape_of(layer.getOutput(0)), (dimensions{4}));
    IDequantizeLayer *dq = network.addDequantize(*layer.getOutput(0), scale);
    EXPECT_EQ(shape_of(dq->getOutput(0)), (dimensions{4}));
    IQuantizeLayer *other = network.addQuantize(*network.addInput("z", DataType::kFLOAT, Dims3(2, 3, 4)), scale);
    EXPECT_EQ(shape_of(other->getOutput(0)), (dimensions{2, 3, 4}));
    dq->setInput(0, *other->getOutput(0));
    EXPECT_EQ(dq->getOutput(0)->getDimensions().nbDims, -1) << "its input comes later";
    IDequantizeLayer *last = network.addDequantize(*layer.getOutput(0), scale);
    last->setInput(0, *other->getOutput(0));
    EXPECT_EQ(shape_of(last->getOutput(0)), (dimensions{2, 3, 4}));
}

TEST_F(TensorRTNetwork, refuses_an_output_over_another_output_an_input_or_a_constant) {
    std::vector<float> values(4, 0.5f), z(4, 77.0f);
    IDequantizeLayer *dq =
        network.addDequantize(*layer.getOutput(0), add(network, "", {{1}, DataType::kFLOAT, values.data()}));
    dq->setName("back");
    dq->getOutput(0)->setName("z");
    network.markOutput(*dq->getOutput(0));
    mark();
    network.setTensorAddress("z", y.data());
    expect_refused({"y", "overlaps", "z"});
    network.setTensorAddress("z", reinterpret_cast<char *>(values.data()) - 12);  // its last byte is the scale's first
    expect_refused({"back", "overlaps", "[Constant]_output"});
    network.setInputTensorAddress("x", z.data());
    network.setTensorAddress("z", z.data());
    expect_refused({"back", "overlaps", "x"});
    EXPECT_EQ(z, std::vector<float>(4, 77.0f));
    network.setInputTensorAddress("x", ones(DataType::kFLOAT));
    expect_runs();
    expect_runs();
    EXPECT_EQ(z, std::vector<float>(4, 0.5f));
}

TEST_F(TensorRTNetwork, checks_every_layer_and_address_before_it_writes) {
    mark();
    IDequantizeLayer *dq = network.addDequantize(*layer.getOutput(0), scale);
    dq->getOutput(0)->setName("z");
    network.markOutput(*dq->getOutput(0));
    expect_refused({"z", "address"});
    dq->setToType(DataType::kINT32);
    expect_refused({"z", "toType"});
}

TEST_F(TensorRTNetwork, builds_without_running) {
    EXPECT_TRUE(refused(network.build(), {"no output"}));
    mark();
    EXPECT_TRUE(network.build());
    EXPECT_EQ(y, std::vector<int8_t>(4, 77));
    layer.setAxis(3);
    layer.setInput(1, add(network, "", {{4}, DataType::kFLOAT, nullptr}));
    EXPECT_TRUE(refused(network.build(), {"y", "earlier"}));
}

TEST_F(TensorRTNetwork, has_names_for_layers_and_tensors) {
    EXPECT_STREQ(layer.getName(), "(Unnamed Layer* 1) [Quantize]");
    layer.setName("first");
    EXPECT_STREQ(layer.getName(), "first");
    layer.setToType(DataType::kBOOL);
    mark();
    expect_refused({"TensorRT: first: toType: DataType kBOOL"});
}

TEST_F(TensorRTNetwork, takes_null_for_no_name_and_no_address) {
    mark();
    EXPECT_EQ(network.addInput(nullptr, DataType::kFLOAT, Dims2(2, 3)), nullptr);
    EXPECT_FALSE(network.setTensorAddress(nullptr, y.data()));
    EXPECT_FALSE(network.setInputTensorAddress(nullptr, y.data()));
    layer.setName(nullptr);
    layer.getOutput(0)->setName(nullptr);
    EXPECT_STREQ(layer.getOutput(0)->getName(), "y");
    EXPECT_TRUE(network.setTensorAddress("y", nullptr));
    expect_refused({"y", "address"});
}

TEST_F(TensorRTNetwork, counts_and_gives_its_inputs_outputs_and_layers) {
    IDequantizeLayer *dq = network.addDequantize(*layer.getOutput(0), scale);
    network.markOutput(*dq->getOutput(0));
    network.markOutput(*layer.getOutput(0));
    network.markOutput(*layer.getOutput(0));
    INetworkDefinition other;
    other.markOutput(*layer.getOutput(0));
    other.unmarkOutput(*layer.getOutput(0));
    EXPECT_EQ(other.getNbOutputs(), 0);
    EXPECT_EQ(network.getNbInputs(), 1);
    EXPECT_EQ(network.getNbOutputs(), 2);
    EXPECT_EQ(network.getNbLayers(), 3);
    EXPECT_EQ(network.getInput(0), &x);
    EXPECT_EQ(network.getInput(1), nullptr);
    EXPECT_EQ(network.getOutput(0), dq->getOutput(0)) << "in the order they were marked";
    EXPECT_EQ(network.getOutput(1), layer.getOutput(0));
    EXPECT_EQ(network.getOutput(2), nullptr);
    EXPECT_EQ(network.getOutput(-1), nullptr);
    EXPECT_EQ(network.getLayer(0)->getType(), LayerType::kCONSTANT);
    EXPECT_EQ(network.getLayer(1), &layer);
    EXPECT_EQ(network.getLayer(1)->getType(), LayerType::kQUANTIZE);
    EXPECT_EQ(network.getLayer(2)->getType(), LayerType::kDEQUANTIZE);
    EXPECT_EQ(network.getLayer(3), nullptr);
    EXPECT_EQ(network.getLayer(0)->getNbInputs(), 0);
    EXPECT_EQ(layer.getNbInputs(), 2);
    EXPECT_EQ(layer.getNbOutputs(), 1);
}

TEST_F(TensorRTNetwork, forgets_an_output_that_is_no_longer_marked) {
    mark();
    IDequantizeLayer *dq = network.addDequantize(*layer.getOutput(0), scale);
    dq->getOutput(0)->setName("z");
    network.markOutput(*dq->getOutput(0));
    network.unmarkOutput(*layer.getOutput(0));
    EXPECT_EQ(network.getNbOutputs(), 1);
    EXPECT_EQ(network.getOutput(0), dq->getOutput(0));
    EXPECT_FALSE(network.setTensorAddress("y", y.data()));
    std::vector<float> z(4);
    EXPECT_TRUE(network.setTensorAddress("z", z.data()));
    expect_runs();
    EXPECT_EQ(y, std::vector<int8_t>(4, 77));
    EXPECT_EQ(z, std::vector<float>(4, 1.0f));
    network.unmarkOutput(*dq->getOutput(0));
    expect_refused({"no output"});
}

TEST_F(TensorRTNetwork, sets_the_type_of_an_output) {
    layer.setOutputType(0, DataType::kINT4);
    EXPECT_EQ(layer.getToType(), DataType::kINT4);
    EXPECT_EQ(layer.getOutputType(0), DataType::kINT4);
    EXPECT_EQ(layer.getOutput(0)->getType(), DataType::kINT4);
}

// What TensorRT's samples do: builder, engine, execution context.
class TensorRTEngine : public testing::Test {
protected:
    struct last_line : ILogger {
        void log(Severity severity, char const *message) noexcept override {
            EXPECT_EQ(severity, Severity::kERROR);
            text = message;
        }
        std::string text;
    } logger;
    std::unique_ptr<IBuilder> builder{createInferBuilder(logger)};
    std::unique_ptr<IBuilderConfig> config{builder->createBuilderConfig()};
    const std::vector<float> x{1, 2, 3, 4, 5, 6};
    std::vector<int8_t> y = std::vector<int8_t>(6, 77);

    void expect_logged(const std::vector<std::string> &words) {
        for (const std::string &word : words) {
            EXPECT_NE(logger.text.find(word), std::string::npos) << logger.text << " should mention " << word;
        }
    }

    std::unique_ptr<INetworkDefinition> quantizes_by(const float &scale) {
        std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
        ITensor *input = network->addInput("x", DataType::kFLOAT, Dims2(2, 3));
        IConstantLayer *constant = network->addConstant({0, {}}, {DataType::kFLOAT, &scale, 1});
        ITensor *output = network->addQuantize(*input, *constant->getOutput(0))->getOutput(0);
        output->setName("y");
        network->markOutput(*output);
        return network;
    }
    std::unique_ptr<ICudaEngine> engine_of(INetworkDefinition &network) {
        return std::unique_ptr<ICudaEngine>(builder->buildEngineWithConfig(network, *config));
    }
};

TEST_F(TensorRTEngine, runs_after_its_network_and_weights_have_gone) {
    std::unique_ptr<ICudaEngine> engine;
    {
        float scale = 0.5f;
        engine = engine_of(*quantizes_by(scale));
        scale = 100;
    }
    ASSERT_NE(engine, nullptr) << logger.text;
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    EXPECT_TRUE(context->setTensorAddress("x", const_cast<float *>(x.data())));
    EXPECT_TRUE(context->setTensorAddress("y", y.data()));
    EXPECT_TRUE(context->enqueueV3(nullptr)) << logger.text;
    EXPECT_EQ(y, (std::vector<int8_t>{2, 4, 6, 8, 10, 12}));
}

TEST_F(TensorRTEngine, has_contexts_with_addresses_of_their_own) {
    const float scale = 1;
    const auto engine = engine_of(*quantizes_by(scale));
    const std::unique_ptr<IExecutionContext> first(engine->createExecutionContext()),
        second(engine->createExecutionContext());
    const std::vector<float> other_x(6, 9);
    std::vector<int8_t> other_y(6);
    EXPECT_TRUE(first->setInputTensorAddress("x", x.data()) && first->setTensorAddress("y", y.data()));
    EXPECT_TRUE(second->setInputTensorAddress("x", other_x.data()) && second->setTensorAddress("y", other_y.data()));
    EXPECT_TRUE(first->enqueueV3(nullptr) && second->enqueueV3(nullptr));
    EXPECT_EQ(y, (std::vector<int8_t>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(other_y, std::vector<int8_t>(6, 9));
    EXPECT_EQ(first->getTensorAddress("y"), y.data());
    EXPECT_EQ(&first->getEngine(), engine.get());
}

TEST_F(TensorRTEngine, describes_its_inputs_and_outputs) {
    const float scale = 1;
    const auto engine = engine_of(*quantizes_by(scale));
    ASSERT_EQ(engine->getNbIOTensors(), 2);
    EXPECT_STREQ(engine->getIOTensorName(0), "x");
    EXPECT_STREQ(engine->getIOTensorName(1), "y");
    EXPECT_EQ(engine->getIOTensorName(2), nullptr);
    EXPECT_EQ(engine->getTensorShape("y").nbDims, 2);
    EXPECT_EQ(engine->getTensorShape("y").d[1], 3);
    EXPECT_EQ(engine->getTensorDataType("y"), DataType::kINT8);
    EXPECT_EQ(engine->getTensorIOMode("x"), TensorIOMode::kINPUT);
    EXPECT_EQ(engine->getTensorIOMode("y"), TensorIOMode::kOUTPUT);
    for (const char *name : {"z", static_cast<const char *>(nullptr)}) {
        EXPECT_EQ(engine->getTensorShape(name).nbDims, -1);
        EXPECT_EQ(engine->getTensorIOMode(name), TensorIOMode::kNONE);
    }
}

TEST_F(TensorRTEngine, logs_what_goes_wrong) {
    const float zero = 0, scale = 1;
    EXPECT_EQ(engine_of(*quantizes_by(zero)), nullptr);
    expect_logged({"TensorRT: y: scale", "above 0"});
    const auto engine = engine_of(*quantizes_by(scale));
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    EXPECT_FALSE(context->enqueueV3(nullptr));
    expect_logged({"x", "address"});
    EXPECT_FALSE(context->setTensorAddress("z", y.data()));
    expect_logged({"\"z\""});
    EXPECT_FALSE(context->setTensorAddress(nullptr, y.data()));
    EXPECT_FALSE(context->setInputTensorAddress("y", y.data()));
    EXPECT_EQ(context->getTensorAddress("z"), nullptr);
    EXPECT_TRUE(context->setInputTensorAddress("x", x.data()));
    EXPECT_TRUE(context->setTensorAddress("y", const_cast<float *>(x.data())));
    EXPECT_FALSE(context->enqueueV3(nullptr));
    expect_logged({"y", "overlaps", "x"});
}

// Functions that read a layer take one that cannot be changed.
TEST_F(TensorRTEngine, reads_layers_that_are_const) {
    const float scale = 2, other = 4;
    const auto network = quantizes_by(scale);
    auto *const constant = static_cast<IConstantLayer *>(network->getLayer(0));
    const IConstantLayer &as_const = *constant;
    EXPECT_EQ(as_const.getOutput(0), constant->getOutput(0));
    EXPECT_EQ(as_const.getWeights().values, &scale);
    EXPECT_EQ(as_const.getDimensions().nbDims, 0);
    constant->setWeights({DataType::kFLOAT, &other, 1});
    EXPECT_EQ(as_const.getWeights().values, &other);
    constant->setDimensions(Dims{1, {1}});
    EXPECT_EQ(as_const.getDimensions().nbDims, 1);
    network->setInputTensorAddress("x", x.data());
    network->setTensorAddress("y", y.data());
    EXPECT_TRUE(network->run());
    EXPECT_EQ(y, (std::vector<int8_t>{0, 0, 1, 1, 1, 2}));
    auto *const quantize = static_cast<IQuantizeLayer *>(network->getLayer(1));
    EXPECT_EQ(quantize->getBlockShape().nbDims, 0);
    EXPECT_FALSE(quantize->setBlockShape(Dims2(0, 3)));
    EXPECT_FALSE(quantize->setBlockShape(Dims2(-2, 3)));
    EXPECT_FALSE(quantize->setBlockShape(Dims{9, {}}));
    EXPECT_EQ(quantize->getBlockShape().nbDims, 0);
    EXPECT_TRUE(quantize->setBlockShape(Dims2(-1, 3)));
    EXPECT_EQ(quantize->getBlockShape().d[1], 3);
}

// Of two layers with names, axes, blocks and a zero point, whose outputs were not marked in their order.
std::unique_ptr<INetworkDefinition> there_and_back(const float (&scales)[4], const float (&zeros)[4]) {
    auto network = std::make_unique<INetworkDefinition>();
    ITensor *input = network->addInput("x", DataType::kFLOAT, Dims2(4, 2));
    ITensor *blocks = network->addConstant(Dims2(2, 2), {DataType::kFLOAT, scales, 4})->getOutput(0);
    ITensor *zero = network->addConstant(Dims2(2, 2), {DataType::kFLOAT, zeros, 4})->getOutput(0);
    IQuantizeLayer *quantize = network->addQuantize(*input, *blocks, DataType::kINT4);
    quantize->setName("there");
    quantize->setInput(2, *zero);
    IDequantizeLayer *dequantize = network->addDequantize(*quantize->getOutput(0), *blocks);
    dequantize->setName("back");
    dequantize->setBlockShape(Dims2(2, 1));
    dequantize->getOutput(0)->setName("z");
    quantize->getOutput(0)->setName("y");
    network->markOutput(*dequantize->getOutput(0));
    network->markOutput(*quantize->getOutput(0));
    return network;
}

class TensorRTPlan : public TensorRTEngine {
protected:
    std::vector<std::byte> plan;
    const std::vector<float> rows{1, 2, 3, 4, 5, 6, 7, 8};

    void SetUp() override {
        const float scales[] = {1, 2, 3, 4}, zeros[] = {0, 0, 0, 0};
        plan = plan_of(*there_and_back(scales, zeros));
    }
    std::vector<std::byte> plan_of(INetworkDefinition &network) {
        const std::unique_ptr<IHostMemory> made(builder->buildSerializedNetwork(network, *config));
        if (made == nullptr) {
            return {};
        }
        EXPECT_EQ(made->type(), DataType::kINT8);
        const auto *const begin = static_cast<std::byte *>(made->data());
        return {begin, begin + made->size()};
    }
    std::unique_ptr<ICudaEngine> engine_of_plan(std::span<const std::byte> bytes) {
        const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
        return std::unique_ptr<ICudaEngine>(runtime->deserializeCudaEngine(bytes.data(), bytes.size()));
    }
    void expect_logged_when_cut_off() {
        for (size_t size = 0; size < plan.size(); size++) {
            logger.text.clear();
            const std::vector<std::byte> cut(plan.begin(), plan.begin() + static_cast<std::ptrdiff_t>(size));
            ASSERT_EQ(engine_of_plan(cut), nullptr) << size;
            expect_logged({"TensorRT: deserializeCudaEngine: "});
        }
    }
    // How many plans with one wrong byte are engines, which are run.
    int engines_of_damaged_plans() {
        int engines = 0;
        for (size_t at = 0; at < plan.size(); at++) {
            for (const int value : {0, 1, 3, 4, 5, 127, 128, 255}) {
                std::vector<std::byte> damaged = plan;
                damaged[at] = static_cast<std::byte>(value);
                logger.text.clear();
                const auto engine = engine_of_plan(damaged);
                EXPECT_NE(engine == nullptr, logger.text.empty()) << at;
                if (engine != nullptr) {
                    engines++;
                    run_somehow(*engine);
                }
            }
        }
        return engines;
    }
    static void run_somehow(ICudaEngine &engine) {
        const std::unique_ptr<IExecutionContext> context(engine.createExecutionContext());
        std::vector<std::vector<uint8_t>> memory;
        for (int32_t i = 0; context != nullptr && i < engine.getNbIOTensors(); i++) {
            const char *const name = engine.getIOTensorName(i);
            const Dims shape = engine.getTensorShape(name);
            const int64_t elements = qdq::compat::element_count({shape.d, static_cast<size_t>(shape.nbDims)});
            if (elements > 1 << 20) {
                break;
            }
            context->setTensorAddress(name, memory.emplace_back(static_cast<size_t>(elements) * 8).data());
        }
        if (context != nullptr) {
            context->enqueueV3(nullptr);
        }
    }
    void expect_runs(ICudaEngine &engine) {
        const std::unique_ptr<IExecutionContext> context(engine.createExecutionContext());
        std::vector<uint8_t> codes(4);
        std::vector<float> values(8);
        EXPECT_TRUE(context->setInputTensorAddress("x", rows.data()));
        EXPECT_TRUE(context->setTensorAddress("y", codes.data()) && context->setTensorAddress("z", values.data()));
        EXPECT_TRUE(context->enqueueV3(nullptr)) << logger.text;
        EXPECT_EQ(codes, (std::vector<uint8_t>{0x11, 0x23, 0x22, 0x22}));
        EXPECT_EQ(values, (std::vector<float>{1, 2, 3, 4, 6, 8, 6, 8}));
    }
};

TEST_F(TensorRTPlan, makes_an_engine_in_memory_and_in_a_file) {
    ASSERT_FALSE(plan.empty()) << logger.text;
    const std::string path = testing::TempDir() + "qdq_tensorrt_test.plan";
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char *>(plan.data()), std::ssize(plan));
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> read((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::remove(path.c_str());
    const std::unique_ptr<ICudaEngine> in_memory = engine_of_plan(plan),
                                       in_a_file = engine_of_plan(std::as_bytes(std::span(read)));
    ASSERT_TRUE(in_memory != nullptr && in_a_file != nullptr) << logger.text;
    plan.assign(plan.size(), std::byte{0});
    expect_runs(*in_memory);
    expect_runs(*in_a_file);
    EXPECT_STREQ(in_memory->getIOTensorName(0), "x");
    EXPECT_EQ(in_memory->getTensorDataType("y"), DataType::kINT4);
    const std::unique_ptr<IExecutionContext> context(in_memory->createExecutionContext());
    EXPECT_FALSE(context->enqueueV3(nullptr));
    expect_logged({"TensorRT: x: no address is set"});
}

TEST_F(TensorRTPlan, is_the_same_bytes_each_time) {
    const float scales[] = {1, 2, 3, 4}, zeros[] = {0, 0, 0, 0};
    EXPECT_EQ(plan_of(*there_and_back(scales, zeros)), plan);
    const std::string text(reinterpret_cast<const char *>(plan.data()), plan.size());
    EXPECT_NE(text.find("there"), std::string::npos);
}

TEST_F(TensorRTPlan, is_not_made_of_a_network_that_breaks_a_rule) {
    const float scales[] = {1, 2, 0, 4}, zeros[] = {0, 0, 0, 0};
    EXPECT_TRUE(plan_of(*there_and_back(scales, zeros)).empty());
    expect_logged({"TensorRT: there: scale: not every coefficient is above 0"});
}

TEST_F(TensorRTPlan, is_refused_where_it_was_cut_off_or_goes_on) {
    expect_logged_when_cut_off();
    plan.push_back(std::byte{0});
    EXPECT_EQ(engine_of_plan(plan), nullptr);
    expect_logged({"ends early, or is damaged"});
    const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
    EXPECT_EQ(runtime->deserializeCudaEngine(nullptr, 8), nullptr);
    expect_logged({"blob is NULL"});
}

// Blocks of two dimensions are allowed where the block shape says so, and not otherwise.
TEST_F(TensorRTPlan, keeps_block_shapes) {
    const float scales[] = {1, 2, 4, 8};
    INetworkDefinition network;
    ITensor *const input = network.addInput("x", DataType::kFLOAT, Dims2(4, 4));
    ITensor *const blocks = network.addConstant(Dims2(2, 2), {DataType::kFLOAT, scales, 4})->getOutput(0);
    IQuantizeLayer *const layer = network.addQuantize(*input, *blocks, DataType::kFP8);
    network.markOutput(*layer->getOutput(0));
    EXPECT_TRUE(plan_of(network).empty());
    layer->setBlockShape(Dims2(2, 2));
    EXPECT_NE(engine_of_plan(plan_of(network)), nullptr) << logger.text;
}

// Whatever a byte becomes: it is refused with a line, or it is an engine that runs.
TEST_F(TensorRTPlan, is_refused_or_runs_where_it_was_damaged) { EXPECT_GT(engines_of_damaged_plans(), 100); }

TEST_F(TensorRTPlan, is_refused_where_a_length_lies) {
    const auto with = [&](size_t at, auto number) {
        std::vector<std::byte> lying = plan;
        std::memcpy(lying.data() + at, &number, sizeof number);
        return lying;
    };
    for (const auto &lying :
         {with(8, INT32_MAX), with(8, -1), with(8, 6), with(12, INT32_MAX), with(12, -1), with(12, 1), with(37, 'y'),
          with(20, UINT64_MAX), with(20, uint64_t{1} << 32), with(28, uint64_t{1} << 40)}) {
        logger.text.clear();
        EXPECT_EQ(engine_of_plan(lying), nullptr);
        expect_logged({"deserializeCudaEngine: the plan ends early, or is damaged"});
    }
    EXPECT_EQ(engine_of_plan(with(7, uint8_t{2})), nullptr);
    expect_logged({"these bytes are no plan of this version"});
}

TEST_F(TensorRTPlan, says_when_memory_for_it_is_short) {
    const float scales[] = {1, 2, 3, 4}, zeros[] = {0, 0, 0, 0};
    const auto network = there_and_back(scales, zeros);
    for (bool is_made = false; const bool writes : {true, false}) {
        is_made = false;
        for (int64_t after = 0; !is_made; after++) {
            logger.text.clear();
            logger.text.reserve(256);
            const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
            const memory_shortage shortage(after);
            if (writes) {
                is_made = std::unique_ptr<IHostMemory>(builder->buildSerializedNetwork(*network, *config)) != nullptr;
            } else {
                is_made =
                    std::unique_ptr<ICudaEngine>(runtime->deserializeCudaEngine(plan.data(), plan.size())) != nullptr;
            }
            EXPECT_TRUE(is_made || logger.text.find("memory") != std::string::npos) << logger.text;
        }
    }
}

// What a program derives: the newest error, and how many refer to it.
struct newest_error : IErrorRecorder {
    std::string text;
    ErrorCode code = ErrorCode::kSUCCESS;
    int32_t references = 0, errors = 0;

    int32_t getNbErrors() const noexcept override { return errors; }
    ErrorCode getErrorCode(int32_t) const noexcept override { return code; }
    ErrorDesc getErrorDesc(int32_t) const noexcept override { return text.c_str(); }
    bool hasOverflowed() const noexcept override { return errors > 1; }
    void clear() noexcept override { errors = 0; }
    bool reportError(ErrorCode val, ErrorDesc desc) noexcept override {
        code = val;
        text = desc;
        errors++;
        return true;
    }
    RefCount incRefCount() noexcept override { return ++references; }
    RefCount decRefCount() noexcept override { return --references; }
};

TEST_F(TensorRTPlan, reports_to_an_error_recorder_instead_of_the_logger) {
    newest_error recorder, other;
    builder->setErrorRecorder(&recorder);
    EXPECT_EQ(builder->getErrorRecorder(), &recorder);
    const float scales[] = {1, 2, 0, 4}, zeros[] = {0, 0, 0, 0};
    EXPECT_TRUE(plan_of(*there_and_back(scales, zeros)).empty());
    EXPECT_EQ(recorder.code, ErrorCode::kINVALID_ARGUMENT);
    EXPECT_NE(recorder.text.find("there: scale"), std::string::npos);
    EXPECT_EQ(logger.text, "");
    builder->setErrorRecorder(nullptr);
    EXPECT_EQ(recorder.references, 0);
    std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
    runtime->setErrorRecorder(&recorder);
    std::unique_ptr<ICudaEngine> engine(runtime->deserializeCudaEngine(plan.data(), plan.size()));
    std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    EXPECT_EQ(recorder.references, 3) << "the engine and the context have the runtime's";
    EXPECT_EQ(engine->getErrorRecorder(), &recorder);
    EXPECT_EQ(context->getErrorRecorder(), &recorder);
    EXPECT_FALSE(context->setTensorAddress(std::string(200, 'n').c_str(), nullptr));
    EXPECT_EQ(recorder.text.size(), IErrorRecorder::kMAX_DESC_LENGTH);
    context->setErrorRecorder(&other);
    EXPECT_FALSE(context->enqueueV3(nullptr));
    EXPECT_NE(other.text.find("no address is set"), std::string::npos);
    context = nullptr;
    engine = nullptr;
    EXPECT_EQ(other.references, 0);
    {
        const memory_shortage shortage;
        EXPECT_EQ(runtime->deserializeCudaEngine(plan.data(), plan.size()), nullptr);
    }
    EXPECT_EQ(recorder.code, ErrorCode::kFAILED_ALLOCATION);
    runtime = nullptr;
    EXPECT_EQ(recorder.references, 0);
    EXPECT_EQ(logger.text, "");
}

TEST_F(TensorRTEngine, gives_null_when_memory_is_short) {
    const float scale = 1;
    const auto network = quantizes_by(scale);
    for (int64_t after = 0;; after++) {
        std::unique_ptr<ICudaEngine> engine;
        {
            const memory_shortage shortage(after);
            engine = engine_of(*network);
        }
        if (engine != nullptr) {
            EXPECT_GT(after, 5);
            const memory_shortage shortage;
            EXPECT_EQ(engine->createExecutionContext(), nullptr);
            break;
        }
        expect_logged({"memory"});
    }
}

TEST_F(TensorRTEngine, has_dims_of_every_name) {
    EXPECT_EQ(Dims2(1, 2).nbDims, 2);
    EXPECT_EQ(Dims3(1, 2, 3).d[2], 3);
    EXPECT_EQ(Dims4(1, 2, 3, 4).d[3], 4);
    static_assert(std::is_same_v<Dims, Dims64> && std::is_base_of_v<Dims, Dims4>);
}

// Both layers in a row: the codes and the restored values are outputs.
class TensorRTOracle : public testing::Test {
protected:
    random_bits random{20240504};

    static DataType trt(qdq_dtype type) {
        switch (type) {
        case QDQ_F16: return DataType::kHALF;
        case QDQ_BF16: return DataType::kBF16;
        case QDQ_I8: return DataType::kINT8;
        case QDQ_I4: return DataType::kINT4;
        case QDQ_F8E4M3: return DataType::kFP8;
        case QDQ_F4E2M1: return DataType::kFP4;
        default: return DataType::kFLOAT;
        }
    }

    // Where the scale of an element of x is.
    static dimensions scale_index(const dimensions &x, const dimensions &scale, int axis, const int64_t *i) {
        if (axis >= 0) {
            return {i[axis]};
        }
        dimensions at(scale.size());
        for (size_t d = 0; d < scale.size(); d++) {
            at[d] = i[d] / (x[d] / scale[d]);
        }
        return at;
    }

    void expect_oracle_results(qdq_dtype floating, qdq_dtype stored, const dimensions &shape,
                               const dimensions &scale_shape, int axis) {
        const tensor_memory x = random_floats(random, floating, shape, layout::dense);
        const tensor_memory scale = random_scales(random, floating, scale_shape, layout::dense, scale_values::positive);
        const std::vector<float> zeros(static_cast<size_t>(volume(scale_shape)));
        tensor_memory codes(stored, shape), restored(floating, shape);
        const auto scale_at = [&](const int64_t *i) {
            return float_at(scale, scale_index(shape, scale_shape, axis, i).data());
        };
        const tensor_memory expected_codes = filled(codes, [&](const int64_t *i) {
            return reference::quantize_element(float_at(x, i), scale_at(i), {}, stored, {});
        });
        const tensor_memory expected = filled(restored, [&](const int64_t *i) {
            return reference::dequantize_element(stored, code_at(expected_codes, i), scale_at(i), {}, floating,
                                                 QDQ_ZP_SUBTRACT);
        });
        INetworkDefinition network;
        ITensor &data = add(network, "x", {shape, trt(floating), x.view().data, false});
        ITensor &scales = add(network, "", {scale_shape, trt(floating), scale.view().data});
        ITensor &zero_point = add(network, "", {scale_shape, DataType::kFLOAT, zeros.data()});
        IQuantizeLayer *q = network.addQuantize(data, scales, trt(stored));
        IDequantizeLayer *dq = network.addDequantize(*q->getOutput(0), scales, trt(floating));
        q->setAxis(axis);
        dq->setAxis(axis);
        for (ILayer *layer : {static_cast<ILayer *>(q), static_cast<ILayer *>(dq)}) {
            if (random.below(2) == 0) {
                layer->setInput(2, zero_point);
            }
            network.markOutput(*layer->getOutput(0));
        }
        ASSERT_TRUE(network.setTensorAddress(q->getOutput(0)->getName(), codes.view().data));
        ASSERT_TRUE(network.setTensorAddress(dq->getOutput(0)->getName(), restored.view().data));
        const qdq::result done = network.run();
        ASSERT_TRUE(done) << done.message();
        ASSERT_TRUE(same_bytes(expected_codes, codes));
        ASSERT_TRUE(same_bytes(expected, restored));
        if (random.below(4) == 0) {
            expect_same_by_a_plan(network, x, expected_codes, expected);
        }
    }

    void expect_same_by_a_plan(const INetworkDefinition &network, const tensor_memory &x, const tensor_memory &codes,
                               const tensor_memory &restored) {
        struct : ILogger {
            void log(Severity, char const *message) noexcept override { ADD_FAILURE() << message; }
        } logger;
        IBuilder builder(logger);
        IRuntime runtime(logger);
        IBuilderConfig config;
        const std::unique_ptr<IHostMemory> plan(builder.buildSerializedNetwork(network, config));
        const std::unique_ptr<ICudaEngine> engine(runtime.deserializeCudaEngine(plan->data(), plan->size()));
        const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
        tensor_memory again_codes = codes, again = restored;
        again_codes.fill([](int64_t) { return 0u; });
        again.fill([](int64_t) { return 0u; });
        ASSERT_TRUE(context->setInputTensorAddress("x", x.view().data));
        ASSERT_TRUE(context->setTensorAddress(network.getOutput(0)->getName(), again_codes.view().data));
        ASSERT_TRUE(context->setTensorAddress(network.getOutput(1)->getName(), again.view().data));
        ASSERT_TRUE(context->enqueueV3(nullptr));
        ASSERT_TRUE(same_bytes(codes, again_codes));
        ASSERT_TRUE(same_bytes(restored, again));
    }
};

TEST_F(TensorRTOracle, agrees_both_ways) {
    for (qdq_dtype floating : {QDQ_F32, QDQ_F16, QDQ_BF16}) {
        for (qdq_dtype stored : {QDQ_I8, QDQ_I4, QDQ_F4E2M1, QDQ_F8E4M3}) {
            for (int rank = 1; rank <= 8; rank++) {
                for (int axis = -1; axis < rank; axis++) {
                    for (int round = 0; round < 5; round++) {
                        const dimensions shape = random_shape(random, rank);
                        const dimensions scale_shape =
                            axis < 0 ? dimensions{} : dimensions{shape[static_cast<size_t>(axis)]};
                        SCOPED_TRACE("floating " + std::to_string(floating) + ", stored " + std::to_string(stored) +
                                     ", axis " + std::to_string(axis) + ", shape " + testing::PrintToString(shape));
                        expect_oracle_results(floating, stored, shape, scale_shape, axis);
                        if (HasFatalFailure()) {
                            return;
                        }
                    }
                }
            }
        }
    }
}

TEST_F(TensorRTOracle, agrees_both_ways_in_blocks) {
    for (qdq_dtype floating : {QDQ_F32, QDQ_F16, QDQ_BF16}) {
        for (qdq_dtype stored : {QDQ_I4, QDQ_F4E2M1, QDQ_F8E4M3}) {
            for (int rank = 2; rank <= 8; rank++) {
                for (int blocked = rank - 2; blocked < rank; blocked++) {
                    for (int64_t block = 1; block <= 4; block++) {
                        const dimensions scale_shape = random_shape(random, rank, 4);
                        dimensions shape = scale_shape;
                        shape[static_cast<size_t>(blocked)] *= block;
                        SCOPED_TRACE("floating " + std::to_string(floating) + ", stored " + std::to_string(stored) +
                                     ", shape " + testing::PrintToString(shape) + ", scale " +
                                     testing::PrintToString(scale_shape));
                        expect_oracle_results(floating, stored, shape, scale_shape, -1);
                        if (HasFatalFailure()) {
                            return;
                        }
                    }
                }
            }
        }
    }
}

// A layer that computes scales and codes, and those that restore its input.
struct dynamic_case {
    DataType to = DataType::kFP4, scale_type = DataType::kFP8;
    int32_t axis = -1, block_size = 0;
    dimensions block{};  // instead of the axis
};

class TensorRTDynamic : public TensorRTPlan {
protected:
    random_bits random{20261125};
    const float two = 2;

    IDynamicQuantizeLayer &add_layer(INetworkDefinition &network, ITensor &data, const dynamic_case &how) {
        return how.block.empty() ? *network.addDynamicQuantize(data, how.axis, how.block_size, how.to, how.scale_type)
                                 : *network.addDynamicQuantizeV2(data, dims(how.block), how.to, how.scale_type);
    }
    // Of an input "x", whose outputs are marked.
    std::unique_ptr<INetworkDefinition> network_of(const dimensions &shape, const dynamic_case &how,
                                                   std::optional<operand> scale_of_scales = {},
                                                   DataType type = DataType::kFLOAT) {
        auto network = std::make_unique<INetworkDefinition>();
        ITensor *const data = network->addInput("x", type, dims(shape));
        ITensor *const scale = scale_of_scales ? &add(*network, "s", *scale_of_scales) : nullptr;
        IDynamicQuantizeLayer &layer = add_layer(*network, *data, how);
        if (scale != nullptr) {
            layer.setInput(1, *scale);
        }
        layer.getOutput(0)->setName("codes");
        layer.getOutput(1)->setName("scales");
        network->markOutput(*layer.getOutput(0));
        network->markOutput(*layer.getOutput(1));
        return network;
    }
    void expect_refused(INetworkDefinition &network, const std::vector<std::string> &words) {
        EXPECT_TRUE(refused(network.build(), words));
    }
    static qdq_dtype qdq_type(DataType type) { return static_cast<qdq_dtype>(detail::to_qdq(type)); }

    // By the network, and by a plan of it.
    void expect_oracle_results(DataType floating, const dimensions &shape, const dynamic_case &how, float s,
                               bool s_is_f32) {
        const bool is_fp8 = how.scale_type == DataType::kFP8, is_power = how.scale_type == DataType::kE8M0;
        const tensor_memory x = random_floats(random, qdq_type(floating), shape, layout::dense);
        tensor_memory product(QDQ_F32, shape);
        const float inverse = is_fp8 ? 1 / s : 1;
        product = filled(product, [&](const int64_t *i) { return reference::encode_f32(float_at(x, i) * inverse); });
        dimensions block(shape.size(), 1), scale_shape = shape;
        for (size_t d = 0; d < shape.size(); d++) {
            if (how.block.empty()) {
                block[d] = d == static_cast<size_t>(how.axis) ? how.block_size : 1;
            } else {
                block[d] = how.block[d] == -1 ? std::max<int64_t>(shape[d], 1) : how.block[d];
            }
            scale_shape[d] = shape[d] / block[d];
        }
        qdq_options options{};
        options.block_shape = block.data();
        qdq_scale_options rule{};
        rule.rule = is_power ? QDQ_SCALE_POWER_ROUND_UP : QDQ_SCALE_ABSMAX;
        tensor_memory scales(qdq_type(how.scale_type), scale_shape), codes(qdq_type(how.to), shape);
        const tensor_memory &of = is_fp8 ? product : x;
        reference::compute_scales(of.view(), qdq_type(how.to), scales.view(), nullptr, &rule, &options);
        const auto scale_at = [&](const tensor_memory &from, const int64_t *i) {
            dimensions at(shape.size());
            for (size_t d = 0; d < shape.size(); d++) {
                at[d] = i[d] / block[d];
            }
            return float_at(from, at.data());
        };
        codes = filled(codes, [&](const int64_t *i) {
            return reference::quantize_element(float_at(of, i), scale_at(scales, i), {}, qdq_type(how.to), {});
        });
        tensor_memory restoring(is_power ? QDQ_E8M0 : QDQ_F32, scale_shape), restored(QDQ_F32, shape);
        restoring = filled(restoring, [&](const int64_t *i) {
            return is_fp8 ? reference::encode_f32(float_at(scales, i) * s) : code_at(scales, i);
        });
        restored = filled(restored, [&](const int64_t *i) {
            return reference::dequantize_element(qdq_type(how.to), code_at(codes, i), scale_at(restoring, i), {},
                                                 QDQ_F32, QDQ_ZP_SUBTRACT);
        });

        const uint16_t half = float_to_half(s);
        const operand scale{{},
                            s_is_f32 ? DataType::kFLOAT : floating,
                            s_is_f32 || floating == DataType::kFLOAT ? static_cast<const void *>(&s) : &half};
        const auto network = network_of(shape, how, is_fp8 ? std::optional(scale) : std::optional<operand>(), floating);
        ILayer &layer = *network->getLayer(network->getNbLayers() - 1);
        ITensor *by = layer.getOutput(1);
        if (is_fp8) {
            by = network->addDequantize(*by, add(*network, "s", {{}, DataType::kFLOAT, &s}))->getOutput(0);
        }
        IDequantizeLayer *back = network->addDequantize(*layer.getOutput(0), *by);
        back->setBlockShape(dims(block));
        back->getOutput(0)->setName("restored");
        network->markOutput(*back->getOutput(0));
        tensor_memory y(qdq_type(how.to), shape), written(qdq_type(how.scale_type), scale_shape), z(QDQ_F32, shape);
        const auto expect_same = [&] {
            ASSERT_TRUE(same_bytes(scales, written));
            ASSERT_TRUE(same_bytes(codes, y));
            ASSERT_TRUE(same_bytes(restored, z));
            for (tensor_memory *memory : {&y, &written, &z}) {
                memory->fill([](int64_t) { return 0u; });
            }
        };
        network->setInputTensorAddress("x", x.view().data);
        network->setTensorAddress("codes", y.view().data);
        network->setTensorAddress("scales", written.view().data);
        network->setTensorAddress("restored", z.view().data);
        const qdq::result done = network->run();
        ASSERT_TRUE(done) << done.message();
        ASSERT_NO_FATAL_FAILURE(expect_same());
        const auto engine = engine_of_plan(plan_of(*network));
        ASSERT_NE(engine, nullptr) << logger.text;
        const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
        context->setInputTensorAddress("x", x.view().data);
        context->setTensorAddress("codes", y.view().data);
        context->setTensorAddress("scales", written.view().data);
        context->setTensorAddress("restored", z.view().data);
        ASSERT_TRUE(context->enqueueV3(nullptr)) << logger.text;
        ASSERT_NO_FATAL_FAILURE(expect_same());
    }
    // Of 2, 0.75 or 2^-20, which all types have.
    static uint16_t float_to_half(float s) { return s == 2 ? 0x4000 : s == 0.75f ? 0x3a00 : 0x0010; }
};

TEST_F(TensorRTDynamic, has_two_outputs) {
    INetworkDefinition network;
    ITensor *const data = network.addInput("x", DataType::kHALF, Dims3(2, 32, 4));
    IDynamicQuantizeLayer *const layer = network.addDynamicQuantize(*data, 1, 16, DataType::kFP4, DataType::kFP8);
    EXPECT_EQ(layer->getType(), LayerType::kDYNAMIC_QUANTIZE);
    EXPECT_EQ(static_cast<int32_t>(layer->getType()), 50);
    EXPECT_EQ(layer->getNbOutputs(), 2);
    EXPECT_EQ(layer->getOutput(2), nullptr);
    EXPECT_EQ(layer->getNbInputs(), 1);
    EXPECT_EQ(network.getNbLayers(), 1);
    EXPECT_EQ(network.getLayer(0), layer);
    EXPECT_EQ(network.getLayer(1), nullptr);
    EXPECT_EQ(layer->getOutput(0)->getDimensions().d[1], 32);
    EXPECT_EQ(layer->getOutput(1)->getDimensions().d[1], 2);
    EXPECT_EQ(layer->getOutput(1)->getDimensions().d[2], 4);
    EXPECT_EQ(layer->getOutputType(1), DataType::kFP8);
    EXPECT_STREQ(layer->getOutput(0)->getName(), "(Unnamed Layer* 0) [Dynamic Quantize]_output");
    EXPECT_STREQ(layer->getOutput(1)->getName(), "(Unnamed Layer* 0) [Dynamic Quantize]_output_1");
    layer->setToType(DataType::kFP8);
    layer->setScaleType(DataType::kE8M0);
    layer->setAxis(2);
    layer->setBlockSize(2);
    EXPECT_EQ(layer->getToType(), DataType::kFP8);
    EXPECT_EQ(layer->getScaleType(), DataType::kE8M0);
    EXPECT_EQ(layer->getAxis(), 2);
    EXPECT_EQ(layer->getBlockSize(), 2);
    EXPECT_EQ(layer->getOutput(1)->getDimensions().d[2], 2);
    layer->setBlockShape(Dims3(-1, 8, 1));
    EXPECT_EQ(layer->getBlockShape().d[1], 8);
    const Dims cut = layer->getOutput(1)->getDimensions();
    EXPECT_EQ((dimensions{cut.d[0], cut.d[1], cut.d[2]}), (dimensions{1, 4, 4}));
    layer->setOutputType(1, DataType::kFLOAT);
    EXPECT_EQ(layer->getScaleType(), DataType::kFLOAT);
    layer->setInput(2, *data);
    EXPECT_EQ(layer->getNbInputs(), 1);
}

TEST_F(TensorRTDynamic, computes_scales_of_the_blocks_of_an_axis) {
    for (const DataType floating : floating_types) {
        for (const int32_t axis : {0, 1, 2}) {
            for (const float s : {2.0f, 0.75f}) {
                dimensions shape = random_shape(random, axis == 0 ? 2 : 3, 4);
                dynamic_case nv{DataType::kFP4, DataType::kFP8, axis, 16},
                    mx{DataType::kFP8, DataType::kE8M0, axis, 32};
                dimensions wider = shape;
                shape[static_cast<size_t>(axis)] *= 16;
                wider[static_cast<size_t>(axis)] *= 32;
                ASSERT_NO_FATAL_FAILURE(
                    expect_oracle_results(floating, shape, nv, s, floating == DataType::kBF16 || s == 2));
                ASSERT_NO_FATAL_FAILURE(expect_oracle_results(floating, wider, mx, s, true));
            }
        }
    }
}

TEST_F(TensorRTDynamic, computes_scales_of_blocks_of_a_shape) {
    for (const DataType floating : floating_types) {
        for (const DataType to : {DataType::kFP4, DataType::kFP8}) {
            for (const DataType scales : {DataType::kFP8, DataType::kE8M0, DataType::kFLOAT}) {
                for (const dimensions &block :
                     {dimensions{-1, -1}, {1, 16}, {2, 3}, {4, -1}, {1, 2, 1}, {2, 1, 4, 2}, {1, 1, 1, -1}}) {
                    dimensions shape = random_shape(random, static_cast<int>(block.size()), 4);
                    for (size_t d = 0; d < block.size(); d++) {
                        shape[d] *= std::max<int64_t>(block[d], 1);
                    }
                    SCOPED_TRACE("to " + std::to_string(int(to)) + ", scales " + std::to_string(int(scales)) +
                                 ", shape " + testing::PrintToString(shape) + ", block " +
                                 testing::PrintToString(block));
                    ASSERT_NO_FATAL_FAILURE(
                        expect_oracle_results(floating, shape, {to, scales, -1, 0, block}, 0.75f, true));
                }
            }
        }
    }
}

// The reference's example has a scale of scales of one dimension; that of a NaN, an infinity and of zeros is as
// qdq_scale_rule has it.
TEST_F(TensorRTDynamic, has_scales_for_zeros_nan_and_infinity) {
    std::vector<float> values(64);
    values[16] = std::numeric_limits<float>::quiet_NaN();
    values[32] = std::numeric_limits<float>::infinity();
    values[48] = 12;
    const float s = 0.5f;
    const auto network =
        network_of({2, 32}, {DataType::kFP4, DataType::kFP8, 1, 16}, operand{{1}, DataType::kFLOAT, &s});
    std::vector<uint8_t> codes(32), scales(4);
    network->setInputTensorAddress("x", values.data());
    network->setTensorAddress("codes", codes.data());
    network->setTensorAddress("scales", scales.data());
    const qdq::result done = network->run();
    ASSERT_TRUE(done) << done.message();
    EXPECT_EQ(scales, (std::vector<uint8_t>{0x38, 0x7f, 0x7e, 0x48}));  // 1, NaN, 448, 12 / s / 6
    EXPECT_EQ(codes[24], 0x07);
}

TEST_F(TensorRTDynamic, keeps_scales_that_no_output_shows) {
    std::vector<float> values(64, 3.0f);
    const auto network = network_of({2, 32}, {DataType::kFP8, DataType::kE8M0, 1, 32});
    network->unmarkOutput(*network->getOutput(1));
    std::vector<uint8_t> codes(64);
    network->setInputTensorAddress("x", values.data());
    network->setTensorAddress("codes", codes.data());
    const qdq::result done = network->run();
    ASSERT_TRUE(done) << done.message();
    EXPECT_EQ(codes, std::vector<uint8_t>(64, 0x7c));  // 384 of 2^-7
}

TEST_F(TensorRTDynamic, inverts_every_scale_of_scales) {
    for (uint32_t exponent = 0; exponent < 256; exponent++) {
        for (int i = 0; i < 40; i++) {
            const uint32_t mantissa =
                i < 2 ? static_cast<uint32_t>(i) * 0x7fffff : static_cast<uint32_t>(random.below(0x800000));
            const uint32_t bits = exponent << 23 | (exponent == 255 ? 0 : std::max(mantissa, exponent == 0 ? 1u : 0u));
            const auto value = std::bit_cast<float>(bits);
            ASSERT_EQ(std::bit_cast<uint32_t>(detail::reciprocal(value)), std::bit_cast<uint32_t>(1 / value)) << bits;
        }
    }
}

TEST_F(TensorRTDynamic, refuses_other_types) {
    for (const DataType type : every_type) {
        auto network = network_of({2, 32}, {DataType::kFP8, DataType::kE8M0, 1, 32}, {}, type);
        if (contains(floating_types, type)) {
            EXPECT_TRUE(network->build());
        } else {
            expect_refused(*network, {"codes: input: ", name_of(type), "kFLOAT, kHALF, kBF16"});
        }
        if (type != DataType::kFP4 && type != DataType::kFP8) {
            network = network_of({2, 32}, {type, DataType::kE8M0, -1, 0, {1, 16}});
            expect_refused(*network, {"codes: toType: ", name_of(type), "kFP4, kFP8"});
        }
        if (type != DataType::kFP8 && type != DataType::kE8M0 && type != DataType::kFLOAT) {
            network = network_of({2, 32}, {DataType::kFP4, type, -1, 0, {1, 16}});
            expect_refused(*network, {"codes: scaleType: ", name_of(type), "kFP8, kE8M0, kFLOAT"});
        }
    }
    for (const auto &[to, scales] : {std::pair(DataType::kFP4, DataType::kE8M0),
                                     {DataType::kFP8, DataType::kFP8},
                                     {DataType::kFP8, DataType::kFLOAT},
                                     {DataType::kFP4, DataType::kFLOAT}}) {
        expect_refused(*network_of({2, 32}, {to, scales, 1, 32}), {"scaleType: along an axis, kFP4 has kFP8 scales"});
    }
}

TEST_F(TensorRTDynamic, wants_2_or_3_dimensions_and_4_of_a_block_shape) {
    const dynamic_case mx{DataType::kFP8, DataType::kE8M0, 0, 32};
    expect_refused(*network_of({32}, mx), {"codes: input: 1 dimensions are not 2 or 3, nor 4 of a block shape"});
    expect_refused(*network_of({1, 1, 32, 1}, mx), {"4 dimensions are not 2 or 3"});
    expect_refused(*network_of({}, mx), {"0 dimensions are not 2 or 3"});
    dynamic_case shaped{DataType::kFP8, DataType::kE8M0, -1, 0, {1, 1, 1, 1}};
    EXPECT_TRUE(network_of({1, 1, 32, 1}, shaped)->build());
    shaped.block.push_back(1);
    expect_refused(*network_of({1, 1, 32, 1, 1}, shaped), {"5 dimensions are not 2 or 3, nor 4"});
}

TEST_F(TensorRTDynamic, wants_blocks_that_cut_the_input_evenly) {
    dynamic_case mx{DataType::kFP8, DataType::kE8M0, 0, 32};
    expect_refused(*network_of({32, 1, 1}, mx),
                   {"axis: 0 is neither the last nor the last but one dimension of [32, 1, 1]"});
    mx.axis = -1;
    expect_refused(*network_of({32, 32}, mx), {"axis: -1 is neither"});
    mx.axis = 2;
    expect_refused(*network_of({32, 32}, mx), {"axis: 2 is neither"});
    mx.axis = 1;
    expect_refused(*network_of({32, 33}, mx), {"blockSize: 32 does not divide axis 1 of the input, [32, 33]"});
    for (const int32_t size : {0, -1, 16, 64}) {
        mx.block_size = size;
        expect_refused(*network_of({32, 64}, mx), {"blockSize: ", " is not 32, that of kFP8"});
    }
    expect_refused(*network_of({32, 64}, {DataType::kFP4, DataType::kFP8, 1, 32}),
                   {"blockSize: 32 is not 16, that of kFP4"});
    for (const dimensions &block : {dimensions{1}, {1, 1, 1}, {1, 0}, {1, -2}, {1, 3}, {64, 1}}) {
        expect_refused(*network_of({32, 64}, {DataType::kFP8, DataType::kE8M0, -1, 0, block}),
                       {"blockShape: it does not cut the input, [32, 64], evenly into blocks"});
    }
}

TEST_F(TensorRTDynamic, wants_a_scale_of_fp8_scales) {
    const dynamic_case nv{DataType::kFP4, DataType::kFP8, 1, 16};
    const char *const wanted = "codes: input 1: kFP8 scales, and no others, have a scale of scales";
    expect_refused(*network_of({2, 32}, nv), {wanted});
    expect_refused(*network_of({2, 32}, {DataType::kFP8, DataType::kE8M0, 1, 32}, operand{}), {wanted});
    expect_refused(*network_of({2, 32}, nv, operand{{}, DataType::kFLOAT, nullptr, false}),
                   {"input 1: it is not a constant"});
    expect_refused(*network_of({2, 32}, nv, operand{{}, DataType::kHALF}),
                   {"input 1: DataType kHALF is neither kFLOAT nor the input's, kFLOAT"});
    EXPECT_TRUE(network_of({2, 32}, nv, operand{{}, DataType::kHALF}, DataType::kHALF)->build());
    EXPECT_TRUE(network_of({2, 32}, nv, operand{{1}})->build());
    expect_refused(*network_of({2, 32}, nv, operand{{2}}), {"input 1: shape [2] is not that of one element"});
    expect_refused(*network_of({2, 32}, nv, operand{{1, 1}}), {"input 1: shape [1, 1] is not that of one element"});
    for (const float s : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN()}) {
        expect_refused(*network_of({2, 32}, nv, operand{{}, DataType::kFLOAT, &s}), {"input 1: it is not above 0"});
    }
}

TEST_F(TensorRTDynamic, gives_scales_to_dequantize_layers_alone) {
    const auto network = network_of({2, 32}, {DataType::kFP8, DataType::kFLOAT, -1, 0, {1, 16}});
    ILayer &layer = *network->getLayer(0);
    IQuantizeLayer *const again = network->addQuantize(*network->getInput(0), *layer.getOutput(1), DataType::kFP8);
    network->markOutput(*again->getOutput(0));
    expect_refused(*network, {"scale: it is not a constant"});
}

TEST_F(TensorRTDynamic, has_scales_of_scales) {
    const auto network = network_of({8, 64}, {DataType::kFP8, DataType::kFP8, -1, 0, {2, 4}}, operand{});
    ITensor *tensor = network->getLayer(1)->getOutput(1);
    for (int depth = 0; depth < 20000; depth++) {
        ITensor *const values = network->addDequantize(*tensor, *network->getLayer(0)->getOutput(0))->getOutput(0);
        IDynamicQuantizeLayer &layer = add_layer(*network, *values, {DataType::kFP8, DataType::kFP8, -1, 0, {1, 1}});
        layer.setInput(1, *network->getLayer(0)->getOutput(0));
        if (depth == 0) {
            layer.setBlockShape(Dims2(2, -1));
        }
        tensor = layer.getOutput(1);
    }
    EXPECT_EQ(tensor->getDimensions().d[0], 2);
    EXPECT_EQ(tensor->getDimensions().d[1], 1);
}

TEST_F(TensorRTDynamic, has_plans_that_are_checked) {
    plan = plan_of(*network_of({2, 32}, {DataType::kFP4, DataType::kFP8, 1, 16}, operand{{}, DataType::kFLOAT, &two}));
    ASSERT_NE(engine_of_plan(plan), nullptr) << logger.text;
    expect_logged_when_cut_off();
    EXPECT_GT(engines_of_damaged_plans(), 20);
    // Without the scales' layer, the last of 4.
    const auto network =
        network_of({2, 32}, {DataType::kFP4, DataType::kFP8, 1, 16}, operand{{}, DataType::kFLOAT, &two});
    network->unmarkOutput(*network->getOutput(1));
    plan = plan_of(*network);
    ASSERT_NE(engine_of_plan(plan), nullptr) << logger.text;
    constexpr std::ptrdiff_t outputs = 4, record = 56 + sizeof "scales";
    plan.erase(plan.end() - outputs - record, plan.end() - outputs);
    plan[8] = std::byte{3};
    EXPECT_EQ(engine_of_plan(plan), nullptr);
    expect_logged({"ends early, or is damaged"});
}

TEST_F(TensorRTDynamic, says_when_memory_is_short) {
    std::vector<float> values(64, 1.0f);
    std::vector<uint8_t> codes(32), scales(4);
    bool is_made = false;
    for (int64_t after = 0; !is_made; after++) {
        INetworkDefinition network;
        ITensor *const data = network.addInput("x", DataType::kFLOAT, Dims2(2, 32));
        ITensor &scale = add(network, "s", {});
        const memory_shortage shortage(after);
        IDynamicQuantizeLayer *const layer = network.addDynamicQuantize(*data, 1, 16, DataType::kFP4, DataType::kFP8);
        EXPECT_EQ(network.getNbLayers(), layer != nullptr ? 2 : 1);
        if (layer == nullptr) {
            continue;
        }
        layer->setInput(1, scale);
        network.markOutput(*layer->getOutput(1));
        network.setInputTensorAddress("x", values.data());
        network.setTensorAddress(layer->getOutput(1)->getName(), scales.data());
        const qdq::result done = network.run();
        is_made = done.has_value();
        EXPECT_TRUE(is_made || done.status() == qdq::status::out_of_memory) << done.message();
    }
}

}  // namespace
}  // namespace compat_test
