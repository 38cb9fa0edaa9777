// TensorRT's quantize and dequantize layers over qdq, in a network of nothing else.
//
//     tensorrt::INetworkDefinition network;
//     auto *x = network.addInput("x", DataType::kFLOAT, Dims{2, {4, 8}});
//     auto *scale = network.addConstant(Dims{0, {}}, Weights{DataType::kFLOAT, &value, 1});
//     auto *quantize = network.addQuantize(*x, *scale->getOutput(0), DataType::kINT8);
//     network.markOutput(*quantize->getOutput(0));
//     network.setTensorAddress("x", values);
//     network.setTensorAddress(quantize->getOutput(0)->getName(), codes);
//     qdq::result done = network.run();
//     if (!done) std::puts(done.message());
//
//     quantize      saturate(round(input / scale + zeroPt))     zeroPt is 0: rounded once, to nearest even
//     dequantize    (input - zeroPt) * scale
//
// As in TensorRT, a network belongs to one thread, layers and tensors belong to it, and a mistake in a layer shows when
// the network is built: run() does that when anything has changed since the last run, and names the layer. The add
// functions return NULL only when memory is short.
//
// TensorRT's operator reference and NvInfer.h differ in places. The reference is followed in that input and scale (of a
// dequantize layer: output and scale) have one type, that zeroPt is f32, and that blocks are for int4 and fp4.
// NvInfer.h is followed in that int8 goes down to -128 (the reference's example prints -127 / 127 for a value below
// both), that scales are above 0, and that the last or the last but one dimension is cut into blocks, and no other.
// Both are silent on a remainder, which is refused. A 1-D scale is one for each element along the axis, also where
// input has one dimension.
#pragma once

#include <qdq/compat/common.hpp>

#include <cstring>

namespace qdq::tensorrt {

enum class DataType : std::int32_t {
    kFLOAT = 0,
    kHALF = 1,
    kINT8 = 2,
    kINT32 = 3,
    kBOOL = 4,
    kUINT8 = 5,
    kFP8 = 6,
    kBF16 = 7,
    kINT64 = 8,
    kINT4 = 9,
    kFP4 = 10,
    kE8M0 = 11
};

struct Dims {
    static constexpr std::int32_t MAX_DIMS = 8;
    std::int32_t nbDims;
    std::int64_t d[MAX_DIMS];
};

// Memory of the caller's, which is read by every run. The 4-bit types are packed, the first element in the low nibble.
struct Weights {
    DataType type;
    void const *values;
    std::int64_t count;  // elements
};

class ILayer;
class INetworkDefinition;

class ITensor {
public:
    ITensor(const ITensor &) = delete;

    char const *getName() const noexcept { return name_ != nullptr ? name_.get() : ""; }
    void setName(char const *name) noexcept { rename(name); }  // copied; kept as it was where memory is short
    DataType getType() const noexcept { return type_; }
    Dims getDimensions() const noexcept { return dims_; }  // of a layer's output: known once the network is built

private:
    friend class ILayer;
    friend class INetworkDefinition;
    explicit ITensor(const ILayer &producer) : producer_(producer) {}

    bool rename(char const *name) noexcept {
        std::unique_ptr<char[]> copy(new (std::nothrow) char[std::strlen(name) + 1]);
        if (copy == nullptr) {
            return false;
        }
        std::strcpy(copy.get(), name);
        name_ = std::move(copy);
        return true;
    }

    const ILayer &producer_;
    std::unique_ptr<char[]> name_;
    DataType type_ = DataType::kFLOAT;
    Dims dims_{};
    bool is_output_ = false;
    void *address_ = nullptr;    // where the elements are: the caller's memory, or that of made_
    compat::owned_tensor made_;  // what lies between two layers
};

class ILayer {
public:
    ILayer(const ILayer &) = delete;
    virtual ~ILayer() = default;

    // 0: the data, 1: the scale, 2: the zero point. NULL where there is none.
    ITensor *getInput(std::int32_t index) const noexcept { return index >= 0 && index < 3 ? inputs_[index] : nullptr; }
    inline void setInput(std::int32_t index, ITensor &tensor) noexcept;
    ITensor *getOutput(std::int32_t index) noexcept { return index == 0 ? &output_ : nullptr; }

protected:
    friend class INetworkDefinition;
    enum class kind { input, constant, quantize, dequantize };
    ILayer(INetworkDefinition &network, kind what, std::int32_t index)
        : network_(network), what_(what), index_(index), output_(*this) {}

    // The input tensor's dimension that a scale with one dimension varies along; -1, the default, for one scale.
    std::int32_t getAxis() const noexcept { return axis_; }
    inline void setAxis(std::int32_t axis) noexcept;
    DataType getToType() const noexcept { return output_.type_; }
    inline void setToType(DataType type) noexcept;

private:
    compat::verdict check(const ITensor &x, const ITensor &scale) const;
    compat::verdict check_shape(const Dims &x, const Dims &scale, DataType stored) const;
    compat::verdict check_zero_point(const ITensor &zero_point, const ITensor &scale) const;
    compat::verdict prepare();

    INetworkDefinition &network_;
    const kind what_;
    const std::int32_t index_;  // in the order of the add functions
    ITensor output_;
    ITensor *inputs_[3] = {};
    std::int32_t axis_ = -1;
    Weights weights_{};
    qdq_plan plan_;
    std::unique_ptr<ILayer> next_;
};

class IConstantLayer : public ILayer {
    using ILayer::ILayer;
    friend class INetworkDefinition;
};

class IQuantizeLayer : public ILayer {
    using ILayer::ILayer;
    friend class INetworkDefinition;

public:
    using ILayer::getAxis, ILayer::setAxis;
    using ILayer::getToType, ILayer::setToType;  // kINT8 (the default), kINT4, kFP4, kFP8
};

class IDequantizeLayer : public ILayer {
    using ILayer::ILayer;
    friend class INetworkDefinition;

public:
    using ILayer::getAxis, ILayer::setAxis;
    using ILayer::getToType, ILayer::setToType;  // kFLOAT (the default), kHALF, kBF16
};

class INetworkDefinition {
public:
    INetworkDefinition() = default;
    INetworkDefinition(const INetworkDefinition &) = delete;
    ~INetworkDefinition() {
        while (first_ != nullptr) {
            first_ = std::move(first_->next_);  // one by one: a long list must not recurse
        }
    }

    ITensor *addInput(char const *name, DataType type, Dims const &dimensions) noexcept {
        ILayer *layer = append<ILayer>(ILayer::kind::input, name);
        return layer != nullptr ? describe(*layer, type, dimensions) : nullptr;
    }
    IConstantLayer *addConstant(Dims const &dimensions, Weights weights) noexcept {
        auto *layer = append<IConstantLayer>(ILayer::kind::constant);
        if (layer == nullptr) {
            return nullptr;
        }
        layer->weights_ = weights;
        describe(*layer, weights.type, dimensions)->address_ = const_cast<void *>(weights.values);
        return layer;
    }
    IQuantizeLayer *addQuantize(ITensor &input, ITensor &scale, DataType outputType = DataType::kINT8) noexcept {
        return compute<IQuantizeLayer>(ILayer::kind::quantize, input, scale, outputType);
    }
    IDequantizeLayer *addDequantize(ITensor &input, ITensor &scale, DataType outputType = DataType::kFLOAT) noexcept {
        return compute<IDequantizeLayer>(ILayer::kind::dequantize, input, scale, outputType);
    }

    void markOutput(ITensor &tensor) noexcept {
        if (!tensor.is_output_) {
            tensor.address_ = nullptr;
        }
        tensor.is_output_ = true;
        built_ = false;
    }

    // The memory of an input or a marked output. False where no such tensor has the name.
    bool setTensorAddress(char const *name, void *data) noexcept {
        ITensor *found = find(name);
        if (found != nullptr) {
            found->address_ = data;
        }
        return found != nullptr;
    }
    bool setInputTensorAddress(char const *name, void const *data) noexcept {
        const ITensor *found = find(name);
        return found != nullptr && !found->is_output_ && setTensorAddress(name, const_cast<void *>(data));
    }

    // Computes every layer in the order of the add functions, into the memory of the outputs.
    result run() noexcept;

private:
    friend class ILayer;

    template<typename Layer> Layer *append(ILayer::kind what, char const *name = nullptr) noexcept;
    template<typename Layer> Layer *compute(ILayer::kind what, ITensor &input, ITensor &scale, DataType type) noexcept {
        Layer *layer = append<Layer>(what);
        if (layer == nullptr) {
            return nullptr;
        }
        layer->inputs_[0] = &input;
        layer->inputs_[1] = &scale;
        layer->output_.type_ = type;
        return layer;
    }
    static ITensor *describe(ILayer &layer, DataType type, Dims const &dimensions) noexcept {
        layer.output_.type_ = type;
        layer.output_.dims_ = dimensions;
        return &layer.output_;
    }
    static bool is_bound(const ILayer &layer) { return layer.what_ == ILayer::kind::input || layer.output_.is_output_; }
    static bool computes(const ILayer &layer) {
        return layer.what_ == ILayer::kind::quantize || layer.what_ == ILayer::kind::dequantize;
    }

    // The input or marked output of a name, other than `but`.
    ITensor *find(char const *name, const ITensor *but = nullptr) noexcept {
        for (ILayer *layer = first_.get(); layer != nullptr; layer = layer->next_.get()) {
            ITensor &tensor = layer->output_;
            if (is_bound(*layer) && &tensor != but && std::strcmp(tensor.getName(), name) == 0) {
                return &tensor;
            }
        }
        return nullptr;
    }
    compat::verdict build();
    compat::verdict check_bound(const ILayer &layer);

    std::unique_ptr<ILayer> first_;
    ILayer *last_ = nullptr;
    bool built_ = false;
};

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
    default: return -1;
    }
}

constexpr bool is_floating(DataType type) {
    return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16;
}
constexpr bool is_stored(DataType type) { return to_qdq(type) >= 0 && !is_floating(type); }
constexpr bool takes_blocks(DataType type) { return type == DataType::kINT4 || type == DataType::kFP4; }

constexpr std::span<const std::int64_t> shape_of(const Dims &dims) {
    return {dims.d, static_cast<std::size_t>(dims.nbDims)};
}
inline std::int64_t volume(const Dims &dims) { return compat::element_count(shape_of(dims)); }
inline compat::shape_text text(const Dims &dims) { return compat::shape_text(shape_of(dims)); }

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
    default: return all_positive<std::int32_t>(scale.values, scale.count, 0x7f800000);
    }
}

}  // namespace detail

inline void ILayer::setInput(std::int32_t index, ITensor &tensor) noexcept {
    if (index < 0 || index > 2) {
        return;
    }
    inputs_[index] = &tensor;
    network_.built_ = false;
}
inline void ILayer::setAxis(std::int32_t axis) noexcept {
    axis_ = axis;
    network_.built_ = false;
}
inline void ILayer::setToType(DataType type) noexcept {
    output_.type_ = type;
    network_.built_ = false;
}

inline compat::verdict ILayer::check(const ITensor &x, const ITensor &scale) const {
    using namespace detail;
    const char *name = output_.getName();
    const bool quantizes = what_ == kind::quantize;
    const DataType floating = quantizes ? x.type_ : output_.type_, stored = quantizes ? output_.type_ : x.type_;
    for (const ITensor *each : inputs_) {
        if (each != nullptr && (&each->producer_.network_ != &network_ || each->producer_.index_ >= index_)) {
            return compat::fail("TensorRT: %s: input \"%s\" is not from an earlier layer of this network", name,
                                each->getName());
        }
        if (each != nullptr && volume(each->dims_) > INT32_MAX) {
            return compat::fail("TensorRT: %s: input \"%s\", %s, has more than 2147483647 elements", name,
                                each->getName(), text(each->dims_).c_str());
        }
    }
    if (!is_floating(floating)) {
        return compat::fail("TensorRT: %s: %s: DataType %d is not one of kFLOAT, kHALF, kBF16", name,
                            quantizes ? "input" : "toType", static_cast<int>(floating));
    }
    if (!is_stored(stored)) {
        return compat::fail("TensorRT: %s: %s: DataType %d is not one of kINT8, kINT4, kFP4, kFP8", name,
                            quantizes ? "toType" : "input", static_cast<int>(stored));
    }
    if (scale.type_ != floating) {
        return compat::fail("TensorRT: %s: scale: DataType %d is not the %s's, %d", name, static_cast<int>(scale.type_),
                            quantizes ? "input" : "output", static_cast<int>(floating));
    }
    if (x.dims_.nbDims == 0) {
        return compat::fail("TensorRT: %s: input: it has no dimensions", name);
    }
    if (scale.producer_.what_ != kind::constant) {
        return compat::fail("TensorRT: %s: scale: it is not a constant", name);
    }
    if (const compat::verdict fits = check_shape(x.dims_, scale.dims_, stored); !fits) {
        return fits;
    }
    if (!all_positive(scale.producer_.weights_)) {
        return compat::fail("TensorRT: %s: scale: not every coefficient is above 0", name);
    }
    return inputs_[2] != nullptr ? check_zero_point(*inputs_[2], scale) : QDQ_OK;
}

inline compat::verdict ILayer::check_shape(const Dims &x, const Dims &scale, DataType stored) const {
    using namespace detail;
    const char *name = output_.getName();
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
        return compat::fail("TensorRT: %s: scale: blocks, %s, are for kINT4 and kFP4", name, text(scale).c_str());
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

inline compat::verdict ILayer::check_zero_point(const ITensor &zero_point, const ITensor &scale) const {
    using namespace detail;
    const char *name = output_.getName();
    if (zero_point.producer_.what_ != kind::constant) {
        return compat::fail("TensorRT: %s: zeroPt: it is not a constant", name);
    }
    if (zero_point.type_ != DataType::kFLOAT) {
        return compat::fail("TensorRT: %s: zeroPt: DataType %d is not kFLOAT", name,
                            static_cast<int>(zero_point.type_));
    }
    if (!std::ranges::equal(shape_of(zero_point.dims_), shape_of(scale.dims_))) {
        return compat::fail("TensorRT: %s: zeroPt: shape %s is not scale's, %s", name, text(zero_point.dims_).c_str(),
                            text(scale.dims_).c_str());
    }
    for (std::int64_t i = 0; i < volume(zero_point.dims_); i++) {
        if ((bits_at<std::uint32_t>(zero_point.address_, i) & 0x7fffffffu) != 0) {
            return compat::fail("TensorRT: %s: zeroPt: element %lld is not 0", name, static_cast<long long>(i));
        }
    }
    return QDQ_OK;
}

// Checks a layer that computes, chooses its kernel and makes room for its output unless the caller gives it.
inline compat::verdict ILayer::prepare() {
    using namespace detail;
    const ITensor &x = *inputs_[0], &scale = *inputs_[1];
    if (const compat::verdict allowed = check(x, scale); !allowed) {
        return allowed;
    }
    output_.dims_ = x.dims_;
    const bool quantizes = what_ == kind::quantize;
    const qdq_tensor c_x = view(x.dims_, x.type_, nullptr), c_y = view(output_.dims_, output_.type_, nullptr),
                     c_scale = view(scale.dims_, scale.type_, scale.address_);
    qdq_options options;
    qdq_profile_options("tensorrt", quantizes ? c_y.dtype : c_x.dtype, &options);
    options.axis = axis_;
    if (const compat::verdict planned =
            (quantizes ? qdq_plan_quantize : qdq_plan_dequantize)(&plan_, &c_x, &c_scale, nullptr, &c_y, &options);
        !planned) {
        return planned;
    }
    if (output_.is_output_) {
        return QDQ_OK;
    }
    compat::expected<compat::owned_tensor> room =
        compat::owned_tensor::of(static_cast<dtype>(c_y.dtype), shape_of(output_.dims_));
    if (!room) {
        return {QDQ_OUT_OF_MEMORY, compat::out_of_memory};
    }
    output_.made_ = std::move(*room);
    output_.address_ = output_.made_.data();
    return QDQ_OK;
}

template<typename Layer> Layer *INetworkDefinition::append(ILayer::kind what, char const *name) noexcept {
    const std::int32_t index = last_ != nullptr ? last_->index_ + 1 : 0;
    std::unique_ptr<Layer> layer(new (std::nothrow) Layer(*this, what, index));
    char unnamed[64];
    if (name == nullptr) {
        constexpr const char *kinds[] = {"Input", "Constant", "Quantize", "Dequantize"};
        std::snprintf(unnamed, sizeof(unnamed), "(Unnamed Layer* %d) [%s]_output", int(index),
                      kinds[static_cast<std::size_t>(what)]);
        name = unnamed;
    }
    if (layer == nullptr || !layer->output_.rename(name)) {
        return nullptr;
    }
    Layer *added = layer.get();
    (last_ != nullptr ? last_->next_ : first_) = std::move(layer);
    last_ = added;
    built_ = false;
    return added;
}

// The rules for what enters the network and what leaves it.
inline compat::verdict INetworkDefinition::check_bound(const ILayer &layer) {
    using namespace detail;
    const ITensor &tensor = layer.output_;
    if (tensor.is_output_ && !computes(layer)) {
        return compat::fail("TensorRT: %s: only the output of a quantize or dequantize layer can be marked",
                            tensor.getName());
    }
    if (is_bound(layer) && find(tensor.getName(), &tensor) != nullptr) {
        return compat::fail("TensorRT: %s: two inputs or outputs have this name", tensor.getName());
    }
    if (computes(layer)) {
        return QDQ_OK;
    }
    const Dims &dims = tensor.dims_;
    if (dims.nbDims < 0 || dims.nbDims > Dims::MAX_DIMS) {
        return compat::fail("TensorRT: %s: %d dimensions are not in 0..8", tensor.getName(), int(dims.nbDims));
    }
    if (std::ranges::any_of(shape_of(dims), [](std::int64_t size) { return size < 0; })) {
        return compat::fail("TensorRT: %s: shape %s has a negative dimension", tensor.getName(), text(dims).c_str());
    }
    if (layer.what_ != ILayer::kind::constant) {
        return QDQ_OK;
    }
    if (layer.weights_.count != volume(dims)) {
        return compat::fail("TensorRT: %s: %lld weights for a shape of %s", tensor.getName(),
                            static_cast<long long>(layer.weights_.count), text(dims).c_str());
    }
    if (layer.weights_.values == nullptr && layer.weights_.count > 0) {
        return compat::fail("TensorRT: %s: weights.values is NULL", tensor.getName());
    }
    return QDQ_OK;
}

inline compat::verdict INetworkDefinition::build() {
    bool has_output = false;
    for (ILayer *layer = first_.get(); layer != nullptr; layer = layer->next_.get()) {
        if (const compat::verdict allowed = check_bound(*layer); !allowed) {
            return allowed;
        }
        if (computes(*layer)) {
            if (const compat::verdict prepared = layer->prepare(); !prepared) {
                return prepared;
            }
        }
        has_output |= layer->output_.is_output_;
    }
    if (!has_output) {
        return compat::fail("TensorRT: no output is marked");
    }
    built_ = true;
    return QDQ_OK;
}

inline result INetworkDefinition::run() noexcept {
    if (!built_) {
        if (const compat::verdict done = build(); !done) {
            return done;
        }
    }
    for (const ILayer *layer = first_.get(); layer != nullptr; layer = layer->next_.get()) {
        if (layer->output_.address_ == nullptr && detail::volume(layer->output_.dims_) > 0) {
            return compat::fail("TensorRT: %s: no address is set", layer->output_.getName());
        }
    }
    for (const ILayer *layer = first_.get(); layer != nullptr; layer = layer->next_.get()) {
        if (!computes(*layer)) {
            continue;
        }
        const compat::verdict done =
            qdq_run(&layer->plan_, layer->inputs_[0]->address_, layer->output_.address_, nullptr);
        if (!done) {
            return done;
        }
    }
    return QDQ_OK;
}

}  // namespace qdq::tensorrt
