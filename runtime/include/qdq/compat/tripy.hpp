/// @file
/// nvtripy's quantize and dequantize over qdq: saturate(round(input / scale)), and input * scale.
///
/// @code
/// tripy::Tensor x({{0, 1, 2}, {3, 4, 5}}, tripy::float32);
/// auto q = tripy::quantize(x, {0.99872, 0.96125}, tripy::int8, 0);
/// auto y = q ? tripy::dequantize(*q, {0.99872, 0.96125}, tripy::float32, 0) : q;
/// if (!y) std::puts(y.message());
/// @endcode
///
/// nvtripy's documentation has a scale's first dimension "be able to divide" input's; that is taken to mean without a
/// remainder. `dim` counts from 0, as the TensorRT dialect beneath it does: a negative one is refused. In one place
/// this departs from the documentation, which has float32 and float16 alone as the dtype of dequantize. nvtripy's own
/// table of types has bfloat16 too, which is taken here.
#pragma once

#include <qdq/compat/common.hpp>

/// nvtripy's quantize and dequantize.
namespace qdq::tripy {

/// nvtripy's element types.
using dtype = qdq::dtype;
inline constexpr dtype float32 = dtype::f32;    ///< f32
inline constexpr dtype float16 = dtype::f16;    ///< f16
inline constexpr dtype bfloat16 = dtype::bf16;  ///< bf16
inline constexpr dtype float8 = dtype::f8e4m3;  ///< f8e4m3
inline constexpr dtype int4 = dtype::i4;        ///< i4
inline constexpr dtype int8 = dtype::i8;        ///< i8

namespace detail {

// A number, or a list of such: what Python writes in brackets is written in braces. It lives as long as the expression.
class nested {
public:
    template<compat::number N> constexpr nested(N number) : number_(static_cast<double>(number)) {}
    constexpr nested(std::initializer_list<nested> list) : list_(list.begin(), list.size()), is_list_(true) {}

    constexpr bool is_list() const { return is_list_; }
    constexpr const nested *begin() const { return list_.data(); }
    constexpr const nested *end() const { return list_.data() + list_.size(); }
    constexpr explicit operator double() const { return number_; }

private:
    double number_ = 0;
    std::span<const nested> list_;
    bool is_list_ = false;
};

template<typename R>
concept rows_of_numbers = std::ranges::forward_range<R> && compat::numbers<std::ranges::range_value_t<R>>;

template<std::ranges::forward_range R> std::int64_t length_of(const R &range) {
    return static_cast<std::int64_t>(std::ranges::distance(range));
}

// A tensor of the numbers of `rows`, each `length` long, or one that says why there is none.
template<std::ranges::forward_range Rows>
compat::owned_tensor from_rows(const Rows &rows, std::span<const std::int64_t> shape, dtype type) {
    const std::int64_t length = shape.back();
    if (!std::ranges::all_of(rows, [&](const auto &row) { return length_of(row) == length; })) {
        return compat::owned_tensor::wrong("its sequences have several lengths");
    }
    const auto count = static_cast<std::size_t>(length_of(rows) * length);
    const std::unique_ptr<double[]> flat(new (std::nothrow) double[count]);
    if (flat == nullptr) {
        return compat::owned_tensor::wrong(compat::out_of_memory);
    }
    double *to = flat.get();
    for (const auto &row : rows) {
        to = std::ranges::transform(row, to, [](const auto &number) { return static_cast<double>(number); }).out;
    }
    return {type, shape, std::span<const double>(flat.get(), count)};
}

// The same of a list of numbers, or of lists of numbers of one length.
inline compat::owned_tensor from_list(std::span<const nested> list, dtype type) {
    const bool is_nested = !list.empty() && list[0].is_list();
    const auto mixed = [&](const nested &each) {
        return each.is_list() != is_nested ||
               std::ranges::any_of(each, [](const nested &inner) { return inner.is_list(); });
    };
    if (std::ranges::any_of(list, mixed)) {
        return compat::owned_tensor::wrong("it is neither a sequence of numbers nor one of such sequences");
    }
    const std::int64_t length = length_of(list);
    if (!is_nested) {
        return from_rows(std::array{list}, std::array{length}, type);
    }
    return from_rows(list, std::array{length, length_of(list[0])}, type);
}

}  // namespace detail

/// A tensor: a view of the caller's memory, or elements of its own, Tensor({{1, 2}, {3, 4}}, int8).
class Tensor : public tensor {
public:
    using tensor::tensor;
    /// A view.
    Tensor(const tensor &view) : tensor(view) {}
    /// Elements of its own.
    Tensor(compat::owned_tensor elements) : tensor(elements), elements_(std::move(elements)) {}
    /// Numbers in braces, which it owns as elements of `type`.
    Tensor(std::initializer_list<detail::nested> list, dtype type)
        : Tensor(detail::from_list({list.begin(), list.size()}, type)) {}

private:
    compat::owned_tensor elements_;
};

/// A scale: a tensor, a number, a sequence of numbers or a sequence of such sequences, of any arithmetic type. As in
/// nvtripy, numbers become a tensor of the floating type of the call, rounded to f32 and from there to f16 or bf16. A
/// tensor must have that type. Tensors and sequences are viewed: they outlive the call. Made on the spot, as an
/// argument.
class scale_argument {
public:
    /// A view of a tensor.
    scale_argument(const tensor &view) : view_(view) {}
    /// A tensor.
    scale_argument(const compat::owned_tensor &elements) : view_(elements) {}
    /// One number.
    template<compat::number N>
    scale_argument(N number) : is_tensor_(false), number_(static_cast<float>(number)), view_(&number_, dimensions{}) {}
    /// Numbers in braces, nested or not.
    scale_argument(std::initializer_list<detail::nested> list)
        : is_tensor_(false), numbers_(detail::from_list({list.begin(), list.size()}, float32)), view_(numbers_) {}
    /// A sequence of numbers.
    template<compat::numbers Sequence> scale_argument(const Sequence &sequence) : is_tensor_(false), view_(none) {
        if constexpr (storage<const Sequence &> && std::same_as<std::ranges::range_value_t<Sequence>, float>) {
            view_ = sequence;
        } else {
            numbers_ = {float32, {detail::length_of(sequence)}, sequence};
            view_ = numbers_;
        }
    }
    /// A sequence of sequences.
    template<detail::rows_of_numbers Rows> scale_argument(const Rows &rows) : is_tensor_(false), view_(none) {
        const std::int64_t count = detail::length_of(rows);
        const std::int64_t length = count == 0 ? 0 : detail::length_of(*std::ranges::begin(rows));
        numbers_ = detail::from_rows(rows, std::array{count, length}, float32);
        view_ = numbers_;
    }

    scale_argument(const scale_argument &) = delete;

    /// This scale as a tensor of `type`, valid as long as this object and `converted`.
    compat::verdict as(dtype type, const char *function, compat::owned_tensor &converted, qdq_tensor &scale) const {
        if (const compat::verdict sound = compat::check_tensor(function, "scale", view_); !sound) {
            return sound;
        }
        scale = view_.c();
        if (compat::is_one_of(scale.dtype, {type})) {
            return QDQ_OK;
        }
        if (is_tensor_) {
            return compat::fail("%s: scale: dtype %s is not %s", function, compat::info(scale.dtype).name,
                                compat::info(type).name);
        }
        converted = compat::converted(view_, type);
        const compat::verdict made = compat::check_tensor(function, "scale", converted);
        scale = converted.c();
        return made;
    }

private:
    bool is_tensor_ = true;
    float number_ = 0;
    compat::owned_tensor numbers_;
    tensor view_;
};

namespace detail {

using compat::verdict;

// One direction's names and function.
struct operation {
    compat::argument_names names;
    bool quantizes;
    qdq_status (*run)(const qdq_tensor *, const qdq_tensor *, const qdq_tensor *, const qdq_tensor *,
                      const qdq_options *);
};
inline constexpr operation quantization{{"nvtripy.quantize", "input", "scale", nullptr, "out"}, true, qdq_quantize};
inline constexpr operation dequantization{
    {"nvtripy.dequantize", "input", "scale", nullptr, "out"}, false, qdq_dequantize};

inline verdict check_types(const operation &op, const qdq_tensor &x, dtype type) {
    using namespace compat;
    const bool x_fits =
        op.quantizes ? is_one_of(x.dtype, {float32, float16, bfloat16}) : is_one_of(x.dtype, {int8, int4, float8});
    const bool type_fits = op.quantizes ? is_one_of(static_cast<int>(type), {int8, int4, float8})
                                        : is_one_of(static_cast<int>(type), {float32, float16, bfloat16});
    const char *floats = "float32, float16, bfloat16", *codes = "int8, int4, float8";
    if (!x_fits) {
        return fail("%s: input: dtype %s is not one of %s", op.names.function, info(x.dtype).name,
                    op.quantizes ? floats : codes);
    }
    if (!type_fits) {
        return fail("%s: dtype: %s is not one of %s", op.names.function, info(type).name,
                    op.quantizes ? codes : floats);
    }
    if (x.rank == 0) {
        return fail("%s: input: it has no dimensions", op.names.function);
    }
    return QDQ_OK;
}

inline verdict check_channels(const operation &op, const qdq_tensor &x, const qdq_tensor &s, int dim) {
    using namespace compat;
    if (s.rank != 1) {
        return fail("%s: scale: with a dim it has one dimension, not %d", op.names.function, int(s.rank));
    }
    if (dim < 0 || dim >= x.rank) {
        return fail("%s: dim: %d is not in [0, %d)", op.names.function, dim, int(x.rank));
    }
    if (s.shape[0] != x.shape[dim]) {
        return fail("%s: scale: %lld elements; input's dimension %d has %lld", op.names.function,
                    static_cast<long long>(s.shape[0]), dim, static_cast<long long>(x.shape[dim]));
    }
    return QDQ_OK;
}

inline verdict check_blocks(const operation &op, const qdq_tensor &x, const qdq_tensor &s, dtype stored) {
    using namespace compat;
    if (s.rank != 2) {
        return fail("%s: scale: without a dim it is a scalar or has two dimensions, not %d", op.names.function,
                    int(s.rank));
    }
    if (x.rank != 2) {
        return fail("%s: input: with blocks it has two dimensions, not %d", op.names.function, int(x.rank));
    }
    if (stored != int4) {
        return fail("%s: dtype: blocks are for int4, not %s", op.names.function, info(stored).name);
    }
    if (s.shape[0] == 0 || x.shape[0] % s.shape[0] != 0 || s.shape[1] != x.shape[1]) {
        return fail("%s: scale: shape %s does not cut input's, %s, into blocks along dimension 0", op.names.function,
                    shape_text(s).c_str(), shape_text(x).c_str());
    }
    return QDQ_OK;
}

// A call whose arguments keep the rules.
struct call {
    qdq_tensor x, scale;
    compat::owned_tensor converted;
    qdq_options options;
};

inline verdict check(const operation &op, const tensor &input, const scale_argument &scale, dtype type,
                     std::optional<int> dim, call &accepted) {
    if (const verdict sound = compat::check_tensor(op.names.function, "input", input); !sound) {
        return sound;
    }
    const qdq_tensor &x = accepted.x = input.c();
    if (const verdict allowed = check_types(op, x, type); !allowed) {
        return allowed;
    }
    const dtype of_input = static_cast<dtype>(x.dtype);
    const dtype floating = op.quantizes ? of_input : type, stored = op.quantizes ? type : of_input;
    qdq_tensor &s = accepted.scale;
    if (const verdict usable = scale.as(floating, op.names.function, accepted.converted, s); !usable) {
        return usable;
    }
    if (dim) {
        if (const verdict allowed = check_channels(op, x, s, *dim); !allowed) {
            return allowed;
        }
    } else if (s.rank != 0) {
        if (const verdict allowed = check_blocks(op, x, s, stored); !allowed) {
            return allowed;
        }
    }
    static const qdq_options tripy = compat::profile("tripy");
    accepted.options = tripy;
    accepted.options.axis = dim.value_or(0);
    return QDQ_OK;
}

inline verdict compute(const operation &op, const call &accepted, const qdq_tensor &y) {
    return compat::in_terms_of(op.names, op.run(&accepted.x, &accepted.scale, nullptr, &y, &accepted.options));
}

inline compat::expected<compat::owned_tensor> make(const operation &op, const tensor &input,
                                                   const scale_argument &scale, dtype type, std::optional<int> dim) {
    call accepted;
    if (const verdict allowed = check(op, input, scale, type, dim, accepted); !allowed) {
        return allowed;
    }
    return compat::made_by(type, compat::shape_of(accepted.x),
                           [&](const qdq_tensor &y) { return compute(op, accepted, y); });
}

inline result fill(const operation &op, const output &out, const tensor &input, const scale_argument &scale, dtype type,
                   std::optional<int> dim) {
    call accepted;
    if (const verdict allowed = check(op, input, scale, type, dim, accepted); !allowed) {
        return allowed;
    }
    const auto shape = compat::shape_of(accepted.x);
    if (const verdict fits = compat::check_out(op.names.function, out, type, shape); !fits) {
        return fits;
    }
    return compute(op, accepted, out.c());
}

}  // namespace detail

/// input: float32, float16 or bfloat16, at least one dimension, any strides. dtype: int8, int4 or float8.
///
/// - dim given: a scale for each element along it, in one dimension, of input.shape[dim]
/// - no dim: one scale, a number or a tensor without dimensions; or blocks (int4, an input of two dimensions), where
///   scale.shape[0] divides input.shape[0] and scale.shape[1] is input.shape[1]
inline compat::expected<compat::owned_tensor> quantize(const tensor &input, const scale_argument &scale, dtype dtype,
                                                       std::optional<int> dim = {}) {
    return detail::make(detail::quantization, input, scale, dtype, dim);
}

/// input: int8, int4 or float8. dtype: float32, float16 or bfloat16, which is the scale's too. The rest as for
/// quantize.
inline compat::expected<compat::owned_tensor> dequantize(const tensor &input, const scale_argument &scale, dtype dtype,
                                                         std::optional<int> dim = {}) {
    return detail::make(detail::dequantization, input, scale, dtype, dim);
}

/// The same into `out`, a tensor of dtype and input's shape.
inline result quantize_out(const output &out, const tensor &input, const scale_argument &scale, dtype dtype,
                           std::optional<int> dim = {}) {
    return detail::fill(detail::quantization, out, input, scale, dtype, dim);
}
/// The same into `out`, a tensor of dtype and input's shape.
inline result dequantize_out(const output &out, const tensor &input, const scale_argument &scale, dtype dtype,
                             std::optional<int> dim = {}) {
    return detail::fill(detail::dequantization, out, input, scale, dtype, dim);
}

}  // namespace qdq::tripy
