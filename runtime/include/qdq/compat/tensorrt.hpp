/// @file
/// TensorRT's quantize and dequantize layers over qdq, in a network of nothing else, with TensorRT's steps:
///
/// @code
/// IBuilder *builder = createInferBuilder(logger);
/// INetworkDefinition *network = builder->createNetworkV2(0);
/// ITensor *x = network->addInput("x", DataType::kFLOAT, Dims2{4, 8});
/// IConstantLayer *scale = network->addConstant(Dims{0, {}}, Weights{DataType::kFLOAT, &value, 1});
/// IQuantizeLayer *quantize = network->addQuantize(*x, *scale->getOutput(0), DataType::kINT8);
/// network->markOutput(*quantize->getOutput(0));
/// ICudaEngine *engine = builder->buildEngineWithConfig(*network, *builder->createBuilderConfig());
/// IExecutionContext *context = engine->createExecutionContext();
/// context->setTensorAddress("x", values);
/// context->setTensorAddress(quantize->getOutput(0)->getName(), codes);
/// bool done = context->enqueueV3(nullptr);
/// @endcode
///
/// All memory is the host's. What createX(), buildX() and deserializeX() return is the caller's to delete. An engine
/// keeps copies of the weights and outlives its network; it must outlive its contexts, and the logger all of them. A
/// failure is a line of the logger, or goes to the error recorder where one is set, and NULL or false. enqueueV3() has
/// computed when it returns, and looks at no stream.
///
/// A plan is bytes, for memory or a file; an engine of it needs no network:
///
/// @code
/// IHostMemory *plan = builder->buildSerializedNetwork(*network, *config);
/// std::ofstream("model.plan", std::ios::binary).write(static_cast<char *>(plan->data()), plan->size());
/// IRuntime *runtime = createInferRuntime(logger);
/// ICudaEngine *engine = runtime->deserializeCudaEngine(bytes.data(), bytes.size());
/// @endcode
///
/// It has the network's layers and weights. Every rule is checked anew where it is read. A plan that was cut off or
/// damaged is refused, or is another network that keeps the rules. Kernels are chosen by the machine that reads it.
///
/// Without those steps, a network runs by itself, and says what was wrong in a qdq::result:
///
/// @code
/// tensorrt::INetworkDefinition network;
/// ...
/// network.setTensorAddress("x", values);
/// qdq::result done = network.run();
/// if (!done) std::puts(done.message());
/// @endcode
///
/// Weights are read by every run() then. In either way nothing is written before every layer, address and overlap has
/// been checked.
///
/// @code
/// quantize      saturate(round(input / scale + zeroPt))     zeroPt is 0: rounded once, to nearest even
/// dequantize    (input - zeroPt) * scale
/// @endcode
///
/// A dynamic quantize layer computes the scales of blocks, too, its second output:
///
/// @code
/// kE8M0 scales    the least power of two that is not below amax / L: NVIDIA's rounding of cuDNN's and PTX's
/// kFLOAT          amax / L, L the largest value of toType: 6 of kFP4, 448 of kFP8
/// kFP8            the same of input / s, rounded to kFP8; s is the scale of scales, input 1
/// output 0        saturate(round(input / scale)); of kFP8 scales that of input / s
/// @endcode
///
/// The reference has no formula for it. amax is the largest |input| of a block, and a scale of 0 is 1 instead. input /
/// s is input times 1 / s, each rounded once in f32. A dequantize layer takes such scales as they are, or by way of
/// another one that multiplies kFP8 scales by s. Those need not be above 0.
///
/// As in TensorRT, a network belongs to one thread, and layers and tensors belong to it. A mistake in a layer shows
/// when the network is built: build() and run() name the layer, or its output where it has no name of its own. A tensor
/// of another network is such a mistake, and is not kept: that network may be gone by then. The add functions return
/// NULL when memory is short, or a name is NULL.
///
/// TensorRT's operator reference and NvInfer.h differ in places. The reference is followed in this:
///
/// - input and scale have one type, of a dequantize layer output and scale; scales of fp8 blocks may be kE8M0;
/// - zeroPt is f32.
///
/// NvInfer.h is followed in this:
///
/// - int8 goes down to -128; the reference's example prints -127 / 127 for a value below both;
/// - scales are above 0;
/// - blocks are for int4, fp8 and fp4;
/// - the last or the last but one dimension is cut into blocks, and no other, unless setBlockShape() says so.
///
/// Both are silent on a remainder, which is refused. A 1-D scale is one for each element along the axis, also where
/// input has one dimension.
#pragma once

#include <qdq/compat/ascend.hpp>
#include <qdq/compat/common.hpp>
#include <qdq/compat/tensorrt_plan.hpp>

#include <bit>
#include <cstring>
#include <utility>

/// TensorRT's quantize and dequantize layers.
namespace qdq::tensorrt {

/// Element types, with TensorRT's values.
enum class DataType : std::int32_t {
    kFLOAT = 0,  ///< f32
    kHALF = 1,   ///< f16
    kINT8 = 2,   ///< i8
    kINT32 = 3,  ///< no layer takes it
    kBOOL = 4,   ///< no layer takes it
    kUINT8 = 5,  ///< no layer takes it
    kFP8 = 6,    ///< e4m3fn
    kBF16 = 7,   ///< bf16
    kINT64 = 8,  ///< no layer takes it
    kINT4 = 9,   ///< i4, two in a byte, the first in the low nibble
    kFP4 = 10,   ///< e2m1, packed as kINT4
    kE8M0 = 11   ///< powers of two: scales of fp8 blocks
};

/// What a layer does.
enum class LayerType : std::int32_t {
    kCONSTANT = 19,         ///< holds weights
    kQUANTIZE = 32,         ///< quantizes
    kDEQUANTIZE = 33,       ///< dequantizes
    kDYNAMIC_QUANTIZE = 50  ///< computes scales, and quantizes
};
/// What a tensor of an engine is.
enum class TensorIOMode : std::int32_t {
    kNONE = 0,   ///< neither, or unknown
    kINPUT = 1,  ///< an input
    kOUTPUT = 2  ///< a marked output
};

/// Dimensions.
struct Dims64 {
    static constexpr std::int32_t MAX_DIMS = 8;  ///< how many there may be
    std::int32_t nbDims;                         ///< how many; -1 where there are none to know
    std::int64_t d[MAX_DIMS];                    ///< the sizes
};
/// Dimensions.
using Dims = Dims64;
/// Dimensions, two of them.
struct Dims2 : Dims {
    /// All 0.
    constexpr Dims2() : Dims2(0, 0) {}
    /// The sizes.
    constexpr Dims2(std::int64_t d0, std::int64_t d1) : Dims{2, {d0, d1}} {}
};
/// Dimensions, three of them.
struct Dims3 : Dims {
    /// All 0.
    constexpr Dims3() : Dims3(0, 0, 0) {}
    /// The sizes.
    constexpr Dims3(std::int64_t d0, std::int64_t d1, std::int64_t d2) : Dims{3, {d0, d1, d2}} {}
};
/// Dimensions, four of them.
struct Dims4 : Dims {
    /// All 0.
    constexpr Dims4() : Dims4(0, 0, 0, 0) {}
    /// The sizes.
    constexpr Dims4(std::int64_t d0, std::int64_t d1, std::int64_t d2, std::int64_t d3) : Dims{4, {d0, d1, d2, d3}} {}
};

/// Memory of the caller's. The 4-bit types are packed, the first element in the low nibble.
struct Weights {
    DataType type;       ///< of the elements
    void const *values;  ///< the first one
    std::int64_t count;  ///< in elements
};

namespace detail {

using compat::verdict;

// A copy of a caller's text.
class name {
public:
    // False, and the text as it was, where there is none or memory is short.
    bool assign(char const *text) {
        const std::size_t bytes = text != nullptr ? std::strlen(text) + 1 : 0;
        std::unique_ptr<char[]> copy(bytes != 0 ? new (std::nothrow) char[bytes] : nullptr);
        if (copy == nullptr) {
            return false;
        }
        std::memcpy(copy.get(), text, bytes);
        text_ = std::move(copy);
        return true;
    }
    bool is_set() const { return text_ != nullptr; }
    char const *c_str() const { return is_set() ? text_.get() : ""; }
    bool is(char const *text) const { return text != nullptr && std::strcmp(c_str(), text) == 0; }

private:
    std::unique_ptr<char[]> text_;
};

// A tensor of a network that was built: what a caller sees of it, and how it is computed.
struct built_tensor {
    name of_tensor, of_layer;
    DataType type = DataType::kFLOAT;
    Dims dims{};
    TensorIOMode mode = TensorIOMode::kNONE;
    void *constant = nullptr;      // its elements, where it is one
    compat::owned_tensor weights;  // the copy that they are in, if any
    bool is_computed = false;      // by a layer
    std::int32_t input = 0;        // what it is computed of, by
    std::unique_ptr<qdq_plan> plan;
    std::int32_t scale = -1;  // a scale that is computed, too: read, or where `is_dynamic` written
    bool is_dynamic = false;
    bool has_factor = false;  // what is computed of is the input times `factor`
    float factor = 1;
    std::int32_t axis = -1;  // of a dequantize layer by a computed scale, which no plan has the address of
    Dims block{};
};

}  // namespace detail

class ITensor;
class ILayer;
class INetworkDefinition;

namespace detail {

// For bindings whose networks may go before those that wrongly take their tensors.
inline const INetworkDefinition &network_of(const ITensor &tensor);

}  // namespace detail

/// A tensor of a network.
class ITensor {
public:
    ITensor(const ITensor &) = delete;

    /// The name; "" where it has none.
    char const *getName() const noexcept { return name_.c_str(); }
    /// Another name. It is kept as it was for NULL, or in want of memory.
    void setName(char const *name) noexcept { (void)name_.assign(name); }
    /// The element type.
    DataType getType() const noexcept { return type_; }
    /// The dimensions; of a layer's output those of its input.
    inline Dims getDimensions() const noexcept;
    /// Whether it is marked as an output.
    bool isNetworkOutput() const noexcept { return marked_ != 0; }

private:
    friend class ILayer;
    friend class INetworkDefinition;
    friend const INetworkDefinition &detail::network_of(const ITensor &tensor);
    explicit ITensor(const ILayer &producer) : producer_(producer) {}

    const ILayer &producer_;
    detail::name name_;
    DataType type_ = DataType::kFLOAT;
    Dims dims_{};
    std::int32_t marked_ = 0;  // which output of the network it is, counted from 1
    void *address_ = nullptr;  // of an input or an output: the caller's memory
};

/// A layer of a network.
class ILayer {
public:
    ILayer(const ILayer &) = delete;
    virtual ~ILayer() = default;

    /// What it does.
    LayerType getType() const noexcept {
        return what_ == kind::quantize     ? LayerType::kQUANTIZE
               : what_ == kind::dequantize ? LayerType::kDEQUANTIZE
               : what_ == kind::dynamic    ? LayerType::kDYNAMIC_QUANTIZE
                                           : LayerType::kCONSTANT;
    }
    /// The name; one that the network gave it where it has none.
    char const *getName() const noexcept { return name_.is_set() ? name_.c_str() : unnamed_; }
    /// Another name.
    void setName(char const *name) noexcept { (void)name_.assign(name); }

    /// 0: the data, 1: the scale, 2: the zero point. NULL where there is none.
    ITensor *getInput(std::int32_t index) const noexcept { return index >= 0 && index < 3 ? inputs_[index] : nullptr; }
    /// Another tensor as an input, of the same network.
    inline void setInput(std::int32_t index, ITensor &tensor) noexcept;
    /// How many inputs are set.
    std::int32_t getNbInputs() const noexcept {
        return static_cast<std::int32_t>(3 - std::ranges::count(inputs_, static_cast<ITensor *>(nullptr)));
    }
    /// The output, number 0, and the scales that a layer computes, number 1; NULL for another number.
    ITensor *getOutput(std::int32_t index) const noexcept {
        return index == 0 ? &output_ : index == 1 && what_ == kind::dynamic ? &pair_->output_ : nullptr;
    }
    /// 1; of a layer that computes scales 2.
    std::int32_t getNbOutputs() const noexcept { return what_ == kind::dynamic ? 2 : 1; }
    /// The element type of an output.
    DataType getOutputType(std::int32_t index) const noexcept {
        return index == 1 && what_ == kind::dynamic ? pair_->output_.type_ : output_.type_;
    }
    /// Another element type of the output; of a layer that computes, its toType.
    inline void setOutputType(std::int32_t index, DataType type) noexcept;

protected:
    friend class ITensor;
    friend class INetworkDefinition;
    friend const INetworkDefinition &detail::network_of(const ITensor &tensor);
    /// @cond
    enum class kind { input, constant, quantize, dequantize, dynamic, scales };
    ILayer(INetworkDefinition &network, kind what, std::int32_t index)
        : network_(network), what_(what), index_(index), output_(*this) {}
    /// @endcond

    /// The input tensor's dimension that a scale with one dimension varies along; -1, the default, for one scale.
    std::int32_t getAxis() const noexcept { return axis_; }
    /// Another axis.
    inline void setAxis(std::int32_t axis) noexcept;
    /// The type that it computes.
    DataType getToType() const noexcept { return output_.type_; }
    /// Another type to compute.
    inline void setToType(DataType type) noexcept;
    /// How many elements of each dimension share a scale; without dimensions, the default, as the scale's shape says.
    Dims getBlockShape() const noexcept { return block_; }
    /// Sizes above 0, or -1 for all of a dimension. False, and as it was, for others.
    inline bool setBlockShape(Dims const &blockShape) noexcept;
    /// How many elements along the axis share a scale.
    std::int32_t block_size() const noexcept { return block_size_; }
    /// How many elements share a scale, as any of a caller's dimensions.
    inline void cut(Dims const &shape, std::int32_t size) noexcept;
    /// The type of the scales that it computes.
    DataType scale_type() const noexcept { return pair_->output_.type_; }
    /// Another one.
    inline void set_scale_type(DataType type) noexcept { pair_->setToType(type); }
    /// What a constant holds.
    Weights weights() const noexcept { return weights_; }
    /// Another constant.
    inline void become(DataType type, Dims const &dimensions, Weights weights) noexcept;

private:
    bool computes() const { return what_ >= kind::quantize && what_ != kind::scales; }
    bool is_computed() const { return what_ >= kind::quantize; }
    // The sizes of blocks of an input, of `x` dimensions, by a block shape or by axis and block size. False where there
    // are no such blocks.
    inline bool blocks_of(const Dims &x, std::int64_t *sizes) const;
    // Another network may be gone before this one. None of its tensors is kept: the layer's own output, which no layer
    // has as an input, stands in its place, and a build says so.
    void take(std::size_t index, ITensor &tensor) {
        inputs_[index] = &tensor.producer_.network_ == &network_ ? &tensor : &output_;
    }
    // What a message calls it.
    char const *label() const {
        const ILayer &named = what_ == kind::scales ? *pair_ : *this;
        return named.name_.is_set() ? named.getName() : named.output_.getName();
    }
    detail::verdict check_inputs() const;
    detail::verdict check(const ITensor &x, const ITensor &scale) const;
    detail::verdict check_dynamic(const ITensor &x) const;
    detail::verdict check_scale_of_scales() const;
    detail::verdict check_shape(const Dims &x, const Dims &scale, DataType stored) const;
    detail::verdict check_block_shape(const Dims &x, const Dims &scale) const;
    detail::verdict check_zero_point(const ITensor &zero_point, const ITensor &scale) const;

    INetworkDefinition &network_;
    const kind what_;
    const std::int32_t index_;  // in the order of the add functions
    detail::name name_;
    char unnamed_[48] = "";
    mutable ITensor output_;  // a layer that cannot be changed gives its output, as TensorRT's do
    ITensor *inputs_[3] = {};
    std::int32_t axis_ = -1;
    Dims block_{};
    std::int32_t block_size_ = 0;
    Weights weights_{};
    ILayer *pair_ = nullptr;  // of a dynamic layer and the scales that it computes, the next in the list: the other
    std::unique_ptr<ILayer> next_;
};

/// A layer that holds weights.
class IConstantLayer : public ILayer {
    using ILayer::ILayer;
    friend class INetworkDefinition;

public:
    /// The weights.
    Weights getWeights() const noexcept { return weights(); }
    /// Other weights, with their type; they are not copied.
    inline void setWeights(Weights weights) noexcept;
    /// The dimensions.
    Dims getDimensions() const noexcept { return getOutput(0)->getDimensions(); }
    /// Other dimensions.
    inline void setDimensions(Dims const &dimensions) noexcept;
};

/// A layer that quantizes. Its toType is kINT8 (the default), kINT4, kFP4 or kFP8.
class IQuantizeLayer : public ILayer {
    using ILayer::ILayer;
    friend class INetworkDefinition;

public:
    using ILayer::getAxis, ILayer::setAxis;
    using ILayer::getBlockShape, ILayer::setBlockShape;
    using ILayer::getToType, ILayer::setToType;
};

/// A layer that dequantizes. Its toType is kFLOAT (the default), kHALF or kBF16.
class IDequantizeLayer : public ILayer {
    using ILayer::ILayer;
    friend class INetworkDefinition;

public:
    using ILayer::getAxis, ILayer::setAxis;
    using ILayer::getBlockShape, ILayer::setBlockShape;
    using ILayer::getToType, ILayer::setToType;
};

/// A layer that computes the scales of blocks, output 1, and quantizes by them. Its toType is kFP4 (the default) or
/// kFP8, its scale type kFP8 (the default), kE8M0 or kFLOAT. Input 1, of kFP8 scales and of no other, is the scale of
/// scales: a constant of one element, above 0.
class IDynamicQuantizeLayer : public ILayer {
    using ILayer::ILayer;
    friend class INetworkDefinition;

public:
    using ILayer::getAxis, ILayer::setAxis;
    using ILayer::getToType, ILayer::setToType;
    /// The type of the scales.
    DataType getScaleType() const noexcept { return scale_type(); }
    /// Another type of the scales.
    void setScaleType(DataType scaleType) noexcept { set_scale_type(scaleType); }
    /// How many elements along the axis share a scale: 16 of kFP4, 32 of kFP8.
    std::int32_t getBlockSize() const noexcept { return block_size(); }
    /// Another size.
    void setBlockSize(std::int32_t size) noexcept { cut(getBlockShape(), size); }
    /// How many elements of each dimension share a scale; without dimensions, the default, axis and block size say it.
    Dims getBlockShape() const noexcept { return ILayer::getBlockShape(); }
    /// Another shape: sizes above 0, or -1 for all of a dimension.
    void setBlockShape(Dims const &blockShape) noexcept { cut(blockShape, block_size()); }
};

namespace detail {

// A network that was built, of which nothing can be changed any more: its tensors, in the order they are computed.
class built_network {
public:
    // Room for `count` tensors; false where memory is short.
    bool reserve(std::int32_t count) {
        tensors_.reset(new (std::nothrow) built_tensor[static_cast<std::size_t>(count)]);
        count_ = tensors_ != nullptr ? count : 0;
        return tensors_ != nullptr;
    }
    std::span<built_tensor> tensors() { return {tensors_.get(), static_cast<std::size_t>(count_)}; }
    std::span<const built_tensor> tensors() const { return {tensors_.get(), static_cast<std::size_t>(count_)}; }
    std::int32_t count() const { return count_; }

    // The number of the input or output of a name; -1 where there is none.
    std::int32_t find(char const *name) const {
        for (std::int32_t i = 0; i < count_; ++i) {
            const built_tensor &tensor = tensors_[static_cast<std::size_t>(i)];
            if (tensor.mode != TensorIOMode::kNONE && tensor.of_tensor.is(name)) {
                return i;
            }
        }
        return -1;
    }

private:
    std::unique_ptr<built_tensor[]> tensors_;
    std::int32_t count_ = 0;
};

// Where the elements of a built network's tensors are, and runs on them.
class execution {
public:
    inline verdict prepare(const built_network &network);
    void *address(std::int32_t tensor) const { return places_[static_cast<std::size_t>(tensor)].address; }
    void set_address(std::int32_t tensor, void *address) {
        places_[static_cast<std::size_t>(tensor)].address = address;
        is_checked_ = false;
    }
    inline verdict run();

private:
    struct place {
        void *address = nullptr;
        compat::owned_tensor between;  // the elements of what lies between two layers
        compat::owned_tensor product;  // of a layer's input and factor
    };
    inline verdict run(std::size_t tensor) const;
    inline verdict check() const;
    inline verdict check_output(std::size_t output) const;

    const built_network *network_ = nullptr;
    std::unique_ptr<place[]> places_;
    bool is_checked_ = false;
};

}  // namespace detail

/// A network of quantize and dequantize layers. It belongs to one thread.
class INetworkDefinition {
public:
    /// An empty network, which runs without an engine.
    INetworkDefinition() = default;
    INetworkDefinition(const INetworkDefinition &) = delete;
    ~INetworkDefinition() {
        while (first_ != nullptr) {
            first_ = std::move(first_->next_);  // one by one: a long list must not recurse
        }
    }

    /// An input. NULL for no name, or in want of memory.
    ITensor *addInput(char const *name, DataType type, Dims const &dimensions) noexcept {
        ILayer *layer = name != nullptr ? append<ILayer>(ILayer::kind::input, name) : nullptr;
        return layer != nullptr ? describe(*layer, type, dimensions) : nullptr;
    }
    /// A layer of weights, which are not copied. NULL in want of memory.
    IConstantLayer *addConstant(Dims const &dimensions, Weights weights) noexcept {
        auto *layer = append<IConstantLayer>(ILayer::kind::constant);
        if (layer == nullptr) {
            return nullptr;
        }
        layer->weights_ = weights;
        describe(*layer, weights.type, dimensions);
        return layer;
    }
    /// A layer that quantizes. NULL in want of memory.
    IQuantizeLayer *addQuantize(ITensor &input, ITensor &scale, DataType outputType = DataType::kINT8) noexcept {
        return compute<IQuantizeLayer>(ILayer::kind::quantize, input, scale, outputType);
    }
    /// A layer that dequantizes. NULL in want of memory.
    IDequantizeLayer *addDequantize(ITensor &input, ITensor &scale, DataType outputType = DataType::kFLOAT) noexcept {
        return compute<IDequantizeLayer>(ILayer::kind::dequantize, input, scale, outputType);
    }
    /// A layer that computes scales, and quantizes, by blocks along the last or the last but one dimension. NULL in
    /// want of memory.
    IDynamicQuantizeLayer *addDynamicQuantize(ITensor &input, std::int32_t axis, std::int32_t blockSize,
                                              DataType outputType, DataType scaleType) noexcept {
        IDynamicQuantizeLayer *layer = addDynamicQuantizeV2(input, Dims{}, outputType, scaleType);
        if (layer != nullptr) {
            layer->axis_ = axis;
            layer->block_size_ = blockSize;
        }
        return layer;
    }
    /// A layer that computes scales, and quantizes, by blocks of a shape. NULL in want of memory.
    IDynamicQuantizeLayer *addDynamicQuantizeV2(ITensor &input, Dims const &blockShape, DataType outputType,
                                                DataType scaleType) noexcept {
        return dynamic(input, blockShape, outputType, scaleType);
    }

    /// Of a tensor of this network; another's is left as it is.
    void markOutput(ITensor &tensor) noexcept {
        if (&tensor.producer_.network_ != this) {
            return;
        }
        if (tensor.marked_ == 0) {
            tensor.marked_ = ++marks_;
            tensor.address_ = nullptr;
        }
        is_built_ = false;
    }
    /// The tensor is no output any more.
    void unmarkOutput(ITensor &tensor) noexcept {
        if (&tensor.producer_.network_ == this && tensor.marked_ != 0) {
            each([&](ILayer &layer) { layer.output_.marked_ -= layer.output_.marked_ > tensor.marked_ ? 1 : 0; });
            tensor.marked_ = 0;
            --marks_;
        }
        is_built_ = false;
    }

    /// How many inputs there are.
    std::int32_t getNbInputs() const noexcept { return count_of_inputs_; }
    /// How many outputs are marked.
    std::int32_t getNbOutputs() const noexcept { return marks_; }
    /// How many layers there are.
    std::int32_t getNbLayers() const noexcept { return count_ - count_of_inputs_ - count_of_scales_; }
    /// NULL for an index past the last.
    ITensor *getInput(std::int32_t index) const noexcept {
        ILayer *found = nth(index, [](const ILayer &layer) { return layer.what_ == ILayer::kind::input; });
        return found != nullptr ? &found->output_ : nullptr;
    }
    /// A marked output; NULL for an index past the last.
    ITensor *getOutput(std::int32_t index) const noexcept {
        ILayer *found = nth(0, [&](const ILayer &layer) { return index >= 0 && layer.output_.marked_ == index + 1; });
        return found != nullptr ? &found->output_ : nullptr;
    }
    /// A layer, in the order of the add functions; NULL for an index past the last.
    ILayer *getLayer(std::int32_t index) const noexcept {
        return nth(index, [](const ILayer &layer) {
            return layer.what_ != ILayer::kind::input && layer.what_ != ILayer::kind::scales;
        });
    }

    /// The memory of an input or a marked output. False where no such tensor has the name.
    bool setTensorAddress(char const *name, void *data) noexcept {
        ITensor *found = find(name);
        if (found != nullptr) {
            found->address_ = data;
            if (is_built_) {
                run_.set_address(found->producer_.index_, data);
            }
        }
        return found != nullptr;
    }
    /// The memory of an input, which is only read. False where no input has the name.
    bool setInputTensorAddress(char const *name, void const *data) noexcept {
        const ITensor *found = find(name);
        return found != nullptr && found->marked_ == 0 && setTensorAddress(name, const_cast<void *>(data));
    }

    /// Checks every layer and chooses its kernel. run() does that where anything has changed since.
    result build() noexcept { return prepare(); }

    /// Computes every layer in the order of the add functions, into the memory of the outputs.
    result run() noexcept {
        if (const detail::verdict done = is_built_ ? detail::verdict(QDQ_OK) : prepare(); !done) {
            return done;
        }
        return run_.run();
    }

private:
    friend class ILayer;
    friend class IBuilder;
    friend class IRuntime;

    template<typename Layer> Layer *append(ILayer::kind what, char const *name = nullptr) noexcept;
    template<typename Layer> Layer *compute(ILayer::kind what, ITensor &input, ITensor &scale, DataType type) noexcept {
        Layer *layer = append<Layer>(what);
        if (layer == nullptr) {
            return nullptr;
        }
        layer->take(0, input);
        layer->take(1, scale);
        layer->output_.type_ = type;
        return layer;
    }
    void remove_last() {
        ILayer *before = nullptr;
        each([&](ILayer &layer) { before = layer.next_.get() == last_ ? &layer : before; });
        (before != nullptr ? before->next_ : first_).reset();
        last_ = before;
        --count_;
    }
    inline IDynamicQuantizeLayer *dynamic(ITensor &input, Dims const &block, DataType type, DataType scales) noexcept;
    static ITensor *describe(ILayer &layer, DataType type, Dims const &dimensions) noexcept {
        layer.output_.type_ = type;
        layer.output_.dims_ = dimensions;
        return &layer.output_;
    }
    static bool is_bound(const ILayer &layer) {
        return layer.what_ == ILayer::kind::input || layer.output_.marked_ != 0;
    }

    template<typename Function> void each(Function &&function) const {
        for (ILayer *layer = first_.get(); layer != nullptr; layer = layer->next_.get()) {
            function(*layer);
        }
    }
    // The layer number `index` of those that `fits` is true of.
    template<typename Fits> ILayer *nth(std::int32_t index, Fits &&fits) const {
        for (ILayer *layer = first_.get(); layer != nullptr; layer = layer->next_.get()) {
            if (fits(*layer) && index-- == 0) {
                return layer;
            }
        }
        return nullptr;
    }
    // The input or marked output of a name, other than `but`.
    ITensor *find(char const *name, const ITensor *but = nullptr) const noexcept {
        ILayer *found = nth(0, [&](const ILayer &layer) {
            return is_bound(layer) && &layer.output_ != but && layer.output_.name_.is(name);
        });
        return found != nullptr ? &found->output_ : nullptr;
    }

    enum class weights { viewed, copied };
    detail::verdict build(detail::built_network &made, weights how) const;
    static detail::verdict build(detail::built_tensor &made, const ILayer &layer, weights how);
    static detail::verdict plan(detail::built_network &made, const ILayer &layer);
    static detail::verdict plan_dynamic(detail::built_network &made, const ILayer &layer);
    detail::verdict prepare();
    detail::verdict check_bound(const ILayer &layer) const;
    void write(detail::plan_writer &to) const;
    static void write(detail::plan_writer &to, const ILayer &layer);
    static void write(detail::plan_writer &to, const Dims &dims);
    static Dims read_dims(detail::plan_reader &from);
    detail::verdict read(detail::plan_reader &from);
    ILayer *read_layer(detail::plan_reader &from, std::span<ILayer *const> earlier);

    std::unique_ptr<ILayer> first_;
    ILayer *last_ = nullptr;
    std::int32_t count_ = 0, count_of_inputs_ = 0, count_of_scales_ = 0, marks_ = 0;
    detail::built_network network_;  // as of the last build, for run()
    detail::execution run_;
    bool is_built_ = false;
};

/// A character of a message.
using AsciiChar = char;

/// Hears of what goes wrong, as kERROR.
class ILogger {
public:
    /// How much a message matters. Only kERROR is used.
    enum class Severity : std::int32_t {
        kINTERNAL_ERROR = 0,  ///< not used
        kERROR = 1,           ///< a call failed
        kWARNING = 2,         ///< not used
        kINFO = 3,            ///< not used
        kVERBOSE = 4          ///< not used
    };
    /// Told of each failure.
    virtual void log(Severity severity, AsciiChar const *message) noexcept = 0;

    /// A logger.
    ILogger() = default;
    /// A copy.
    ILogger(const ILogger &) = default;
    /// A copy.
    ILogger &operator=(const ILogger &) = default;
    virtual ~ILogger() = default;
};

/// What kind of error one is, with TensorRT's values.
enum class ErrorCode : std::int32_t {
    kSUCCESS = 0,                ///< not used
    kUNSPECIFIED_ERROR = 1,      ///< not used
    kINTERNAL_ERROR = 2,         ///< not used
    kINVALID_ARGUMENT = 3,       ///< an argument, a layer or a plan breaks a rule
    kINVALID_CONFIG = 4,         ///< not used
    kFAILED_ALLOCATION = 5,      ///< short memory
    kFAILED_INITIALIZATION = 6,  ///< not used
    kFAILED_EXECUTION = 7,       ///< not used
    kFAILED_COMPUTATION = 8,     ///< not used
    kINVALID_STATE = 9,          ///< not used
    kUNSUPPORTED_STATE = 10      ///< a machine that runs none of the targets
};

/// Keeps errors for a program, which derives from it. Functions about what is kept are the program's own.
class IErrorRecorder {
public:
    /// An error's text.
    using ErrorDesc = char const *;
    /// How many refer to it.
    using RefCount = std::int32_t;
    /// The longest text that it is given, without the NUL.
    static constexpr std::size_t kMAX_DESC_LENGTH{127U};

    /// A recorder.
    IErrorRecorder() = default;
    virtual ~IErrorRecorder() noexcept = default;

    /// How many errors are kept.
    virtual std::int32_t getNbErrors() const noexcept = 0;
    /// An error's code.
    virtual ErrorCode getErrorCode(std::int32_t errorIdx) const noexcept = 0;
    /// An error's text.
    virtual ErrorDesc getErrorDesc(std::int32_t errorIdx) const noexcept = 0;
    /// Whether errors went that there was no room for.
    virtual bool hasOverflowed() const noexcept = 0;
    /// Forgets all.
    virtual void clear() noexcept = 0;
    /// Told of each failure.
    virtual bool reportError(ErrorCode val, ErrorDesc desc) noexcept = 0;
    /// Told by what it is set for.
    virtual RefCount incRefCount() noexcept = 0;
    /// Told by what goes, or has another set.
    virtual RefCount decRefCount() noexcept = 0;

protected:
    /// A copy.
    IErrorRecorder(const IErrorRecorder &) = default;
    /// A copy.
    IErrorRecorder &operator=(const IErrorRecorder &) & = default;
};

namespace detail {

// Where failures go: to a recorder, where one is set, or to the logger.
class reporter {
public:
    explicit reporter(ILogger &logger, IErrorRecorder *recorder = nullptr) : logger_(logger) { set_recorder(recorder); }
    reporter(const reporter &) = delete;
    ~reporter() { set_recorder(nullptr); }

    void set_recorder(IErrorRecorder *recorder) {
        if (recorder != nullptr) {
            recorder->incRefCount();
        }
        if (IErrorRecorder *const before = std::exchange(recorder_, recorder)) {
            before->decRefCount();
        }
    }
    IErrorRecorder *recorder() const { return recorder_; }
    ILogger &logger() const { return logger_; }

    bool succeeded(const result &done) const {
        if (!done) {
            report(done);
        }
        return done.has_value();
    }

private:
    void report(const result &failure) const {
        if (recorder_ == nullptr) {
            logger_.log(ILogger::Severity::kERROR, failure.message());
            return;
        }
        char text[IErrorRecorder::kMAX_DESC_LENGTH + 1];
        std::snprintf(text, sizeof text, "%.*s", int{IErrorRecorder::kMAX_DESC_LENGTH},
                      failure.message());  // cut to fit
        recorder_->reportError(failure.status() == status::out_of_memory ? ErrorCode::kFAILED_ALLOCATION
                               : failure.status() == status::unsupported ? ErrorCode::kUNSUPPORTED_STATE
                                                                         : ErrorCode::kINVALID_ARGUMENT,
                               text);
    }

    ILogger &logger_;
    IErrorRecorder *recorder_ = nullptr;
};

inline verdict no_memory() { return {QDQ_OUT_OF_MEMORY, compat::out_of_memory}; }

}  // namespace detail

class ICudaEngine;

/// Runs an engine on memory of its own choice.
class IExecutionContext {
public:
    IExecutionContext(const IExecutionContext &) = delete;

    /// The memory of an input or an output. False where no such tensor has the name.
    inline bool setTensorAddress(char const *name, void *data) noexcept;
    /// The memory of an input, which is only read.
    inline bool setInputTensorAddress(char const *name, void const *data) noexcept;
    /// The memory of a tensor; NULL where none has the name.
    inline void *getTensorAddress(char const *name) const noexcept;
    /// Computes, and returns when it has. The stream is not looked at.
    inline bool enqueueV3(void *stream) noexcept;
    /// The engine.
    ICudaEngine const &getEngine() const noexcept { return engine_; }

    /// Who is told of its failures, instead of the logger; NULL for nobody. The engine's, unless another is set.
    void setErrorRecorder(IErrorRecorder *recorder) noexcept { reporter_.set_recorder(recorder); }
    /// Who is.
    IErrorRecorder *getErrorRecorder() const noexcept { return reporter_.recorder(); }

private:
    friend class ICudaEngine;
    inline explicit IExecutionContext(const ICudaEngine &engine);

    const ICudaEngine &engine_;
    detail::reporter reporter_;
    detail::execution run_;
};

/// A network that was built, with copies of its weights.
class ICudaEngine {
public:
    ICudaEngine(const ICudaEngine &) = delete;

    /// A context, which is the caller's to delete. NULL in want of memory.
    IExecutionContext *createExecutionContext() const noexcept {
        std::unique_ptr<IExecutionContext> made(new (std::nothrow) IExecutionContext(*this));
        const detail::verdict done = made != nullptr ? made->run_.prepare(network_) : detail::no_memory();
        return reporter_.succeeded(done) ? made.release() : nullptr;
    }

    /// Who is told of its failures, instead of the logger; NULL for nobody. The runtime's that made it, unless another
    /// is set. Contexts that are created later have it, too.
    void setErrorRecorder(IErrorRecorder *recorder) noexcept { reporter_.set_recorder(recorder); }
    /// Who is.
    IErrorRecorder *getErrorRecorder() const noexcept { return reporter_.recorder(); }

    /// How many inputs and outputs there are.
    std::int32_t getNbIOTensors() const noexcept {
        return static_cast<std::int32_t>(std::ranges::count_if(network_.tensors(), is_bound));
    }
    /// The name of an input or output; NULL for an index past the last.
    char const *getIOTensorName(std::int32_t index) const noexcept {
        for (const detail::built_tensor &tensor : network_.tensors()) {
            if (is_bound(tensor) && index-- == 0) {
                return tensor.of_tensor.c_str();
            }
        }
        return nullptr;
    }
    /// Where no tensor has the name: nbDims of -1, kFLOAT, kNONE.
    Dims getTensorShape(char const *name) const noexcept { return known(name, &detail::built_tensor::dims, {-1, {}}); }
    /// The element type of a tensor; kFLOAT where none has the name.
    DataType getTensorDataType(char const *name) const noexcept {
        return known(name, &detail::built_tensor::type, DataType::kFLOAT);
    }
    /// What a tensor is; kNONE where none has the name.
    TensorIOMode getTensorIOMode(char const *name) const noexcept {
        return known(name, &detail::built_tensor::mode, TensorIOMode::kNONE);
    }

private:
    friend class IBuilder;
    friend class IRuntime;
    friend class IExecutionContext;
    explicit ICudaEngine(ILogger &logger, IErrorRecorder *recorder = nullptr) : reporter_(logger, recorder) {}

    static bool is_bound(const detail::built_tensor &tensor) { return tensor.mode != TensorIOMode::kNONE; }
    template<typename T> T known(char const *name, T detail::built_tensor::*member, T otherwise) const {
        const std::int32_t found = network_.find(name);
        return found >= 0 ? network_.tensors()[static_cast<std::size_t>(found)].*member : otherwise;
    }

    detail::reporter reporter_;
    detail::built_network network_;
};

inline IExecutionContext::IExecutionContext(const ICudaEngine &engine)
    : engine_(engine), reporter_(engine.reporter_.logger(), engine.reporter_.recorder()) {}

/// Bytes of TensorRT's: a plan.
class IHostMemory {
public:
    IHostMemory(const IHostMemory &) = delete;
    virtual ~IHostMemory() noexcept = default;

    /// The first byte.
    void *data() const noexcept { return data_.get(); }
    /// How many.
    std::size_t size() const noexcept { return size_; }
    /// kINT8: bytes.
    DataType type() const noexcept { return DataType::kINT8; }

private:
    friend class IBuilder;
    explicit IHostMemory(std::size_t size) : data_(new(std::nothrow) std::byte[size]), size_(size) {}

    std::unique_ptr<std::byte[]> data_;
    std::size_t size_;
};

/// Nothing that these layers look at.
class IBuilderConfig {};

/// Looked at by none of these layers: they have explicit dimensions and types.
enum class NetworkDefinitionCreationFlag : std::int32_t {
    kEXPLICIT_BATCH = 0,  ///< not looked at
    kSTRONGLY_TYPED = 1   ///< not looked at
};
/// A bit for each flag.
using NetworkDefinitionCreationFlags = std::uint32_t;

/// Builds engines.
class IBuilder {
public:
    /// Failures go to the logger, which outlives it.
    explicit IBuilder(ILogger &logger) : reporter_(logger) {}

    /// An empty network, which is the caller's to delete.
    INetworkDefinition *createNetworkV2(NetworkDefinitionCreationFlags) noexcept {
        return new (std::nothrow) INetworkDefinition;
    }
    /// A configuration, which is the caller's to delete.
    IBuilderConfig *createBuilderConfig() noexcept { return new (std::nothrow) IBuilderConfig; }
    /// An engine, which is the caller's to delete. NULL where a layer is wrong: a line of the logger says which.
    ICudaEngine *buildEngineWithConfig(const INetworkDefinition &network, IBuilderConfig &) noexcept {
        std::unique_ptr<ICudaEngine> made(new (std::nothrow) ICudaEngine(reporter_.logger()));
        const detail::verdict built =
            made != nullptr ? network.build(made->network_, INetworkDefinition::weights::copied) : detail::no_memory();
        return reporter_.succeeded(built) ? made.release() : nullptr;
    }
    /// A plan, which is the caller's to delete: IRuntime::deserializeCudaEngine() makes an engine of it. NULL as above.
    IHostMemory *buildSerializedNetwork(const INetworkDefinition &network, IBuilderConfig &) noexcept {
        detail::built_network built;
        if (!reporter_.succeeded(network.build(built, INetworkDefinition::weights::viewed))) {
            return nullptr;
        }
        detail::plan_writer counted;
        network.write(counted);
        std::unique_ptr<IHostMemory> made(new (std::nothrow) IHostMemory(counted.size()));
        const bool has_room = made != nullptr && made->data() != nullptr;
        if (!reporter_.succeeded(has_room ? detail::verdict(QDQ_OK) : detail::no_memory())) {
            return nullptr;
        }
        detail::plan_writer written(made->data_.get());
        network.write(written);
        return made.release();
    }

    /// Who is told of its failures, instead of the logger; NULL for nobody.
    void setErrorRecorder(IErrorRecorder *recorder) noexcept { reporter_.set_recorder(recorder); }
    /// Who is.
    IErrorRecorder *getErrorRecorder() const noexcept { return reporter_.recorder(); }
    /// The logger.
    ILogger *getLogger() const noexcept { return &reporter_.logger(); }

private:
    detail::reporter reporter_;
};

/// Makes engines of plans.
class IRuntime {
public:
    /// Failures go to the logger, which outlives it.
    explicit IRuntime(ILogger &logger) : reporter_(logger) {}

    /// An engine of a plan, which is the caller's to delete. The bytes may go then, and may be anybody's: NULL where
    /// they are no plan, or one that breaks a rule. The recorder is the engine's, too.
    ICudaEngine *deserializeCudaEngine(void const *blob, std::size_t size) noexcept {
        std::unique_ptr<ICudaEngine> made(new (std::nothrow) ICudaEngine(reporter_.logger(), reporter_.recorder()));
        const detail::verdict done = made != nullptr ? deserialize(*made, blob, size) : detail::no_memory();
        return reporter_.succeeded(done) ? made.release() : nullptr;
    }

    /// Who is told of its failures, instead of the logger; NULL for nobody.
    void setErrorRecorder(IErrorRecorder *recorder) noexcept { reporter_.set_recorder(recorder); }
    /// Who is.
    IErrorRecorder *getErrorRecorder() const noexcept { return reporter_.recorder(); }
    /// The logger.
    ILogger *getLogger() const noexcept { return &reporter_.logger(); }

private:
    static detail::verdict deserialize(ICudaEngine &made, void const *blob, std::size_t size) {
        if (blob == nullptr) {
            return compat::fail("TensorRT: deserializeCudaEngine: blob is NULL");
        }
        detail::plan_reader from({static_cast<const std::byte *>(blob), size});
        INetworkDefinition network;
        const detail::verdict done = network.read(from);
        return done ? network.build(made.network_, INetworkDefinition::weights::copied) : done;
    }

    detail::reporter reporter_;
};

/// A runtime, which is the caller's to delete.
inline IRuntime *createInferRuntime(ILogger &logger) noexcept { return new (std::nothrow) IRuntime(logger); }

/// A builder, which is the caller's to delete.
inline IBuilder *createInferBuilder(ILogger &logger) noexcept { return new (std::nothrow) IBuilder(logger); }

namespace detail {

// -1 for a type that none of these layers takes.
constexpr int to_qdq(DataType type) {
    switch (type) {
    case DataType::kFLOAT: return QDQ_F32;
    case DataType::kHALF: return QDQ_F16;
    case DataType::kBF16: return QDQ_BF16;
    case DataType::kINT8: return QDQ_I8;
    case DataType::kINT4: return QDQ_I4;
    case DataType::kFP8: return QDQ_F8E4M3;
    case DataType::kFP4: return QDQ_F4E2M1;
    case DataType::kE8M0: return QDQ_E8M0;
    default: return -1;
    }
}

class type_name {
public:
    explicit type_name(DataType type) {
        constexpr const char *names[] = {"kFLOAT", "kHALF", "kINT8",  "kINT32", "kBOOL", "kUINT8",
                                         "kFP8",   "kBF16", "kINT64", "kINT4",  "kFP4",  "kE8M0"};
        const auto number = static_cast<std::int32_t>(type);
        if (number >= 0 && static_cast<std::size_t>(number) < std::size(names)) {
            std::snprintf(text_, sizeof text_, "%s", names[number]);
        } else {
            std::snprintf(text_, sizeof text_, "%d", int(number));
        }
    }
    const char *c_str() const { return text_; }

private:
    char text_[16];
};

constexpr bool is_floating(DataType type) {
    return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16;
}
constexpr bool is_stored(DataType type) { return to_qdq(type) >= 0 && !is_floating(type) && type != DataType::kE8M0; }
constexpr bool takes_blocks(DataType type) {
    return type == DataType::kINT4 || type == DataType::kFP8 || type == DataType::kFP4;
}

constexpr std::span<const std::int64_t> shape_of(const Dims &dims) {
    return {dims.d, static_cast<std::size_t>(dims.nbDims)};
}
inline std::int64_t volume(const Dims &dims) { return compat::element_count(shape_of(dims)); }
inline compat::shape_text text(const Dims &dims) { return compat::shape_text(shape_of(dims)); }

constexpr std::int64_t bits_of(DataType type) {
    switch (type) {
    case DataType::kINT64: return 64;
    case DataType::kFLOAT:
    case DataType::kINT32: return 32;
    case DataType::kHALF:
    case DataType::kBF16: return 16;
    case DataType::kINT4:
    case DataType::kFP4: return 4;
    default: return 8;
    }
}
// Less than there are of a tensor that no memory has room for.
inline std::size_t byte_count(DataType type, const Dims &dims) {
    return static_cast<std::size_t>((std::min(volume(dims), INT64_MAX / 128) * bits_of(type) + 7) / 8);
}

inline qdq_tensor view(const Dims &dims, DataType type, void *data) {
    return {data, static_cast<qdq_dtype>(to_qdq(type)), dims.nbDims, dims.d, nullptr, {}};
}

// Floats are looked at by their bits: what comparing their values gives depends on the caller's floating-point
// environment, and may trap.
template<typename Integer> Integer bits_at(const void *values, std::int64_t i) {
    Integer bits;
    std::memcpy(&bits, static_cast<const char *>(values) + i * std::int64_t{sizeof(bits)}, sizeof(bits));
    return bits;
}

// Whether every number is above 0. The bits of a positive float, up to those of infinity, are ordered as it is.
template<typename Signed> bool all_positive(const void *values, std::int64_t count, Signed infinity) {
    for (std::int64_t i = 0; i < count; i++) {
        const Signed bits = bits_at<Signed>(values, i);
        if (bits <= 0 || bits > infinity) {
            return false;
        }
    }
    return true;
}
inline bool all_positive(const Weights &scale) {
    switch (scale.type) {
    case DataType::kHALF: return all_positive<std::int16_t>(scale.values, scale.count, 0x7c00);
    case DataType::kBF16: return all_positive<std::int16_t>(scale.values, scale.count, 0x7f80);
    case DataType::kE8M0:  // but for NaN
        return scale.count == 0 || std::memchr(scale.values, 0xff, static_cast<std::size_t>(scale.count)) == nullptr;
    default: return all_positive<std::int32_t>(scale.values, scale.count, 0x7f800000);
    }
}

// 1 / value of a value above 0, rounded to nearest even, by its bits as well.
constexpr float reciprocal(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (bits == 0x7f800000u) {
        return 0;
    }
    int exponent = std::max(static_cast<int>(bits >> 23), 1);
    std::uint64_t mantissa = (bits & 0x7fffffu) | (bits >> 23 != 0 ? 0x800000u : 0u);
    const int zeros = std::countl_zero(mantissa) - 40;  // of a subnormal number
    exponent -= zeros;
    mantissa <<= zeros;
    const std::uint64_t quotient = (std::uint64_t{1} << 48) / mantissa, rest = (std::uint64_t{1} << 48) % mantissa;
    int result = 253 - exponent;  // of 24 bits of the quotient's 25 or, of a power of two, 26
    const int dropped = 1 + std::max(1 - result, 0);
    std::uint64_t rounded = quotient >> dropped;
    const std::uint64_t lost = quotient & ((std::uint64_t{1} << dropped) - 1), half = std::uint64_t{1} << (dropped - 1);
    rounded += lost > half || (lost == half && (rest != 0 || rounded % 2 != 0)) ? 1 : 0;
    // A mantissa of 25 bits carries into the exponent; one of 23 is that of a number with exponent 0.
    result = std::max(result, 1);
    const std::uint64_t made = (static_cast<std::uint64_t>(result - 1) << 23) + rounded;
    return std::bit_cast<float>(static_cast<std::uint32_t>(std::min<std::uint64_t>(made, 0x7f800000u)));
}

}  // namespace detail

inline const INetworkDefinition &detail::network_of(const ITensor &tensor) { return tensor.producer_.network_; }

// One by one: a long chain of layers must not recurse. Scales of scales divide by the blocks of both.
inline Dims ITensor::getDimensions() const noexcept {
    constexpr Dims unknown{-1, {}};
    const ITensor *tensor = this;
    std::int64_t blocks[Dims::MAX_DIMS];
    std::ranges::fill(blocks, 1);
    bool whole[Dims::MAX_DIMS] = {}, is_cut = false;
    while (tensor->producer_.is_computed()) {
        const ILayer &made = tensor->producer_;
        const ILayer &layer = made.what_ == ILayer::kind::scales ? *made.pair_ : made;
        const ITensor *input = layer.inputs_[0];
        if (input->producer_.index_ >= layer.index_) {
            return unknown;
        }
        if (made.what_ == ILayer::kind::scales) {
            is_cut = true;
            const bool by_axis = layer.block_.nbDims == 0;
            if (by_axis ? layer.axis_ < 0 || layer.axis_ >= Dims::MAX_DIMS
                        : layer.block_.nbDims < 0 || layer.block_.nbDims > Dims::MAX_DIMS) {
                return unknown;
            }
            for (std::int32_t d = by_axis ? layer.axis_ : 0; d < (by_axis ? layer.axis_ + 1 : layer.block_.nbDims);
                 ++d) {
                const std::int64_t size = by_axis ? layer.block_size_ : layer.block_.d[d];
                if (size == -1 && !by_axis) {
                    whole[d] = true;
                } else if (size <= 0) {
                    return unknown;
                } else if (!whole[d] && __builtin_mul_overflow(blocks[d], size, &blocks[d])) {
                    blocks[d] = INT64_MAX;
                }
            }
        }
        tensor = input;
    }
    Dims dims = tensor->dims_;
    for (std::int32_t d = 0; is_cut && d < std::min(dims.nbDims, Dims::MAX_DIMS); ++d) {
        dims.d[d] = (whole[d] ? std::min<std::int64_t>(dims.d[d], 1) : dims.d[d]) / blocks[d];
    }
    return dims;
}

inline void ILayer::setInput(std::int32_t index, ITensor &tensor) noexcept {
    if (index < 0 || index > (what_ == kind::dynamic ? 1 : 2) || !computes()) {
        return;
    }
    take(static_cast<std::size_t>(index), tensor);
    network_.is_built_ = false;
}
inline void ILayer::setAxis(std::int32_t axis) noexcept {
    axis_ = axis;
    network_.is_built_ = false;
}
inline bool ILayer::setBlockShape(Dims const &blockShape) noexcept {
    const bool is_valid =
        blockShape.nbDims >= 0 && blockShape.nbDims <= Dims::MAX_DIMS &&
        std::ranges::all_of(detail::shape_of(blockShape), [](std::int64_t size) { return size > 0 || size == -1; });
    if (is_valid) {
        block_ = blockShape;
        network_.is_built_ = false;
    }
    return is_valid;
}
inline void ILayer::become(DataType type, Dims const &dimensions, Weights weights) noexcept {
    output_.type_ = type;
    output_.dims_ = dimensions;
    weights_ = weights;
    network_.is_built_ = false;
}
inline void IConstantLayer::setWeights(Weights weights) noexcept { become(weights.type, getDimensions(), weights); }
inline void IConstantLayer::setDimensions(Dims const &dimensions) noexcept {
    become(getOutputType(0), dimensions, weights());
}
inline void ILayer::setToType(DataType type) noexcept {
    output_.type_ = type;
    network_.is_built_ = false;
}
inline void ILayer::setOutputType(std::int32_t index, DataType type) noexcept {
    if (index == 0 && computes()) {
        setToType(type);
    } else if (index == 1 && what_ == kind::dynamic) {
        set_scale_type(type);
    }
}
inline void ILayer::cut(Dims const &shape, std::int32_t size) noexcept {
    block_ = shape;
    block_size_ = size;
    network_.is_built_ = false;
}

inline bool ILayer::blocks_of(const Dims &x, std::int64_t *sizes) const {
    const bool by_axis = block_.nbDims == 0;
    if (by_axis ? axis_ < 0 || axis_ >= x.nbDims || block_size_ <= 0 : block_.nbDims != x.nbDims) {
        return false;
    }
    for (std::int32_t d = 0; d < x.nbDims; ++d) {
        const std::int64_t size = !by_axis ? block_.d[d] : d == axis_ ? block_size_ : 1;
        sizes[d] = size == -1 ? std::max<std::int64_t>(x.d[d], 1) : size;
        if (sizes[d] <= 0 || x.d[d] % sizes[d] != 0) {
            return false;
        }
    }
    return true;
}

inline detail::verdict ILayer::check_inputs() const {
    using namespace detail;
    for (std::size_t i = 0; i < std::size(inputs_); ++i) {
        const ITensor *each = inputs_[i];
        if (each != nullptr && each->producer_.index_ >= index_) {
            const char *const names[] = {"input", what_ == kind::dynamic ? "input 1" : "scale", "zeroPt"};
            return compat::fail("TensorRT: %s: %s: it is not from an earlier layer of this network", label(), names[i]);
        }
        if (each != nullptr && volume(each->getDimensions()) > INT32_MAX) {
            return compat::fail("TensorRT: %s: input \"%s\", %s, has more than 2147483647 elements", label(),
                                each->getName(), text(each->getDimensions()).c_str());
        }
    }
    return QDQ_OK;
}

inline detail::verdict ILayer::check_dynamic(const ITensor &x) const {
    using namespace detail;
    const DataType scales = pair_->output_.type_;
    if (!is_floating(x.type_)) {
        return compat::fail("TensorRT: %s: input: DataType %s is not one of kFLOAT, kHALF, kBF16", label(),
                            type_name(x.type_).c_str());
    }
    if (output_.type_ != DataType::kFP4 && output_.type_ != DataType::kFP8) {
        return compat::fail("TensorRT: %s: toType: DataType %s is not one of kFP4, kFP8", label(),
                            type_name(output_.type_).c_str());
    }
    if (scales != DataType::kFP8 && scales != DataType::kE8M0 && scales != DataType::kFLOAT) {
        return compat::fail("TensorRT: %s: scaleType: DataType %s is not one of kFP8, kE8M0, kFLOAT", label(),
                            type_name(scales).c_str());
    }
    const Dims dims = x.getDimensions();
    const bool by_axis = block_.nbDims == 0, is_fp4 = output_.type_ == DataType::kFP4;
    if (dims.nbDims < 2 || dims.nbDims > (by_axis ? 3 : 4)) {
        return compat::fail("TensorRT: %s: input: %d dimensions are not 2 or 3, nor 4 of a block shape", label(),
                            int(dims.nbDims));
    }
    if (by_axis && (scales == DataType::kFLOAT || is_fp4 != (scales == DataType::kFP8))) {
        return compat::fail(
            "TensorRT: %s: scaleType: along an axis, kFP4 has kFP8 scales and kFP8 kE8M0 ones; it is %s", label(),
            type_name(scales).c_str());
    }
    if (by_axis && axis_ != dims.nbDims - 1 && axis_ != dims.nbDims - 2) {
        return compat::fail("TensorRT: %s: axis: %d is neither the last nor the last but one dimension of %s", label(),
                            int(axis_), text(dims).c_str());
    }
    if (by_axis && block_size_ != (is_fp4 ? 16 : 32)) {
        return compat::fail("TensorRT: %s: blockSize: %d is not %d, that of %s", label(), int(block_size_),
                            is_fp4 ? 16 : 32, type_name(output_.type_).c_str());
    }
    std::int64_t sizes[Dims::MAX_DIMS];
    if (!blocks_of(dims, sizes)) {
        return by_axis ? compat::fail("TensorRT: %s: blockSize: %d does not divide axis %d of the input, %s", label(),
                                      int(block_size_), int(axis_), text(dims).c_str())
                       : compat::fail("TensorRT: %s: blockShape: it does not cut the input, %s, evenly into blocks",
                                      label(), text(dims).c_str());
    }
    if ((inputs_[1] != nullptr) != (scales == DataType::kFP8)) {
        return compat::fail("TensorRT: %s: input 1: kFP8 scales, and no others, have a scale of scales", label());
    }
    return inputs_[1] != nullptr ? check_scale_of_scales() : QDQ_OK;
}

inline detail::verdict ILayer::check_scale_of_scales() const {
    using namespace detail;
    const ITensor &scale = *inputs_[1];
    if (scale.producer_.what_ != kind::constant) {
        return compat::fail("TensorRT: %s: input 1: it is not a constant", label());
    }
    if (scale.type_ != DataType::kFLOAT && scale.type_ != inputs_[0]->type_) {
        return compat::fail("TensorRT: %s: input 1: DataType %s is neither kFLOAT nor the input's, %s", label(),
                            type_name(scale.type_).c_str(), type_name(inputs_[0]->type_).c_str());
    }
    if (scale.dims_.nbDims > 1 || volume(scale.dims_) != 1) {
        return compat::fail("TensorRT: %s: input 1: shape %s is not that of one element", label(),
                            text(scale.dims_).c_str());
    }
    if (!all_positive(scale.producer_.weights_)) {
        return compat::fail("TensorRT: %s: input 1: it is not above 0", label());
    }
    return QDQ_OK;
}

inline detail::verdict ILayer::check(const ITensor &x, const ITensor &scale) const {
    using namespace detail;
    const bool quantizes = what_ == kind::quantize;
    const DataType floating = quantizes ? x.type_ : output_.type_, stored = quantizes ? output_.type_ : x.type_;
    if (!is_floating(floating)) {
        return compat::fail("TensorRT: %s: %s: DataType %s is not one of kFLOAT, kHALF, kBF16", label(),
                            quantizes ? "input" : "toType", type_name(floating).c_str());
    }
    if (!is_stored(stored)) {
        return compat::fail("TensorRT: %s: %s: DataType %s is not one of kINT8, kINT4, kFP4, kFP8", label(),
                            quantizes ? "toType" : "input", type_name(stored).c_str());
    }
    const Dims scale_dims = scale.getDimensions();
    const bool is_constant = scale.producer_.what_ == kind::constant;
    const bool is_power = scale.type_ == DataType::kE8M0 && scale_dims.nbDims > 1 &&
                          (stored == DataType::kFP8 || (!is_constant && stored == DataType::kFP4));
    if (scale.type_ != floating && !is_power) {
        return compat::fail("TensorRT: %s: scale: DataType %s is not the %s's, %s", label(),
                            type_name(scale.type_).c_str(), quantizes ? "input" : "output",
                            type_name(floating).c_str());
    }
    if (x.getDimensions().nbDims == 0) {
        return compat::fail("TensorRT: %s: input: it has no dimensions", label());
    }
    if (!is_constant && (quantizes || scale.producer_.what_ == kind::input)) {
        return compat::fail("TensorRT: %s: scale: it is not a constant", label());
    }
    if (const verdict fits = check_shape(x.getDimensions(), scale_dims, stored); !fits) {
        return fits;
    }
    if (is_constant && !all_positive(scale.producer_.weights_)) {
        return compat::fail("TensorRT: %s: scale: not every coefficient is above 0", label());
    }
    return inputs_[2] != nullptr ? check_zero_point(*inputs_[2], scale) : QDQ_OK;
}

inline detail::verdict ILayer::check_shape(const Dims &x, const Dims &scale, DataType stored) const {
    using namespace detail;
    const char *name = label();
    if (block_.nbDims != 0 && !takes_blocks(stored)) {
        return compat::fail("TensorRT: %s: blockShape: blocks, %s, are for kINT4, kFP8 and kFP4", name,
                            text(block_).c_str());
    }
    if (block_.nbDims != 0) {
        return check_block_shape(x, scale);
    }
    if (scale.nbDims == 0 || (scale.nbDims == 1 && scale.d[0] == 1)) {
        return QDQ_OK;
    }
    if (scale.nbDims == 1) {
        if (axis_ < 0 || axis_ >= x.nbDims) {
            return compat::fail("TensorRT: %s: axis: %d is not in [0, %d)", name, int(axis_), int(x.nbDims));
        }
        if (scale.d[0] == x.d[axis_]) {
            return QDQ_OK;
        }
        return compat::fail("TensorRT: %s: scale: %lld coefficients; the input's axis %d has %lld", name,
                            static_cast<long long>(scale.d[0]), int(axis_), static_cast<long long>(x.d[axis_]));
    }
    if (scale.nbDims != x.nbDims) {
        return compat::fail("TensorRT: %s: scale: %d dimensions are neither 0, nor 1, nor the input's, %d", name,
                            int(scale.nbDims), int(x.nbDims));
    }
    if (!takes_blocks(stored)) {
        return compat::fail("TensorRT: %s: scale: blocks, %s, are for kINT4, kFP8 and kFP4", name, text(scale).c_str());
    }
    int blocked = 0;
    for (std::int32_t d = 0; d < x.nbDims; ++d) {
        if (scale.d[d] == x.d[d]) {
            continue;
        }
        const bool cuts = d >= x.nbDims - 2 && scale.d[d] > 0 && x.d[d] % scale.d[d] == 0;
        if (!cuts || ++blocked > 1) {
            return compat::fail(
                "TensorRT: %s: scale: %s does not cut the last or the last but one dimension of the input, "
                "%s, and no other, into blocks",
                name, text(scale).c_str(), text(x).c_str());
        }
    }
    return QDQ_OK;
}

// The scale has an element for each block.
inline detail::verdict ILayer::check_block_shape(const Dims &x, const Dims &scale) const {
    using namespace detail;
    bool fits = block_.nbDims == x.nbDims && scale.nbDims == x.nbDims;
    for (std::int32_t d = 0; fits && d < x.nbDims; ++d) {
        const std::int64_t size = block_.d[d] == -1 ? std::max<std::int64_t>(x.d[d], 1) : block_.d[d];
        fits = x.d[d] % size == 0 && scale.d[d] == x.d[d] / size;
    }
    return fits ? verdict(QDQ_OK)
                : compat::fail(
                      "TensorRT: %s: blockShape: blocks of %s do not cut the input, %s, evenly into the "
                      "scale's shape, %s",
                      label(), text(block_).c_str(), text(x).c_str(), text(scale).c_str());
}

inline detail::verdict ILayer::check_zero_point(const ITensor &zero_point, const ITensor &scale) const {
    using namespace detail;
    const char *name = label();
    if (zero_point.producer_.what_ != kind::constant) {
        return compat::fail("TensorRT: %s: zeroPt: it is not a constant", name);
    }
    if (zero_point.type_ != DataType::kFLOAT) {
        return compat::fail("TensorRT: %s: zeroPt: DataType %s is not kFLOAT", name,
                            type_name(zero_point.type_).c_str());
    }
    const Dims scale_dims = scale.getDimensions();
    if (!std::ranges::equal(shape_of(zero_point.dims_), shape_of(scale_dims))) {
        return compat::fail("TensorRT: %s: zeroPt: shape %s is not scale's, %s", name, text(zero_point.dims_).c_str(),
                            text(scale_dims).c_str());
    }
    for (std::int64_t i = 0; i < volume(zero_point.dims_); i++) {
        if ((bits_at<std::uint32_t>(zero_point.producer_.weights_.values, i) & 0x7fffffffu) != 0) {
            return compat::fail("TensorRT: %s: zeroPt: element %lld is not 0", name, static_cast<long long>(i));
        }
    }
    return QDQ_OK;
}

namespace detail {

// Room for what lies between two layers. Addresses of constants are the network's.
inline verdict execution::prepare(const built_network &network) {
    network_ = &network;
    is_checked_ = false;
    places_.reset(new (std::nothrow) place[static_cast<std::size_t>(network.count())]);
    if (places_ == nullptr) {
        return {QDQ_OUT_OF_MEMORY, compat::out_of_memory};
    }
    for (std::size_t i = 0; i < network.tensors().size(); ++i) {
        const built_tensor &tensor = network.tensors()[i];
        place &at = places_[i];
        if (tensor.has_factor) {
            at.product = {dtype::f32, shape_of(tensor.dims), compat::owned_tensor::uninitialized{}};
            if (at.product.problem() != nullptr) {
                return {QDQ_OUT_OF_MEMORY, compat::out_of_memory};
            }
        }
        if (!tensor.is_computed || tensor.mode != TensorIOMode::kNONE) {
            at.address = tensor.constant;
            continue;
        }
        at.between = {static_cast<dtype>(to_qdq(tensor.type)), shape_of(tensor.dims),
                      compat::owned_tensor::uninitialized{}};
        if (at.between.problem() != nullptr) {
            return {QDQ_OUT_OF_MEMORY, compat::out_of_memory};
        }
        at.address = at.between.data();
    }
    return QDQ_OK;
}

// Everything that is read or written has an address, and an output lies apart from all that the caller gave.
inline verdict execution::check() const {
    const auto tensors = network_->tensors();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (places_[i].address == nullptr && volume(tensors[i].dims) > 0) {
            return compat::fail("TensorRT: %s: no address is set", tensors[i].of_layer.c_str());
        }
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].mode != TensorIOMode::kOUTPUT) {
            continue;
        }
        if (const verdict apart = check_output(i); !apart) {
            return apart;
        }
    }
    return QDQ_OK;
}

inline verdict execution::check_output(std::size_t output) const {
    const auto tensors = network_->tensors();
    const auto range = [&](std::size_t i) {
        const auto begin = reinterpret_cast<std::uintptr_t>(places_[i].address);
        return std::pair(begin, begin + byte_count(tensors[i].type, tensors[i].dims));
    };
    const auto [begin, end] = range(output);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto [other_begin, other_end] = range(i);
        if (i != output && begin < other_end && other_begin < end) {
            return compat::fail("TensorRT: %s: its output overlaps \"%s\"", tensors[output].of_layer.c_str(),
                                tensors[i].of_tensor.c_str());
        }
    }
    return QDQ_OK;
}

inline verdict execution::run() {
    if (!is_checked_) {
        if (const verdict allowed = check(); !allowed) {
            return allowed;
        }
        is_checked_ = true;
    }
    for (std::size_t i = 0; i < network_->tensors().size(); ++i) {
        if (const verdict done = run(i); !done) {
            return done;
        }
    }
    return QDQ_OK;
}

inline verdict execution::run(std::size_t tensor) const {
    const built_tensor &y = network_->tensors()[tensor];
    if (y.plan == nullptr && y.scale < 0) {
        return QDQ_OK;  // given, or the scales of a layer that was run
    }
    const void *x = places_[static_cast<std::size_t>(y.input)].address;
    void *const at = places_[tensor].address;
    if (y.scale < 0) {
        return qdq_run(y.plan.get(), x, at, nullptr);
    }
    const built_tensor &of = network_->tensors()[static_cast<std::size_t>(y.input)],
                       &scale = network_->tensors()[static_cast<std::size_t>(y.scale)];
    void *const scales = places_[static_cast<std::size_t>(y.scale)].address;
    const qdq_tensor c_x = view(of.dims, of.type, const_cast<void *>(x));
    if (!y.is_dynamic) {
        const qdq_tensor c_scale = view(scale.dims, scale.type, scales), c_y = view(y.dims, y.type, at);
        qdq_options options = compat::profile("tensorrt");
        options.axis = y.axis;
        options.block_shape = y.block.nbDims != 0 ? y.block.d : nullptr;
        return qdq_dequantize(&c_x, &c_scale, nullptr, &c_y, &options);
    }
    if (y.has_factor) {
        constexpr std::int64_t everywhere[Dims::MAX_DIMS] = {};
        const qdq_tensor factor{const_cast<float *>(&y.factor), QDQ_F32, c_x.rank, c_x.shape, everywhere, {}};
        auto *const product = static_cast<float *>(places_[tensor].product.data());
        if (const qdq_status status = compat::ascend::multiply(c_x, factor, product)) {
            return status;
        }
        x = product;
    }
    return qdq_run_dynamic(y.plan.get(), x, scales, nullptr, at, nullptr);
}

}  // namespace detail

template<typename Layer> Layer *INetworkDefinition::append(ILayer::kind what, char const *name) noexcept {
    std::unique_ptr<Layer> layer(new (std::nothrow) Layer(*this, what, count_));
    if (layer == nullptr) {
        return nullptr;
    }
    char output[64];
    if (name == nullptr) {
        constexpr const char *kinds[] = {"Input", "Constant", "Quantize", "Dequantize", "Dynamic Quantize"};
        std::snprintf(layer->unnamed_, sizeof layer->unnamed_, "(Unnamed Layer* %d) [%s]", int(getNbLayers()),
                      kinds[static_cast<std::size_t>(what)]);
        std::snprintf(output, sizeof output, "%s_output", layer->unnamed_);
        name = output;
    }
    if (!layer->output_.name_.assign(name)) {
        return nullptr;
    }
    ++count_;
    count_of_inputs_ += what == ILayer::kind::input ? 1 : 0;
    count_of_scales_ += what == ILayer::kind::scales ? 1 : 0;
    Layer *added = layer.get();
    (last_ != nullptr ? last_->next_ : first_) = std::move(layer);
    last_ = added;
    is_built_ = false;
    return added;
}

inline IDynamicQuantizeLayer *INetworkDefinition::dynamic(ITensor &input, Dims const &block, DataType type,
                                                          DataType scales) noexcept {
    auto *layer = append<IDynamicQuantizeLayer>(ILayer::kind::dynamic);
    if (layer == nullptr) {
        return nullptr;
    }
    char name[72];
    std::snprintf(name, sizeof name, "%s_1", layer->output_.getName());
    ILayer *const made = append<ILayer>(ILayer::kind::scales, name);
    if (made == nullptr) {
        remove_last();
        return nullptr;
    }
    layer->pair_ = made;
    made->pair_ = layer;
    layer->take(0, input);
    layer->output_.type_ = type;
    layer->block_ = block;
    made->output_.type_ = scales;
    return layer;
}

/// The rules for what enters the network and what leaves it.
inline detail::verdict INetworkDefinition::check_bound(const ILayer &layer) const {
    using namespace detail;
    const ITensor &tensor = layer.output_;
    if (tensor.marked_ != 0 && !layer.is_computed()) {
        return compat::fail("TensorRT: %s: only the output of a quantize or dequantize layer can be marked",
                            layer.label());
    }
    if (is_bound(layer) && find(tensor.getName(), &tensor) != nullptr) {
        return compat::fail("TensorRT: %s: two inputs or outputs have this name", tensor.getName());
    }
    if (layer.is_computed()) {
        return QDQ_OK;
    }
    const Dims &dims = tensor.dims_;
    if (dims.nbDims < 0 || dims.nbDims > Dims::MAX_DIMS) {
        return compat::fail("TensorRT: %s: %d dimensions are not in 0..8", layer.label(), int(dims.nbDims));
    }
    if (std::ranges::any_of(shape_of(dims), [](std::int64_t size) { return size < 0; })) {
        return compat::fail("TensorRT: %s: shape %s has a negative dimension", layer.label(), text(dims).c_str());
    }
    if (layer.what_ != ILayer::kind::constant) {
        return QDQ_OK;
    }
    if (layer.weights_.count != volume(dims)) {
        return compat::fail("TensorRT: %s: %lld weights for a shape of %s", layer.label(),
                            static_cast<long long>(layer.weights_.count), text(dims).c_str());
    }
    if (layer.weights_.values == nullptr && layer.weights_.count > 0) {
        return compat::fail("TensorRT: %s: weights.values is NULL", layer.label());
    }
    return QDQ_OK;
}

inline detail::verdict INetworkDefinition::build(detail::built_network &made, weights how) const {
    using namespace detail;
    if (!made.reserve(count_)) {
        return {QDQ_OUT_OF_MEMORY, compat::out_of_memory};
    }
    for (const ILayer *layer = first_.get(); layer != nullptr; layer = layer->next_.get()) {
        verdict done = check_bound(*layer);
        if (done && layer->computes()) {
            done = layer->check_inputs();
        }
        if (done && layer->computes()) {
            done = layer->what_ == ILayer::kind::dynamic ? layer->check_dynamic(*layer->inputs_[0])
                                                         : layer->check(*layer->inputs_[0], *layer->inputs_[1]);
        }
        if (done) {
            done = build(made.tensors()[static_cast<std::size_t>(layer->index_)], *layer, how);
        }
        if (done && layer->computes()) {
            done = layer->what_ == ILayer::kind::dynamic ? plan_dynamic(made, *layer) : plan(made, *layer);
        }
        if (!done) {
            return done;
        }
    }
    return marks_ != 0 ? verdict(QDQ_OK) : compat::fail("TensorRT: no output is marked");
}

/// What a layer, which keeps the rules, is to those who run the network.
inline detail::verdict INetworkDefinition::build(detail::built_tensor &made, const ILayer &layer, weights how) {
    using namespace detail;
    const ITensor &tensor = layer.output_;
    if (!made.of_tensor.assign(tensor.getName()) || !made.of_layer.assign(layer.label())) {
        return {QDQ_OUT_OF_MEMORY, compat::out_of_memory};
    }
    made.type = tensor.type_;
    made.dims = tensor.getDimensions();
    made.mode = layer.what_ == ILayer::kind::input ? TensorIOMode::kINPUT
                : tensor.marked_ != 0              ? TensorIOMode::kOUTPUT
                                                   : TensorIOMode::kNONE;
    made.is_computed = layer.is_computed();
    if (layer.what_ != ILayer::kind::constant) {
        return QDQ_OK;
    }
    made.constant = const_cast<void *>(layer.weights_.values);
    if (how == weights::viewed || to_qdq(made.type) < 0) {  // no layer reads another type
        return QDQ_OK;
    }
    made.weights = {static_cast<dtype>(to_qdq(made.type)), shape_of(made.dims), compat::owned_tensor::uninitialized{}};
    if (made.weights.problem() != nullptr) {
        return {QDQ_OUT_OF_MEMORY, compat::out_of_memory};
    }
    made.constant = made.weights.data();
    if (layer.weights_.count > 0) {
        std::memcpy(made.constant, layer.weights_.values, byte_count(made.type, made.dims));
    }
    return QDQ_OK;
}

/// Chooses the kernel of a layer that computes.
inline detail::verdict INetworkDefinition::plan(detail::built_network &made, const ILayer &layer) {
    using namespace detail;
    const auto tensor_of = [&](const ITensor &tensor) -> built_tensor & {
        return made.tensors()[static_cast<std::size_t>(tensor.producer_.index_)];
    };
    const built_tensor &x = tensor_of(*layer.inputs_[0]), &scale = tensor_of(*layer.inputs_[1]);
    built_tensor &y = tensor_of(layer.output_);
    y.input = layer.inputs_[0]->producer_.index_;
    std::int64_t block[Dims::MAX_DIMS];
    const bool has_blocks = layer.block_.nbDims != 0 && layer.blocks_of(x.dims, block);
    if (scale.is_computed) {
        y.scale = layer.inputs_[1]->producer_.index_;
        y.axis = layer.axis_;
        y.block.nbDims = has_blocks ? x.dims.nbDims : 0;
        std::copy_n(block, y.block.nbDims, y.block.d);
        return QDQ_OK;
    }
    y.plan.reset(new (std::nothrow) qdq_plan);
    if (y.plan == nullptr) {
        return {QDQ_OUT_OF_MEMORY, compat::out_of_memory};
    }
    const qdq_tensor c_x = view(x.dims, x.type, nullptr), c_y = view(y.dims, y.type, nullptr),
                     c_scale = view(scale.dims, scale.type, scale.constant);
    const bool quantizes = layer.what_ == ILayer::kind::quantize;
    qdq_options options = compat::profile("tensorrt");
    options.axis = layer.axis_;
    options.block_shape = has_blocks ? block : nullptr;
    return (quantizes ? qdq_plan_quantize : qdq_plan_dequantize)(y.plan.get(), &c_x, &c_scale, nullptr, &c_y, &options);
}

/// The same of a layer that computes scales, which follow it.
inline detail::verdict INetworkDefinition::plan_dynamic(detail::built_network &made, const ILayer &layer) {
    using namespace detail;
    const auto at = [&](std::int32_t index) -> built_tensor & {
        return made.tensors()[static_cast<std::size_t>(index)];
    };
    built_tensor &y = at(layer.index_);
    y.input = layer.inputs_[0]->producer_.index_;
    y.scale = layer.pair_->index_;
    y.is_dynamic = true;
    y.plan.reset(new (std::nothrow) qdq_plan);
    if (y.plan == nullptr) {
        return no_memory();
    }
    if (layer.inputs_[1] != nullptr) {
        const built_tensor &scale = at(layer.inputs_[1]->producer_.index_);
        constexpr float one = 1;
        constexpr std::int64_t length = 1;
        const qdq_tensor c_scale{scale.constant, static_cast<qdq_dtype>(to_qdq(scale.type)), 1, &length, nullptr, {}},
            c_one{const_cast<float *>(&one), QDQ_F32, 1, &length, nullptr, {}};
        float value = 1;
        if (const qdq_status status = compat::ascend::multiply(c_scale, c_one, &value)) {
            return status;
        }
        y.has_factor = true;
        y.factor = reciprocal(value);
    }
    std::int64_t block[Dims::MAX_DIMS];
    layer.blocks_of(y.dims, block);
    const built_tensor &x = at(y.input);
    const DataType type = layer.pair_->output_.type_;
    const Dims scale_dims = layer.pair_->output_.getDimensions();
    const qdq_tensor c_x = view(x.dims, y.has_factor ? DataType::kFLOAT : x.type, nullptr),
                     c_y = view(y.dims, y.type, nullptr), c_scale = view(scale_dims, type, nullptr);
    qdq_options options = compat::profile("tensorrt");
    options.block_shape = block;
    qdq_scale_options how{};
    how.rule = type == DataType::kE8M0 ? QDQ_SCALE_POWER_ROUND_UP : QDQ_SCALE_ABSMAX;
    return qdq_plan_quantize_dynamic(y.plan.get(), &c_x, &c_scale, nullptr, &c_y, &how, &options);
}

inline detail::verdict INetworkDefinition::prepare() {
    is_built_ = false;
    if (const detail::verdict done = build(network_, weights::viewed); !done) {
        return done;
    }
    if (const detail::verdict done = run_.prepare(network_); !done) {
        return done;
    }
    each([&](const ILayer &layer) {
        if (is_bound(layer)) {
            run_.set_address(layer.index_, layer.output_.address_);
        }
    });
    is_built_ = true;
    return QDQ_OK;
}

inline bool IExecutionContext::setTensorAddress(char const *name, void *data) noexcept {
    const std::int32_t found = engine_.network_.find(name);
    if (found < 0) {
        return reporter_.succeeded(
            compat::fail("TensorRT: setTensorAddress: no input or output is \"%s\"", name != nullptr ? name : "NULL"));
    }
    run_.set_address(found, data);
    return true;
}
inline bool IExecutionContext::setInputTensorAddress(char const *name, void const *data) noexcept {
    if (engine_.getTensorIOMode(name) == TensorIOMode::kINPUT) {
        return setTensorAddress(name, const_cast<void *>(data));
    }
    return reporter_.succeeded(
        compat::fail("TensorRT: setInputTensorAddress: no input is \"%s\"", name != nullptr ? name : "NULL"));
}
inline void *IExecutionContext::getTensorAddress(char const *name) const noexcept {
    const std::int32_t found = engine_.network_.find(name);
    return found >= 0 ? run_.address(found) : nullptr;
}
inline bool IExecutionContext::enqueueV3(void *) noexcept { return reporter_.succeeded(run_.run()); }

// A plan: the mark, the number of layers and of outputs, each layer, and the outputs by their layers' numbers. Numbers
// are those of the machine.

inline void INetworkDefinition::write(detail::plan_writer &to) const {
    to.bytes(detail::plan_mark, sizeof detail::plan_mark);
    to.number(count_);
    to.number(marks_);
    each([&](const ILayer &layer) { write(to, layer); });
    for (std::int32_t i = 0; i < marks_; ++i) {
        to.number(getOutput(i)->producer_.index_);
    }
}

inline void INetworkDefinition::write(detail::plan_writer &to, const Dims &dims) {
    to.number(dims.nbDims);
    to.bytes(dims.d, static_cast<std::size_t>(dims.nbDims) * sizeof dims.d[0]);
}

inline void INetworkDefinition::write(detail::plan_writer &to, const ILayer &layer) {
    const ITensor &output = layer.output_;
    to.number(static_cast<std::int32_t>(layer.what_));
    to.text(layer.name_.is_set() ? layer.name_.c_str() : nullptr);
    to.text(output.getName());
    to.number(output.type_);
    write(to, layer.is_computed() ? Dims{} : output.dims_);
    for (const ITensor *input : layer.inputs_) {
        to.number(input != nullptr ? input->producer_.index_ : -1);
    }
    to.number(layer.axis_);
    write(to, layer.block_);
    to.number(layer.weights_.count);
    to.bytes(layer.weights_.values,
             layer.what_ == ILayer::kind::constant ? detail::byte_count(output.type_, output.dims_) : 0);
    if (layer.what_ == ILayer::kind::dynamic) {
        to.number(layer.block_size_);
    }
}

// Of a network without layers. Whatever the bytes are, what is made keeps what the add functions promise; build() has
// the rules.
inline detail::verdict INetworkDefinition::read(detail::plan_reader &from) {
    constexpr std::size_t least_layer = 56;  // bytes
    const std::byte *const mark = from.bytes(sizeof detail::plan_mark);
    if (mark == nullptr || std::memcmp(mark, detail::plan_mark, sizeof detail::plan_mark) != 0) {
        return compat::fail("TensorRT: deserializeCudaEngine: these bytes are no plan of this version");
    }
    const auto layers = from.number<std::int32_t>(), outputs = from.number<std::int32_t>();
    const auto truncated = [] {
        return compat::fail("TensorRT: deserializeCudaEngine: the plan ends early, or is damaged");
    };
    if (from.failed() || layers < 0 || outputs < 0 || static_cast<std::size_t>(layers) > from.left() / least_layer) {
        return truncated();
    }
    const std::unique_ptr<ILayer *[]> all(new (std::nothrow) ILayer *[static_cast<std::size_t>(layers)]);
    if (all == nullptr) {
        return detail::no_memory();
    }
    for (std::int32_t i = 0; i < layers; ++i) {
        all[static_cast<std::size_t>(i)] = read_layer(from, {all.get(), static_cast<std::size_t>(i)});
        if (all[static_cast<std::size_t>(i)] == nullptr) {
            return from.failed() ? truncated() : detail::no_memory();
        }
    }
    if (count_ != layers) {  // scales are missing
        return truncated();
    }
    for (std::int32_t i = 0; i < outputs; ++i) {
        const auto index = from.number<std::int32_t>();
        if (from.failed() || index < 0 || index >= layers) {
            return truncated();
        }
        markOutput(all[static_cast<std::size_t>(index)]->output_);
    }
    return from.left() == 0 && marks_ == outputs ? detail::verdict(QDQ_OK) : truncated();
}

inline Dims INetworkDefinition::read_dims(detail::plan_reader &from) {
    Dims dims{from.number<std::int32_t>(), {}};
    if (dims.nbDims < 0 || dims.nbDims > Dims::MAX_DIMS) {
        from.fail();
        return {};
    }
    for (std::int32_t d = 0; d < dims.nbDims; ++d) {
        dims.d[d] = from.number<std::int64_t>();
    }
    return dims;
}

// NULL where bytes are wrong, and the reader says so, or in want of memory.
inline ILayer *INetworkDefinition::read_layer(detail::plan_reader &from, std::span<ILayer *const> earlier) {
    const auto kind = from.number<std::int32_t>();
    const char *const name = from.text(), *const output = from.text();
    const auto type = from.number<DataType>();
    const Dims dimensions = read_dims(from);
    std::int32_t inputs[3];
    for (std::int32_t &input : inputs) {
        input = from.number<std::int32_t>();
    }
    const auto axis = from.number<std::int32_t>();
    const Dims block = read_dims(from);
    const auto count = from.number<std::int64_t>();
    const auto is_earlier = [&](std::int32_t i) { return i >= 0 && static_cast<std::size_t>(i) < earlier.size(); };
    const auto is = [&](ILayer::kind what) { return kind == static_cast<std::int32_t>(what); };
    const bool computes = is(ILayer::kind::quantize) || is(ILayer::kind::dequantize);
    const bool is_constant = is(ILayer::kind::constant), is_input = is(ILayer::kind::input);
    const bool is_dynamic = is(ILayer::kind::dynamic), is_scales = is(ILayer::kind::scales);
    const bool follows_dynamic = !earlier.empty() && earlier.back()->what_ == ILayer::kind::dynamic;
    const bool has_dims = std::ranges::none_of(detail::shape_of(dimensions), [](std::int64_t d) { return d < 0; });
    const bool has_inputs =
        computes     ? is_earlier(inputs[0]) && is_earlier(inputs[1]) && (inputs[2] == -1 || is_earlier(inputs[2]))
        : is_dynamic ? is_earlier(inputs[0]) && (inputs[1] == -1 || is_earlier(inputs[1]))
                     : true;
    if (from.failed() || !(computes || is_constant || is_input || is_dynamic || is_scales) ||
        is_scales != follows_dynamic || output == nullptr || !has_inputs || !has_dims) {
        from.fail();
        return nullptr;
    }
    ILayer *made = nullptr;
    if (is_input) {
        addInput(output, type, dimensions);
        made = last_;
    } else if (is_constant) {
        // As many as the dimensions have, which build() asks for: bytes that are there, or none.
        const std::byte *const values =
            from.bytes(count == detail::volume(dimensions) ? detail::byte_count(type, dimensions) : UINT64_MAX);
        made = values != nullptr ? addConstant(dimensions, {type, values, count}) : nullptr;
    } else if (is_scales) {
        made = earlier.back()->pair_;
        made->output_.type_ = type;
    } else if (is_dynamic) {
        made = addDynamicQuantize(earlier[static_cast<std::size_t>(inputs[0])]->output_, axis,
                                  from.number<std::int32_t>(), type, DataType::kFP8);
        if (made != nullptr && inputs[1] != -1) {
            made->setInput(1, earlier[static_cast<std::size_t>(inputs[1])]->output_);
        }
    } else {
        ITensor &x = earlier[static_cast<std::size_t>(inputs[0])]->output_,
                &scale = earlier[static_cast<std::size_t>(inputs[1])]->output_;
        made = kind == static_cast<std::int32_t>(ILayer::kind::quantize)
                   ? static_cast<ILayer *>(addQuantize(x, scale, type))
                   : addDequantize(x, scale, type);
        if (made != nullptr && inputs[2] != -1) {
            made->setInput(2, earlier[static_cast<std::size_t>(inputs[2])]->output_);
        }
    }
    if (made == nullptr || (name != nullptr && !made->name_.assign(name)) || !made->output_.name_.assign(output)) {
        return nullptr;
    }
    made->axis_ = axis;
    if (from.failed() || !made->setBlockShape(block)) {  // of a dynamic layer, too: build() takes no other
        from.fail();
        return nullptr;
    }
    return made;
}

}  // namespace qdq::tensorrt
