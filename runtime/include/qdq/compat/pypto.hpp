/// @file
/// pypto's quantize and dequantize over qdq.
///
/// @code{.unparsed}
/// quantize    dst = saturate(round(input * scale + zero_points))      an f32 sum, rounded to nearest even
/// dequantize  dst = (float(input) + zero_points) * scale
/// @endcode
///
/// @code
/// std::int8_t x[12] = ...;
/// float scale[3] = ..., zero_points[3] = ...;
/// auto y = pypto::dequantize({x, {3, 4}}, {scale, {3}}, pypto::DT_FP32, -1, {zero_points, {3}});
/// if (!y) std::puts(y.message());
/// @endcode
///
/// `x`, `scale` and `zero_points` may also be of pypto::tensor(shape, dtype), whose elements are its own: 0, until
/// x.assign({1, 2, ...}).
///
/// `axis` is the dimension that scale and zero_points lack. -1, or rank - 1, gives a scale to every row, of shape
/// [..., row]. -2, or rank - 2, gives one to every column, of shape [..., col].
///
/// pypto's documentation says that, and its example passes [3, 1] for an x of [3, 4]. Both are taken: a scale has one
/// dimension fewer than input, or a dimension of size 1 where it would be dropped.
/// Beware: pypto's documentation adds the zero point, and so does this; pypto's own implementation, as it is now,
/// subtracts it: (float(input) - zero_points) * scale. For its results, pass the zero points negated.
///
/// quantize adds the zero point, too, before rounding: so pypto's documentation and its own tests have it, while the
/// results of the documented example are those of a subtraction. NaN gives 0, as a conversion on Ascend does.
///
/// An input of one dimension is a row: axis is -1, and scale and zero_points have one element.
#pragma once

#include <qdq/compat/common.hpp>

/// pypto's quantize and dequantize.
namespace qdq::pypto {

/// A view of memory, or tensor(), which owns its elements.
using Tensor = qdq::tensor;
/// A tensor or None.
using optional_tensor = compat::optional_tensor;
/// No tensor.
inline constexpr optional_tensor None{};
/// pypto's element types.
using DataType = qdq::dtype;
inline constexpr DataType DT_INT8 = DataType::i8;     ///< i8
inline constexpr DataType DT_INT16 = DataType::i16;   ///< i16
inline constexpr DataType DT_INT32 = DataType::i32;   ///< i32
inline constexpr DataType DT_UINT8 = DataType::u8;    ///< u8
inline constexpr DataType DT_UINT16 = DataType::u16;  ///< u16
inline constexpr DataType DT_FP16 = DataType::f16;    ///< f16
inline constexpr DataType DT_BF16 = DataType::bf16;   ///< bf16
inline constexpr DataType DT_FP32 = DataType::f32;    ///< f32

/// A tensor that owns its elements, which are 0. The name is for pypto's graphs, which are not here.
inline compat::owned_tensor tensor(const dimensions &shape, DataType dtype, const char * = "") {
    return {dtype, shape};
}

namespace detail {

using compat::verdict;

struct tile_shape {
    std::size_t rank = 0;                // 0: not set
    std::array<std::int64_t, 8> size{};  // the first eight
};

inline tile_shape &current_tile_shape() {
    static thread_local tile_shape current;
    return current;
}

// A scale or zero point as qdq takes it: of input's rank, with a dimension of size 1 at `axis`, unless it has one there
// already. For an input of two dimensions a list of what is along the other, which qdq looks at faster.
class reshaped {
public:
    reshaped(const qdq_tensor &given, std::int32_t rank, std::int32_t axis) : view_(given) {
        if (rank == 2) {
            const std::int32_t along = given.rank == 2 ? 1 - axis : 0;
            view_.rank = 1;
            view_.shape += along;
            view_.strides += given.strides != nullptr ? along : 0;
        } else if (given.rank != rank) {
            view_.rank = rank;
            view_.shape = insert(given.shape, rank, axis, 1, shape_);
            view_.strides = given.strides != nullptr ? insert(given.strides, rank, axis, 0, strides_) : nullptr;
        }
    }
    reshaped(const reshaped &) = delete;
    const qdq_tensor *view() const { return &view_; }

private:
    using list = std::array<std::int64_t, 4>;

    static const std::int64_t *insert(const std::int64_t *from, std::int32_t rank, std::int32_t at, std::int64_t value,
                                      list &to) {
        for (std::int32_t d = 0; d < rank; ++d) {
            to[static_cast<std::size_t>(d)] = d == at ? value : *from++;
        }
        return to.data();
    }

    qdq_tensor view_;
    list shape_, strides_;
};

inline verdict check_tile_shape(std::int32_t rank) {
    const tile_shape &tile = current_tile_shape();
    if (tile.rank == 0) {
        return QDQ_OK;
    }
    if (tile.rank != static_cast<std::size_t>(rank)) {
        return compat::fail("pypto.set_vec_tile_shapes: %zu dimensions for an output of %d", tile.rank, int(rank));
    }
    const std::span<const std::int64_t> sizes(tile.size.data(), tile.rank);
    if (std::ranges::any_of(sizes, [](std::int64_t size) { return size <= 0; })) {
        return compat::fail("pypto.set_vec_tile_shapes: %s: every dimension must be above 0",
                            compat::shape_text(sizes).c_str());
    }
    return QDQ_OK;
}

// Whether `shape` is input's without dimension `axis`, or with 1 there.
inline bool lacks_axis(const qdq_tensor &given, const qdq_tensor &input, std::int32_t axis) {
    const auto shape = compat::shape_of(given), whole = compat::shape_of(input);
    const auto head = static_cast<std::size_t>(axis), tail = whole.size() - head - 1;
    const bool keeps_axis = shape.size() == whole.size() && shape[head] == 1;
    return (keeps_axis || shape.size() + 1 == whole.size()) &&
           compat::same_shape(shape.first(head), whole.first(head)) &&
           compat::same_shape(shape.last(tail), whole.last(tail));
}

struct operation {
    compat::argument_names names;
    bool quantizes;
};
inline constexpr operation quantization{{"pypto.quantize", "input", "scale", "zero_points", "out"}, true};
inline constexpr operation dequantization{{"pypto.dequantize", "input", "scale", "zero_points", "out"}, false};

// An empty tensor of zero points is none.
inline bool is_given(const Tensor &zero_points) {
    return zero_points.has_value() && compat::element_count(compat::shape_of(zero_points.c())) != 0;
}

inline verdict check_types(const operation &op, const qdq_tensor &x, const qdq_tensor &s, DataType otype,
                           bool has_zero_points) {
    using namespace compat;
    const char *const function = op.names.function;
    if (op.quantizes ? !is_one_of(x.dtype, {DT_FP32}) : !is_one_of(x.dtype, {DT_INT8, DT_INT16})) {
        return fail("%s: input: dtype %s is not %s", function, info(x.dtype).name,
                    op.quantizes ? "DT_FP32" : "DT_INT8 or DT_INT16");
    }
    if (op.quantizes && otype != (has_zero_points ? DT_UINT8 : DT_INT8)) {
        return fail("%s: otype: %s is not %s", function, info(otype).name,
                    has_zero_points ? "DT_UINT8, as with zero_points" : "DT_INT8, as without zero_points");
    }
    if (!op.quantizes && otype != DT_FP32) {
        return fail("%s: otype: %s is not DT_FP32", function, info(otype).name);
    }
    if (s.dtype != QDQ_F32) {
        return fail("%s: scale: dtype %s is not DT_FP32", function, info(s.dtype).name);
    }
    return QDQ_OK;
}

// Fills `dropped`, the dimension that scale and zero points lack.
inline verdict check_shape(const operation &op, const qdq_tensor &x, int axis, std::int32_t &dropped) {
    using namespace compat;
    const char *const function = op.names.function;
    if (x.rank < 1 || x.rank > 4) {
        return fail("%s: input: %d dimensions are not in 1..4", function, int(x.rank));
    }
    const std::int64_t count = element_count(shape_of(x));
    if (count == 0 || count > INT32_MAX) {
        return fail("%s: input: shape %s does not have 1 to 2147483647 elements", function, shape_text(x).c_str());
    }
    if (x.rank == 1 && axis != -1) {
        return fail("%s: axis: %d is not -1, the one for an input of 1 dimension", function, axis);
    }
    const int from_the_end = axis < 0 ? axis : axis - x.rank;
    if (from_the_end != -1 && from_the_end != -2) {
        return fail("%s: axis: %d is not one of the last two of %d dimensions", function, axis, int(x.rank));
    }
    dropped = x.rank + from_the_end;
    return QDQ_OK;
}

inline verdict check(const operation &op, const Tensor &input, const Tensor &scale, DataType otype, int axis,
                     const Tensor &zero_points) {
    using namespace compat;
    const char *const function = op.names.function;
    if (const verdict sound = check_tensor(function, "input", input); !sound) {
        return sound;
    }
    if (const verdict sound = check_tensor(function, "scale", scale); !sound) {
        return sound;
    }
    const qdq_tensor x = input.c(), s = scale.c();
    std::int32_t dropped = 0;
    if (const verdict allowed = check_types(op, x, s, otype, is_given(zero_points)); !allowed) {
        return allowed;
    }
    if (const verdict allowed = check_shape(op, x, axis, dropped); !allowed) {
        return allowed;
    }
    if (!lacks_axis(s, x, dropped)) {
        return fail("%s: scale: shape %s is not input's, %s, without dimension %d", function, shape_text(s).c_str(),
                    shape_text(x).c_str(), axis);
    }
    if (is_given(zero_points)) {
        if (const verdict sound = check_tensor(function, "zero_points", zero_points); !sound) {
            return sound;
        }
        const qdq_tensor z = zero_points.c();
        if (z.dtype != QDQ_F32) {
            return fail("%s: zero_points: dtype %s is not DT_FP32", function, info(z.dtype).name);
        }
        if (!lacks_axis(z, x, dropped)) {
            return fail("%s: zero_points: shape %s is not input's, %s, without dimension %d", function,
                        shape_text(z).c_str(), shape_text(x).c_str(), axis);
        }
    }
    return check_tile_shape(x.rank);
}

// For arguments that `check` has accepted.
inline verdict compute(const operation &op, const qdq_tensor &y, const Tensor &input, const Tensor &scale, int axis,
                       const Tensor &zero_points) {
    const qdq_tensor x = input.c();
    const std::int32_t dropped = axis < 0 ? axis + x.rank : axis;
    const bool has_zero_points = is_given(zero_points);
    const reshaped s(scale.c(), x.rank, dropped), z((has_zero_points ? zero_points : scale).c(), x.rank, dropped);
    static const qdq_options pypto = compat::profile("pypto");
    qdq_options options = pypto;
    options.axis = 1 - dropped;  // of an input of two dimensions
    options.scale_mode = QDQ_MULTIPLY;
    options.quantize_zp = QDQ_ZP_BEFORE_ROUNDING;
    options.nan = QDQ_NAN_ZERO;
    return compat::in_terms_of(op.names, (op.quantizes ? qdq_quantize : qdq_dequantize)(
                                             &x, s.view(), has_zero_points ? z.view() : nullptr, &y, &options));
}

inline compat::expected<compat::owned_tensor> made(const operation &op, const Tensor &input, const Tensor &scale,
                                                   DataType otype, int axis, const Tensor &zero_points) {
    if (const verdict allowed = check(op, input, scale, otype, axis, zero_points); !allowed) {
        return allowed;
    }
    return compat::made_by(otype, compat::shape_of(input.c()),
                           [&](const qdq_tensor &y) { return compute(op, y, input, scale, axis, zero_points); });
}

inline result written(const operation &op, const output &out, const Tensor &input, const Tensor &scale, DataType otype,
                      int axis, const Tensor &zero_points) {
    if (const verdict allowed = check(op, input, scale, otype, axis, zero_points); !allowed) {
        return allowed;
    }
    if (const verdict fits = compat::check_out(op.names.function, out, otype, compat::shape_of(input.c())); !fits) {
        return fits;
    }
    return compute(op, out.c(), input, scale, axis, zero_points);
}

}  // namespace detail

/// How pypto is to cut the output into tiles. It never changes a result, and qdq has no use for it. As in pypto, a
/// tile shape must have the output's number of dimensions, each above 0. Otherwise the next dequantize fails. It holds
/// for the calling thread. With no arguments it is forgotten, as it is before the first call.
template<std::convertible_to<std::int64_t>... Sizes> void set_vec_tile_shapes(Sizes... sizes) {
    const std::initializer_list<std::int64_t> list{static_cast<std::int64_t>(sizes)...};
    detail::tile_shape &tile = detail::current_tile_shape();
    tile.rank = list.size();
    std::copy_n(list.begin(), std::min(list.size(), tile.size.size()), tile.size.begin());
}

/// input: i8 or i16, 1 to 4 dimensions, 1 to 2^31 - 1 elements, any strides. scale: f32, see above. otype: DT_FP32.
/// zero_points: f32, of a shape that scale may have; or None, or an empty tensor.
inline compat::expected<compat::owned_tensor> dequantize(const Tensor &input, const Tensor &scale, DataType otype,
                                                         int axis, const optional_tensor &zero_points = None) {
    return detail::made(detail::dequantization, input, scale, otype, axis, zero_points);
}

/// The same into `out`, an f32 tensor of input's shape with strides that keep its elements apart.
inline result dequantize_out(const output &out, const Tensor &input, const Tensor &scale, DataType otype, int axis,
                             const optional_tensor &zero_points = None) {
    return detail::written(detail::dequantization, out, input, scale, otype, axis, zero_points);
}

/// input: f32, else as of dequantize. otype: DT_INT8, or with zero_points DT_UINT8.
inline compat::expected<compat::owned_tensor> quantize(const Tensor &input, const Tensor &scale, DataType otype,
                                                       int axis, const optional_tensor &zero_points = None) {
    return detail::made(detail::quantization, input, scale, otype, axis, zero_points);
}

/// The same into `out`, a tensor of otype and input's shape with strides that keep its elements apart.
inline result quantize_out(const output &out, const Tensor &input, const Tensor &scale, DataType otype, int axis,
                           const optional_tensor &zero_points = None) {
    return detail::written(detail::quantization, out, input, scale, otype, axis, zero_points);
}

}  // namespace qdq::pypto
