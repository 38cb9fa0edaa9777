// What the C++ front ends share. pypto, torch_npu and nvtripy raise Python exceptions and TensorRT has an error
// recorder; in C++ all four report alike, and nothing here throws:
//
//   - a function with a result of its own returns expected<owned_tensor>: a tensor, or why there is none;
//   - its twin <name>_out, where one is offered, writes to memory of the caller's and returns qdq::result.
//
// status::invalid_argument: an argument breaks a rule of that system; message() names the argument as that system does,
// the rule and the values. status::out_of_memory: the result. status::unsupported: no usable target. On an error
// nothing has been written.
#pragma once

#include <qdq/qdq.hpp>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <variant>

namespace qdq::compat {

// As C++23's std::expected, with qdq::result for the error. A message is kept until the thread's next failure.
template<typename T> class [[nodiscard]] expected {
public:
    expected(T value) : held_(std::move(value)) {}
    expected(result failure) : held_(failure) {}

    bool has_value() const { return held_.index() == 0; }
    explicit operator bool() const { return has_value(); }

    // Only where there is a value.
    T &operator*() { return *std::get_if<0>(&held_); }
    const T &operator*() const { return *std::get_if<0>(&held_); }
    T *operator->() { return std::get_if<0>(&held_); }
    const T *operator->() const { return std::get_if<0>(&held_); }

    result error() const { return has_value() ? result(QDQ_OK) : *std::get_if<1>(&held_); }
    const char *message() const { return error().message(); }  // "" where there is a value

private:
    std::variant<T, result> held_;
};

// The failure of one of a system's own rules, as printf shows it.
[[gnu::format(printf, 1, 2)]] inline result fail(const char *format, ...) {
    static thread_local char kept[512];
    char message[sizeof(kept)];  // what is kept may be among the arguments: as a name
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    std::memcpy(kept, message, std::strlen(message) + 1);
    return {QDQ_INVALID_ARGUMENT, kept};
}

struct dtype_info {
    const char *name;
    int bits;
};

inline dtype_info info(int type) {
    qdq_dtype of_c{};
    std::memcpy(&of_c, &type, sizeof of_c);  // any int, where a cast may be undefined
    const char *name = qdq_dtype_name(of_c);
    return {name != nullptr ? name : "unknown", qdq_dtype_bits(of_c)};
}

inline dtype_info info(dtype type) { return info(static_cast<int>(type)); }

constexpr bool is_one_of(int value, std::initializer_list<dtype> list) {
    return std::ranges::any_of(list, [&](dtype each) { return value == static_cast<int>(each); });
}

constexpr std::span<const std::int64_t> shape_of(const qdq_tensor &t) {
    return {t.shape, static_cast<std::size_t>(t.rank)};
}

constexpr bool same_shape(const qdq_tensor &a, const qdq_tensor &b) {
    return std::ranges::equal(shape_of(a), shape_of(b));
}

// No dimension is negative. A product past the range of int64_t gives its largest value.
constexpr std::int64_t element_count(std::span<const std::int64_t> shape) {
    constexpr std::int64_t most = INT64_MAX;
    std::int64_t count = 1;
    for (std::int64_t size : shape) {
        if (size == 0) {
            return 0;
        }
        count = count > most / size ? most : count * size;
    }
    return count;
}

// A shape as a message shows it: [2, 3].
class shape_text {
public:
    explicit shape_text(std::span<const std::int64_t> shape) {
        std::size_t used = 0;
        for (std::int64_t size : shape) {
            used += static_cast<std::size_t>(std::snprintf(text_ + used, sizeof(text_) - used, "%s%lld",
                                                           used == 0 ? "[" : ", ", static_cast<long long>(size)));
        }
        std::snprintf(text_ + used, sizeof(text_) - used, used == 0 ? "[]" : "]");
    }
    explicit shape_text(const qdq_tensor &t) : shape_text(shape_of(t)) {}
    const char *c_str() const { return text_; }

private:
    char text_[8 * 22 + 3];  // rank 8 at most; ", " and 20 characters each
};

// What holds for every tensor: it is given, its view is sound, its shape has no negative dimension, its data is there.
inline result check_tensor(const char *function, const char *name, const tensor &given) {
    if (!given.has_value()) {
        return fail("%s: %s: none is given", function, name);
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

// Where a call may write: memory of the type and shape that it would have returned.
inline result check_out(const char *function, const output &out, dtype type, std::span<const std::int64_t> shape) {
    if (const result sound = check_tensor(function, "out", out); !sound) {
        return sound;
    }
    const qdq_tensor y = out.c();
    if (!is_one_of(y.dtype, {type})) {
        return fail("%s: out: dtype %s is not %s", function, info(y.dtype).name, info(type).name);
    }
    if (!std::ranges::equal(shape_of(y), shape)) {
        return fail("%s: out: shape %s is not %s", function, shape_text(y).c_str(), shape_text(shape).c_str());
    }
    return QDQ_OK;
}

// A dense row-major tensor that owns its memory: what the systems' functions return. It passes as a qdq::tensor.
class owned_tensor {
public:
    owned_tensor() = default;

    // The elements are not initialized. The shape has at most 8 dimensions, none negative.
    static expected<owned_tensor> of(dtype type, std::span<const std::int64_t> shape) {
        owned_tensor made;
        made.type_ = type;
        made.rank_ = static_cast<std::int32_t>(shape.size());
        std::ranges::copy(shape, made.shape_.begin());
        const std::int64_t count = element_count(shape), bits = info(type).bits;
        if (count <= INT64_MAX / 32) {
            made.bytes_ = static_cast<std::size_t>((count * bits + 7) / 8);
            made.data_.reset(static_cast<std::byte *>(::operator new(made.bytes_, std::nothrow)));
        }
        if (made.data_ == nullptr) {
            return result(QDQ_OUT_OF_MEMORY, "out of memory for the result");
        }
        return made;
    }

    qdq::dtype dtype() const { return type_; }
    std::span<const std::int64_t> shape() const { return {shape_.data(), static_cast<std::size_t>(rank_)}; }
    void *data() { return data_.get(); }
    const void *data() const { return data_.get(); }

    // The units of storage: elements, or pairs of them for the 4-bit types. Empty where T is not dtype()'s.
    template<element T> std::span<const T> values() const {
        if (dtype_of<T>::value != type_) {
            return {};
        }
        return {reinterpret_cast<const T *>(data_.get()), bytes_ / sizeof(T)};
    }

    // Valid as long as this object is not moved.
    qdq_tensor c() const { return {data_.get(), static_cast<qdq_dtype>(type_), rank_, shape_.data(), nullptr, {}}; }
    operator tensor() const { return {data(), type_, dimensions(shape())}; }

private:
    struct release {
        void operator()(std::byte *memory) const { ::operator delete(memory); }
    };

    std::unique_ptr<std::byte, release> data_;
    std::size_t bytes_ = 0;
    qdq::dtype type_ = qdq::dtype::f32;
    std::int32_t rank_ = 0;
    std::array<std::int64_t, 8> shape_{};
};

// A new tensor that `compute` has filled; it takes the tensor's view and returns a qdq::result.
template<typename Compute>
expected<owned_tensor> made_by(dtype type, std::span<const std::int64_t> shape, Compute &&compute) {
    expected<owned_tensor> made = owned_tensor::of(type, shape);
    if (!made) {
        return made;
    }
    if (const result done = compute(made->c()); !done) {
        return done;
    }
    return made;
}

}  // namespace qdq::compat
