/// @file
/// torch_npu.npu_quantize over qdq.
///
/// @code
/// div_mode        result = saturate(round(self / scales + zero_points))
/// not div_mode    result = saturate(round(self * scales + zero_points))
/// @endcode
///
/// as f32 sums, rounded to nearest even; the zero point counts before rounding, as CANN documents. NaN gives 0,
/// whatever the zero point is, as in CANN's references for the operators behind it (cann/ops-nn, quant/quantize and
/// quant/ascend_quant_v2, tests/assets/golden.py).
///
/// @code
/// const auto scales = torch_npu::tensor(std::vector(12, 0.1f)).bfloat16();
/// auto y = torch_npu::npu_quantize(x, scales, torch_npu::None, torch_npu::qint8, -1, false);
/// auto z = torch_npu::npu_quantize(x, scales, torch_npu::None, torch_npu::qint8, {.axis = -1});
/// if (!y) std::puts(y.message());
/// @endcode
///
/// torch_npu's documentation lists the types of each argument but not which go together: every combination is taken
/// here. (The CANN operators behind npu_quantize take fewer: bf16 only all together in div_mode, scales of the type of
/// a 16-bit self otherwise.) The axis means what those operators take it for: any dimension in div_mode, one of the
/// last two otherwise. There op-plugin hands on -1 for every axis above -2 (QuantizeKernelNpuOpApi.cpp). qint32 names
/// int32 too, as in op-plugin's own tests.
#pragma once

#include <qdq/compat/common.hpp>

/// torch_npu's npu_quantize.
namespace qdq::torch_npu {

/// A view of memory, or tensor(), which owns its elements.
using Tensor = qdq::tensor;
/// A tensor or None.
using optional_tensor = compat::optional_tensor;
/// No tensor.
inline constexpr optional_tensor None{};

/// c10::ScalarType's values, and Python's names for those that npu_quantize takes.
enum class ScalarType : std::int8_t {
    Byte = 0,       ///< uint8
    Char = 1,       ///< int8
    Int = 3,        ///< int32
    Half = 5,       ///< float16
    Float = 6,      ///< float32
    QInt8 = 12,     ///< qint8
    QUInt8 = 13,    ///< quint8
    QInt32 = 14,    ///< qint32
    BFloat16 = 15,  ///< bfloat16
    QUInt4x2 = 16   ///< quint4x2: eight int4 in an int32
};
inline constexpr ScalarType qint8 = ScalarType::QInt8;        ///< i8
inline constexpr ScalarType quint8 = ScalarType::QUInt8;      ///< u8
inline constexpr ScalarType int32 = ScalarType::Int;          ///< i32
inline constexpr ScalarType qint32 = ScalarType::QInt32;      ///< i32
inline constexpr ScalarType quint4x2 = ScalarType::QUInt4x2;  ///< eight int4 in an int32

/// A dimension: any integer, and no bool, which would be div_mode in its place.
class axis_number {
public:
    /// Of any integer type but bool.
    template<std::integral I>
        requires(!std::same_as<I, bool>)
    constexpr axis_number(I value) : value_(static_cast<std::int64_t>(value)) {}
    /// The number.
    constexpr operator std::int64_t() const { return value_; }

private:
    std::int64_t value_;
};

/// Arguments by their names: npu_quantize(x, scales, None, qint8, {.axis = -1, .div_mode = false}).
struct keywords {
    axis_number axis = 1;  ///< the dimension that scales vary along
    bool div_mode = true;  ///< self / scales, or self * scales
};

/// torch.tensor of numbers, as float32, whose elements are its own; .bfloat16() and .half() convert them.
template<compat::numbers R> compat::owned_tensor tensor(const R &values, const dimensions &shape) {
    return {dtype::f32, shape, values};
}
/// The same of one dimension.
template<compat::numbers R> compat::owned_tensor tensor(const R &values) {
    return tensor(values, {static_cast<std::int64_t>(std::ranges::distance(values))});
}
/// The same of numbers in braces.
inline compat::owned_tensor tensor(std::initializer_list<double> values) {
    return tensor<std::initializer_list<double>>(values);
}

namespace detail {

using compat::verdict;

// As Python has it.
class type_name {
public:
    explicit type_name(ScalarType type) {
        constexpr struct {
            ScalarType type;
            const char *name;
        } names[] = {{ScalarType::Byte, "uint8"},        {ScalarType::Char, "int8"},
                     {ScalarType::Int, "int32"},         {ScalarType::Half, "float16"},
                     {ScalarType::Float, "float32"},     {ScalarType::QInt8, "qint8"},
                     {ScalarType::QUInt8, "quint8"},     {ScalarType::QInt32, "qint32"},
                     {ScalarType::BFloat16, "bfloat16"}, {ScalarType::QUInt4x2, "quint4x2"}};
        const auto *known = std::ranges::find_if(names, [&](const auto &each) { return each.type == type; });
        if (known != std::end(names)) {
            std::snprintf(text_, sizeof text_, "%s", known->name);
        } else {
            std::snprintf(text_, sizeof text_, "ScalarType %d", static_cast<int>(type));
        }
    }
    const char *c_str() const { return text_; }

private:
    char text_[24];
};

inline constexpr compat::argument_names names{"torch_npu.npu_quantize", "self", "scales", "zero_points", "out"};
constexpr const char *function = names.function;

// What a dtype stands for: the type qdq computes, and the result's, one element of which holds `packed` of them.
struct target {
    ScalarType type;
    bool div_mode;
    dtype computed, returned;
    std::int64_t packed;
};

inline constexpr target targets[] = {
    {qint8, true, dtype::i8, dtype::i8, 1},   {quint8, true, dtype::u8, dtype::u8, 1},
    {int32, true, dtype::i32, dtype::i32, 1}, {qint32, true, dtype::i32, dtype::i32, 1},
    {qint8, false, dtype::i8, dtype::i8, 1},  {quint4x2, false, dtype::i4, dtype::i32, 8}};

// A call whose arguments keep the rules.
struct call {
    const target *to = nullptr;
    std::int32_t axis = 0;                       // of self, from 0
    std::span<const std::int64_t> result_shape;  // self's, or that of int4 in an int32
    std::array<std::int64_t, 8> packed_shape;
};

inline verdict check_types(const qdq_tensor &x, const qdq_tensor &s, const qdq_tensor *z, bool div_mode) {
    using namespace compat;
    if (!is_one_of(x.dtype, {dtype::f32, dtype::f16, dtype::bf16})) {
        return fail("torch_npu.npu_quantize: self: dtype %s is not one of f32, f16, bf16", info(x.dtype).name);
    }
    if (div_mode ? !is_one_of(s.dtype, {dtype::f32, dtype::bf16})
                 : !is_one_of(s.dtype, {dtype::f32, dtype::f16, dtype::bf16})) {
        return fail("torch_npu.npu_quantize: scales: dtype %s is not one of %s", info(s.dtype).name,
                    div_mode ? "f32, bf16 (div_mode)" : "f32, f16, bf16");
    }
    if (z != nullptr && div_mode && !is_one_of(z->dtype, {dtype::i8, dtype::u8, dtype::i32, dtype::bf16})) {
        return fail("torch_npu.npu_quantize: zero_points: dtype %s is not one of i8, u8, i32, bf16 (div_mode)",
                    info(z->dtype).name);
    }
    if (z != nullptr && !div_mode && z->dtype != s.dtype) {
        return fail("torch_npu.npu_quantize: zero_points: dtype %s is not scales', %s", info(z->dtype).name,
                    info(s.dtype).name);
    }
    return QDQ_OK;
}

// Fills `dimension`, which stays 0 where one scale serves every element.
inline verdict check_axis(const qdq_tensor &x, const qdq_tensor &s, std::int64_t axis, bool div_mode,
                          std::int32_t &dimension) {
    const std::int32_t rank = x.rank;
    if (!div_mode) {
        const std::int64_t from_the_end = axis < -1 ? axis : -1;
        if (from_the_end < std::max(-rank, -2)) {
            return compat::fail("torch_npu.npu_quantize: axis: %lld is below %d for a self of %d dimensions",
                                static_cast<long long>(axis), int(std::max(-rank, -2)), int(rank));
        }
        dimension = rank + static_cast<std::int32_t>(from_the_end);
        return QDQ_OK;
    }
    if (compat::element_count(compat::shape_of(s)) == 1) {
        return QDQ_OK;
    }
    if (axis < -rank || axis >= rank) {
        return compat::fail("torch_npu.npu_quantize: axis: %lld is not in [%d, %d) for a self of %d dimensions",
                            static_cast<long long>(axis), int(-rank), int(rank), int(rank));
    }
    dimension = static_cast<std::int32_t>(axis < 0 ? axis + rank : axis);
    return QDQ_OK;
}

// One scale, or one for each of self's elements along `axis`: as a list, or with 1 everywhere else.
inline bool fits(const qdq_tensor &s, const qdq_tensor &x, std::int32_t axis) {
    const auto shape = compat::shape_of(s), whole = compat::shape_of(x);
    const bool is_list = shape.size() == 1;
    if (!is_list && shape.size() != whole.size()) {
        return false;
    }
    const std::int64_t along = shape[is_list ? 0 : static_cast<std::size_t>(axis)];
    return compat::element_count(shape) == along && (along == 1 || along == whole[static_cast<std::size_t>(axis)]);
}

inline verdict check(const Tensor &self, const Tensor &scales, const Tensor &zero_points, ScalarType type,
                     std::int64_t axis, bool div_mode, call &accepted) {
    using namespace compat;
    if (const verdict sound = check_tensor(function, "self", self); !sound) {
        return sound;
    }
    if (const verdict sound = check_tensor(function, "scales", scales); !sound) {
        return sound;
    }
    if (zero_points.has_value()) {
        if (const verdict sound = check_tensor(function, "zero_points", zero_points); !sound) {
            return sound;
        }
    }
    const qdq_tensor x = self.c(), s = scales.c(), z = zero_points.c();
    const qdq_tensor *z_or_null = zero_points.has_value() ? &z : nullptr;
    if (const verdict allowed = check_types(x, s, z_or_null, div_mode); !allowed) {
        return allowed;
    }
    const target *to =
        std::ranges::find_if(targets, [&](const target &t) { return t.type == type && t.div_mode == div_mode; });
    if (to == std::end(targets)) {
        return fail("torch_npu.npu_quantize: dtype: %s is not one of %s", type_name(type).c_str(),
                    div_mode ? "qint8, quint8, int32 (div_mode)" : "qint8, quint4x2");
    }
    if (x.rank == 0) {
        return fail("torch_npu.npu_quantize: self: it has no dimensions");
    }
    accepted.to = to;
    if (const verdict allowed = check_axis(x, s, axis, div_mode, accepted.axis); !allowed) {
        return allowed;
    }
    if (!fits(s, x, accepted.axis)) {
        return fail(
            "torch_npu.npu_quantize: scales: shape %s is neither one scale nor one for each element along "
            "dimension %d of self, %s",
            shape_text(s).c_str(), int(accepted.axis), shape_text(x).c_str());
    }
    if (z_or_null != nullptr && !same_shape(z, s)) {
        return fail("torch_npu.npu_quantize: zero_points: shape %s is not scales', %s", shape_text(z).c_str(),
                    shape_text(s).c_str());
    }
    accepted.result_shape = shape_of(x);  // which is in self
    if (to->packed == 1) {
        return QDQ_OK;
    }
    const std::size_t last = accepted.result_shape.size() - 1;
    const std::int64_t length = accepted.result_shape[last];
    if (length % to->packed != 0) {
        return fail("torch_npu.npu_quantize: self: the last dimension, %lld, is not a multiple of 8 (quint4x2)",
                    static_cast<long long>(length));
    }
    std::ranges::copy(accepted.result_shape, accepted.packed_shape.begin());
    accepted.packed_shape[last] = length / to->packed;
    accepted.result_shape = std::span(accepted.packed_shape).first(last + 1);
    return QDQ_OK;
}

// For arguments that `check` has accepted. Eight int4 in an int32 are the bytes of qdq's packed i4.
inline verdict compute(qdq_tensor y, const Tensor &self, const Tensor &scales, const Tensor &zero_points, bool div_mode,
                       const call &accepted) {
    const qdq_tensor x = self.c(), s = scales.c(), z = zero_points.c();
    y.dtype = static_cast<qdq_dtype>(accepted.to->computed);
    y.shape = x.shape;
    static const qdq_options acl = compat::profile("acl");
    qdq_options options = acl;
    options.scale_mode = div_mode ? QDQ_DIVIDE : QDQ_MULTIPLY;
    options.axis = accepted.axis;
    return compat::in_terms_of(names, qdq_quantize(&x, &s, zero_points.has_value() ? &z : nullptr, &y, &options));
}

constexpr bool is_dense(const qdq_tensor &t) {
    std::int64_t stride = 1;
    for (std::int32_t d = t.rank - 1; d >= 0 && t.strides != nullptr; --d) {
        if (t.shape[d] != 1 && t.strides[d] != stride) {
            return false;
        }
        stride *= t.shape[d];
    }
    return true;
}

}  // namespace detail

/// self: f32, f16 or bf16, 1 to 8 dimensions, any strides; may be empty. zero_points: of scales' shape, or None.
///
/// @code{.unparsed}
///              div_mode                          not div_mode
/// scales       f32, bf16                         f32, f16, bf16
///              one, or self's length along the axis: in one dimension, or in self's rank with 1 everywhere but the
///              axis; may be strided
/// zero_points  i8, u8, i32, bf16                 scales' type
/// dtype        qint8, quint8, qint32, int32      qint8, quint4x2
/// axis         a dimension of self, negative     -2 is the last but one, which a self of one dimension lacks; any
/// above
///              counted from the last; not        that the last, also one past self's dimensions, as the default is
///              looked at for one scale           for a self of one
/// @endcode
///
/// The result has self's shape and is i8, u8 or i32. For quint4x2 it is i32, eight int4 in each, the first in the
/// lowest bits. Then self's last dimension is a multiple of 8, and the result's is an eighth of it.
inline compat::expected<compat::owned_tensor> npu_quantize(const Tensor &self, const Tensor &scales,
                                                           const optional_tensor &zero_points, ScalarType dtype,
                                                           const keywords &how) {
    detail::call accepted;
    if (const compat::verdict allowed =
            detail::check(self, scales, zero_points, dtype, how.axis, how.div_mode, accepted);
        !allowed) {
        return allowed;
    }
    return compat::made_by(accepted.to->returned, accepted.result_shape, [&](const qdq_tensor &y) {
        return detail::compute(y, self, scales, zero_points, how.div_mode, accepted);
    });
}
/// The same with axis and div_mode in their places.
inline compat::expected<compat::owned_tensor> npu_quantize(const Tensor &self, const Tensor &scales,
                                                           const optional_tensor &zero_points, ScalarType dtype,
                                                           axis_number axis = 1, bool div_mode = true) {
    return npu_quantize(self, scales, zero_points, dtype, keywords{axis, div_mode});
}

/// The same into `out`, a tensor of the result's type and shape, with strides that keep its elements apart (quint4x2:
/// dense).
inline result npu_quantize_out(const output &out, const Tensor &self, const Tensor &scales,
                               const optional_tensor &zero_points, ScalarType dtype, const keywords &how) {
    detail::call accepted;
    if (const compat::verdict allowed =
            detail::check(self, scales, zero_points, dtype, how.axis, how.div_mode, accepted);
        !allowed) {
        return allowed;
    }
    if (const compat::verdict fits =
            compat::check_out(detail::function, out, accepted.to->returned, accepted.result_shape);
        !fits) {
        return fits;
    }
    if (accepted.to->packed != 1 && !detail::is_dense(out.c())) {
        return compat::fail("torch_npu.npu_quantize: out: its strides are not dense (quint4x2)");
    }
    return detail::compute(out.c(), self, scales, zero_points, how.div_mode, accepted);
}
/// The same with axis and div_mode in their places.
inline result npu_quantize_out(const output &out, const Tensor &self, const Tensor &scales,
                               const optional_tensor &zero_points, ScalarType dtype, axis_number axis = 1,
                               bool div_mode = true) {
    return npu_quantize_out(out, self, scales, zero_points, dtype, keywords{axis, div_mode});
}

}  // namespace qdq::torch_npu
