// What the front ends add to a call, a small one and a large one, per channel of axis 0 on one thread:
//
//     qdq_compat_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=25
//
// Names end in /<elements>/<who>. Compare the smallest times ("min") of one group and number of elements:
//   quantize, dequantize         qdq is the C call; the others write to the same memory
//   quantize_new, dequantize_new the result is allocated: qdq does that around the C call
//   dynamic                      scales of rows are computed, of f16; as quantize
//   quantize_again               qdq is qdq_run of a plan; the others are what they have for repeated calls
// The front ends' times include making the views that their arguments are.
#include <qdq/compat/aclnn.h>
#include <qdq/compat/pypto.hpp>
#include <qdq/compat/tensorrt.hpp>
#include <qdq/compat/torch_npu.hpp>
#include <qdq/compat/tripy.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace qdq;

constexpr std::int64_t channels = 8;

// The operands of every call of one size, kept for the whole run.
struct operands {
    explicit operands(std::int64_t elements)
        : shape{channels, elements / channels},
          floats(static_cast<std::size_t>(elements), 1.5f),
          codes(static_cast<std::size_t>(elements), 3),
          scales(channels, 0.5f) {}

    std::array<std::int64_t, 2> shape;
    std::vector<float> floats;
    std::vector<std::int8_t> codes;
    std::vector<float> scales;
    qdq_tensor c_floats{floats.data(), QDQ_F32, 2, shape.data(), nullptr, {}};
    qdq_tensor c_codes{codes.data(), QDQ_I8, 2, shape.data(), nullptr, {}};
    qdq_tensor c_scales{scales.data(), QDQ_F32, 1, shape.data(), nullptr, {}};
    qdq_options options{};
};

// Once an iteration, `call` on the operands; it says whether it succeeded.
template<typename Call> void add(const std::string &group, const char *who, operands &all, Call call) {
    const std::string name = group + "/" + std::to_string(all.codes.size()) + "/" + who;
    benchmark::RegisterBenchmark(name.c_str(), [&all, call](benchmark::State &state) mutable {
        for (auto _ : state) {
            if (!call(all)) {
                state.SkipWithError("the call failed");
            }
            benchmark::ClobberMemory();
        }
    })->ComputeStatistics("min", [](const std::vector<double> &times) { return *std::ranges::min_element(times); });
}

bool plain_quantize(operands &all, void *to) {
    qdq_tensor y = all.c_codes;
    y.data = to;
    return qdq_quantize(&all.c_floats, &all.c_scales, nullptr, &y, &all.options) == QDQ_OK;
}

bool plain_dequantize(operands &all, void *to) {
    qdq_tensor y = all.c_floats;
    y.data = to;
    return qdq_dequantize(&all.c_codes, &all.c_scales, nullptr, &y, &all.options) == QDQ_OK;
}

// `call` with memory that is new to it.
template<typename Call> bool into_new(operands &all, std::size_t bytes, Call call) {
    void *to = ::operator new(bytes);
    const bool done = call(all, to);
    ::operator delete(to);
    return done;
}

struct acl_tensors {
    explicit acl_tensors(operands &o)
        : x(aclCreateTensor(o.shape.data(), 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, o.floats.data())),
          scales(aclCreateTensor(o.shape.data(), 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, o.scales.data())),
          out(aclCreateTensor(o.shape.data(), 2, ACL_INT8, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, o.codes.data())) {}

    aclOpExecutor *first_phase() const {
        uint64_t workspace_size = 0;
        aclOpExecutor *executor = nullptr;
        aclnnQuantizeGetWorkspaceSize(x, scales, nullptr, ACL_INT8, 0, out, &workspace_size, &executor);
        return executor;
    }

    aclTensor *x, *scales, *out;
};

void add_single_calls(operands &all) {
    add("quantize", "qdq", all, [](operands &o) { return plain_quantize(o, o.codes.data()); });
    add("quantize", "torch_npu", all, [](operands &o) {
        return bool(torch_npu::npu_quantize_out({o.codes, o.shape}, {o.floats, o.shape}, o.scales, torch_npu::None,
                                                torch_npu::qint8, 0));
    });
    add("quantize", "tripy", all, [](operands &o) {
        return bool(tripy::quantize_out({o.codes, o.shape}, {o.floats, o.shape}, o.scales, tripy::int8, 0));
    });
    add("quantize", "aclnn", all, [tensors = acl_tensors(all)](operands &) {
        return aclnnQuantize(nullptr, 0, tensors.first_phase(), nullptr) == ACLNN_SUCCESS;
    });
    add("dequantize", "qdq", all, [](operands &o) { return plain_dequantize(o, o.floats.data()); });
    add("dequantize", "pypto", all, [](operands &o) {
        return bool(pypto::dequantize_out({o.floats, o.shape}, {o.codes, o.shape}, o.scales, pypto::DT_FP32, -1));
    });
    add("dequantize", "tripy", all, [](operands &o) {
        return bool(tripy::dequantize_out({o.floats, o.shape}, {o.codes, o.shape}, o.scales, tripy::float32, 0));
    });
}

void add_dynamic_calls(operands &all) {
    const auto elements = all.codes.size();
    auto *halves = new std::vector<std::uint16_t>(elements, 0x3e00);  // 1.5
    const qdq_tensor x{halves->data(), QDQ_F16, 2, all.shape.data(), nullptr, {}};
    static constexpr std::int64_t rows[] = {channels, 1};
    add("dynamic", "qdq", all, [x](operands &o) {
        const qdq_tensor scale{o.scales.data(), QDQ_F32, 2, rows, nullptr, {}};
        return qdq_quantize_dynamic(&x, &scale, nullptr, &o.c_codes, nullptr, &o.options) == QDQ_OK;
    });
    const aclTensor *const tensor =
        aclCreateTensor(all.shape.data(), 2, ACL_FLOAT16, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, halves->data());
    add("dynamic", "aclnn", all, [tensor, others = acl_tensors(all)](operands &) {
        std::uint64_t size = 0;
        aclOpExecutor *executor = nullptr;
        aclnnDynamicQuantGetWorkspaceSize(tensor, nullptr, others.out, others.scales, &size, &executor);
        return aclnnDynamicQuant(nullptr, size, executor, nullptr) == ACLNN_SUCCESS;
    });
}

void add_calls_with_results(operands &all) {
    add("quantize_new", "qdq", all, [](operands &o) { return into_new(o, o.codes.size(), plain_quantize); });
    add("quantize_new", "torch_npu", all, [](operands &o) {
        return bool(torch_npu::npu_quantize({o.floats, o.shape}, o.scales, torch_npu::None, torch_npu::qint8, 0));
    });
    add("quantize_new", "tripy", all,
        [](operands &o) { return bool(tripy::quantize({o.floats, o.shape}, o.scales, tripy::int8, 0)); });
    add("dequantize_new", "qdq", all,
        [](operands &o) { return into_new(o, o.codes.size() * sizeof(float), plain_dequantize); });
    add("dequantize_new", "pypto", all,
        [](operands &o) { return bool(pypto::dequantize({o.codes, o.shape}, o.scales, pypto::DT_FP32, -1)); });
    add("dequantize_new", "tripy", all,
        [](operands &o) { return bool(tripy::dequantize({o.codes, o.shape}, o.scales, tripy::float32, 0)); });
}

// Made once, and never freed: the benchmarks that use them outlive this function.
void add_repeated_calls(operands &all) {
    auto *plan = new qdq_plan;
    qdq_plan_quantize(plan, &all.c_floats, &all.c_scales, nullptr, &all.c_codes, &all.options);
    add("quantize_again", "qdq", all,
        [plan](operands &o) { return qdq_run(plan, o.floats.data(), o.codes.data(), nullptr) == QDQ_OK; });

    auto *network = new tensorrt::INetworkDefinition;
    const tensorrt::Dims shape{2, {all.shape[0], all.shape[1]}}, rows{1, {channels}};
    tensorrt::ITensor *x = network->addInput("x", tensorrt::DataType::kFLOAT, shape);
    auto *scale = network->addConstant(rows, {tensorrt::DataType::kFLOAT, all.scales.data(), channels});
    auto *layer = network->addQuantize(*x, *scale->getOutput(0));
    layer->setAxis(0);
    network->markOutput(*layer->getOutput(0));
    network->setTensorAddress("x", all.floats.data());
    network->setTensorAddress(layer->getOutput(0)->getName(), all.codes.data());
    add("quantize_again", "tensorrt", all, [network](operands &) { return bool(network->run()); });

    aclOpExecutor *executor = acl_tensors(all).first_phase();
    aclSetAclOpExecutorRepeatable(executor);
    add("quantize_again", "aclnn", all,
        [executor](operands &) { return aclnnQuantize(nullptr, 0, executor, nullptr) == ACLNN_SUCCESS; });
}

}  // namespace

int main(int argc, char **argv) {
    benchmark::Initialize(&argc, argv);
    qdq_set_num_threads(1);
    operands small(64), large(16 << 20);
    for (operands *all : {&small, &large}) {
        add_single_calls(*all);
        add_dynamic_calls(*all);
        add_calls_with_results(*all);
        add_repeated_calls(*all);
    }
    benchmark::RunSpecifiedBenchmarks();
}
