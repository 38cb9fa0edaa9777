// pypto.dequantize over qdq: dst = (float(input) + zero_points) * scale.
//
//     std::int8_t x[12] = ...;
//     float scale[3] = ..., zero_points[3] = ...;
//     auto y = pypto::dequantize({x, {3, 4}}, {scale, {3}}, pypto::DT_FP32, -1, {zero_points, {3}});
//     if (!y) std::puts(y.message());
//
// `axis` is the dimension that scale and zero_points lack: -1 (or rank - 1) gives a scale to every row, of shape
// [..., row]; -2 (or rank - 2) one to every column, of shape [..., col].
//
// pypto's documentation says that, and its example passes [3, 1] for an x of [3, 4]. Both are taken: a scale has one
// dimension fewer than input, or a dimension of size 1 where it would be dropped.
// Newer releases of pypto also take an input of one dimension; here it has two to four, as documented before.
#pragma once

#include <qdq/compat/common.hpp>

namespace qdq::pypto {

using Tensor = qdq::tensor;
using DataType = qdq::dtype;
inline constexpr DataType DT_INT8 = DataType::i8, DT_INT16 = DataType::i16, DT_INT32 = DataType::i32,
                          DT_UINT8 = DataType::u8, DT_UINT16 = DataType::u16, DT_FP16 = DataType::f16,
                          DT_BF16 = DataType::bf16, DT_FP32 = DataType::f32;

namespace detail {

struct tile_shape {
    std::size_t rank = 0;                // 0: not set
    std::array<std::int64_t, 8> size{};  // the first eight
};

inline tile_shape &current_tile_shape() {
    static thread_local tile_shape current;
    return current;
}

// A scale or zero point of input's rank: with a dimension of size 1 at `axis`, unless it has one there already.
class unsqueezed {
public:
    unsqueezed(const qdq_tensor &given, std::int32_t rank, std::int32_t axis) : view_(given) {
        if (given.rank == rank) {
            return;
        }
        view_.rank = rank;
        view_.shape = insert(given.shape, rank, axis, 1, shape_);
        if (given.strides != nullptr) {
            view_.strides = insert(given.strides, rank, axis, 0, strides_);
        }
    }
    unsqueezed(const unsqueezed &) = delete;
    const qdq_tensor *view() const { return &view_; }

private:
    using list = std::array<std::int64_t, 4>;

    static const std::int64_t *insert(const std::int64_t *from, std::int32_t rank, std::int32_t at, std::int64_t value,
                                      list &to) {
        std::copy_n(from, at, to.begin());
        to[static_cast<std::size_t>(at)] = value;
        std::copy(from + at, from + rank - 1, to.begin() + at + 1);
        return to.data();
    }

    qdq_tensor view_;
    list shape_, strides_;
};

inline result check_tile_shape(std::int32_t rank) {
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
           std::ranges::equal(shape.first(head), whole.first(head)) &&
           std::ranges::equal(shape.last(tail), whole.last(tail));
}

constexpr const char *function = "pypto.dequantize";

// An empty tensor of zero points is none.
inline bool is_given(const Tensor &zero_points) {
    return zero_points.has_value() && compat::element_count(compat::shape_of(zero_points.c())) != 0;
}

inline result check(const Tensor &input, const Tensor &scale, DataType otype, int axis, const Tensor &zero_points) {
    using namespace compat;
    if (const result sound = check_tensor(function, "input", input); !sound) {
        return sound;
    }
    if (const result sound = check_tensor(function, "scale", scale); !sound) {
        return sound;
    }
    const qdq_tensor x = input.c(), s = scale.c();
    if (!is_one_of(x.dtype, {DT_INT8, DT_INT16})) {
        return fail("pypto.dequantize: input: dtype %s is not DT_INT8 or DT_INT16", info(x.dtype).name);
    }
    if (x.rank < 2 || x.rank > 4) {
        return fail("pypto.dequantize: input: %d dimensions are not in 2..4", int(x.rank));
    }
    const std::int64_t count = element_count(shape_of(x));
    if (count == 0 || count > INT32_MAX) {
        return fail("pypto.dequantize: input: shape %s does not have 1 to 2147483647 elements", shape_text(x).c_str());
    }
    if (otype != DT_FP32) {
        return fail("pypto.dequantize: otype: %s is not DT_FP32", info(otype).name);
    }
    const int from_the_end = axis < 0 ? axis : axis - x.rank;
    if (from_the_end != -1 && from_the_end != -2) {
        return fail("pypto.dequantize: axis: %d is not one of the last two of %d dimensions", axis, int(x.rank));
    }
    if (s.dtype != QDQ_F32) {
        return fail("pypto.dequantize: scale: dtype %s is not DT_FP32", info(s.dtype).name);
    }
    if (!lacks_axis(s, x, x.rank + from_the_end)) {
        return fail("pypto.dequantize: scale: shape %s is not input's, %s, without dimension %d", shape_text(s).c_str(),
                    shape_text(x).c_str(), axis);
    }
    if (is_given(zero_points)) {
        if (const result sound = check_tensor(function, "zero_points", zero_points); !sound) {
            return sound;
        }
        const qdq_tensor z = zero_points.c();
        if (z.dtype != QDQ_F32) {
            return fail("pypto.dequantize: zero_points: dtype %s is not DT_FP32", info(z.dtype).name);
        }
        if (!same_shape(z, s)) {
            return fail("pypto.dequantize: zero_points: shape %s is not scale's, %s", shape_text(z).c_str(),
                        shape_text(s).c_str());
        }
    }
    return check_tile_shape(x.rank);
}

// For arguments that `check` has accepted.
inline result compute(const qdq_tensor &y, const Tensor &input, const Tensor &scale, int axis,
                      const Tensor &zero_points) {
    const qdq_tensor x = input.c();
    const std::int32_t dropped = axis < 0 ? axis + x.rank : axis;
    const bool has_zero_points = is_given(zero_points);
    const unsqueezed s(scale.c(), x.rank, dropped), z((has_zero_points ? zero_points : scale).c(), x.rank, dropped);
    qdq_options options;
    qdq_profile_options("pypto", x.dtype, &options);
    return qdq_dequantize(&x, s.view(), has_zero_points ? z.view() : nullptr, &y, &options);
}

}  // namespace detail

// How pypto is to cut the output into tiles. It never changes a result, and qdq has no use for it; but as in pypto, a
// tile shape must have the output's number of dimensions, each above 0, or the next dequantize fails. It holds for the
// calling thread. With no arguments it is forgotten, as it is before the first call.
template<std::convertible_to<std::int64_t>... Sizes> void set_vec_tile_shapes(Sizes... sizes) {
    const std::initializer_list<std::int64_t> list{static_cast<std::int64_t>(sizes)...};
    detail::tile_shape &tile = detail::current_tile_shape();
    tile.rank = list.size();
    std::copy_n(list.begin(), std::min(list.size(), tile.size.size()), tile.size.begin());
}

// input: i8 or i16, 2 to 4 dimensions, 1 to 2^31 - 1 elements, any strides. scale: f32, see above. otype: DT_FP32.
// zero_points: f32 of scale's shape; or none, or an empty tensor.
inline compat::expected<compat::owned_tensor> dequantize(const Tensor &input, const Tensor &scale, DataType otype,
                                                         int axis, const Tensor &zero_points = none) {
    if (const result allowed = detail::check(input, scale, otype, axis, zero_points); !allowed) {
        return allowed;
    }
    return compat::made_by(otype, compat::shape_of(input.c()),
                           [&](const qdq_tensor &y) { return detail::compute(y, input, scale, axis, zero_points); });
}

// The same into `out`, an f32 tensor of input's shape with strides that keep its elements apart.
inline result dequantize_out(const output &out, const Tensor &input, const Tensor &scale, DataType otype, int axis,
                             const Tensor &zero_points = none) {
    if (const result allowed = detail::check(input, scale, otype, axis, zero_points); !allowed) {
        return allowed;
    }
    const auto shape = compat::shape_of(input.c());
    if (const result fits = compat::check_out(detail::function, out, otype, shape); !fits) {
        return fits;
    }
    return detail::compute(out.c(), input, scale, axis, zero_points);
}

}  // namespace qdq::pypto
