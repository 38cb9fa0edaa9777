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
    IConstantLayer *add_constant_at(nb::handle shape, DataType type, std::uintptr_t address, nb::handle count);
    void set_weights(IConstantLayer &layer, DataType type, nb::handle weights);
    IQuantizeLayer *add_quantize(ITensor &input, ITensor &scale, DataType type);
    IDequantizeLayer *add_dequantize(ITensor &input, ITensor &scale, DataType type);
    IDynamicQuantizeLayer *add_dynamic(ITensor &input, nb::handle axis, nb::handle block_size, DataType type,
                                       DataType scale_type);
    IDynamicQuantizeLayer *add_dynamic_v2(ITensor &input, nb::handle block_shape, DataType type, DataType scale_type);

private:
    // A copy of an array's elements, or of as many at an address, which is trusted as in C++.
    Weights keep(const char *function, DataType type, nb::handle weights);
    Weights keep(DataType type, std::span<const std::byte> bytes, std::int64_t count);

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

Weights network::keep(DataType type, std::span<const std::byte> bytes, std::int64_t count) {
    const std::vector<std::byte> &kept = weights_.emplace_back(bytes.begin(), bytes.end());
    return {type, kept.data(), count};
}

Weights network::keep(const char *function, DataType type, nb::handle weights) {
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
        throw std::bad_alloc();
    }
    return keep(type, given.bytes(), given.element_count());
}

IConstantLayer *network::add_constant(nb::handle shape, DataType type, nb::handle weights) {
    constexpr const char *function = "TensorRT: add_constant";
    const Dims dims = dims_of(function, shape);
    return addConstant(dims, keep(function, type, weights));
}

IConstantLayer *network::add_constant_at(nb::handle shape, DataType type, std::uintptr_t address, nb::handle given) {
    constexpr const char *function = "TensorRT: add_constant";
    const Dims dims = dims_of(function, shape);
    const std::int64_t count = integer(function, "weights", given);
    if (count != detail::volume(dims) || (address == 0 && count > 0)) {
        refuse_value(function, "weights",
                     std::to_string(count) + " elements are not as many as the shape has, or are at 0");
    }
    return addConstant(
        dims, keep(type, {reinterpret_cast<const std::byte *>(address), detail::byte_count(type, dims)}, count));
}

void network::set_weights(IConstantLayer &layer, DataType type, nb::handle weights) {
    layer.setWeights(keep("TensorRT: weights", type, weights));
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

IDynamicQuantizeLayer *network::add_dynamic(ITensor &input, nb::handle axis, nb::handle block_size, DataType type,
                                            DataType scale_type) {
    constexpr const char *function = "TensorRT: add_dynamic_quantize";
    check_network(function, "input", input, *this);
    return addDynamicQuantize(input, integer_of_32_bits(function, "axis", axis),
                              integer_of_32_bits(function, "block_size", block_size), type, scale_type);
}

IDynamicQuantizeLayer *network::add_dynamic_v2(ITensor &input, nb::handle block_shape, DataType type,
                                               DataType scale_type) {
    constexpr const char *function = "TensorRT: add_dynamic_quantize_v2";
    check_network(function, "input", input, *this);
    return addDynamicQuantizeV2(input, dims_of(function, block_shape), type, scale_type);
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
using runtime = made_with<IRuntime>;           // and its logger

// None where there is none.
template<typename Made> std::unique_ptr<made_with<Made>> keeping(nb::object needed, Made *made) {
    return made != nullptr ? std::make_unique<made_with<Made>>(std::move(needed), std::unique_ptr<Made>(made))
                           : nullptr;
}

// A builder or a runtime.
template<typename Made> void make_with_logger(made_with<Made> *self, const char *name, nb::handle logger) {
    if (!nb::isinstance<ILogger>(logger)) {
        refuse_type(name, "logger", std::string(nb::inst_name(logger).c_str()) + " is no ILogger");
    }
    if (!nb::inst_ready(logger)) {
        refuse_type(name, "logger", "its class has an __init__ that does not call ILogger's");
    }
    new (self) made_with<Made>(nb::borrow(logger), std::make_unique<Made>(*nb::inst_ptr<ILogger>(logger)));
}

void make_builder(builder *self, nb::handle logger) { make_with_logger(self, "TensorRT: Builder", logger); }
void make_runtime(runtime *self, nb::handle logger) { make_with_logger(self, "TensorRT: Runtime", logger); }

// An engine of the bytes of a plan: bytes, an IHostMemory, or what else has a buffer.
std::unique_ptr<engine> deserialize(const runtime &made, nb::handle plan) {
    Py_buffer bytes;
    if (PyObject_GetBuffer(plan.ptr(), &bytes, PyBUF_SIMPLE) != 0) {
        throw nb::python_error();
    }
    ICudaEngine *const found = made->deserializeCudaEngine(bytes.buf, static_cast<std::size_t>(bytes.len));
    PyBuffer_Release(&bytes);
    return keeping(made.needed(), found);
}

int get_buffer(PyObject *self, Py_buffer *buffer, int flags) {
    const auto &memory = *nb::inst_ptr<IHostMemory>(self);
    return PyBuffer_FillInfo(buffer, self, memory.data(), static_cast<Py_ssize_t>(memory.size()), 1, flags);
}
PyType_Slot with_buffer[] = {{Py_bf_getbuffer, reinterpret_cast<void *>(get_buffer)}, {0, nullptr}};

// What a layer of Python has of the class that it is.
nb::object layer_at(nb::handle_t<network> self, std::int64_t index) {
    const network &of = nb::cast<const network &>(self);
    const std::int64_t count = of.getNbLayers();
    if (index < -count || index >= count) {
        throw nb::index_error();
    }
    return nb::cast(of.getLayer(static_cast<std::int32_t>(index < 0 ? index + count : index)),
                    nb::rv_policy::reference_internal, self);
}

template<typename Layer> bool set_block_shape(Layer &layer, nb::handle shape) {
    return layer.setBlockShape(dims_of("TensorRT: block_shape", shape));
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
        .value("DEQUANTIZE", LayerType::kDEQUANTIZE)
        .value("DYNAMIC_QUANTIZE", LayerType::kDYNAMIC_QUANTIZE);
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
    nb::class_<IConstantLayer, ILayer>(m, "IConstantLayer")
        .def(
            "_set_weights",
            [](IConstantLayer &layer, DataType type, nb::handle weights) {
                // Networks of Python are of this class alone.
                const auto &owner = detail::network_of(*layer.getOutput(0));
                const_cast<network &>(static_cast<const network &>(owner)).set_weights(layer, type, weights);
            },
            "dtype"_a, "weights"_a)
        .def("_get_weights",
             [](const IConstantLayer &layer) {
                 const Weights held = layer.getWeights();
                 const auto bytes = static_cast<Py_ssize_t>((held.count * detail::bits_of(held.type) + 7) / 8);
                 return nb::make_tuple(held.type, nb::bytes(held.values, static_cast<std::size_t>(bytes)), held.count);
             })
        .def_prop_rw(
            "shape", [](const IConstantLayer &layer) { return tuple_of(layer.getDimensions()); },
            [](IConstantLayer &layer, nb::handle shape) { layer.setDimensions(dims_of("TensorRT: shape", shape)); });
    nb::class_<IQuantizeLayer, ILayer>(m, "IQuantizeLayer")
        .def_prop_rw(
            "axis", [](const IQuantizeLayer &layer) { return layer.getAxis(); }, &set_axis<IQuantizeLayer>)
        .def_prop_ro("block_shape", [](const IQuantizeLayer &layer) { return tuple_of(layer.getBlockShape()); })
        .def("set_block_shape", &set_block_shape<IQuantizeLayer>, "block_shape"_a)
        .def_prop_rw(
            "to_type", [](const IQuantizeLayer &layer) { return layer.getToType(); },
            [](IQuantizeLayer &layer, DataType type) { layer.setToType(type); });
    nb::class_<IDequantizeLayer, ILayer>(m, "IDequantizeLayer")
        .def_prop_rw(
            "axis", [](const IDequantizeLayer &layer) { return layer.getAxis(); }, &set_axis<IDequantizeLayer>)
        .def_prop_ro("block_shape", [](const IDequantizeLayer &layer) { return tuple_of(layer.getBlockShape()); })
        .def("set_block_shape", &set_block_shape<IDequantizeLayer>, "block_shape"_a)
        .def_prop_rw(
            "to_type", [](const IDequantizeLayer &layer) { return layer.getToType(); },
            [](IDequantizeLayer &layer, DataType type) { layer.setToType(type); });
    nb::class_<IDynamicQuantizeLayer, ILayer>(m, "IDynamicQuantizeLayer")
        .def_prop_rw(
            "axis", [](const IDynamicQuantizeLayer &layer) { return layer.getAxis(); },
            &set_axis<IDynamicQuantizeLayer>)
        .def_prop_rw("block_size", &IDynamicQuantizeLayer::getBlockSize,
                     [](IDynamicQuantizeLayer &layer, nb::handle size) {
                         layer.setBlockSize(integer_of_32_bits("TensorRT", "block_size", size));
                     })
        .def_prop_rw(
            "block_shape", [](const IDynamicQuantizeLayer &layer) { return tuple_of(layer.getBlockShape()); },
            [](IDynamicQuantizeLayer &layer, nb::handle shape) {
                layer.setBlockShape(dims_of("TensorRT: block_shape", shape));
            })
        .def_prop_rw("scale_type", &IDynamicQuantizeLayer::getScaleType, &IDynamicQuantizeLayer::setScaleType)
        .def_prop_rw(
            "to_type", [](const IDynamicQuantizeLayer &layer) { return layer.getToType(); },
            [](IDynamicQuantizeLayer &layer, DataType type) { layer.setToType(type); });

    nb::class_<network>(m, "INetworkDefinition")
        .def("add_input", &network::add_input, "name"_a, "dtype"_a, "shape"_a, internal)
        .def("_add_constant", &network::add_constant, "shape"_a, "dtype"_a, "weights"_a, internal)
        .def("_add_constant_at", &network::add_constant_at, "shape"_a, "dtype"_a, "address"_a, "count"_a, internal)
        .def("__len__", &network::getNbLayers)
        .def("__getitem__", layer_at, "index"_a)
        .def("add_quantize", &network::add_quantize, "input"_a, "scale"_a, "output_type"_a = DataType::kINT8, internal)
        .def("add_dequantize", &network::add_dequantize, "input"_a, "scale"_a, "output_type"_a = DataType::kFLOAT,
             internal)
        .def("add_dynamic_quantize", &network::add_dynamic, "input"_a, "axis"_a, "block_size"_a, "output_type"_a,
             "scale_type"_a, internal)
        .def("add_dynamic_quantize_v2", &network::add_dynamic_v2, "input"_a, "block_shape"_a, "output_type"_a,
             "scale_type"_a, internal)
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
            "network"_a, "config"_a)
        .def(
            "build_serialized_network",
            [](const builder &builder, const network &n, IBuilderConfig &config) {
                return builder->buildSerializedNetwork(n, config);
            },
            "network"_a, "config"_a, nb::rv_policy::take_ownership);
    nb::class_<IHostMemory>(m, "IHostMemory", nb::type_slots(with_buffer))
        .def_prop_ro("nbytes", &IHostMemory::size)
        .def_prop_ro("dtype", &IHostMemory::type);
    nb::class_<runtime>(m, "Runtime", nb::type_slots(collected<runtime>))
        .def("__init__", make_runtime, "logger"_a.none())
        .def("deserialize_cuda_engine", deserialize, "serialized_engine"_a);
}

}  // namespace qdq::python
