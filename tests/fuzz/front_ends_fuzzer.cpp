// The front ends on any arguments: each refuses them with a message, or computes the same bytes on two targets.
#include "checked_call.h"

#include "compat/acl_type.h"
#include "compat/cases.h"
#include "conformance/supported.h"
#include "reference/formats.h"
#include "support/targets.h"

#include <qdq/compat/aclnn.h>
#include <qdq/compat/pypto.hpp>
#include <qdq/compat/tensorrt.hpp>
#include <qdq/compat/torch_npu.hpp>
#include <qdq/compat/tripy.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>

namespace {

using compat_test::acl_type;
using compat_test::layout;
using fuzz::dimensions;
using fuzz::require;
using fuzz::tensor_memory;
using test_support::choices;
namespace compat = qdq::compat;

struct outcome {
    int status;
    std::vector<std::byte> result;
    bool operator==(const outcome &) const = default;
};

std::vector<std::byte> bytes_of(const qdq_tensor &dense) {
    const auto *begin = static_cast<const std::byte *>(dense.data);
    return {begin, begin + (reference::element_count(dense) * reference::bits_of(dense.dtype) + 7) / 8};
}

outcome of(const compat::expected<compat::owned_tensor> &y) {
    require(y || y.message()[0] != '\0', "a failure has no message");
    return y ? outcome{0, bytes_of(y->c())} : outcome{static_cast<int>(y.error().status()), {}};
}

outcome of(const qdq::result &done, const tensor_memory &y) {
    require(done || done.message()[0] != '\0', "a failure has no message");
    return {static_cast<int>(done.status()), y.bytes()};
}

void expect_same_on_two_targets(const std::function<outcome()> &call, choices &from) {
    std::vector<std::string> targets;
    for (const std::string &name : test_support::host_targets()) {
        if (test_support::usable(name)) {
            targets.push_back(name);
        }
    }
    auto on = [&](const std::string &target) {
        require(qdq_force_target(target.c_str()) == QDQ_OK, "a usable target cannot be forced");
        return call();
    };
    const std::string first = from.one_of(targets), second = from.one_of(targets);
    require(on(first) == on(second), "two targets differ");
}

// A type out of a list that the front end takes, or seldom any other.
template<typename T> T type_of(choices &from, const std::vector<T> &likely, int64_t most) {
    return from.chance(8) ? static_cast<T>(from.between(0, most)) : from.one_of(likely);
}
qdq_dtype type_of(choices &from, const std::vector<qdq_dtype> &likely) {
    return type_of(from, likely, supported::every_type.back());
}

int64_t elements_of(const dimensions &shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

dimensions draw_shape(choices &from) {
    dimensions shape(static_cast<size_t>(from.chance(20) ? from.between(0, 8) : from.between(1, 4)));
    for (int64_t &extent : shape) {
        extent = from.chance(20) ? 0 : from.one_of<int64_t>({1, 2, 3, 8, from.between(1, 40)});
        if (shape.size() > 4) {
            extent = std::min<int64_t>(extent, 3);
        }
    }
    while (elements_of(shape) > 1 << 14) {  // more only take longer
        *std::max_element(shape.begin(), shape.end()) /= 2;
    }
    return shape;
}

// What a scale for x may look like, and what none does.
dimensions draw_scale_shape(choices &from, const dimensions &x) {
    if (x.empty() || from.chance(12)) {
        return draw_shape(from);
    }
    const auto at = static_cast<size_t>(from.between(0, static_cast<int64_t>(x.size()) - 1));
    dimensions shape = x;
    switch (from.between(0, 6)) {
    case 0: return {};
    case 1: return {1};
    case 2: return {x[at]};
    case 3: shape[at] = 1; return shape;
    case 4: shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at)); return shape;
    case 5: shape[at] = (x[at] + 1) / 2; return shape;
    default:
        shape.assign(x.size(), 1);
        shape[at] = x[at];
        return shape;
    }
}

tensor_memory draw_tensor(choices &from, qdq_dtype type, const dimensions &shape) {
    static const std::vector<layout> layouts{layout::dense,  layout::dense,    layout::transposed,
                                             layout::padded, layout::reversed, layout::repeated};
    test_support::random_bits random(static_cast<uint64_t>(from.between(0, 255)));
    const layout how = from.one_of(layouts);
    const bool floats = type == QDQ_F32 || type == QDQ_F16 || type == QDQ_BF16;
    if (!floats) {
        return compat_test::random_codes(random, type, shape, how);
    }
    return from.chance(2) ? compat_test::random_scales(
                                random, type, shape, how,
                                from.chance(2) ? compat_test::scale_values::any : compat_test::scale_values::positive)
                          : compat_test::random_floats(random, type, shape, how);
}

// A place for a result: of the shape, or seldom of another one.
tensor_memory draw_output(choices &from, qdq_dtype type, const dimensions &shape) {
    const layout how = reference::is_packed(type)
                           ? layout::dense
                           : from.one_of<layout>({layout::dense, layout::transposed, layout::padded, layout::reversed,
                                                  layout::repeated});
    const dimensions of = from.chance(20) ? draw_shape(from) : shape;
    return tensor_memory(type, of, reference::is_packed(type) ? dimensions{} : compat_test::strides_of(how, of));
}

const std::vector<qdq_dtype> floats{QDQ_F32, QDQ_F32, QDQ_F16, QDQ_BF16};

void tripy(choices &from) {
    using namespace qdq;
    const std::vector<qdq_dtype> codes{QDQ_I8, QDQ_I4, QDQ_F8E4M3};
    const bool quantizes = from.chance(2);
    const qdq_dtype x_type = type_of(from, quantizes ? floats : codes),
                    y_type = type_of(from, quantizes ? codes : floats);
    const dimensions shape = draw_shape(from);
    const tensor_memory x = draw_tensor(from, x_type, shape);
    const qdq_dtype scale_type = from.chance(8) ? type_of(from, floats) : quantizes ? x_type : y_type;
    const tensor_memory scale = draw_tensor(from, scale_type, draw_scale_shape(from, shape));
    const std::vector<float> numbers(static_cast<size_t>(from.between(0, 9)), 0.5f);
    const std::vector<std::vector<float>> rows(static_cast<size_t>(from.between(0, 3)), numbers);
    const std::optional<int> dim =
        from.chance(2) ? std::optional<int>(static_cast<int>(from.between(-2, 5))) : std::nullopt;
    const tensor_memory y = draw_output(from, y_type, shape);
    const auto type = static_cast<dtype>(y_type);
    const int64_t kind = from.between(0, 5);
    const auto view = compat_test::view(x);
    const auto call = [&](const tripy::scale_argument &argument) {
        return of(quantizes ? tripy::quantize(view, argument, type, dim)
                            : tripy::dequantize(view, argument, type, dim));
    };
    expect_same_on_two_targets(
        [&] {
            switch (kind) {
            case 0: return call(0.3);
            case 1: return call(numbers);
            case 2: return call(rows);
            case 3: {
                tensor_memory into = y;
                const auto scales = compat_test::view(scale);
                return of(quantizes ? tripy::quantize_out(compat_test::out(into), view, scales, type, dim)
                                    : tripy::dequantize_out(compat_test::out(into), view, scales, type, dim),
                          into);
            }
            default: return call(compat_test::view(scale));
            }
        },
        from);
}

void pypto(choices &from) {
    using namespace qdq;
    const dimensions shape = draw_shape(from);
    const bool quantizes = from.chance(2), has_zero_point = from.chance(2), into_output = from.chance(3);
    const tensor_memory x =
        draw_tensor(from, quantizes ? type_of(from, {QDQ_F32}) : type_of(from, {QDQ_I8, QDQ_I16}), shape);
    const dimensions scale_shape = draw_scale_shape(from, shape);
    const tensor_memory scale = draw_tensor(from, type_of(from, {QDQ_F32}), scale_shape);
    const tensor_memory zero_point =
        draw_tensor(from, type_of(from, {QDQ_F32}), from.chance(8) ? draw_shape(from) : scale_shape);
    const qdq_dtype to = quantizes ? has_zero_point ? QDQ_U8 : QDQ_I8 : QDQ_F32;
    const auto type = static_cast<dtype>(type_of(from, {to}));
    const int axis = static_cast<int>(from.between(-5, 4));
    const tensor_memory y = draw_output(from, to, shape);
    if (from.chance(20)) {
        pypto::set_vec_tile_shapes(from.between(-1, 4), from.between(-1, 4));
    } else {
        pypto::set_vec_tile_shapes();
    }
    expect_same_on_two_targets(
        [&] {
            const tensor z = has_zero_point ? compat_test::view(zero_point) : tensor();
            const auto view = compat_test::view(x), of_scale = compat_test::view(scale);
            if (!into_output) {
                return of(quantizes ? pypto::quantize(view, of_scale, type, axis, z)
                                    : pypto::dequantize(view, of_scale, type, axis, z));
            }
            tensor_memory into = y;
            const auto place = compat_test::out(into);
            return of(quantizes ? pypto::quantize_out(place, view, of_scale, type, axis, z)
                                : pypto::dequantize_out(place, view, of_scale, type, axis, z),
                      into);
        },
        from);
}

void torch_npu(choices &from) {
    using namespace qdq;
    const dimensions shape = draw_shape(from);
    const qdq_dtype x_type = type_of(from, floats);
    const tensor_memory x = draw_tensor(from, x_type, shape);
    const dimensions scale_shape = draw_scale_shape(from, shape);
    const tensor_memory scale = draw_tensor(from, type_of(from, floats), scale_shape);
    const tensor_memory zero_point =
        draw_tensor(from, type_of(from, {QDQ_I8, QDQ_U8, QDQ_I32, QDQ_BF16, QDQ_F32, QDQ_F16}),
                    from.chance(8) ? draw_shape(from) : scale_shape);
    const bool has_zero_point = from.chance(2), into_output = from.chance(3), div_mode = from.chance(2);
    // By their numbers: qint8, quint8, int32, qint32, quint4x2 and hifloat8.
    const auto type = type_of<int64_t>(from, {12, 13, 3, 14, 16, 290}, 300);
    const int64_t axis = from.between(-9, 8);
    const tensor_memory y = draw_output(from, type_of(from, {QDQ_I8, QDQ_U8, QDQ_I32}), shape);
    expect_same_on_two_targets(
        [&] {
            const tensor z = has_zero_point ? compat_test::view(zero_point) : tensor();
            if (!into_output) {
                return of(
                    torch_npu::npu_quantize(compat_test::view(x), compat_test::view(scale), z, type, axis, div_mode));
            }
            tensor_memory into = y;
            return of(torch_npu::npu_quantize_out(compat_test::out(into), compat_test::view(x),
                                                  compat_test::view(scale), z, type, axis, div_mode),
                      into);
        },
        from);
}

template<typename... Tensors> outcome of(const compat::expected<std::tuple<Tensors...>> &results) {
    require(results || results.message()[0] != '\0', "a failure has no message");
    if (!results) {
        return {static_cast<int>(results.error().status()), {}};
    }
    outcome all{0, {}};
    std::apply(
        [&](const Tensors &...each) {
            const auto add = [&](const std::vector<std::byte> &bytes) {
                all.result.insert(all.result.end(), bytes.begin(), bytes.end());
            };
            (add(bytes_of(each.c())), ...);
        },
        *results);
    return all;
}

void npu_operators(choices &from) {
    using namespace qdq::torch_npu;
    const dimensions shape = draw_shape(from), scale_shape = draw_scale_shape(from, shape);
    const auto type = from.one_of<std::int64_t>({1, 16, 23, 24, 290, 296, 297, from.between(-1, 300)});
    const auto x_type = from.one_of<qdq_dtype>({QDQ_F16, QDQ_BF16, QDQ_F32, QDQ_I8, QDQ_I32, QDQ_F8E4M3, QDQ_U8});
    const tensor_memory x = draw_tensor(from, x_type, shape),
                        scale = draw_tensor(from, type_of(from, floats), scale_shape),
                        offset = draw_tensor(from, scale.view().dtype, scale_shape);
    const bool has_offset = from.chance(2), has_groups = from.chance(3);
    const int64_t rows = from.between(0, 40), axis = from.between(-3, 2), alg = from.between(0, 2);
    const std::vector<int32_t> ends{static_cast<int32_t>(from.between(0, 40)), static_cast<int32_t>(rows)};
    const char *const mode = from.one_of<const char *>({"pertoken", "pertensor", "perchannel", "rows"});
    const int64_t which = from.between(0, 3);
    const double largest = from.one_of<double>({0, 0, 6, 7.5, 33000}), bound = from.one_of<double>({0, 0, 0.5, -1});
    const auto *const rounding = from.one_of<const char *>({"rint", "floor", "round", "ceil"});
    const auto view_of_x = compat_test::view(x), view_of_scale = compat_test::view(scale),
               view_of_offset = compat_test::view(offset);
    const optional_tensor second = has_offset ? optional_tensor(view_of_offset) : None;
    const dynamic_quant_keywords how{.smooth_scales = second,
                                     .group_index = has_groups ? optional_tensor(Tensor(ends)) : None,
                                     .dst_type = type,
                                     .quant_mode = mode,
                                     .dst_type_max = largest};
    expect_same_on_two_targets(
        [&] {
            switch (which) {
            case 0: return of(npu_anti_quant(view_of_x, view_of_scale, {.offset = second, .dst_dtype = type}));
            case 1: return of(npu_dynamic_quant(view_of_x, how));
            case 3: return of(npu_dynamic_quant_asymmetric(view_of_x, how));
            default:
                return of(npu_dynamic_mx_quant(view_of_x, {.axis = axis,
                                                           .round_mode = rounding,
                                                           .dst_type = type,
                                                           .scale_alg = alg,
                                                           .dst_type_max = largest,
                                                           .max_low_bound = bound}));
            }
        },
        from);
}

qdq::tensorrt::Dims dims_of(const dimensions &shape) {
    qdq::tensorrt::Dims dims{static_cast<int32_t>(shape.size()), {}};
    std::copy(shape.begin(), shape.end(), dims.d);
    return dims;
}

// The same by TensorRT's steps: an engine writes what its network's own run does, and fails where that fails.
void expect_same_of_an_engine(const qdq::tensorrt::INetworkDefinition &network, const void *x, tensor_memory y,
                              const outcome &of_network) {
    using namespace qdq::tensorrt;
    struct : ILogger {
        void log(Severity, char const *message) noexcept override { has_line |= message[0] != '\0'; }
        bool has_line = false;
    } logger;
    const std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
    const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
    const std::unique_ptr<ICudaEngine> engine(builder->buildEngineWithConfig(network, *config));
    const std::unique_ptr<IExecutionContext> context(engine != nullptr ? engine->createExecutionContext() : nullptr);
    bool done = context != nullptr;
    if (done) {
        if (engine->getTensorIOMode("x") == TensorIOMode::kINPUT) {
            context->setInputTensorAddress("x", x);
        }
        context->setTensorAddress(network.getOutput(0)->getName(), y.view().data);
        done = context->enqueueV3(nullptr);
    }
    require(done != logger.has_line, "an engine's failure is not logged");
    require(done == (of_network.status == 0), "an engine and its network differ in success");
    require(!done || y.bytes() == of_network.result, "an engine and its network differ");
}

// There and back: an input or a constant, quantized and dequantized by one scale.
void tensorrt(choices &from) {
    using namespace qdq::tensorrt;
    const dimensions shape = draw_shape(from), scale_shape = draw_scale_shape(from, shape);
    const bool has_zero_point = from.chance(3), is_constant = from.chance(3), twice = from.chance(2);
    const auto type = from.one_of<std::pair<DataType, qdq_dtype>>(
        {{DataType::kFLOAT, QDQ_F32}, {DataType::kHALF, QDQ_F16}, {DataType::kBF16, QDQ_BF16}});
    test_support::random_bits random(static_cast<uint64_t>(from.between(0, 255)));
    const tensor_memory x = compat_test::random_floats(random, type.second, shape, layout::dense);
    const tensor_memory scale = compat_test::random_scales(
        random, type.second, scale_shape, layout::dense,
        from.chance(4) ? compat_test::scale_values::any : compat_test::scale_values::positive);
    tensor_memory zero_point(QDQ_F32, scale_shape);
    zero_point.fill([&](int64_t) { return from.chance(100) ? 0x3f800000u : 0u; });
    const auto code_type =
        type_of<DataType>(from, {DataType::kINT8, DataType::kINT4, DataType::kFP8, DataType::kFP4}, 12);
    const auto scale_type = from.chance(20) ? static_cast<DataType>(from.between(0, 12)) : type.first;
    const auto axis = static_cast<int32_t>(from.between(-2, 5));
    const int64_t count = reference::element_count(scale.view()) - (from.chance(30) ? 1 : 0);
    const bool is_bigger = from.chance(40), has_engine = from.chance(4);
    expect_same_on_two_targets(
        [&] {
            INetworkDefinition network;
            Dims dims = dims_of(shape);
            if (is_bigger) {
                dims.nbDims = 9;
            }
            ITensor *input =
                is_constant
                    ? network.addConstant(dims, {type.first, x.view().data, reference::element_count(x.view())})
                          ->getOutput(0)
                    : network.addInput("x", type.first, dims);
            ITensor *scales = network
                                  .addConstant(dims_of(scale_shape),
                                               {count < 0 ? DataType::kFLOAT : scale_type, scale.view().data, count})
                                  ->getOutput(0);
            IConstantLayer *zeros = network.addConstant(
                dims_of(scale_shape),
                {DataType::kFLOAT, zero_point.view().data, reference::element_count(zero_point.view())});
            IQuantizeLayer *quantize = network.addQuantize(*input, *scales, code_type);
            quantize->setAxis(axis);
            IDequantizeLayer *dequantize = network.addDequantize(*quantize->getOutput(0), *scales, type.first);
            dequantize->setAxis(axis);
            if (has_zero_point) {
                quantize->setInput(2, *zeros->getOutput(0));
            }
            tensor_memory y(type.second, shape);
            ITensor *output = dequantize->getOutput(0);
            network.markOutput(*output);
            network.setTensorAddress("x", x.view().data);
            network.setTensorAddress(output->getName(), y.view().data);
            outcome done = of(network.run(), y);
            if (twice) {
                require(of(network.run(), y) == done, "a network's second run differs");
            }
            if (has_engine) {
                expect_same_of_an_engine(network, x.view().data, tensor_memory(type.second, shape), done);
            }
            return done;
        },
        from);
}

struct acl_tensor {
    aclTensor *made;
    acl_tensor(const tensor_memory &memory, aclDataType type, int64_t offset, aclFormat format) {
        const qdq_tensor view = memory.view();
        const auto rank = static_cast<uint64_t>(view.rank);
        made = aclCreateTensor(view.shape, rank, type, view.strides, offset, format, view.shape, rank, view.data);
    }
    explicit acl_tensor(const tensor_memory &memory)
        : acl_tensor(memory, acl_type(memory.view().dtype), 0, ACL_FORMAT_ND) {}
    // Dense, of another shape and type.
    acl_tensor(const tensor_memory &memory, const dimensions &shape, aclDataType type)
        : made(aclCreateTensor(shape.data(), shape.size(), type, nullptr, 0, ACL_FORMAT_ND, shape.data(), shape.size(),
                               memory.view().data)) {}
    ~acl_tensor() { aclDestroyTensor(made); }
    acl_tensor(const acl_tensor &) = delete;
};

void aclnn(choices &from) {
    const dimensions shape = draw_shape(from), scale_shape = draw_scale_shape(from, shape);
    const std::vector<qdq_dtype> codes{QDQ_I8, QDQ_U8, QDQ_I32};
    const qdq_dtype x_type = from.one_of(floats), y_type = from.one_of(codes);
    const qdq_dtype scale_type = from.chance(3) ? from.one_of(floats) : x_type;
    const qdq_dtype zero_type = from.one_of<qdq_dtype>({QDQ_I32, QDQ_I8, QDQ_U8, QDQ_BF16});
    const tensor_memory x = draw_tensor(from, x_type, shape), scale = draw_tensor(from, scale_type, scale_shape),
                        zero_point = draw_tensor(from, zero_type, scale_shape), y = draw_output(from, y_type, shape);
    // A type that a tensor does not have may be wider: such calls are not run.
    auto perhaps_wrong = [&](qdq_dtype type) {
        return from.chance(30) ? static_cast<aclDataType>(from.between(0, 41)) : acl_type(type);
    };
    const aclDataType x_acl = perhaps_wrong(x_type), scale_acl = perhaps_wrong(scale_type),
                      zero_acl = perhaps_wrong(zero_type), y_acl = perhaps_wrong(y_type), dtype = perhaps_wrong(y_type);
    const bool wrong = x_acl != acl_type(x_type) || scale_acl != acl_type(scale_type) ||
                       zero_acl != acl_type(zero_type) || y_acl != acl_type(y_type);
    const auto format = from.chance(10) ? static_cast<aclFormat>(from.between(0, 54)) : ACL_FORMAT_ND;
    const bool has_zero_point = from.chance(2), repeats = from.chance(3), omits = from.chance(50);
    const auto axis = static_cast<int32_t>(from.between(-9, 8));
    const uint64_t workspace = from.chance(30) ? 1 : 0;
    expect_same_on_two_targets(
        [&] {
            tensor_memory into = y;
            const acl_tensor a(x, x_acl, 0, format), s(scale, scale_acl, 0, ACL_FORMAT_ND),
                z(zero_point, zero_acl, 0, ACL_FORMAT_ND), out(into, y_acl, 0, ACL_FORMAT_ND);
            uint64_t size = 1;
            aclOpExecutor *executor = nullptr;
            aclnnStatus status =
                aclnnQuantizeGetWorkspaceSize(omits ? nullptr : a.made, s.made, has_zero_point ? z.made : nullptr,
                                              dtype, axis, out.made, &size, &executor);
            if (status != ACLNN_SUCCESS) {
                require(aclGetRecentErrMsg() != nullptr, "a failure has no message");
                return outcome{status, into.bytes()};
            }
            if (repeats) {
                aclSetAclOpExecutorRepeatable(executor);
            }
            if (!wrong) {
                status = aclnnQuantize(nullptr, workspace, executor, nullptr);
                if (repeats) {
                    status = aclnnQuantize(nullptr, workspace, executor, nullptr);
                }
            }
            if (wrong || repeats || status != ACLNN_SUCCESS) {
                aclDestroyAclOpExecutor(executor);
            }
            require(aclnnQuantize(nullptr, 0, executor, nullptr) == ACLNN_ERR_PARAM_INVALID,
                    "an executor that has gone is taken");
            return outcome{status, into.bytes()};
        },
        from);
}

// Both phases, with the workspace that the first asks for, and a second run of a repeatable executor.
outcome run_acl(const std::function<aclnnStatus(uint64_t *, aclOpExecutor **)> &first,
                aclnnStatus second(void *, uint64_t, aclOpExecutor *, aclrtStream), bool repeats,
                std::initializer_list<const tensor_memory *> outputs) {
    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    aclnnStatus status = first(&size, &executor);
    if (status == ACLNN_SUCCESS) {
        std::vector<std::byte> workspace(size);
        if (repeats) {
            aclSetAclOpExecutorRepeatable(executor);
            status = second(workspace.data(), size, executor, nullptr);
        }
        if (status == ACLNN_SUCCESS) {
            status = second(workspace.data(), size, executor, nullptr);
        }
        if (repeats || status != ACLNN_SUCCESS) {
            aclDestroyAclOpExecutor(executor);
        }
    }
    require(status == ACLNN_SUCCESS || aclGetRecentErrMsg() != nullptr, "a failure has no message");
    outcome done{status, {}};
    for (const tensor_memory *output : outputs) {
        const auto bytes = output->bytes();
        done.result.insert(done.result.end(), bytes.begin(), bytes.end());
    }
    return done;
}

// Codes as CANN has them: those of 4 bits may be in int32.
struct drawn_codes {
    tensor_memory memory;
    dimensions shape;
    aclDataType type;

    drawn_codes(choices &from, const dimensions &of, bool is_result)
        : memory(draw(from, of, is_result)), shape(of), type(acl_type(memory.view().dtype)) {
        if (type == ACL_INT4 && !shape.empty() && shape.back() % 8 == 0 && from.chance(2)) {
            type = ACL_INT32;
            shape.back() /= 8;
        }
    }
    static tensor_memory draw(choices &from, const dimensions &of, bool is_result) {
        const qdq_dtype type = from.one_of<qdq_dtype>({QDQ_I8, QDQ_I4, QDQ_F8E4M3, QDQ_F8E5M2, QDQ_HIF8});
        if (!is_result) {
            test_support::random_bits random(static_cast<uint64_t>(from.between(0, 255)));
            return compat_test::random_codes(random, type, of, layout::dense);
        }
        return tensor_memory(type, of);
    }
    acl_tensor tensor(const tensor_memory &of) const { return acl_tensor(of, shape, type); }
};

void ascend_quant(choices &from) {
    const dimensions shape = draw_shape(from), scale_shape = draw_scale_shape(from, shape);
    const qdq_dtype x_type = from.one_of(floats), scale_type = from.chance(3) ? from.one_of(floats) : x_type;
    const tensor_memory x = draw_tensor(from, x_type, shape), scale = draw_tensor(from, scale_type, scale_shape),
                        offset = draw_tensor(from, scale_type, scale_shape);
    const drawn_codes y(from, shape, true);
    const bool has_offset = from.chance(2), sqrt_mode = from.chance(3), repeats = from.chance(3);
    const char *const mode = from.one_of<const char *>({"round", "round", "floor", "ceil", "trunc", "hybrid", nullptr});
    const auto axis = static_cast<int32_t>(from.between(-3, 2));
    expect_same_on_two_targets(
        [&] {
            tensor_memory into = y.memory;
            const acl_tensor a(x), s(scale), o(offset), codes = y.tensor(into);
            return run_acl(
                [&](uint64_t *size, aclOpExecutor **executor) {
                    return aclnnAscendQuantV3GetWorkspaceSize(a.made, s.made, has_offset ? o.made : nullptr, sqrt_mode,
                                                              mode, y.type, axis, codes.made, size, executor);
                },
                aclnnAscendQuantV3, repeats, {&into});
        },
        from);
}

void ascend_anti_quant(choices &from) {
    const dimensions shape = draw_shape(from), scale_shape = draw_scale_shape(from, shape);
    const qdq_dtype scale_type = type_of(from, {QDQ_F32, QDQ_F32, QDQ_BF16}), y_type = type_of(from, floats);
    const tensor_memory scale = draw_tensor(from, scale_type, scale_shape),
                        offset = draw_tensor(from, scale_type, scale_shape), y = draw_output(from, y_type, shape);
    const drawn_codes x(from, shape, false);
    const bool has_offset = from.chance(2), sqrt_mode = from.chance(3), repeats = from.chance(3);
    expect_same_on_two_targets(
        [&] {
            tensor_memory into = y;
            const acl_tensor a = x.tensor(x.memory), s(scale), o(offset), values(into);
            return run_acl(
                [&](uint64_t *size, aclOpExecutor **executor) {
                    return aclnnAscendAntiQuantGetWorkspaceSize(a.made, s.made, has_offset ? o.made : nullptr,
                                                                acl_type(y_type), sqrt_mode, values.made, size,
                                                                executor);
                },
                aclnnAscendAntiQuant, repeats, {&into});
        },
        from);
}

void dynamic_quant(choices &from) {
    const dimensions shape = draw_shape(from);
    const std::string mode = from.one_of<const char *>({"pertoken", "pertoken", "pertensor", "perchannel", "pertoke"});
    const size_t shared = mode == "perchannel" ? 2 : 1;
    dimensions scale_shape = shape, factor_shape{1};
    if (shape.size() >= 2) {
        factor_shape = {shape[shape.size() - shared]};
        scale_shape.erase(scale_shape.end() - static_cast<std::ptrdiff_t>(shared));
    }
    if (mode == "pertensor") {
        scale_shape = {1};
    }
    const int64_t group_count = from.chance(2) ? from.between(1, 4) : 0;
    if (group_count > 0) {
        factor_shape.insert(factor_shape.begin(), group_count);
    }
    const int64_t rows = shape.empty() || shape.back() == 0
                             ? 0
                             : reference::element_count(tensor_memory(QDQ_I8, shape).view()) / shape.back();
    tensor_memory ends(QDQ_I32, {std::max<int64_t>(group_count, 1)});
    ends.fill([&](int64_t i) {
        return static_cast<uint32_t>(i + 1 >= group_count && !from.chance(10) ? rows : from.between(0, rows));
    });
    const qdq_dtype type = from.one_of<qdq_dtype>({QDQ_F16, QDQ_BF16});
    const tensor_memory x = draw_tensor(from, type, shape), factors = draw_tensor(from, type, factor_shape),
                        scale = draw_output(from, QDQ_F32, scale_shape);
    const drawn_codes y(from, shape, true);
    const bool has_factors = group_count > 0 || from.chance(2), repeats = from.chance(3);
    const tensor_memory offset = draw_output(from, QDQ_F32, scale_shape);
    const bool has_offset = from.chance(2), is_symmetrical = has_offset == from.chance(20);
    expect_same_on_two_targets(
        [&] {
            tensor_memory into = y.memory, scales = scale, offsets = offset;
            const acl_tensor a(x), f(factors), g(ends), codes = y.tensor(into), s(scales), o(offsets);
            return run_acl(
                [&](uint64_t *size, aclOpExecutor **executor) {
                    return aclnnDynamicQuantV3GetWorkspaceSize(a.made, has_factors ? f.made : nullptr,
                                                               group_count > 0 ? g.made : nullptr, y.type,
                                                               is_symmetrical, mode.c_str(), codes.made, s.made,
                                                               has_offset ? o.made : nullptr, size, executor);
                },
                aclnnDynamicQuantV3, repeats, {&into, &scales, &offsets});
        },
        from);
}

void dynamic_mx_quant(choices &from) {
    dimensions shape = draw_shape(from);
    const int64_t rank = static_cast<int64_t>(shape.size()), axis = rank > 0 ? from.between(-rank, rank) : 0;
    const auto along = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    const int64_t block = from.chance(10) ? from.between(-1, 1100) : 32 * from.between(1, 3);
    if (along < shape.size()) {
        shape[along] *= from.between(1, 40);
    }
    dimensions scale_shape = shape;
    if (along < shape.size() && block > 0 && !from.chance(20)) {
        scale_shape[along] = ((shape[along] + block - 1) / block + 1) / 2;
    }
    scale_shape.push_back(2);
    scale_shape.resize(std::min<size_t>(scale_shape.size(), 8));
    const qdq_dtype type = from.one_of(floats),
                    stored = from.one_of<qdq_dtype>({QDQ_F8E4M3, QDQ_F8E5M2, QDQ_F4E2M1, QDQ_F4E1M2});
    const tensor_memory x = draw_tensor(from, type, shape), y(stored, shape), scale(QDQ_E8M0, scale_shape);
    const int64_t scale_alg = from.between(0, 1);
    const char *const mode = from.one_of<const char *>({nullptr, "rint", "floor", "round", "ceil"});
    const bool repeats = from.chance(3);
    expect_same_on_two_targets(
        [&] {
            tensor_memory into = y, scales = scale;
            const acl_tensor a(x), codes(into), s(scales);
            return run_acl(
                [&](uint64_t *size, aclOpExecutor **executor) {
                    return aclnnDynamicMxQuantGetWorkspaceSize(a.made, axis, const_cast<char *>(mode), acl_type(stored),
                                                               block, scale_alg, codes.made, s.made, size, executor);
                },
                aclnnDynamicMxQuant, repeats, {&into, &scales});
        },
        from);
}

// Scales and codes of an input, and the way back by those scales. Rules are broken now and then.
std::unique_ptr<qdq::tensorrt::INetworkDefinition> draw_dynamic(choices &from, const float &scale) {
    using namespace qdq::tensorrt;
    auto network = std::make_unique<INetworkDefinition>();
    const auto type = type_of<DataType>(from, {DataType::kFLOAT, DataType::kHALF, DataType::kBF16}, 12),
               to = type_of<DataType>(from, {DataType::kFP4, DataType::kFP8}, 12),
               scales = type_of<DataType>(from, {DataType::kFP8, DataType::kE8M0, DataType::kFLOAT}, 12);
    const bool by_axis = from.chance(2), has_scale = scales == DataType::kFP8 ? !from.chance(9) : from.chance(9);
    const auto rank = static_cast<int32_t>(from.chance(9) ? from.between(0, 8) : from.between(2, by_axis ? 3 : 4));
    const auto axis = static_cast<int32_t>(from.chance(9) ? from.between(-2, 8) : rank - from.between(1, 2));
    const auto size = static_cast<int32_t>(from.chance(9) ? from.between(-1, 64) : to == DataType::kFP4 ? 16 : 32);
    Dims shape{rank, {}}, block{from.chance(19) ? static_cast<int32_t>(from.between(-1, 9)) : rank, {}};
    for (int32_t d = 0; d < Dims::MAX_DIMS; ++d) {
        block.d[d] = from.chance(19) ? from.between(-2, 1000) : from.one_of<int64_t>({-1, 1, 2, 3});
        shape.d[d] = from.between(from.chance(9) ? 0 : 1, 3) *
                     (by_axis && d == axis && !from.chance(9) ? size : std::max<int64_t>(block.d[d], 1));
    }
    ITensor *const x = network->addInput("x", type, shape);
    ITensor *const s = network->addConstant({0, {}}, {DataType::kFLOAT, &scale, 1})->getOutput(0);
    IDynamicQuantizeLayer *const layer = by_axis ? network->addDynamicQuantize(*x, axis, size, to, scales)
                                                 : network->addDynamicQuantizeV2(*x, block, to, scales);
    if (has_scale) {
        layer->setInput(1, *s);
    }
    ITensor *by = layer->getOutput(1);
    if (scales == DataType::kFP8) {
        by = network->addDequantize(*by, *s, DataType::kFLOAT)->getOutput(0);
    }
    if (from.chance(2)) {
        IDequantizeLayer *const back = network->addDequantize(*layer->getOutput(0), *by, DataType::kFLOAT);
        back->setBlockShape(block);
        network->markOutput(*back->getOutput(0));
    }
    network->markOutput(*layer->getOutput(static_cast<int32_t>(from.between(0, 1))));
    return network;
}

// What an engine writes into its outputs, if they are small.
outcome run_of(const qdq::tensorrt::ICudaEngine &engine, uint64_t seed) {
    using namespace qdq::tensorrt;
    const std::unique_ptr<IExecutionContext> context(engine.createExecutionContext());
    if (context == nullptr) {
        return {-1, {}};
    }
    test_support::random_bits random(seed);
    std::vector<std::vector<std::byte>> memory;
    outcome done{0, {}};
    for (int32_t i = 0; i < engine.getNbIOTensors(); i++) {
        const char *const name = engine.getIOTensorName(i);
        const Dims shape = engine.getTensorShape(name);
        const int64_t elements = compat::element_count({shape.d, static_cast<size_t>(shape.nbDims)});
        if (elements > 1 << 16) {
            return {-2, {}};
        }
        std::vector<std::byte> &bytes = memory.emplace_back(static_cast<size_t>(elements) * 8);
        if (engine.getTensorIOMode(name) == TensorIOMode::kINPUT) {
            std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random.next64()); });
        }
        context->setTensorAddress(name, bytes.data());
    }
    done.status = context->enqueueV3(nullptr) ? 0 : 1;
    for (const std::vector<std::byte> &bytes : memory) {
        done.result.insert(done.result.end(), bytes.begin(), bytes.end());
    }
    return done;
}

// An engine of a plan writes what its network's own does. A plan with wrong bytes is refused with a line, or runs.
void tensorrt_plan(choices &from) {
    using namespace qdq::tensorrt;
    struct : ILogger {
        void log(Severity, char const *message) noexcept override { has_line |= message[0] != '\0'; }
        bool has_line = false;
    } logger;
    const auto seed = static_cast<uint64_t>(from.between(0, 255));
    const float scale = from.one_of<float>({1, 0.75f, 1e-40f, 3e38f});
    const auto network = draw_dynamic(from, scale);
    const std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
    const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
    const std::unique_ptr<IHostMemory> made(builder->buildSerializedNetwork(*network, *config));
    require(made != nullptr || logger.has_line, "a network that breaks a rule has no line");
    if (made == nullptr) {
        return;
    }
    const auto *const bytes = static_cast<const std::byte *>(made->data());
    const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
    expect_same_on_two_targets(
        [&] {
            const std::unique_ptr<ICudaEngine> built(builder->buildEngineWithConfig(*network, *config)),
                read(runtime->deserializeCudaEngine(bytes, made->size()));
            require(built != nullptr && read != nullptr, "a network with a plan has no engine");
            outcome done = run_of(*built, seed);
            require(run_of(*read, seed) == done, "an engine of a plan and one of its network differ");
            return done;
        },
        from);
    std::vector<std::byte> damaged(bytes, bytes + made->size());
    for (int64_t count = from.between(1, 3); count > 0; count--) {
        damaged[static_cast<size_t>(from.between(8, std::ssize(damaged) - 1))] =
            static_cast<std::byte>(from.between(0, 255));
    }
    damaged.resize(damaged.size() - static_cast<size_t>(from.chance(4) ? from.between(0, std::ssize(damaged)) : 0));
    logger.has_line = false;
    const std::unique_ptr<ICudaEngine> engine(runtime->deserializeCudaEngine(damaged.data(), damaged.size()));
    require((engine == nullptr) == logger.has_line, "a plan that is refused has no line, or one that is taken has");
    if (engine != nullptr) {
        run_of(*engine, seed);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    test_support::byte_choices from(std::span(data, size));
    constexpr void (*all[])(choices &) = {tripy,
                                          pypto,
                                          torch_npu,
                                          tensorrt,
                                          aclnn,
                                          ascend_quant,
                                          ascend_anti_quant,
                                          dynamic_quant,
                                          dynamic_mx_quant,
                                          npu_operators,
                                          tensorrt_plan};
    all[from.between(0, std::ssize(all) - 1)](from);
    return 0;
}
