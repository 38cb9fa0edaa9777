// nvtripy's quantize and dequantize over qdq: saturate(round(input / scale)), and input * scale.
//
//     auto q = tripy::quantize(x, {0.99872, 0.96125}, tripy::int8, 0);
//     auto y = q ? tripy::dequantize(*q, {0.99872, 0.96125}, tripy::float32, 0) : q;
//     if (!y) std::puts(y.message());
//
// nvtripy's documentation has a scale's first dimension "be able to divide" input's; that is taken to mean without a
// remainder. `dim` counts from 0, as the TensorRT dialect beneath it does: a negative one is refused.
#pragma once

#include <qdq/compat/common.hpp>

#include <optional>

namespace qdq::tripy {

using Tensor = qdq::tensor;
using dtype = qdq::dtype;
inline constexpr dtype float32 = dtype::f32, float16 = dtype::f16, bfloat16 = dtype::bf16, float8 = dtype::f8e4m3,
                       int4 = dtype::i4, int8 = dtype::i8;

// A scale: a tensor, a number, a sequence of numbers or a sequence of such sequences. As in nvtripy, numbers become a
// tensor of the floating type of the call, rounded to f32 and from there to f16 or bf16; a tensor must have that type.
// The first rounding is the compiler's, where the caller writes a double.
// Tensors and sequences are viewed: they outlive the call. Made on the spot, as an argument.
class scale_argument {
public:
    scale_argument(const Tensor &tensor) : view_(tensor) {}
    scale_argument(const compat::owned_tensor &tensor) : view_(tensor) {}
    scale_argument(float number) : is_tensor_(false), number_(number), view_(&number_, dimensions{}) {}
    scale_argument(std::initializer_list<float> sequence)
        : is_tensor_(false), view_(std::span(sequence.begin(), sequence.size())) {}
    template<std::ranges::contiguous_range Sequence>
        requires std::same_as<std::ranges::range_value_t<Sequence>, float>
    scale_argument(const Sequence &sequence) : is_tensor_(false), view_(sequence) {}

    scale_argument(std::initializer_list<std::initializer_list<float>> rows) : is_tensor_(false) { copy(rows); }
    template<std::ranges::forward_range Rows>
        requires std::same_as<std::ranges::range_value_t<std::ranges::range_value_t<Rows>>, float>
    scale_argument(const Rows &rows) : is_tensor_(false) {
        copy(rows);
    }

    scale_argument(const scale_argument &) = delete;

    // This scale as a tensor of `type`, valid as long as this object and `converted`.
    result as(dtype type, const char *function, compat::owned_tensor &converted, qdq_tensor &scale) const {
        if (!problem_) {
            return problem_;
        }
        if (const result sound = compat::check_tensor(function, "scale", view_); !sound) {
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
        return convert(type, converted, scale);
    }

private:
    // The rows side by side: the lists of a list do not lie in one piece.
    template<typename Rows> void copy(const Rows &rows) {
        const auto count = static_cast<std::int64_t>(std::ranges::distance(rows));
        const auto length = count == 0 ? 0 : static_cast<std::int64_t>(std::ranges::size(*std::ranges::begin(rows)));
        compat::expected<compat::owned_tensor> made = compat::owned_tensor::of(float32, std::array{count, length});
        if (!made) {
            problem_ = made.error();
            return;
        }
        rows_ = std::move(*made);
        float *to = static_cast<float *>(rows_.data());
        for (const auto &row : rows) {
            if (static_cast<std::int64_t>(std::ranges::size(row)) != length) {
                problem_ = compat::fail("nvtripy: scale: its sequences have %zu and %lld numbers",
                                        std::ranges::size(row), static_cast<long long>(length));
                return;
            }
            to = std::ranges::copy(row, to).out;
        }
        view_ = rows_;
    }

    // qdq's own conversion from f32: 1 * number, rounded once.
    static result convert(dtype type, compat::owned_tensor &converted, qdq_tensor &scale) {
        constexpr std::int8_t one = 1;
        constexpr std::int64_t everywhere[2] = {0, 0};
        const qdq_tensor ones{const_cast<std::int8_t *>(&one), QDQ_I8, scale.rank, scale.shape, everywhere, {}};
        compat::expected<compat::owned_tensor> made = compat::made_by(
            type, compat::shape_of(scale),
            [&](const qdq_tensor &y) -> result { return qdq_dequantize(&ones, &scale, nullptr, &y, nullptr); });
        if (!made) {
            return made.error();
        }
        converted = std::move(*made);
        scale = converted.c();
        return QDQ_OK;
    }

    bool is_tensor_ = true;
    float number_ = 0;
    compat::owned_tensor rows_;
    Tensor view_;
    result problem_ = QDQ_OK;
};

namespace detail {

// One direction's names and function.
struct operation {
    const char *function;
    bool quantizes;
    qdq_status (*run)(const qdq_tensor *, const qdq_tensor *, const qdq_tensor *, const qdq_tensor *,
                      const qdq_options *);
};
inline constexpr operation quantization{"nvtripy.quantize", true, qdq_quantize};
inline constexpr operation dequantization{"nvtripy.dequantize", false, qdq_dequantize};

inline result check_types(const operation &op, const qdq_tensor &x, dtype type) {
    using namespace compat;
    const bool x_fits =
        op.quantizes ? is_one_of(x.dtype, {float32, float16, bfloat16}) : is_one_of(x.dtype, {int8, int4, float8});
    const bool type_fits = op.quantizes ? is_one_of(static_cast<int>(type), {int8, int4, float8})
                                        : is_one_of(static_cast<int>(type), {float32, float16, bfloat16});
    const char *floats = "float32, float16, bfloat16", *codes = "int8, int4, float8";
    if (!x_fits) {
        return fail("%s: input: dtype %s is not one of %s", op.function, info(x.dtype).name,
                    op.quantizes ? floats : codes);
    }
    if (!type_fits) {
        return fail("%s: dtype: %s is not one of %s", op.function, info(type).name, op.quantizes ? codes : floats);
    }
    if (x.rank == 0) {
        return fail("%s: input: it has no dimensions", op.function);
    }
    return QDQ_OK;
}

inline result check_channels(const operation &op, const qdq_tensor &x, const qdq_tensor &s, int dim) {
    using namespace compat;
    if (s.rank != 1) {
        return fail("%s: scale: with a dim it has one dimension, not %d", op.function, int(s.rank));
    }
    if (dim < 0 || dim >= x.rank) {
        return fail("%s: dim: %d is not in [0, %d)", op.function, dim, int(x.rank));
    }
    if (s.shape[0] != x.shape[dim]) {
        return fail("%s: scale: %lld elements; input's dimension %d has %lld", op.function,
                    static_cast<long long>(s.shape[0]), dim, static_cast<long long>(x.shape[dim]));
    }
    return QDQ_OK;
}

inline result check_blocks(const operation &op, const qdq_tensor &x, const qdq_tensor &s, dtype stored) {
    using namespace compat;
    if (s.rank != 2) {
        return fail("%s: scale: without a dim it is a scalar or has two dimensions, not %d", op.function, int(s.rank));
    }
    if (x.rank != 2) {
        return fail("%s: input: with blocks it has two dimensions, not %d", op.function, int(x.rank));
    }
    if (stored != int4) {
        return fail("%s: dtype: blocks are for int4, not %s", op.function, info(stored).name);
    }
    if (s.shape[0] == 0 || x.shape[0] % s.shape[0] != 0 || s.shape[1] != x.shape[1]) {
        return fail("%s: scale: shape %s does not cut input's, %s, into blocks along dimension 0", op.function,
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

inline result check(const operation &op, const Tensor &input, const scale_argument &scale, dtype type,
                    std::optional<int> dim, call &accepted) {
    if (const result sound = compat::check_tensor(op.function, "input", input); !sound) {
        return sound;
    }
    const qdq_tensor &x = accepted.x = input.c();
    if (const result allowed = check_types(op, x, type); !allowed) {
        return allowed;
    }
    const dtype of_input = static_cast<dtype>(x.dtype);
    const dtype floating = op.quantizes ? of_input : type, stored = op.quantizes ? type : of_input;
    qdq_tensor &s = accepted.scale;
    if (const result usable = scale.as(floating, op.function, accepted.converted, s); !usable) {
        return usable;
    }
    if (dim) {
        if (const result allowed = check_channels(op, x, s, *dim); !allowed) {
            return allowed;
        }
    } else if (s.rank != 0) {
        if (const result allowed = check_blocks(op, x, s, stored); !allowed) {
            return allowed;
        }
    }
    qdq_profile_options("tripy", static_cast<qdq_dtype>(stored), &accepted.options);
    accepted.options.axis = dim.value_or(0);
    return QDQ_OK;
}

inline result compute(const operation &op, const call &accepted, const qdq_tensor &y) {
    return op.run(&accepted.x, &accepted.scale, nullptr, &y, &accepted.options);
}

inline compat::expected<compat::owned_tensor> make(const operation &op, const Tensor &input,
                                                   const scale_argument &scale, dtype type, std::optional<int> dim) {
    call accepted;
    if (const result allowed = check(op, input, scale, type, dim, accepted); !allowed) {
        return allowed;
    }
    return compat::made_by(type, compat::shape_of(accepted.x),
                           [&](const qdq_tensor &y) { return compute(op, accepted, y); });
}

inline result fill(const operation &op, const output &out, const Tensor &input, const scale_argument &scale, dtype type,
                   std::optional<int> dim) {
    call accepted;
    if (const result allowed = check(op, input, scale, type, dim, accepted); !allowed) {
        return allowed;
    }
    const auto shape = compat::shape_of(accepted.x);
    if (const result fits = compat::check_out(op.function, out, type, shape); !fits) {
        return fits;
    }
    return compute(op, accepted, out.c());
}

}  // namespace detail

// input: float32, float16 or bfloat16, at least one dimension, any strides. dtype: int8, int4 or float8.
//   dim given    a scale for each element along it: one dimension, of input.shape[dim]
//   no dim       one scale: a number or a tensor without dimensions; or blocks (int4, an input of two dimensions):
//                scale.shape[0] divides input.shape[0], scale.shape[1] is input.shape[1]
inline compat::expected<compat::owned_tensor> quantize(const Tensor &input, const scale_argument &scale, dtype dtype,
                                                       std::optional<int> dim = {}) {
    return detail::make(detail::quantization, input, scale, dtype, dim);
}

// input: int8, int4 or float8. dtype: float32, float16 or bfloat16, which is the scale's too. The rest as for quantize.
inline compat::expected<compat::owned_tensor> dequantize(const Tensor &input, const scale_argument &scale, dtype dtype,
                                                         std::optional<int> dim = {}) {
    return detail::make(detail::dequantization, input, scale, dtype, dim);
}

// The same into `out`, a tensor of dtype and input's shape.
inline result quantize_out(const output &out, const Tensor &input, const scale_argument &scale, dtype dtype,
                           std::optional<int> dim = {}) {
    return detail::fill(detail::quantization, out, input, scale, dtype, dim);
}
inline result dequantize_out(const output &out, const Tensor &input, const scale_argument &scale, dtype dtype,
                             std::optional<int> dim = {}) {
    return detail::fill(detail::dequantization, out, input, scale, dtype, dim);
}

}  // namespace qdq::tripy
