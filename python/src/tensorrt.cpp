// TensorRT's classes, with the names of its Python package.
#include "array.h"
#include "front_ends.h"

#include <nanobind/stl/unique_ptr.h>
#include <nanobind/trampoline.h>
#include <qdq/compat/tensorrt.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace qdq::python {

using namespace nb::literals;
using namespace qdq::tensorrt;

namespace {

// Keeps copies of its constants' weights, which a network of C++ leaves to its caller: the array may be resized before
// the build, and while it runs by a logger.
class network : public INetworkDefinition {
public:
    ITensor *add_input(nb::handle name, DataType type, nb::handle shape);
    IConstantLayer *add_constant(nb::handle shape, DataType type, nb::handle weights);
    IQuantizeLayer *add_quantize(ITensor &input, ITensor &scale, DataType type);
    IDequantizeLayer *add_dequantize(ITensor &input, ITensor &scale, DataType type);

private:
    std::vector<std::vector<std::byte>> weights_;
};

Dims dims_of(const char *function, nb::handle shape) {
    const std::vector<std::int64_t> sizes = integers(function, "shape", shape, Dims::MAX_DIMS);
    Dims dims{static_cast<std::int32_t>(sizes.size()), {}};
    std::ranges::copy(sizes, dims.d);
    return dims;
}

// A network holds no tensor of another, which may be gone before it.
void check_network(const char *function, const char *name, const ITensor &tensor, const INetworkDefinition &network) {
    if (&detail::network_of(tensor) != &network) {
        refuse_value(function, name, "it is of another network");
    }
}

nb::object tuple_of(const Dims &dims) {
    nb::list sizes;
    for (std::int32_t d = 0; d < dims.nbDims; ++d) {
        sizes.append(dims.d[d]);
    }
    return nb::tuple(sizes);
}

ITensor *network::add_input(nb::handle name, DataType type, nb::handle shape) {
    constexpr const char *function = "TensorRT: add_input";
    const Dims dims = dims_of(function, shape);
    return addInput(text(function, "name", name).data(), type, dims);
}

IConstantLayer *network::add_constant(nb::handle shape, DataType type, nb::handle weights) {
    constexpr const char *function = "TensorRT: add_constant";
    const Dims dims = dims_of(function, shape);
    array given;
    given.read(function, "weights", weights);
    if (qdq_dtype_bits(given.view().dtype) != detail::bits_of(type)) {
        refuse_type(function, "weights",
                    "elements of " + std::to_string(qdq_dtype_bits(given.view().dtype)) +
                        " bits are not those of a DataType of " + std::to_string(detail::bits_of(type)));
    }
    if (given.view().device.kind != QDQ_DEVICE_HOST) {
        refuse_value(function, "weights", "its memory is not the host's");
    }
    if (!given.is_dense()) {
        refuse_value(function, "weights", "its elements are not dense");
    }
    if (!given.pack()) {
        return nullptr;
    }
    const std::span bytes = given.bytes();
    const std::vector<std::byte> &kept = weights_.emplace_back(bytes.begin(), bytes.end());
    return addConstant(dims, {type, kept.data(), given.element_count()});
}

IQuantizeLayer *network::add_quantize(ITensor &input, ITensor &scale, DataType type) {
    check_network("TensorRT: add_quantize", "input", input, *this);
    check_network("TensorRT: add_quantize", "scale", scale, *this);
    return addQuantize(input, scale, type);
}

IDequantizeLayer *network::add_dequantize(ITensor &input, ITensor &scale, DataType type) {
    check_network("TensorRT: add_dequantize", "input", input, *this);
    check_network("TensorRT: add_dequantize", "scale", scale, *this);
    return addDequantize(input, scale, type);
}

// What refers to objects of Python shows them to its garbage collector, which sees none of what keep_alive keeps.
// A logger's class refers to its module by its functions: where the module's names refer to what was made with the
// logger, they are a cycle.
template<typename Kept> int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<Kept>(self)->visit(visit, arg) : 0;
}
template<typename Kept>
PyType_Slot collected[] = {{Py_tp_traverse, reinterpret_cast<void *>(traverse<Kept>)}, {0, nullptr}};

// An object of TensorRT's, and of Python's the one that must outlive it.
template<typename Made> class made_with {
public:
    made_with(nb::object needed, std::unique_ptr<Made> made) : needed_(std::move(needed)), made_(std::move(made)) {}
    Made *operator->() const { return made_.get(); }
    const nb::object &needed() const { return needed_; }
    int visit(visitproc visit, void *arg) const {
        Py_VISIT(needed_.ptr());
        return 0;
    }

private:
    nb::object needed_;
    std::unique_ptr<Made> made_;
};
using builder = made_with<IBuilder>;           // and its logger
using engine = made_with<ICudaEngine>;         // and its builder's logger
using context = made_with<IExecutionContext>;  // and its engine

// None where there is none.
template<typename Made> std::unique_ptr<made_with<Made>> keeping(nb::object needed, Made *made) {
    return made != nullptr ? std::make_unique<made_with<Made>>(std::move(needed), std::unique_ptr<Made>(made))
                           : nullptr;
}

void make_builder(builder *self, nb::handle logger) {
    if (!nb::isinstance<ILogger>(logger)) {
        refuse_type("TensorRT: Builder", "logger", std::string(nb::inst_name(logger).c_str()) + " is no ILogger");
    }
    if (!nb::inst_ready(logger)) {
        refuse_type("TensorRT: Builder", "logger", "its class has an __init__ that does not call ILogger's");
    }
    new (self) builder(nb::borrow(logger), std::make_unique<IBuilder>(*nb::inst_ptr<ILogger>(logger)));
}

const char *tensor_name(nb::handle given) { return text("TensorRT", "name", given).data(); }

template<typename Named> void set_name(Named &named, nb::handle name) { named.setName(tensor_name(name)); }

template<typename Layer> void set_axis(Layer &layer, nb::handle axis) {
    layer.setAxis(integer_of_32_bits("TensorRT", "axis", axis));
}

class logger : public ILogger {
public:
    NB_TRAMPOLINE(ILogger, 1);
    void log(Severity severity, AsciiChar const *message) noexcept override {
        const nb::gil_scoped_acquire ours;
        try {
            const nb::object whole = text_of(message);
            message = text("TensorRT", "message", whole).data();
            NB_OVERRIDE_PURE(log, severity, message);
        } catch (nb::python_error &error) {
            error.discard_as_unraisable("TensorRT: ILogger.log");
        } catch (const std::exception &) {  // a logger without a log
        }
    }
};

void *pointer(std::uintptr_t address) { return reinterpret_cast<void *>(address); }

}  // namespace

void define_tensorrt(nb::module_ &m) {
    const auto internal = nb::rv_policy::reference_internal;
    nb::enum_<DataType>(m, "DataType")
        .value("FLOAT", DataType::kFLOAT)
        .value("HALF", DataType::kHALF)
        .value("INT8", DataType::kINT8)
        .value("INT32", DataType::kINT32)
        .value("BOOL", DataType::kBOOL)
        .value("UINT8", DataType::kUINT8)
        .value("FP8", DataType::kFP8)
        .value("BF16", DataType::kBF16)
        .value("INT64", DataType::kINT64)
        .value("INT4", DataType::kINT4)
        .value("FP4", DataType::kFP4)
        .value("E8M0", DataType::kE8M0);
    nb::enum_<LayerType>(m, "LayerType")
        .value("CONSTANT", LayerType::kCONSTANT)
        .value("QUANTIZE", LayerType::kQUANTIZE)
        .value("DEQUANTIZE", LayerType::kDEQUANTIZE);
    nb::enum_<TensorIOMode>(m, "TensorIOMode")
        .value("NONE", TensorIOMode::kNONE)
        .value("INPUT", TensorIOMode::kINPUT)
        .value("OUTPUT", TensorIOMode::kOUTPUT);
    nb::enum_<NetworkDefinitionCreationFlag>(m, "NetworkDefinitionCreationFlag")
        .value("EXPLICIT_BATCH", NetworkDefinitionCreationFlag::kEXPLICIT_BATCH)
        .value("STRONGLY_TYPED", NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);

    nb::class_<ITensor>(m, "ITensor")
        .def_prop_rw("name", &ITensor::getName, &set_name<ITensor>)
        .def_prop_ro("dtype", &ITensor::getType)
        .def_prop_ro("shape", [](const ITensor &tensor) { return tuple_of(tensor.getDimensions()); })
        .def_prop_ro("is_network_output", &ITensor::isNetworkOutput);

    nb::class_<ILayer>(m, "ILayer")
        .def_prop_ro("type", &ILayer::getType)
        .def_prop_rw("name", &ILayer::getName, &set_name<ILayer>)
        .def_prop_ro("num_inputs", &ILayer::getNbInputs)
        .def_prop_ro("num_outputs", &ILayer::getNbOutputs)
        .def("get_input", &ILayer::getInput, "index"_a, internal)
        .def(
            "set_input",
            [](ILayer &layer, std::int32_t index, ITensor &tensor) {
                check_network("TensorRT: set_input", "tensor", tensor, detail::network_of(*layer.getOutput(0)));
                layer.setInput(index, tensor);
            },
            "index"_a, "tensor"_a)
        .def("get_output", &ILayer::getOutput, "index"_a, internal)
        .def("get_output_type", &ILayer::getOutputType, "index"_a)
        .def("set_output_type", &ILayer::setOutputType, "index"_a, "dtype"_a);
    nb::class_<IConstantLayer, ILayer>(m, "IConstantLayer");
    nb::class_<IQuantizeLayer, ILayer>(m, "IQuantizeLayer")
        .def_prop_rw(
            "axis", [](const IQuantizeLayer &layer) { return layer.getAxis(); }, &set_axis<IQuantizeLayer>)
        .def_prop_rw(
            "to_type", [](const IQuantizeLayer &layer) { return layer.getToType(); },
            [](IQuantizeLayer &layer, DataType type) { layer.setToType(type); });
    nb::class_<IDequantizeLayer, ILayer>(m, "IDequantizeLayer")
        .def_prop_rw(
            "axis", [](const IDequantizeLayer &layer) { return layer.getAxis(); }, &set_axis<IDequantizeLayer>)
        .def_prop_rw(
            "to_type", [](const IDequantizeLayer &layer) { return layer.getToType(); },
            [](IDequantizeLayer &layer, DataType type) { layer.setToType(type); });

    nb::class_<network>(m, "INetworkDefinition")
        .def("add_input", &network::add_input, "name"_a, "dtype"_a, "shape"_a, internal)
        .def("_add_constant", &network::add_constant, "shape"_a, "dtype"_a, "weights"_a, internal)
        .def("add_quantize", &network::add_quantize, "input"_a, "scale"_a, "output_type"_a = DataType::kINT8, internal)
        .def("add_dequantize", &network::add_dequantize, "input"_a, "scale"_a, "output_type"_a = DataType::kFLOAT,
             internal)
        .def("mark_output", &network::markOutput, "tensor"_a)
        .def("unmark_output", &network::unmarkOutput, "tensor"_a)
        .def_prop_ro("num_inputs", &network::getNbInputs)
        .def_prop_ro("num_outputs", &network::getNbOutputs)
        .def_prop_ro("num_layers", &network::getNbLayers)
        .def("get_input", &network::getInput, "index"_a, internal)
        .def("get_output", &network::getOutput, "index"_a, internal)
        .def("get_layer", &network::getLayer, "index"_a, internal);

    nb::class_<ILogger, logger> log(m, "ILogger");
    nb::enum_<ILogger::Severity>(log, "Severity")
        .value("INTERNAL_ERROR", ILogger::Severity::kINTERNAL_ERROR)
        .value("ERROR", ILogger::Severity::kERROR)
        .value("WARNING", ILogger::Severity::kWARNING)
        .value("INFO", ILogger::Severity::kINFO)
        .value("VERBOSE", ILogger::Severity::kVERBOSE)
        .export_values();
    log.def(nb::init<>()).def("log", &ILogger::log, "severity"_a, "msg"_a);

    nb::class_<context>(m, "IExecutionContext", nb::type_slots(collected<context>))
        .def(
            "set_tensor_address",
            [](const context &context, nb::handle name, std::uintptr_t memory) {
                return context->setTensorAddress(tensor_name(name), pointer(memory));
            },
            "name"_a, "memory"_a)
        .def(
            "get_tensor_address",
            [](const context &context, nb::handle name) {
                return reinterpret_cast<std::uintptr_t>(context->getTensorAddress(tensor_name(name)));
            },
            "name"_a)
        .def(
            "execute_async_v3",
            [](const context &context, std::uintptr_t stream) {
                const nb::gil_scoped_release others_run;
                return context->enqueueV3(pointer(stream));
            },
            "stream_handle"_a)
        .def_prop_ro("engine", &context::needed);
    nb::class_<engine>(m, "ICudaEngine", nb::type_slots(collected<engine>))
        .def("create_execution_context",
             [](const engine &engine) { return keeping(nb::find(engine), engine->createExecutionContext()); })
        .def_prop_ro("num_io_tensors", [](const engine &engine) { return engine->getNbIOTensors(); })
        .def(
            "get_tensor_name", [](const engine &engine, std::int32_t index) { return engine->getIOTensorName(index); },
            "index"_a)
        .def(
            "get_tensor_shape",
            [](const engine &engine, nb::handle name) { return tuple_of(engine->getTensorShape(tensor_name(name))); },
            "name"_a)
        .def(
            "get_tensor_dtype",
            [](const engine &engine, nb::handle name) { return engine->getTensorDataType(tensor_name(name)); },
            "name"_a)
        .def(
            "get_tensor_mode",
            [](const engine &engine, nb::handle name) { return engine->getTensorIOMode(tensor_name(name)); }, "name"_a);
    nb::class_<IBuilderConfig>(m, "IBuilderConfig");
    nb::class_<builder>(m, "Builder", nb::type_slots(collected<builder>))
        .def("__init__", make_builder, "logger"_a.none())
        .def(
            "create_network", [](builder &, NetworkDefinitionCreationFlags) { return std::make_unique<network>(); },
            "flags"_a = 0)
        .def(
            "create_builder_config", [](const builder &builder) { return builder->createBuilderConfig(); },
            nb::rv_policy::take_ownership)
        .def(
            "build_engine_with_config",
            [](const builder &builder, const network &n, IBuilderConfig &config) {
                return keeping(builder.needed(), builder->buildEngineWithConfig(n, config));
            },
            "network"_a, "config"_a);
}

}  // namespace qdq::python
