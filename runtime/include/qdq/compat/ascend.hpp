// What CANN's functions and torch_npu's share: their smooth scales and MX scales in terms of qdq.h. Nothing here
// allocates, throws or needs the C++ library.
#pragma once

#include <qdq/qdq.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

/// What CANN's front end and torch_npu's share.
namespace qdq::compat::ascend {

/// How many dimensions qdq takes.
inline constexpr std::int32_t most_dimensions = 8;

/// Shape and strides of a view of a tensor that has others.
struct layout {
    std::int32_t rank;                      ///< how many dimensions
    std::int64_t shape[most_dimensions];    ///< their sizes
    std::int64_t strides[most_dimensions];  ///< in elements

    /// Those of a tensor.
    explicit constexpr layout(const qdq_tensor &t) : rank(t.rank), shape{}, strides{} {
        std::int64_t dense = 1;
        for (std::int32_t d = rank - 1; d >= 0; --d) {
            shape[d] = t.shape[d];
            strides[d] = t.strides != nullptr ? t.strides[d] : dense;
            (void)__builtin_mul_overflow(dense, shape[d], &dense);
        }
    }
    /// A tensor of one dimension spread over another's shape: it varies along dimension `along`.
    constexpr layout(const qdq_tensor &line, const qdq_tensor &over, std::int32_t along) : layout(over) {
        const std::int64_t stride = layout(line).strides[0];
        for (std::int32_t d = 0; d < rank; ++d) {
            strides[d] = d == along ? stride : 0;
        }
    }
    /// One more dimension, of one element.
    constexpr void insert(std::int32_t at) {
        for (std::int32_t d = rank++; d > at; --d) {
            shape[d] = shape[d - 1];
            strides[d] = strides[d - 1];
        }
        shape[at] = 1;
        strides[at] = 0;
    }
    /// Whether the elements lie one after another.
    constexpr bool is_dense() const {
        std::int64_t dense = 1;
        for (std::int32_t d = rank - 1; d >= 0; --d) {
            if (shape[d] != 1 && strides[d] != dense) {
                return false;
            }
            (void)__builtin_mul_overflow(dense, shape[d], &dense);
        }
        return true;
    }
    /// How many elements; of more than there are addresses any number, which qdq refuses later.
    constexpr std::int64_t count() const {
        std::int64_t product = 1;
        for (std::int32_t d = 0; d < rank; ++d) {
            (void)__builtin_mul_overflow(product, shape[d], &product);
        }
        return product;
    }
    /// A view with it, valid as long as this object.
    qdq_tensor view(void *data, qdq_dtype type) const { return {data, type, rank, shape, strides, {}}; }
};

/// The bytes from the lowest to the highest that a view with elements touches.
struct byte_range {
    std::uintptr_t begin;  ///< the first
    std::uintptr_t end;    ///< the one after the last
    /// Of a tensor with elements.
    explicit byte_range(const qdq_tensor &t) : begin(reinterpret_cast<std::uintptr_t>(t.data)), end(begin) {
        const layout of(t);
        const auto bits = static_cast<std::uintptr_t>(qdq_dtype_bits(t.dtype));
        std::uintptr_t below = 0, above = 0;
        for (std::int32_t d = 0; d < of.rank; ++d) {
            const auto reach =
                static_cast<std::uintptr_t>(of.shape[d] - 1) * static_cast<std::uintptr_t>(of.strides[d]);
            of.strides[d] < 0 ? below -= reach : above += reach;
        }
        begin -= below * bits / 8;
        end += ((above + 1) * bits + 7) / 8;
    }
    /// Whether two have a byte in common.
    constexpr bool meets(const byte_range &other) const { return begin < other.end && other.begin < end; }
};

/// product = x * factors in f32, each rounded once. The product is dense, of x's shape, as is the view of factors. As
/// (0 + factor) * x it is one of qdq's own: a factor of -0 counts as 0.
inline qdq_status multiply(const qdq_tensor &x, const qdq_tensor &factors, float *product) {
    static constexpr std::int64_t everywhere[most_dimensions] = {};
    static constexpr std::int8_t zero = 0;
    const qdq_tensor zeros{const_cast<std::int8_t *>(&zero), QDQ_I8, x.rank, x.shape, everywhere, {}};
    const qdq_tensor y{product, QDQ_F32, x.rank, x.shape, nullptr, {}};
    qdq_options options{};
    options.dequantize_zp = QDQ_ZP_ADD;
    return qdq_dequantize(&zeros, &x, &factors, &y, &options);
}

/// Row r of a tensor, whose rows are its last dimension, counted in row-major order.
inline qdq_tensor row_of(const qdq_tensor &t, std::int64_t r) {
    const layout all(t);
    std::int64_t element = 0;
    for (std::int32_t d = t.rank - 2; d >= 0; --d) {
        element += r % t.shape[d] * all.strides[d];
        r /= t.shape[d];
    }
    auto *const data = static_cast<std::byte *>(t.data) + element * qdq_dtype_bits(t.dtype) / 8;
    return {data, t.dtype, 1, t.shape + t.rank - 1, t.strides != nullptr ? t.strides + t.rank - 1 : nullptr, t.device};
}

/// x in f32, dense.
inline qdq_status widen(const qdq_tensor &x, float *values) {
    static constexpr std::int64_t everywhere[most_dimensions] = {};
    static constexpr float one = 1;
    return multiply(x, {const_cast<float *>(&one), QDQ_F32, x.rank, x.shape, everywhere, {}}, values);
}

/// multiply() by factors of one dimension, which vary along dimension `along` of x.
inline qdq_status smooth(const qdq_tensor &x, const qdq_tensor &factors, std::int32_t along, float *product) {
    const layout spread(factors, x, along);
    return multiply(x, spread.view(factors.data, factors.dtype), product);
}

/// The same by group, of an x with elements: row g of factors is for the rows of x from end_of(g - 1) on, up to
/// end_of(g). The last end is the number of rows.
template<typename EndOf>
qdq_status smooth_by_group(const qdq_tensor &x, const qdq_tensor &factors, float *product, EndOf &&end_of) {
    const std::int64_t length = x.shape[x.rank - 1], rows = layout(x).count() / length;
    std::int64_t row = 0;
    for (std::int64_t group = 0; group < factors.shape[0]; ++group) {
        // An end that another thread has changed since it was checked is no reason to write past the product.
        for (const std::int64_t end = end_of(group); row < end && row < rows; ++row) {
            if (const qdq_status status = multiply(row_of(x, row), row_of(factors, group), product + row * length)) {
                return status;
            }
        }
    }
    return QDQ_OK;
}

/// Scale and offset of each group of values, as CANN's asymmetric DynamicQuant, for codes from lowest to highest.
/// scale = (max - min) / (highest - lowest), 1 where that is 0; offset = highest - max / scale. Or the scale alone, of
/// a largest code: amax / largest, 1 where that is 0. Each operation is of f32, in the caller's floating-point
/// environment. Where a value is NaN both are.
struct scales_of_groups {
    std::int64_t outer = 1;   ///< of the values, which are [outer, shared, inner]
    std::int64_t shared = 1;  ///< values in a group
    std::int64_t inner = 1;   ///< inside the dimension that shares a scale
    float lowest;             ///< code
    float highest;            ///< code

    /// Of dense values of a shape. `along` is the dimension that shares a scale; the rank where all do.
    constexpr scales_of_groups(std::int32_t rank, const std::int64_t *shape, std::int32_t along, std::int32_t bits)
        : lowest(static_cast<float>(-(1 << (bits - 1)))), highest(-lowest - 1) {
        for (std::int32_t d = 0; d < rank; ++d) {
            (along == rank || d == along ? shared : d < along ? outer : inner) *= shape[d];
        }
    }

    /// Writes them, of any strides that keep elements apart.
    void compute(const float *values, const qdq_tensor &scale, const qdq_tensor &offset) const {
        for (std::int64_t group = 0; group < outer * inner; ++group) {
            const float *const first = values + group / inner * shared * inner + group % inner;
            float most = shared > 0 ? *first : 0, least = most;
            for (std::int64_t i = 1; i < shared; ++i) {
                const float value = first[i * inner];
                most = value > most ? value : most;
                least = value < least || value != value ? value : least;  // NaN stays, and makes all of it NaN
            }
            const float step = (most - least) / (highest - lowest), used = step == 0 ? 1 : step;
            element(scale, group) = sound(used);
            element(offset, group) = sound(highest - most / used);
        }
    }

    /// Writes symmetric ones.
    void compute(const float *values, float largest, const qdq_tensor &scale) const {
        for (std::int64_t group = 0; group < outer * inner; ++group) {
            const float *const first = values + group / inner * shared * inner + group % inner;
            float amax = 0;
            for (std::int64_t i = 0; i < shared; ++i) {
                const float each = __builtin_fabsf(first[i * inner]);
                amax = each > amax || each != each ? each : amax;
            }
            const float step = amax / largest;
            element(scale, group) = sound(step == 0 ? 1 : step);
        }
    }

private:
    // NaN as qdq has it: positive and quiet.
    static constexpr float sound(float value) { return value != value ? __builtin_nanf("") : value; }

    static float &element(const qdq_tensor &t, std::int64_t number) {
        const layout of(t);
        std::int64_t at = 0;
        for (std::int32_t d = t.rank - 1; d >= 0; --d) {
            at += number % t.shape[d] * of.strides[d];
            number /= t.shape[d];
        }
        return static_cast<float *>(t.data)[at];
    }
};

/// Scales of blocks along one dimension of x as CANN's DynamicMxQuant lays them out: two neighbours along the dimension
/// lie side by side, in a last dimension of 2. An odd number of blocks has a scale of 2^-127, code 0, at its end.
struct mx_scales {
    std::int64_t outer = 1;  ///< of the plain scales, which are [outer, blocks, inner]
    std::int64_t blocks;     ///< along the axis
    std::int64_t inner = 1;  ///< inside it

    /// For blocks of `block` elements along dimension `axis` of a shape.
    constexpr mx_scales(std::int32_t rank, const std::int64_t *shape, std::int32_t axis, std::int64_t block)
        : blocks(shape[axis] / block + (shape[axis] % block != 0 ? 1 : 0)) {
        for (std::int32_t d = 0; d < rank; ++d) {
            std::int64_t &side = d < axis ? outer : inner;
            (void)__builtin_mul_overflow(side, d == axis ? 1 : shape[d], &side);
        }
    }
    /// How many plain scales, of a byte each.
    constexpr std::uint64_t count() const {
        return static_cast<std::uint64_t>(outer) * static_cast<std::uint64_t>(blocks) *
               static_cast<std::uint64_t>(inner);
    }
    /// How many pairs of blocks along the dimension.
    constexpr std::int64_t pairs() const { return (blocks + 1) / 2; }

    /// CANN's layout, [outer, pairs, inner, 2], of plain scales.
    constexpr void lay_out(const std::uint8_t *plain, std::uint8_t *paired) const {
        for (std::int64_t o = 0; o < outer; ++o) {
            for (std::int64_t b = 0; b < 2 * pairs(); ++b) {
                std::uint8_t *const to = paired + (o * pairs() + b / 2) * inner * 2 + b % 2;
                for (std::int64_t i = 0; i < inner; ++i) {
                    to[2 * i] = b < blocks ? plain[(o * blocks + b) * inner + i] : std::uint8_t{0};
                }
            }
        }
    }

    /// Plain scales of dense values, `length` along the axis: the least power of two that is not below amax / largest,
    /// one division, where amax is `least` at least. Of an infinity 2^127, of NaN NaN.
    void compute(const float *values, std::int64_t length, std::int64_t block, float largest, float least,
                 std::uint8_t *plain) const {
        for (std::int64_t s = 0; s < outer * blocks * inner; ++s) {
            const std::int64_t o = s / inner / blocks, b = s / inner % blocks, i = s % inner;
            float amax = least;
            for (std::int64_t a = b * block; a < length && a < (b + 1) * block; ++a) {
                const float each = __builtin_fabsf(values[(o * length + a) * inner + i]);
                amax = each > amax || each != each ? each : amax;
            }
            plain[s] = power_not_below(amax / largest);
        }
    }

    /// Calls use(value, scale) for each of the values, dense and `length` along the axis, with the plain scale of its
    /// block.
    template<typename Use>
    void each(float *values, std::int64_t length, std::int64_t block, const std::uint8_t *plain, Use &&use) const {
        for (std::int64_t o = 0; o < outer; ++o) {
            for (std::int64_t a = 0; a < length; ++a) {
                for (std::int64_t i = 0; i < inner; ++i) {
                    use(values[(o * length + a) * inner + i], plain[(o * blocks + a / block) * inner + i]);
                }
            }
        }
    }

private:
    // By its exponent + 127; NaN is 255.
    static constexpr std::uint8_t power_not_below(float value) {
        const auto bits = __builtin_bit_cast(std::uint32_t, value);
        const std::uint32_t exponent = bits >> 23, fraction = bits & 0x7fffff;
        if (value != value) {
            return 255;
        }
        const bool is_above = exponent == 0 ? fraction > 0x400000 : fraction > 0;  // code 0 is 2^-127
        return static_cast<std::uint8_t>(exponent >= 254 ? 254 : exponent + (is_above ? 1 : 0));
    }
};

/// How CANN's DynamicMxQuant rounds codes of FLOAT4: to nearest even, down, or to nearest with ties away from 0.
enum class float4_mode : std::uint8_t { rint, floor, round };

/// Whether a text names one, which `mode` becomes.
constexpr bool find_float4_mode(std::string_view name, float4_mode &mode) {
    mode = name == "floor" ? float4_mode::floor : name == "round" ? float4_mode::round : float4_mode::rint;
    return mode != float4_mode::rint || name == "rint";
}

/// The value of a code of e2m1, or of e1m2, times its scale, by its exponent + 127, that `value` becomes in the modes
/// floor and round. One beyond the largest code stays beyond it, infinities and NaN stay what they are. In the caller's
/// floating-point environment, of which only flushing of subnormal numbers changes a result.
inline float rounded_to_float4(float value, std::uint8_t scale, bool is_e2m1, float4_mode mode) {
    const auto power_of_two = [](int exponent) {
        return __builtin_bit_cast(double, static_cast<std::uint64_t>(exponent + 1023) << 52);
    };
    const int exponent = scale - 127;
    const double scaled = __builtin_fabs(static_cast<double>(value)) * power_of_two(-exponent);
    if (!(scaled < 8)) {
        return value;
    }
    const double step = !is_e2m1 ? 0.25 : scaled < 2 ? 0.5 : scaled < 4 ? 1 : 2;
    const auto whole = static_cast<int>(scaled / step);
    const double rest = scaled / step - whole;
    const bool grows = mode == float4_mode::round ? rest >= 0.5 : rest > 0 && value < 0;
    const double magnitude = (whole + (grows ? 1 : 0)) * step * power_of_two(exponent), largest = 0x1.fffffep127;
    return static_cast<float>(
        __builtin_copysign(magnitude < largest ? magnitude : largest, static_cast<double>(value)));
}

}  // namespace qdq::compat::ascend
