/// @file
/// What the C++ front ends share. pypto, torch_npu and nvtripy raise Python exceptions and TensorRT has an error
/// recorder; in C++ all four report alike, and nothing here throws:
///
///   - a function with a result of its own returns expected<owned_tensor>: a tensor, or why there is none;
///   - its twin [name]_out, where one is offered, writes to memory of the caller's and returns qdq::result.
///
/// Either keeps its own message. status::invalid_argument: an argument breaks a rule of that system; message() names
/// the argument as that system does, the rule and the values. status::out_of_memory: the result. status::unsupported:
/// no usable target. On an error nothing has been written.
#pragma once

#include <qdq/compat/terms.hpp>
#include <qdq/qdq.hpp>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace qdq::compat {

/// A T, or why there is none. The members are those of C++23's std::expected<T, result>, with two differences: error()
/// is a success where there is a value, and a temporary gives its value away. So a loop over one does not outlive it.
template<typename T> class [[nodiscard]] expected {
public:
    /// A value.
    expected(T value) : value_(std::move(value)), failure_(QDQ_OK) {}
    /// A failure.
    expected(const result &failure) : failure_(failure) {}
    /// A value made of arguments.
    template<typename... Arguments>
    explicit expected(std::in_place_t, Arguments &&...arguments)
        : value_(std::in_place, std::forward<Arguments>(arguments)...), failure_(QDQ_OK) {}

    /// Whether there is a value.
    bool has_value() const { return value_.has_value(); }
    /// Whether there is a value.
    explicit operator bool() const { return has_value(); }

    /// Throws bad_result_access where there is none; without exceptions, aborts.
    T &value() & { return failure_.value(), *value_; }
    /// The value, or throws.
    const T &value() const & { return failure_.value(), *value_; }
    /// The value, or throws.
    T value() && { return failure_.value(), std::move(*value_); }

    /// Only where there is a value.
    T &operator*() & { return *value_; }
    /// The value.
    const T &operator*() const & { return *value_; }
    /// The value.
    T operator*() && { return std::move(*value_); }
    /// The value.
    T *operator->() { return &*value_; }
    /// The value.
    const T *operator->() const { return &*value_; }

    /// The failure.
    const result &error() const { return failure_; }
    /// Why there is no value; "" where there is one.
    const char *message() const { return failure_.message(); }

    /// What `next` makes of the value, an expected or a result; or this failure as one.
    template<typename Next> auto and_then(Next &&next) const & {
        using outcome = std::invoke_result_t<Next, const T &>;
        return has_value() ? outcome(std::invoke(std::forward<Next>(next), *value_)) : outcome(failure_);
    }
    /// The same of a value that is given away.
    template<typename Next> auto and_then(Next &&next) && {
        using outcome = std::invoke_result_t<Next, T &&>;
        return has_value() ? outcome(std::invoke(std::forward<Next>(next), std::move(*value_))) : outcome(failure_);
    }

private:
    std::optional<T> value_;
    result failure_;
};

/// What a check of arguments came to. Its text is the thread's, until the next failure: the result that leaves a front
/// end copies it. The checks of a call that succeeds copy none.
class [[nodiscard]] verdict {
public:
    /// Of the thread's latest call of C.
    verdict(qdq_status status) : verdict(status, status == QDQ_OK ? "" : qdq_last_error()) {}
    /// With a text, which is not copied.
    verdict(qdq_status status, const char *text) : status_(status), text_(text) {}

    /// Whether it succeeded.
    explicit operator bool() const { return status_ == QDQ_OK; }
    /// With a copy of the text.
    operator result() const { return {status_, text_}; }
    /// A failure of a call with a value.
    template<typename T> operator expected<T>() const { return result(*this); }

private:
    qdq_status status_;
    const char *text_;
};

/// The failure of one of a system's own rules, as printf shows it.
[[gnu::format(printf, 1, 2), gnu::noinline, gnu::cold]] inline verdict fail(const char *format, ...) {
    static thread_local char kept[512];
    char message[sizeof(kept)];  // what is kept may be among the arguments: as a name
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    std::memcpy(kept, message, std::strlen(message) + 1);
    return {QDQ_INVALID_ARGUMENT, kept};
}

/// qdq's options for a system. Those of the front ends are the same for every stored type.
inline qdq_options profile(const char *name) {
    qdq_options options;
    qdq_profile_options(name, QDQ_I8, &options);
    return options;
}

/// The thread's latest failure of qdq. On its own: its text is no part of the stack that a call of qdq takes.
[[gnu::noinline, gnu::cold]] inline verdict failure_in_terms_of(const argument_names &names) {
    char text[512];
    last_error_in_terms_of(names, text);
    return fail("%s", text);
}

/// What a call of qdq came to.
inline verdict in_terms_of(const argument_names &names, qdq_status status) {
    return status == QDQ_INVALID_ARGUMENT ? failure_in_terms_of(names) : verdict(status);
}

/// What messages say of an element type.
struct dtype_info {
    const char *name;  ///< as in messages
    int bits;          ///< in memory
};

/// Of a number that may be no type.
inline dtype_info info(int type) {
    qdq_dtype of_c{};
    std::memcpy(&of_c, &type, sizeof of_c);  // any int, where a cast may be undefined
    const char *name = qdq_dtype_name(of_c);
    return {name != nullptr ? name : "unknown", qdq_dtype_bits(of_c)};
}

/// Of a type.
inline dtype_info info(dtype type) { return info(static_cast<int>(type)); }

/// Whether a type is one of a list.
constexpr bool is_one_of(int value, std::initializer_list<dtype> list) {
    return std::ranges::any_of(list, [&](dtype each) { return value == static_cast<int>(each); });
}

/// The shape of a tensor.
constexpr std::span<const std::int64_t> shape_of(const qdq_tensor &t) {
    return {t.shape, static_cast<std::size_t>(t.rank)};
}

/// Of a few dimensions: std::ranges::equal would call memcmp, which takes longer.
constexpr bool same_shape(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
    bool same = a.size() == b.size();
    for (std::size_t d = 0; same && d < a.size(); ++d) {
        same = a[d] == b[d];
    }
    return same;
}
/// Of two tensors.
constexpr bool same_shape(const qdq_tensor &a, const qdq_tensor &b) { return same_shape(shape_of(a), shape_of(b)); }

/// No dimension is negative. A product past the range of int64_t gives its largest value.
constexpr std::int64_t element_count(std::span<const std::int64_t> shape) {
    std::int64_t count = 1;
    bool is_past_range = false;
    for (std::int64_t size : shape) {
        if (size == 0) {
            return 0;
        }
        is_past_range |= __builtin_mul_overflow(count, size, &count);
    }
    return is_past_range ? INT64_MAX : count;
}

/// A shape as a message shows it: [2, 3].
class shape_text {
public:
    /// Of sizes.
    explicit shape_text(std::span<const std::int64_t> shape) {
        std::size_t used = 0;
        for (std::int64_t size : shape) {
            used += static_cast<std::size_t>(std::snprintf(text_ + used, sizeof(text_) - used, "%s%lld",
                                                           used == 0 ? "[" : ", ", static_cast<long long>(size)));
        }
        std::snprintf(text_ + used, sizeof(text_) - used, used == 0 ? "[]" : "]");
    }
    /// Of a tensor.
    explicit shape_text(const qdq_tensor &t) : shape_text(shape_of(t)) {}
    /// The text, valid as long as this object.
    const char *c_str() const { return text_; }

private:
    char text_[8 * 22 + 3];  // rank 8 at most; ", " and 20 characters each
};

/// What a call says where memory for a result is short.
inline constexpr char out_of_memory[] = "out of memory for the result or a conversion";

/// What holds for every tensor: it is given, its view is sound, its shape has no negative dimension, its data is there.
inline verdict check_tensor(const char *function, const char *name, const tensor &given) {
    if (!given.has_value()) {
        return fail("%s: %s: none is given", function, name);
    }
    if (given.problem() == out_of_memory) {
        return {QDQ_OUT_OF_MEMORY, out_of_memory};
    }
    if (given.problem() != nullptr) {
        return fail("%s: %s: %s", function, name, given.problem());
    }
    const qdq_tensor t = given.c();
    if (std::ranges::any_of(shape_of(t), [](std::int64_t size) { return size < 0; })) {
        return fail("%s: %s: shape %s has a negative dimension", function, name, shape_text(t).c_str());
    }
    if (t.data == nullptr && element_count(shape_of(t)) > 0) {
        return fail("%s: %s: data is NULL", function, name);
    }
    return QDQ_OK;
}

/// A tensor, or none: nullptr, std::nullopt, or qdq::none.
class optional_tensor : public tensor {
public:
    using tensor::tensor;
    /// A tensor.
    constexpr optional_tensor(const tensor &given) : tensor(given) {}
    /// None.
    constexpr optional_tensor(std::nullptr_t) {}
    /// None.
    constexpr optional_tensor(std::nullopt_t) {}
    /// What converts to a tensor, as an owned_tensor.
    template<std::convertible_to<tensor> T>
        requires(!storage<const T &> && !std::derived_from<T, tensor>)
    optional_tensor(const T &owner) : tensor(owner) {}
};

/// Where a call may write: memory of the type and shape that it would have returned.
inline verdict check_out(const char *function, const output &out, dtype type, std::span<const std::int64_t> shape) {
    if (const verdict sound = check_tensor(function, "out", out); !sound) {
        return sound;
    }
    const qdq_tensor y = out.c();
    if (!is_one_of(y.dtype, {type})) {
        return fail("%s: out: dtype %s is not %s", function, info(y.dtype).name, info(type).name);
    }
    if (!same_shape(shape_of(y), shape)) {
        return fail("%s: out: shape %s is not %s", function, shape_text(y).c_str(), shape_text(shape).c_str());
    }
    return QDQ_OK;
}

/// A number of a system's, as an element or a scale.
template<typename N>
concept number = std::is_arithmetic_v<N> && !std::same_as<N, bool>;

/// A range of such numbers.
template<typename R>
concept numbers = std::ranges::forward_range<R> && number<std::ranges::range_value_t<R>>;

/// A dense row-major tensor that owns its memory: what the systems' functions return, and what their programs fill. It
/// passes as a qdq::tensor. What goes wrong while it is made is said by the call that it is passed to.
class owned_tensor {
public:
    /// No tensor.
    owned_tensor() = default;

    /// All elements are 0.
    owned_tensor(qdq::dtype type, const dimensions &shape) : owned_tensor(type, shape.values, uninitialized{}) {
        if (data_ != nullptr) {
            std::memset(data_.get(), 0, bytes_);
        }
    }

    /// Elements of `type` from as many numbers. Floating types round to the nearest, ties to even; to other types than
    /// C++ has, as qdq::quantize with a scale of 1.
    template<numbers R>
    owned_tensor(qdq::dtype type, const dimensions &shape, const R &values) : owned_tensor(type, shape) {
        assign(values);
    }

    /// A tensor without elements, which every call refuses with the message `problem`.
    static owned_tensor wrong(const char *problem) {
        owned_tensor made;
        made.problem_ = problem;
        return made;
    }

    /// The elements are not initialized.
    struct uninitialized {};
    /// Elements that are not initialized.
    owned_tensor(qdq::dtype type, std::span<const std::int64_t> shape, uninitialized) : type_(type) {
        if (shape.size() > shape_.size() || std::ranges::any_of(shape, [](std::int64_t size) { return size < 0; })) {
            problem_ = "its shape has more than 8 dimensions, or a negative one";
            return;
        }
        rank_ = static_cast<std::int32_t>(shape.size());
        std::ranges::copy(shape, shape_.begin());
        const std::int64_t count = element_count(shape), bits = info(type).bits;
        if (count <= INT64_MAX / 32) {
            bytes_ = static_cast<std::size_t>((count * bits + 7) / 8);
            data_.reset(static_cast<std::byte *>(::operator new(bytes_, std::nothrow)));
        }
        if (data_ == nullptr) {
            problem_ = out_of_memory;
        }
    }

    /// Other numbers in the place of its elements.
    template<numbers R> void assign(const R &values) {
        switch (type_) {
        case qdq::dtype::f32: return assign_as<float>(values);
        case qdq::dtype::i8: return assign_as<std::int8_t>(values);
        case qdq::dtype::u8: return assign_as<std::uint8_t>(values);
        case qdq::dtype::i16: return assign_as<std::int16_t>(values);
        case qdq::dtype::u16: return assign_as<std::uint16_t>(values);
        case qdq::dtype::i32: return assign_as<std::int32_t>(values);
        default: {
            const owned_tensor as_f32(qdq::dtype::f32, shape(), values);
            *this = as_f32.to(type_);
        }
        }
    }
    /// Numbers in braces.
    void assign(std::initializer_list<double> values) { assign<std::initializer_list<double>>(values); }

    /// The same numbers as elements of another type, as of the constructor above; from and to f32, f16 and bf16.
    owned_tensor to(qdq::dtype type) const;
    /// As bf16.
    owned_tensor bfloat16() const;
    /// As f16.
    owned_tensor half() const;

    /// The element type.
    qdq::dtype dtype() const { return type_; }
    /// The sizes.
    std::span<const std::int64_t> shape() const { return {shape_.data(), static_cast<std::size_t>(rank_)}; }
    /// The elements.
    void *data() { return data_.get(); }
    /// The elements.
    const void *data() const { return data_.get(); }
    /// Why there are no elements, or nullptr.
    const char *problem() const { return problem_; }

    /// The units of storage: elements, or several of them for the packed types. T must be of dtype().
    template<element T> expected<std::span<const T>> values() const & {
        if (dtype_of<T>::value != type_) {
            return fail("values: the elements are %s, not %s", info(type_).name, info(dtype_of<T>::value).name);
        }
        return std::span<const T>(reinterpret_cast<const T *>(data_.get()), bytes_ / sizeof(T));
    }
    /// They would outlive the tensor.
    template<element T> expected<std::span<const T>> values() const && = delete;

    /// Valid as long as this object is not moved.
    qdq_tensor c() const { return {data_.get(), static_cast<qdq_dtype>(type_), rank_, shape_.data(), nullptr, {}}; }
    /// A view, valid as long as this object is not moved.
    operator tensor() const {
        return problem_ != nullptr ? tensor::wrong(problem_) : tensor(data(), type_, dimensions(shape()));
    }

private:
    struct release {
        void operator()(std::byte *memory) const { ::operator delete(memory); }
    };

    template<typename T, numbers R> void assign_as(const R &values) {
        const auto fits = [](auto value) {
            const auto number = static_cast<double>(value);
            return std::floating_point<T> ||
                   (number >= std::numeric_limits<T>::lowest() && number <= std::numeric_limits<T>::max());
        };
        if (problem_ != nullptr) {
            return;
        }
        if (std::ranges::distance(values) != element_count(shape())) {
            problem_ = "it was given another number of elements than its shape has";
        } else if (!std::ranges::all_of(values, fits)) {
            problem_ = "it was given a number that its type does not have";
        } else {
            std::ranges::transform(values, reinterpret_cast<T *>(data_.get()),
                                   [](auto value) { return static_cast<T>(value); });
        }
    }

    std::unique_ptr<std::byte, release> data_;
    std::size_t bytes_ = 0;
    const char *problem_ = nullptr;
    qdq::dtype type_ = qdq::dtype::f32;
    std::int32_t rank_ = 0;
    std::array<std::int64_t, 8> shape_{};
};

/// Makes a failure of what was to have a value. On its own: its copies of the message are no part of the stack that a
/// call of qdq takes.
template<typename T> [[gnu::noinline, gnu::cold]] void become(expected<T> &made, const verdict &failure) {
    made = result(failure);
}

/// A new tensor that `compute` has filled; it takes the tensor's view and returns a verdict.
template<typename Compute>
expected<owned_tensor> made_by(dtype type, std::span<const std::int64_t> shape, Compute &&compute) {
    expected<owned_tensor> made(std::in_place, type, shape, owned_tensor::uninitialized{});
    const verdict done = made->problem() == nullptr ? compute(made->c()) : verdict(QDQ_OUT_OF_MEMORY, out_of_memory);
    if (!done) {
        become(made, done);
    }
    return made;
}

/// Floating elements in another type: an array of bf16 as f32, for one. qdq has the conversions in its products:
/// 1 * element is rounded once, and so is element / 1 to a stored type.
inline owned_tensor converted(const tensor &view, dtype type) {
    const qdq_tensor from = view.c();
    if (view.problem() != nullptr) {
        return owned_tensor::wrong(view.problem());
    }
    expected<owned_tensor> made = made_by(type, shape_of(from), [&](const qdq_tensor &y) -> verdict {
        constexpr std::int64_t everywhere[8] = {};
        constexpr std::int8_t one = 1;
        constexpr float one_f32 = 1;
        if (is_one_of(y.dtype, {dtype::f32, dtype::f16, dtype::bf16})) {
            const qdq_tensor ones{const_cast<std::int8_t *>(&one), QDQ_I8, from.rank, from.shape, everywhere, {}};
            return qdq_dequantize(&ones, &from, nullptr, &y, nullptr);
        }
        const qdq_tensor scale{const_cast<float *>(&one_f32), QDQ_F32, 0, nullptr, nullptr, {}};
        return qdq_quantize(&from, &scale, nullptr, &y, nullptr);
    });
    if (made) {
        return *std::move(made);
    }
    return owned_tensor::wrong(made.error().status() == status::out_of_memory ? out_of_memory
                                                                              : "its type has no such conversion");
}

inline owned_tensor owned_tensor::to(qdq::dtype type) const { return converted(*this, type); }
inline owned_tensor owned_tensor::bfloat16() const { return to(qdq::dtype::bf16); }
inline owned_tensor owned_tensor::half() const { return to(qdq::dtype::f16); }

}  // namespace qdq::compat
