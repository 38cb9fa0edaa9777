/// @file
/// torch_npu's npu_quantize, npu_anti_quant, npu_dynamic_quant, npu_dynamic_quant_asymmetric and npu_dynamic_mx_quant
/// over qdq.
///
/// @code
/// npu_quantize          saturate(round(self / scales + zero_points)) in div_mode
///                       saturate(round(self * scales + zero_points)) otherwise
/// npu_anti_quant        (x + offset) * scale
/// npu_dynamic_quant     scale = max(|x * smooth_scales|) / L, y = round(x * smooth_scales / scale)
/// npu_dynamic_quant_asymmetric
///                       with offset = H - max(x * smooth_scales) / scale, y = round(x * smooth_scales / scale +
///                       offset)
/// npu_dynamic_mx_quant  mxscale is a power of two for each block, y = round(input / mxscale)
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
/// int32 too, as in op-plugin's own tests. Float8 saturates, and takes zero points and offsets of zeros alone. So does
/// HiFloat8, whose ties go away from 0. PyTorch has no such type: its codes are bytes of u8.
///
/// The others do as CANN's functions of aclnn.h, which op-plugin calls; what is said there of L, zeros, infinities and
/// what is not offered holds here too.
#pragma once

#include <qdq/compat/ascend.hpp>
#include <qdq/compat/common.hpp>

#include <string_view>
#include <tuple>

/// torch_npu's functions that quantize and dequantize.
namespace qdq::torch_npu {

/// A view of memory, or tensor(), which owns its elements.
using Tensor = qdq::tensor;
/// A tensor or None.
using optional_tensor = compat::optional_tensor;
/// No tensor.
inline constexpr optional_tensor None{};

/// c10::ScalarType's values, and Python's names for those that npu_quantize takes.
enum class ScalarType : std::int8_t {
    Byte = 0,           ///< uint8
    Char = 1,           ///< int8
    Int = 3,            ///< int32
    Half = 5,           ///< float16
    Float = 6,          ///< float32
    QInt8 = 12,         ///< qint8
    QUInt8 = 13,        ///< quint8
    QInt32 = 14,        ///< qint32
    BFloat16 = 15,      ///< bfloat16
    QUInt4x2 = 16,      ///< quint4x2: eight int4 in an int32
    Float8_e5m2 = 23,   ///< float8_e5m2
    Float8_e4m3fn = 24  ///< float8_e4m3fn
};
inline constexpr ScalarType qint8 = ScalarType::QInt8;                  ///< i8
inline constexpr ScalarType quint8 = ScalarType::QUInt8;                ///< u8
inline constexpr ScalarType int32 = ScalarType::Int;                    ///< i32
inline constexpr ScalarType qint32 = ScalarType::QInt32;                ///< i32
inline constexpr ScalarType quint4x2 = ScalarType::QUInt4x2;            ///< eight int4 in an int32
inline constexpr ScalarType int8 = ScalarType::Char;                    ///< i8
inline constexpr ScalarType float16 = ScalarType::Half;                 ///< f16
inline constexpr ScalarType bfloat16 = ScalarType::BFloat16;            ///< bf16
inline constexpr ScalarType float8_e5m2 = ScalarType::Float8_e5m2;      ///< e5m2
inline constexpr ScalarType float8_e4m3fn = ScalarType::Float8_e4m3fn;  ///< e4m3fn
/// torch_npu's own numbers, of types that are bytes of u8 in PyTorch.
inline constexpr std::int64_t hifloat8 = 290;          ///< HiFloat8
inline constexpr std::int64_t float4_e2m1fn_x2 = 296;  ///< e2m1, two in a byte
inline constexpr std::int64_t float4_e1m2fn_x2 = 297;  ///< e1m2, two in a byte

/// A type by its number: c10::ScalarType's, or torch_npu's own from 256 on, which is 256 and CANN's aclDataType.
class type_number {
public:
    /// PyTorch's.
    constexpr type_number(ScalarType type) : value_(static_cast<std::int64_t>(type)) {}
    /// Any number.
    constexpr type_number(std::int64_t value) : value_(value) {}
    /// The number.
    constexpr operator std::int64_t() const { return value_; }

private:
    std::int64_t value_;
};

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
    explicit type_name(type_number type) {
        constexpr struct {
            type_number type;
            const char *name;
        } names[] = {{ScalarType::Byte, "uint8"},
                     {ScalarType::Char, "int8"},
                     {ScalarType::Int, "int32"},
                     {ScalarType::Half, "float16"},
                     {ScalarType::Float, "float32"},
                     {ScalarType::QInt8, "qint8"},
                     {ScalarType::QUInt8, "quint8"},
                     {ScalarType::QInt32, "qint32"},
                     {ScalarType::BFloat16, "bfloat16"},
                     {ScalarType::QUInt4x2, "quint4x2"},
                     {ScalarType::Float8_e5m2, "float8_e5m2"},
                     {ScalarType::Float8_e4m3fn, "float8_e4m3fn"},
                     {hifloat8, "hifloat8"},
                     {float4_e2m1fn_x2, "float4_e2m1fn_x2"},
                     {float4_e1m2fn_x2, "float4_e1m2fn_x2"}};
        const auto *known = std::ranges::find_if(names, [&](const auto &each) { return each.type == type; });
        if (known != std::end(names)) {
            std::snprintf(text_, sizeof text_, "%s", known->name);
        } else {
            std::snprintf(text_, sizeof text_, "ScalarType %lld", static_cast<long long>(type));
        }
    }
    const char *c_str() const { return text_; }

private:
    char text_[40];
};

inline constexpr compat::argument_names names{"torch_npu.npu_quantize", "self", "scales", "zero_points", "out"};
constexpr const char *function = names.function;

// What a dtype stands for: the type qdq computes, and the result's, one element of which holds `packed` of them.
struct target {
    type_number type;
    bool div_mode;
    dtype computed, returned;
    std::int64_t packed;
};

inline constexpr target targets[] = {{qint8, true, dtype::i8, dtype::i8, 1},
                                     {quint8, true, dtype::u8, dtype::u8, 1},
                                     {int32, true, dtype::i32, dtype::i32, 1},
                                     {qint32, true, dtype::i32, dtype::i32, 1},
                                     {qint8, false, dtype::i8, dtype::i8, 1},
                                     {quint4x2, false, dtype::i4, dtype::i32, 8},
                                     {float8_e5m2, true, dtype::f8e5m2, dtype::f8e5m2, 1},
                                     {float8_e5m2, false, dtype::f8e5m2, dtype::f8e5m2, 1},
                                     {float8_e4m3fn, true, dtype::f8e4m3, dtype::f8e4m3, 1},
                                     {float8_e4m3fn, false, dtype::f8e4m3, dtype::f8e4m3, 1},
                                     {hifloat8, true, dtype::hif8, dtype::u8, 1},
                                     {hifloat8, false, dtype::hif8, dtype::u8, 1}};

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

inline verdict check(const Tensor &self, const Tensor &scales, const Tensor &zero_points, type_number type,
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
                    div_mode ? "qint8, quint8, int32, float8_e5m2, float8_e4m3fn, hifloat8 (div_mode)"
                             : "qint8, quint4x2, float8_e5m2, float8_e4m3fn, hifloat8");
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

constexpr bool is_dense(const qdq_tensor &t) { return compat::ascend::layout(t).is_dense(); }

}  // namespace detail

/// self: f32, f16 or bf16, 1 to 8 dimensions, any strides; may be empty. zero_points: of scales' shape, or None.
///
/// @code{.unparsed}
///              div_mode                          not div_mode
/// scales       f32, bf16                         f32, f16, bf16
///              one, or self's length along the axis: in one dimension, or in self's rank with 1 everywhere but the
///              axis; may be strided
/// zero_points  i8, u8, i32, bf16                 scales' type
/// dtype        qint8, quint8, qint32, int32,     qint8, quint4x2,
///              float8_e5m2, float8_e4m3fn,       float8_e5m2, float8_e4m3fn,
///              hifloat8                          hifloat8
/// axis         a dimension of self, negative     -2 is the last but one, which a self of one dimension lacks;
///              counted from the last; not        any above that the last, also one past self's dimensions, as
///              looked at for one scale           the default is for a self of one
/// @endcode
///
/// The result has self's shape and is i8, u8, i32, e5m2 or e4m3fn; for hifloat8 u8. For quint4x2 it is i32, eight int4
/// in each, the first in the lowest bits. Then self's last dimension is a multiple of 8, and the result's is an eighth
/// of it.
inline compat::expected<compat::owned_tensor> npu_quantize(const Tensor &self, const Tensor &scales,
                                                           const optional_tensor &zero_points, type_number dtype,
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
                                                           const optional_tensor &zero_points, type_number dtype,
                                                           axis_number axis = 1, bool div_mode = true) {
    return npu_quantize(self, scales, zero_points, dtype, keywords{axis, div_mode});
}

/// The same into `out`, a tensor of the result's type and shape, with strides that keep its elements apart (quint4x2:
/// dense).
inline result npu_quantize_out(const output &out, const Tensor &self, const Tensor &scales,
                               const optional_tensor &zero_points, type_number dtype, const keywords &how) {
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
                               const optional_tensor &zero_points, type_number dtype, axis_number axis = 1,
                               bool div_mode = true) {
    return npu_quantize_out(out, self, scales, zero_points, dtype, keywords{axis, div_mode});
}

/// Two results: codes, and the scales that were computed.
using codes_and_scales = std::tuple<compat::owned_tensor, compat::owned_tensor>;

/// Three results: codes, and the scales and offsets that were computed.
using codes_scales_and_offsets = std::tuple<compat::owned_tensor, compat::owned_tensor, compat::owned_tensor>;

/// npu_anti_quant's arguments by their names.
struct anti_quant_keywords {
    optional_tensor offset{};                ///< of scale's type and shape
    std::optional<type_number> dst_dtype{};  ///< float16, unless bfloat16
    std::optional<type_number> src_dtype{};  ///< x's: int8, quint4x2 of int32, its float8, or hifloat8 of uint8
};

/// npu_dynamic_quant's and npu_dynamic_quant_asymmetric's arguments by their names.
struct dynamic_quant_keywords {
    optional_tensor smooth_scales{};           ///< factors of x's type
    optional_tensor group_index{};             ///< the row of x where each group ends
    std::optional<type_number> dst_type{};     ///< int8, unless quint4x2 or, symmetric, float8 or hifloat8
    std::string_view quant_mode = "pertoken";  ///< or "pertensor", "perchannel"
    double dst_type_max = 0;                   ///< L of hifloat8, in [0, 32768]; 0: 32768. Of others without effect
};

/// npu_dynamic_mx_quant's arguments by their names.
struct dynamic_mx_quant_keywords {
    axis_number axis = -1;                      ///< the dimension that blocks lie along
    std::string_view round_mode = "rint";       ///< to nearest even; of float4 or "floor", or "round": ties away from 0
    type_number dst_type = float4_e2m1fn_x2;    ///< or float4_e1m2fn_x2, float8_e5m2, float8_e4m3fn
    std::int64_t block_size = 32;               ///< a multiple of 32 up to 1024
    std::optional<std::int64_t> scale_alg = 0;  ///< 1, of float8, and 2, of e2m1: the least power of two that holds all
    double dst_type_max = 0;                    ///< what it holds them below, of scale_alg 2: in [6, 12]; 0: 6
    double max_low_bound = 0;                   ///< of scale_alg 1: magnitudes are taken to reach this, at least
};

namespace detail {

using compat::fail;

// A few dimensions.
struct sizes {
    std::array<std::int64_t, compat::ascend::most_dimensions> size{};
    std::size_t rank = 0;

    sizes() = default;
    explicit sizes(std::span<const std::int64_t> shape) : rank(shape.size()) { std::ranges::copy(shape, size.begin()); }
    std::span<const std::int64_t> span() const { return std::span(size).first(rank); }
    std::int64_t &last() { return size[rank - 1]; }
    void erase(std::size_t at) {
        std::copy(size.begin() + std::ptrdiff_t(at) + 1, size.begin() + std::ptrdiff_t(rank),
                  size.begin() + std::ptrdiff_t(at));
        --rank;
    }
};

// Types by torch_npu's numbers too, by PyTorch's.
constexpr std::int64_t in_pytorch(std::int64_t type) {
    switch (type) {
    case 256 + 1: return static_cast<std::int64_t>(float16);
    case 256 + 2: return static_cast<std::int64_t>(int8);
    case 256 + 27: return static_cast<std::int64_t>(bfloat16);
    case 256 + 29: return static_cast<std::int64_t>(quint4x2);
    case 256 + 35: return static_cast<std::int64_t>(float8_e5m2);
    case 256 + 36: return static_cast<std::int64_t>(float8_e4m3fn);
    default: return type;
    }
}

constexpr bool is(std::int64_t type, type_number wanted) { return in_pytorch(type) == wanted; }

inline verdict check_given(const char *function, const char *name, const Tensor &given, int least_rank) {
    if (const verdict sound = compat::check_tensor(function, name, given); !sound) {
        return sound;
    }
    const int rank = given.c().rank;
    return rank >= least_rank ? verdict(QDQ_OK)
                              : fail("%s: %s: %d dimensions are fewer than %d", function, name, rank, least_rank);
}

inline constexpr compat::argument_names anti_names{"torch_npu.npu_anti_quant", "x", "scale", "offset", "result"};

struct anti_quant_call {
    dtype codes = dtype::i8;  // that x holds
    sizes shape;              // the result's
    dtype returned = dtype::f16;
    std::int32_t along = 0;  // the dimension that scale varies along
};

inline verdict check_anti_types(const qdq_tensor &x, const qdq_tensor &s, const optional_tensor &offset,
                                const anti_quant_keywords &how, anti_quant_call &accepted) {
    using namespace compat;
    const char *const function = anti_names.function;
    static constexpr struct {
        dtype given;
        type_number type;
        dtype codes;
    } types[] = {{dtype::i8, int8, dtype::i8},
                 {dtype::i32, quint4x2, dtype::i4},
                 {dtype::f8e5m2, float8_e5m2, dtype::f8e5m2},
                 {dtype::f8e4m3, float8_e4m3fn, dtype::f8e4m3},
                 {dtype::u8, hifloat8, dtype::hif8}};
    const auto *of_x = std::ranges::find_if(types, [&](const auto &each) { return is_one_of(x.dtype, {each.given}); });
    if (of_x == std::end(types)) {
        return fail("%s: x: dtype %s is not one of i8, i32, f8e5m2, f8e4m3, u8 (hifloat8)", function,
                    info(x.dtype).name);
    }
    accepted.codes = of_x->codes;
    const type_number source = of_x->type;
    if (how.src_dtype.has_value() && !is(*how.src_dtype, source)) {
        return fail("%s: src_dtype: %s is not x's, %s", function, type_name(*how.src_dtype).c_str(),
                    type_name(source).c_str());
    }
    const std::int64_t to = how.dst_dtype.value_or(type_number(float16));
    if (!is(to, float16) && !is(to, bfloat16)) {
        return fail("%s: dst_dtype: %s is not one of float16, bfloat16", function, type_name(to).c_str());
    }
    accepted.returned = is(to, float16) ? dtype::f16 : dtype::bf16;
    const bool wants_f32 = accepted.codes != dtype::i8 && accepted.codes != dtype::i4;
    if (!is_one_of(s.dtype, {dtype::f32, wants_f32 ? dtype::f32 : dtype::bf16})) {
        return fail("%s: scale: dtype %s is not %s", function, info(s.dtype).name,
                    wants_f32 ? "f32, as for float8" : "one of f32, bf16");
    }
    if (offset.has_value() && (offset.c().dtype != s.dtype || !same_shape(offset.c(), s))) {
        return fail("%s: offset: dtype %s and shape %s are not scale's, %s and %s", function,
                    info(offset.c().dtype).name, shape_text(offset.c()).c_str(), info(s.dtype).name,
                    shape_text(s).c_str());
    }
    return QDQ_OK;
}

inline verdict check(const Tensor &x, const Tensor &scale, const anti_quant_keywords &how, anti_quant_call &accepted) {
    const char *const function = anti_names.function;
    if (const verdict sound = check_given(function, "x", x, 0); !sound) {
        return sound;
    }
    if (const verdict sound = check_given(function, "scale", scale, 1); !sound) {
        return sound;
    }
    if (how.offset.has_value()) {
        if (const verdict sound = compat::check_tensor(function, "offset", how.offset); !sound) {
            return sound;
        }
    }
    const qdq_tensor s = scale.c();
    if (const verdict allowed = check_anti_types(x.c(), s, how.offset, how, accepted); !allowed) {
        return allowed;
    }
    const qdq_tensor given = x.c();
    accepted.shape = sizes(compat::shape_of(given));
    if (accepted.codes == dtype::i4) {
        if (!is_dense(given)) {
            return fail("%s: x: its strides are not dense (eight int4 in each int32)", function);
        }
        if (given.rank == 0) {
            return fail("%s: x: a scalar, where int32 has a last dimension", function);
        }
        if (__builtin_mul_overflow(accepted.shape.last(), 8, &accepted.shape.last())) {
            return fail("%s: x: its last dimension is too long", function);
        }
    }
    const std::span<const std::int64_t> shape = accepted.shape.span(), of_scale = compat::shape_of(s);
    const std::int64_t count = compat::element_count(of_scale);
    const auto rank = static_cast<std::int32_t>(shape.size());
    const bool is_list = of_scale.size() == 1, fits = is_list || of_scale.size() == shape.size();
    if (fits && count == 1) {
        return QDQ_OK;
    }
    for (std::int32_t along = rank - 1; along >= std::max(0, rank - 2); --along) {
        const auto d = static_cast<std::size_t>(along);
        if (fits && count == of_scale[is_list ? 0 : d] && count == shape[d]) {
            accepted.along = along;
            return QDQ_OK;
        }
    }
    return fail(
        "%s: scale: shape %s is neither one scale nor one for each element along one of the last two "
        "dimensions of the result, %s",
        function, compat::shape_text(s).c_str(), compat::shape_text(shape).c_str());
}

inline verdict compute(qdq_tensor y, const Tensor &x, const Tensor &scale, const anti_quant_keywords &how,
                       const anti_quant_call &accepted) {
    qdq_tensor q = x.c();
    q.dtype = static_cast<qdq_dtype>(accepted.codes);
    if (accepted.codes == dtype::i4) {
        q.shape = accepted.shape.size.data();
        q.strides = nullptr;
    }
    const qdq_tensor s = scale.c(), o = how.offset.c();
    qdq_options options{};
    options.dequantize_zp = QDQ_ZP_ADD;
    options.axis = accepted.along;
    return compat::in_terms_of(anti_names, qdq_dequantize(&q, &s, how.offset.has_value() ? &o : nullptr, &y, &options));
}

inline constexpr compat::argument_names dynamic_names{"torch_npu.npu_dynamic_quant", "x", "scale", "smooth_scales",
                                                      "y"};
inline constexpr compat::argument_names asymmetric_names{"torch_npu.npu_dynamic_quant_asymmetric", "x", "scale",
                                                         "offset", "y"};

struct dynamic_quant_call {
    bool is_asymmetric = false;
    dtype computed = dtype::i8, returned = dtype::i8;
    sizes y{}, scale{};       // shapes of the results
    std::int32_t shared = 0;  // the dimension that shares a scale; x's rank where all do
    bool by_channel = false;
    float largest = 0;  // code, of which scales are computed here; 0: of the codes' type, by qdq

    const compat::argument_names &names() const { return is_asymmetric ? asymmetric_names : dynamic_names; }
};

inline verdict check_smoothing(const char *function, const qdq_tensor &x, const dynamic_quant_keywords &how,
                               bool by_channel) {
    for (const auto &[name, given] :
         {std::pair<const char *, const optional_tensor &>("smooth_scales", how.smooth_scales),
          {"group_index", how.group_index}}) {
        if (const verdict sound = given.has_value() ? check_given(function, name, given, 1) : verdict(QDQ_OK); !sound) {
            return sound;
        }
    }
    if (!how.smooth_scales.has_value()) {
        return how.group_index.has_value() ? fail("%s: smooth_scales: none are given, and group_index is", function)
                                           : verdict(QDQ_OK);
    }
    const qdq_tensor f = how.smooth_scales.c(), g = how.group_index.c();
    if (f.dtype != x.dtype) {
        return fail("%s: smooth_scales: dtype %s is not x's, %s", function, compat::info(f.dtype).name,
                    compat::info(x.dtype).name);
    }
    const bool has_groups = how.group_index.has_value();
    if (has_groups && by_channel) {
        return fail("%s: group_index: it is given, and quant_mode is perchannel", function);
    }
    const std::int64_t length = x.shape[x.rank - (by_channel ? 2 : 1)];
    if (f.rank != (has_groups ? 2 : 1) || f.shape[f.rank - 1] != length) {
        return fail("%s: smooth_scales: shape %s is not [%s%lld]", function, compat::shape_text(f).c_str(),
                    has_groups ? "groups, " : "", static_cast<long long>(length));
    }
    if (!has_groups) {
        return QDQ_OK;
    }
    if (!compat::is_one_of(g.dtype, {dtype::i32}) || g.rank != 1 || g.shape[0] != f.shape[0]) {
        return fail(
            "%s: group_index: dtype %s and shape %s are not i32 and [%lld], a number for each row of "
            "smooth_scales",
            function, compat::info(g.dtype).name, compat::shape_text(g).c_str(), static_cast<long long>(f.shape[0]));
    }
    const std::int64_t rows = length == 0 ? 0 : compat::element_count(compat::shape_of(x)) / length;
    std::int64_t last = 0;
    for (std::int64_t i = 0; i < g.shape[0]; ++i) {
        const std::int64_t end = static_cast<const std::int32_t *>(g.data)[i * compat::ascend::layout(g).strides[0]];
        if (end < last || end > rows || (i + 1 == g.shape[0] && end != rows)) {
            return fail(
                "%s: group_index: element %lld, %lld, is not in %lld..%lld, or is not the number of rows at "
                "the end",
                function, static_cast<long long>(i), static_cast<long long>(end), static_cast<long long>(last),
                static_cast<long long>(rows));
        }
        last = end;
    }
    return QDQ_OK;
}

inline verdict check(const Tensor &given, const dynamic_quant_keywords &how, dynamic_quant_call &accepted) {
    using namespace compat;
    const char *const function = accepted.names().function;
    if (const verdict sound = check_given(function, "x", given, 2); !sound) {
        return sound;
    }
    const qdq_tensor x = given.c();
    if (!is_one_of(x.dtype, {dtype::f16, dtype::bf16})) {
        return fail("%s: x: dtype %s is not one of f16, bf16", function, info(x.dtype).name);
    }
    const std::string_view mode = how.quant_mode;
    if (mode != "pertoken" && mode != "pertensor" && mode != "perchannel") {
        return fail("%s: quant_mode: \"%.*s\" is not one of pertoken, pertensor, perchannel", function,
                    int(std::min<std::size_t>(mode.size(), 100)), mode.data());
    }
    accepted.by_channel = mode == "perchannel";
    if (const verdict allowed = check_smoothing(function, x, how, accepted.by_channel); !allowed) {
        return allowed;
    }
    const std::int64_t to = how.dst_type.value_or(type_number(int8));
    static constexpr struct {
        type_number type;
        dtype computed, returned;
    } types[] = {{int8, dtype::i8, dtype::i8},
                 {quint4x2, dtype::i4, dtype::i32},
                 {float8_e5m2, dtype::f8e5m2, dtype::f8e5m2},
                 {float8_e4m3fn, dtype::f8e4m3, dtype::f8e4m3},
                 {hifloat8, dtype::hif8, dtype::u8}};
    const std::span taken = std::span(types).first(accepted.is_asymmetric ? 2 : std::size(types));
    const auto type = std::ranges::find_if(taken, [&](const auto &each) { return is(to, each.type); });
    if (type == taken.end()) {
        return fail("%s: dst_type: %s is not one of int8, quint4x2%s", function, type_name(to).c_str(),
                    accepted.is_asymmetric ? "" : ", float8_e5m2, float8_e4m3fn, hifloat8");
    }
    accepted.computed = type->computed;
    accepted.returned = type->returned;
    if (!(how.dst_type_max >= 0 && how.dst_type_max <= 32768)) {
        return fail("%s: dst_type_max: %g is not in 0..32768", function, how.dst_type_max);
    }
    constexpr double least_to_count = 0x1p-23;  // CANN's, FLT_EPSILON
    if (accepted.computed == dtype::hif8 && how.dst_type_max >= least_to_count) {
        accepted.largest = static_cast<float>(how.dst_type_max);
    }
    accepted.y = accepted.scale = sizes(shape_of(x));
    if (accepted.computed == dtype::i4) {
        if (accepted.y.last() % 8 != 0) {
            return fail("%s: x: the last dimension, %lld, is not a multiple of 8 (quint4x2)", function,
                        static_cast<long long>(accepted.y.last()));
        }
        accepted.y.last() /= 8;
    }
    accepted.shared = mode == "pertensor" ? x.rank : x.rank - (accepted.by_channel ? 2 : 1);
    if (mode == "pertensor") {
        constexpr std::int64_t one[] = {1};
        accepted.scale = sizes(one);
    } else {
        accepted.scale.erase(static_cast<std::size_t>(accepted.shared));
    }
    return QDQ_OK;
}

// x, or in `product` what becomes of it in f32: the product with smooth_scales, or x itself where scales are computed
// here.
inline verdict smoothed(qdq_tensor &x, compat::owned_tensor &product, const dynamic_quant_keywords &how,
                        const dynamic_quant_call &accepted) {
    if (!how.smooth_scales.has_value() && !accepted.is_asymmetric && accepted.largest == 0) {
        return QDQ_OK;
    }
    product = {dtype::f32, compat::shape_of(x), compat::owned_tensor::uninitialized{}};
    if (product.problem() != nullptr) {
        return {QDQ_OUT_OF_MEMORY, compat::out_of_memory};
    }
    const qdq_tensor f = how.smooth_scales.c(), g = how.group_index.c();
    auto *const to = static_cast<float *>(product.data());
    qdq_status done = QDQ_OK;
    if (compat::element_count(compat::shape_of(x)) == 0) {
        // No values, and no groups of rows.
    } else if (!how.smooth_scales.has_value()) {
        done = compat::ascend::widen(x, to);
    } else if (how.group_index.has_value()) {
        done = compat::ascend::smooth_by_group(x, f, to, [&](std::int64_t i) {
            const auto stride = compat::ascend::layout(g).strides[0];
            return static_cast<const std::int32_t *>(g.data)[i * stride];
        });
    } else {
        done = compat::ascend::smooth(x, f, x.rank - (accepted.by_channel ? 2 : 1), to);
    }
    if (done != QDQ_OK) {
        return compat::in_terms_of({accepted.names().function, "", "x", "smooth_scales", "x"}, done);
    }
    x = {to, QDQ_F32, x.rank, x.shape, nullptr, {}};
    return QDQ_OK;
}

// y, scale and offset, which is there where it is asymmetric, are dense.
inline verdict compute(qdq_tensor y, const qdq_tensor &scale, const qdq_tensor *offset, const Tensor &given,
                       const dynamic_quant_keywords &how, const dynamic_quant_call &accepted) {
    qdq_tensor x = given.c();
    compat::owned_tensor product;
    if (const verdict done = smoothed(x, product, how, accepted); !done) {
        return done;
    }
    compat::ascend::layout of_scale(scale);
    if (accepted.shared < x.rank) {
        of_scale.insert(accepted.shared);
    }
    const qdq_tensor s = of_scale.view(scale.data, QDQ_F32);
    y.dtype = static_cast<qdq_dtype>(accepted.computed);
    y.shape = x.shape;
    static const qdq_options acl = compat::profile("acl");
    const compat::ascend::scales_of_groups groups(x.rank, x.shape, accepted.shared, qdq_dtype_bits(y.dtype));
    if (accepted.largest != 0) {
        groups.compute(static_cast<const float *>(x.data), accepted.largest, s);
        return compat::in_terms_of(accepted.names(), qdq_quantize(&x, &s, nullptr, &y, &acl));
    }
    if (offset == nullptr) {
        return compat::in_terms_of(accepted.names(), qdq_quantize_dynamic(&x, &s, nullptr, &y, nullptr, &acl));
    }
    const qdq_tensor o = of_scale.view(offset->data, QDQ_F32);
    groups.compute(static_cast<const float *>(x.data), s, o);
    qdq_options options = acl;
    options.quantize_zp = QDQ_ZP_BEFORE_ROUNDING;
    return compat::in_terms_of(accepted.names(), qdq_quantize(&x, &s, &o, &y, &options));
}

inline constexpr compat::argument_names mx_names{"torch_npu.npu_dynamic_mx_quant", "input", "mxscale", "", "y"};

struct dynamic_mx_call {
    dtype computed = dtype::f4e2m1, returned = dtype::u8;
    sizes y, scale;  // shapes of the results
    std::int32_t along = 0;
    std::int64_t block = 32;
    qdq_scale_rule rule = QDQ_SCALE_POWER_FLOOR;
    compat::ascend::float4_mode mode{};
    float largest = 0, least = 0;  // by which scales are computed here; 0: by the rule

    bool is_qdqs_own() const { return mode == compat::ascend::float4_mode::rint && largest == 0; }
};

// Which scales, of an accepted type and block.
inline verdict check_scale_alg(const dynamic_mx_quant_keywords &how, bool is_float4, dynamic_mx_call &accepted) {
    const char *const function = mx_names.function;
    const bool is_e2m1 = accepted.computed == dtype::f4e2m1;
    const std::int64_t alg = how.scale_alg.value_or(0);
    if (alg != 0 && alg != (is_e2m1 ? 2 : is_float4 ? 0 : 1)) {
        return fail("%s: scale_alg: %lld is not 0%s", function, static_cast<long long>(alg),
                    is_e2m1     ? " or 2"
                    : is_float4 ? ""
                                : " or 1");
    }
    if (alg == 2 && accepted.block != 32) {
        return fail("%s: block_size: %lld is not 32, that of scale_alg 2", function,
                    static_cast<long long>(accepted.block));
    }
    if (how.dst_type_max != 0 && (alg != 2 || !(how.dst_type_max >= 6 && how.dst_type_max <= 12))) {
        return fail("%s: dst_type_max: %g is not 0%s", function, how.dst_type_max,
                    alg == 2 ? ", nor in 6..12" : ", as without scale_alg 2");
    }
    if (how.max_low_bound != 0 && (alg != 1 || !(how.max_low_bound > 0 && how.max_low_bound <= 0x1.fffffep127))) {
        return fail("%s: max_low_bound: %g is not 0%s", function, how.max_low_bound,
                    alg == 1 ? ", nor above it and an f32" : ", as without scale_alg 1");
    }
    accepted.rule = alg == 0 ? QDQ_SCALE_POWER_FLOOR : QDQ_SCALE_POWER_ROUND_UP;
    accepted.least = static_cast<float>(how.max_low_bound);
    if (how.dst_type_max != 0) {
        accepted.largest = static_cast<float>(how.dst_type_max);
    } else if (accepted.least > 0) {
        accepted.largest = accepted.computed == dtype::f8e5m2 ? 57344 : 448;
    }
    return QDQ_OK;
}

inline verdict check(const Tensor &input, const dynamic_mx_quant_keywords &how, dynamic_mx_call &accepted) {
    using namespace compat;
    const char *const function = mx_names.function;
    if (const verdict sound = check_given(function, "input", input, 1); !sound) {
        return sound;
    }
    const qdq_tensor x = input.c();
    if (x.rank == ascend::most_dimensions || !is_one_of(x.dtype, {dtype::f16, dtype::bf16, dtype::f32})) {
        return fail("%s: input: dtype %s and %d dimensions are not f16, bf16 or f32, and at most 7", function,
                    info(x.dtype).name, int(x.rank));
    }
    static constexpr struct {
        type_number type;
        dtype computed, returned;
    } types[] = {{float4_e2m1fn_x2, dtype::f4e2m1, dtype::u8},
                 {float4_e1m2fn_x2, dtype::f4e1m2, dtype::u8},
                 {float8_e5m2, dtype::f8e5m2, dtype::f8e5m2},
                 {float8_e4m3fn, dtype::f8e4m3, dtype::f8e4m3}};
    const auto *type = std::ranges::find_if(types, [&](const auto &each) { return is(how.dst_type, each.type); });
    if (type == std::end(types)) {
        return fail(
            "%s: dst_type: %s is not one of float4_e2m1fn_x2 (296), float4_e1m2fn_x2 (297), float8_e5m2, float8_e4m3fn",
            function, type_name(how.dst_type).c_str());
    }
    accepted.computed = type->computed;
    accepted.returned = type->returned;
    const bool is_float4 = accepted.returned == dtype::u8;
    const std::int64_t axis = how.axis;
    if (axis < -x.rank || axis >= x.rank) {
        return fail("%s: axis: %lld is not in [%d, %d)", function, static_cast<long long>(axis), int(-x.rank),
                    int(x.rank));
    }
    accepted.along = static_cast<std::int32_t>(axis < 0 ? axis + x.rank : axis);
    if (!ascend::find_float4_mode(how.round_mode, accepted.mode) ||
        (!is_float4 && accepted.mode != ascend::float4_mode::rint)) {
        return fail("%s: round_mode: \"%.*s\" is not %s", function,
                    int(std::min<std::size_t>(how.round_mode.size(), 100)), how.round_mode.data(),
                    is_float4 ? "one of rint, floor, round" : "rint, the one for float8");
    }
    accepted.block = how.block_size;
    if (accepted.block < 32 || accepted.block > 1024 || accepted.block % 32 != 0) {
        return fail("%s: block_size: %lld is not a multiple of 32 in 32..1024", function,
                    static_cast<long long>(accepted.block));
    }
    if (is_one_of(x.dtype, {dtype::f32}) && (accepted.block != 32 || x.shape[accepted.along] < 32)) {
        return fail("%s: block_size: %lld; an input of f32 has blocks of 32 alone, and one at least", function,
                    static_cast<long long>(accepted.block));
    }
    if (const verdict allowed = check_scale_alg(how, is_float4, accepted); !allowed) {
        return allowed;
    }
    accepted.y = accepted.scale = sizes(shape_of(x));
    if (is_float4 && accepted.y.last() % 2 != 0) {
        return fail("%s: input: the last dimension, %lld, is not even (%s)", function,
                    static_cast<long long>(accepted.y.last()), type_name(how.dst_type).c_str());
    }
    accepted.y.last() /= is_float4 ? 2 : 1;
    const ascend::mx_scales scales(x.rank, x.shape, accepted.along, accepted.block);
    accepted.scale.size[static_cast<std::size_t>(accepted.along)] = scales.pairs();
    accepted.scale.size[accepted.scale.rank++] = 2;
    return QDQ_OK;
}

// What qdq_quantize_dynamic() does not: scales by another largest code, and codes of float4 by another mode. y is of
// the codes' type.
inline verdict quantize_blocks(const qdq_tensor &x, const qdq_tensor &scale, const qdq_tensor &y,
                               const compat::ascend::mx_scales &scales, const qdq_scale_options &how,
                               const qdq_options &options, const dynamic_mx_call &accepted) {
    const compat::owned_tensor wide(dtype::f32, compat::shape_of(x), compat::owned_tensor::uninitialized{});
    if (wide.problem() != nullptr) {
        return {QDQ_OUT_OF_MEMORY, compat::out_of_memory};
    }
    const qdq_tensor w = wide.c();
    auto *const values = static_cast<float *>(w.data);
    auto *const plain = static_cast<std::uint8_t *>(scale.data);
    const std::int64_t length = x.shape[accepted.along];
    if (const qdq_status widened = compat::ascend::widen(x, values); widened != QDQ_OK) {
        return compat::in_terms_of(mx_names, widened);
    }
    if (accepted.largest != 0) {
        scales.compute(values, length, accepted.block, accepted.largest, accepted.least, plain);
    } else if (const qdq_status done = qdq_quantize_dynamic(&w, &scale, nullptr, &y, &how, &options); done != QDQ_OK) {
        return compat::in_terms_of(mx_names, done);
    }
    const bool rounds_here = accepted.mode != compat::ascend::float4_mode::rint;
    if (rounds_here) {
        scales.each(values, length, accepted.block, plain, [&](float &value, std::uint8_t by) {
            value = compat::ascend::rounded_to_float4(value, by, accepted.computed == dtype::f4e2m1, accepted.mode);
        });
    }
    return compat::in_terms_of(mx_names, qdq_quantize(rounds_here ? &w : &x, &scale, nullptr, &y, &options));
}

// y and paired are dense.
inline verdict compute(qdq_tensor y, const qdq_tensor &paired, const Tensor &input, const dynamic_mx_call &accepted) {
    const qdq_tensor x = input.c();
    const compat::ascend::mx_scales scales(x.rank, x.shape, accepted.along, accepted.block);
    sizes plain_shape(compat::shape_of(x));
    plain_shape.size[static_cast<std::size_t>(accepted.along)] = scales.blocks;
    const compat::owned_tensor plain(dtype::e8m0, plain_shape.span(), compat::owned_tensor::uninitialized{});
    if (plain.problem() != nullptr) {
        return {QDQ_OUT_OF_MEMORY, compat::out_of_memory};
    }
    y.dtype = static_cast<qdq_dtype>(accepted.computed);
    y.shape = x.shape;
    const qdq_tensor s = plain.c();
    qdq_options options{};
    options.axis = accepted.along;
    options.block_size = accepted.block;
    qdq_scale_options how{};
    how.rule = accepted.rule;
    const verdict done =
        accepted.is_qdqs_own() || scales.count() == 0
            ? verdict(compat::in_terms_of(mx_names, qdq_quantize_dynamic(&x, &s, nullptr, &y, &how, &options)))
            : quantize_blocks(x, s, y, scales, how, options, accepted);
    if (!done) {
        return done;
    }
    scales.lay_out(static_cast<const std::uint8_t *>(s.data), static_cast<std::uint8_t *>(paired.data));
    return QDQ_OK;
}

// Codes, and scales, or scales and offsets, in new tensors, which `compute` fills.
template<typename Results, typename Compute>
compat::expected<Results> all_made_by(dtype of_codes, const sizes &codes, dtype of_scales, const sizes &scales,
                                      Compute &&compute) {
    compat::expected<Results> made(std::in_place);
    const verdict done = std::apply(
        [&](compat::owned_tensor &y, auto &...others) {
            y = {of_codes, codes.span(), compat::owned_tensor::uninitialized{}};
            ((others = {of_scales, scales.span(), compat::owned_tensor::uninitialized{}}), ...);
            const bool has_room = y.problem() == nullptr && ((others.problem() == nullptr) && ...);
            return has_room ? verdict(compute(y.c(), others.c()...))
                            : verdict(QDQ_OUT_OF_MEMORY, compat::out_of_memory);
        },
        *made);
    if (!done) {
        compat::become(made, done);
    }
    return made;
}

}  // namespace detail

/// (x + offset) * scale.
///
/// x: i8, e5m2, e4m3fn, or u8, which is HiFloat8, any strides, or i32 of eight int4 in each, dense. It has at most 8
/// dimensions, of i32 1 at least, and may be empty. scale: f32 or bf16, of float8 and HiFloat8 f32; one, or the
/// result's length along its last or last but one dimension. Such a scale has one dimension, or the result's rank with
/// 1 everywhere else. The result is f16 or bf16, of x's shape; of i32 its last dimension is eight times x's.
inline compat::expected<compat::owned_tensor> npu_anti_quant(const Tensor &x, const Tensor &scale,
                                                             const anti_quant_keywords &how = {}) {
    detail::anti_quant_call accepted;
    if (const compat::verdict allowed = detail::check(x, scale, how, accepted); !allowed) {
        return allowed;
    }
    return compat::made_by(accepted.returned, accepted.shape.span(),
                           [&](const qdq_tensor &y) { return detail::compute(y, x, scale, how, accepted); });
}

/// Codes by scales that are computed of x, and the scales, of f32.
///
/// x: f16 or bf16, 2 to 8 dimensions, any strides; may be empty. quant_mode: "pertoken" has a scale for each row, and
/// scales of x's shape without its last dimension. "pertensor" has one, "perchannel" one for each column of x's last
/// two dimensions. smooth_scales: as many as x's last dimension ("perchannel": the last but one), or with group_index
/// [groups, x's last dimension]; x is multiplied by them in f32 first. group_index: i32 [groups], which do not fall;
/// the last is the number of x's rows. dst_type_max: L of hifloat8, from 2^-23 to 32768; below it 32768, and of other
/// types without effect. The codes have x's shape and are i8, e5m2, e4m3fn, or u8 of hifloat8; of
/// quint4x2 i32, and an eighth of x's last dimension.
inline compat::expected<codes_and_scales> npu_dynamic_quant(const Tensor &x, const dynamic_quant_keywords &how = {}) {
    detail::dynamic_quant_call accepted;
    if (const compat::verdict allowed = detail::check(x, how, accepted); !allowed) {
        return allowed;
    }
    return detail::all_made_by<codes_and_scales>(accepted.returned, accepted.y, dtype::f32, accepted.scale,
                                                 [&](const qdq_tensor &y, const qdq_tensor &scale) {
                                                     return detail::compute(y, scale, nullptr, x, how, accepted);
                                                 });
}

/// The same by scales and offsets, which follow the codes, both of f32. For codes from L to H, and max and min of what
/// shares them: scale = (max - min) / (H - L), 1 where that is 0; offset = H - max / scale. The codes are
/// round(x / scale + offset). dst_type: int8 or quint4x2.
inline compat::expected<codes_scales_and_offsets> npu_dynamic_quant_asymmetric(const Tensor &x,
                                                                               const dynamic_quant_keywords &how = {}) {
    detail::dynamic_quant_call accepted{.is_asymmetric = true};
    if (const compat::verdict allowed = detail::check(x, how, accepted); !allowed) {
        return allowed;
    }
    return detail::all_made_by<codes_scales_and_offsets>(
        accepted.returned, accepted.y, dtype::f32, accepted.scale,
        [&](const qdq_tensor &y, const qdq_tensor &scale, const qdq_tensor &offset) {
            return detail::compute(y, scale, &offset, x, how, accepted);
        });
}

/// Codes of microscaling formats, and their scales, e8m0 in bytes of u8.
///
/// input: f16, bf16 or f32, 1 to 7 dimensions, any strides; may be empty. An input of f32 has blocks of 32, and as many
/// elements along axis at least. scale_alg 0 follows the exponent of the largest magnitude, amax. 1, of float8, is the
/// least power of two from amax / L on, where amax is max_low_bound at least. 2, of e2m1 in blocks of 32, is the least
/// from amax / dst_type_max on. The codes are e5m2 or e4m3fn of input's shape, or of float4 u8 and half of input's
/// last dimension. A byte has two e2m1 or e1m2, the first in its low half. The scales have input's shape with half as
/// many, rounded up, as there are blocks along axis, and a last dimension of 2: two neighbours along axis. 0 fills up
/// an odd number.
inline compat::expected<codes_and_scales> npu_dynamic_mx_quant(const Tensor &input,
                                                               const dynamic_mx_quant_keywords &how = {}) {
    detail::dynamic_mx_call accepted;
    if (const compat::verdict allowed = detail::check(input, how, accepted); !allowed) {
        return allowed;
    }
    return detail::all_made_by<codes_and_scales>(
        accepted.returned, accepted.y, dtype::u8, accepted.scale,
        [&](const qdq_tensor &y, const qdq_tensor &scale) { return detail::compute(y, scale, input, accepted); });
}

}  // namespace qdq::torch_npu
