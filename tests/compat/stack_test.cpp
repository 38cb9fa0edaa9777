// How much stack a call of a front end takes, with the call of qdq beneath it.
#include "acl_type.h"
#include "cases.h"
#include "concurrency/stack_of.h"
#include "support/targets.h"

#include <qdq/compat/aclnn.h>
#include <qdq/compat/pypto.hpp>
#include <qdq/compat/tensorrt.hpp>
#include <qdq/compat/torch_npu.hpp>
#include <qdq/compat/tripy.hpp>

namespace compat_test {
namespace {

using concurrency_test::expect_stated_stack;

const dimensions shape{130, 132}, channels{132};

// The targets in turn; what is transposed is gathered, with operands of each kind.
class Stack : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (!concurrency_test::stack_can_be_measured) {
            GTEST_SKIP() << "instrumented code takes more";
        }
        if (!test_support::usable(GetParam())) {
            GTEST_SKIP() << GetParam() << ": compiled, not executed";
        }
        ASSERT_EQ(qdq_force_target(GetParam().c_str()), QDQ_OK);
    }
    void TearDown() override { test_support::restore_defaults(); }

    random_bits random{1};
    const tensor_memory x = random_floats(random, QDQ_F32, shape, layout::transposed),
                        codes = random_codes(random, QDQ_I8, shape, layout::transposed),
                        scales = random_scales(random, QDQ_F32, channels, layout::dense, scale_values::positive),
                        zero_points = random_floats(random, QDQ_F32, channels, layout::dense),
                        integer_zero_points = random_codes(random, QDQ_I32, channels, layout::dense);
};

TEST_P(Stack, of_tripy_is_at_most_what_the_header_says) {
    using namespace qdq;
    bool there = false, back = false;
    expect_stated_stack([&] { there = bool(tripy::quantize(view(x), view(scales), dtype::i8, 1)); });
    expect_stated_stack([&] { back = bool(tripy::dequantize(view(codes), view(scales), dtype::f32, 1)); });
    EXPECT_TRUE(there && back);
}

TEST_P(Stack, of_pypto_is_at_most_what_the_header_says) {
    using namespace qdq;
    bool done = false;
    expect_stated_stack(
        [&] { done = bool(pypto::dequantize(view(codes), view(scales), dtype::f32, 0, view(zero_points))); });
    EXPECT_TRUE(done);
}

TEST_P(Stack, of_torch_npu_is_at_most_what_the_header_says) {
    using namespace qdq;
    bool done = false;
    expect_stated_stack([&] {
        done = bool(torch_npu::npu_quantize(view(x), view(scales), view(integer_zero_points), torch_npu::qint8));
    });
    EXPECT_TRUE(done);
}

TEST_P(Stack, of_torch_npus_computed_scales_is_at_most_what_the_header_says) {
    using namespace qdq::torch_npu;
    const tensor_memory halves = random_floats(random, QDQ_F16, shape, layout::transposed),
                        factors = random_floats(random, QDQ_F16, channels, layout::dense);
    bool rows = false, blocks = false, back = false;
    expect_stated_stack([&] { rows = bool(npu_dynamic_quant(view(halves), {.smooth_scales = view(factors)})); });
    expect_stated_stack([&] { blocks = bool(npu_dynamic_mx_quant(view(halves), {.axis = 0})); });
    expect_stated_stack([&] { back = bool(npu_anti_quant(view(codes), view(scales), {.offset = view(zero_points)})); });
    bool shifted = false;
    expect_stated_stack(
        [&] { shifted = bool(npu_dynamic_quant_asymmetric(view(halves), {.smooth_scales = view(factors)})); });
    EXPECT_TRUE(rows && blocks && back && shifted);
}

// A network's own run, and an engine's.
TEST_P(Stack, of_tensorrt_is_at_most_what_the_header_says) {
    using namespace qdq::tensorrt;
    struct : ILogger {
        void log(Severity, char const *) noexcept override {}
    } logger;
    const tensor_memory dense = random_floats(random, QDQ_F32, shape, layout::dense), y(QDQ_F32, shape);
    bool run = false, enqueued = false;
    expect_stated_stack([&] {
        INetworkDefinition network;
        ITensor *const input = network.addInput("x", DataType::kFLOAT, {2, {shape[0], shape[1]}});
        ITensor *const scale =
            network.addConstant({1, {channels[0]}}, {DataType::kFLOAT, scales.view().data, channels[0]})->getOutput(0);
        IQuantizeLayer *const quantize = network.addQuantize(*input, *scale, DataType::kINT8);
        quantize->setAxis(1);
        IDequantizeLayer *const dequantize = network.addDequantize(*quantize->getOutput(0), *scale, DataType::kFLOAT);
        dequantize->setAxis(1);
        ITensor *const one = network.addConstant({0, {}}, {DataType::kFLOAT, scales.view().data, 1})->getOutput(0);
        IDynamicQuantizeLayer *const dynamic =
            network.addDynamicQuantizeV2(*dequantize->getOutput(0), Dims2(1, -1), DataType::kFP8, DataType::kFP8);
        dynamic->setInput(1, *one);
        ITensor *const computed = network.addDequantize(*dynamic->getOutput(1), *one)->getOutput(0);
        IDequantizeLayer *const back = network.addDequantize(*dynamic->getOutput(0), *computed);
        back->setBlockShape(Dims2(1, -1));
        ITensor *const output = back->getOutput(0);
        output->setName("y");
        network.markOutput(*output);
        network.setTensorAddress("x", dense.view().data);
        network.setTensorAddress("y", y.view().data);
        run = bool(network.run());
        const std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
        const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
        const std::unique_ptr<ICudaEngine> engine(builder->buildEngineWithConfig(network, *config));
        const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
        context->setInputTensorAddress("x", dense.view().data);
        context->setTensorAddress("y", y.view().data);
        enqueued = context->enqueueV3(nullptr);
    });
    EXPECT_TRUE(run && enqueued);
}

aclTensor *acl_tensor(const tensor_memory &memory) {
    const qdq_tensor t = memory.view();
    const auto rank = static_cast<uint64_t>(t.rank);
    return aclCreateTensor(t.shape, rank, acl_type(t.dtype), t.strides, 0, ACL_FORMAT_ND, t.shape, rank, t.data);
}

TEST_P(Stack, of_aclnn_is_at_most_what_the_header_says) {
    const tensor_memory y(QDQ_I8, shape);
    aclnnStatus status = ACLNN_SUCCESS;
    expect_stated_stack([&] {
        aclTensor *const all[] = {acl_tensor(x), acl_tensor(scales), acl_tensor(integer_zero_points), acl_tensor(y)};
        uint64_t workspace = 0;
        aclOpExecutor *executor = nullptr;
        status = aclnnQuantizeGetWorkspaceSize(all[0], all[1], all[2], ACL_INT8, 1, all[3], &workspace, &executor);
        if (status == ACLNN_SUCCESS) {
            status = aclnnQuantize(nullptr, workspace, executor, nullptr);
        }
        for (aclTensor *tensor : all) {
            aclDestroyTensor(tensor);
        }
    });
    EXPECT_EQ(status, ACLNN_SUCCESS) << aclGetRecentErrMsg();
}

INSTANTIATE_TEST_SUITE_P(Targets, Stack, testing::ValuesIn(test_support::host_targets()),
                         [](const auto &param) { return param.param; });

}  // namespace
}  // namespace compat_test
