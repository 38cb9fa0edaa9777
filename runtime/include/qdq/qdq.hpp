/// @file
/// qdq for C++20: views, scoped enums and results over the C interface in qdq.h, whose rules hold here too.
///
/// @code
/// std::vector<float> x = ...;                        // 2 x 3
/// std::vector<int8_t> y(x.size());
/// float scale = 0.1f;
/// qdq::result done = qdq::quantize({x, {2, 3}}, qdq::scalar(scale), {y, {2, 3}});
/// if (!done) std::puts(done.message());
/// @endcode
///
/// Everything is inline. Nothing here allocates, and nothing throws but value() where there is none.
#pragma once

#if __cplusplus <= 201703L
#error "qdq.hpp and qdq/compat/*.hpp are C++20: compile with -std=c++20, or link the CMake target qdq::cpp"
#endif

#include <qdq/qdq.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <ranges>
#include <span>
#include <type_traits>

/// qdq.h for C++20.
namespace qdq {

/// Element types; qdq_dtype says what each is.
enum class dtype {
    f32 = QDQ_F32,                ///< QDQ_F32
    f16 = QDQ_F16,                ///< QDQ_F16
    bf16 = QDQ_BF16,              ///< QDQ_BF16
    i8 = QDQ_I8,                  ///< QDQ_I8
    u8 = QDQ_U8,                  ///< QDQ_U8
    i16 = QDQ_I16,                ///< QDQ_I16
    u16 = QDQ_U16,                ///< QDQ_U16
    i32 = QDQ_I32,                ///< QDQ_I32
    i4 = QDQ_I4,                  ///< QDQ_I4
    u4 = QDQ_U4,                  ///< QDQ_U4
    f8e4m3 = QDQ_F8E4M3,          ///< QDQ_F8E4M3
    f8e5m2 = QDQ_F8E5M2,          ///< QDQ_F8E5M2
    f4e2m1 = QDQ_F4E2M1,          ///< QDQ_F4E2M1
    e8m0 = QDQ_E8M0,              ///< QDQ_E8M0
    f8e4m3fnuz = QDQ_F8E4M3FNUZ,  ///< QDQ_F8E4M3FNUZ
    f8e5m2fnuz = QDQ_F8E5M2FNUZ,  ///< QDQ_F8E5M2FNUZ
    f6e2m3 = QDQ_F6E2M3,          ///< QDQ_F6E2M3
    f6e3m2 = QDQ_F6E3M2,          ///< QDQ_F6E3M2
    i2 = QDQ_I2,                  ///< QDQ_I2
    u2 = QDQ_U2,                  ///< QDQ_U2
    f4e1m2 = QDQ_F4E1M2,          ///< QDQ_F4E1M2
    hif8 = QDQ_HIF8               ///< QDQ_HIF8
};
/// What a call came to.
enum class status {
    ok = QDQ_OK,                              ///< success
    invalid_argument = QDQ_INVALID_ARGUMENT,  ///< an argument breaks a rule of qdq.h
    unsupported = QDQ_UNSUPPORTED,            ///< this build has no kernel, or this machine no usable target
    device_error = QDQ_DEVICE_ERROR,          ///< a device's driver refused or failed
    out_of_memory = QDQ_OUT_OF_MEMORY         ///< no memory, of the host or of a device
};
/// How quantize applies the scale. Dequantize always multiplies.
enum class scale_mode {
    divide = QDQ_DIVIDE,         ///< x / scale, correctly rounded
    multiply = QDQ_MULTIPLY,     ///< x * scale
    reciprocal = QDQ_RECIPROCAL  ///< x * (1 / scale): two roundings
};
/// Where quantize adds the zero point.
enum class quantize_zp {
    after_rounding = QDQ_ZP_AFTER_ROUNDING,   ///< an exact sum
    before_rounding = QDQ_ZP_BEFORE_ROUNDING  ///< an f32 sum
};
/// What dequantize does with the zero point.
enum class dequantize_zp {
    subtract = QDQ_ZP_SUBTRACT,  ///< (q - zero_point) * scale
    add = QDQ_ZP_ADD             ///< (q + zero_point) * scale
};
/// How quantize rounds to an integer type; a float type takes the first and the last.
enum class rounding {
    nearest_even = QDQ_NEAREST_EVEN,  ///< ties to even
    nearest_away = QDQ_NEAREST_AWAY,  ///< ties away from 0
    toward_zero = QDQ_TOWARD_ZERO,    ///< toward 0
    down = QDQ_DOWN,                  ///< toward minus infinity
    up = QDQ_UP,                      ///< toward plus infinity
    stochastic = QDQ_STOCHASTIC       ///< by chance, of float types, too: qdq_rounding
};
/// How y is written on the host: a hint, which changes no result.
enum class stores {
    by_size = QDQ_STORES_BY_SIZE,         ///< cached where x and y are small enough for the caches
    cached = QDQ_STORES_CACHED,           ///< y is read at once
    nontemporal = QDQ_STORES_NONTEMPORAL  ///< y is not read soon
};
/// What quantize makes of NaN where y is integer.
enum class nan_code {
    lowest = QDQ_NAN_LOWEST,  ///< the lowest code
    zero = QDQ_NAN_ZERO       ///< 0
};
/// How a scale follows from the elements that share it.
enum class scale_rule {
    absmax = QDQ_SCALE_ABSMAX,                  ///< the largest |x| over the largest value of y
    minmax = QDQ_SCALE_MINMAX,                  ///< lowest to highest over the range of codes, with a zero point
    power_floor = QDQ_SCALE_POWER_FLOOR,        ///< OCP's power of two: floor of log2
    power_ceil = QDQ_SCALE_POWER_CEIL,          ///< the ceiling of log2
    power_even = QDQ_SCALE_POWER_EVEN,          ///< the floor, of a rounded |x|
    power_round_up = QDQ_SCALE_POWER_ROUND_UP,  ///< the least power of two that saturates nothing
};
/// In which sense a tensor has a scale of its own.
enum class global_sense {
    none = QDQ_GLOBAL_NONE,       ///< it has none
    scale = QDQ_GLOBAL_SCALE,     ///< block scales are multiplied by it: torchao's per_tensor_scale
    inverse = QDQ_GLOBAL_INVERSE  ///< block scales are divided by it: compressed-tensors' and vLLM's global_scale
};
/// Where the scales of matrices lie for tensor cores.
enum class scale_layout {
    tiled_128x4 = QDQ_SCALES_TILED_128X4,   ///< cuBLAS's: tiles of 128 rows and 4 columns
    column_words = QDQ_SCALES_COLUMN_WORDS  ///< DeepGEMM's: four of a row in a word, words column by column
};
/// How a packed 4-bit tensor holds its elements.
enum class packing {
    low_first = QDQ_LOW_FIRST,        ///< the first in the low nibble
    high_first = QDQ_HIGH_FIRST,      ///< the first in the high nibble
    split_halves = QDQ_SPLIT_HALVES,  ///< elements j and j + 16 of 32 in a byte
    dense = QDQ_DENSE                 ///< of f6: four codes in three bytes, given by a pointer: a range has one in each
};

/// Storage for the types C++ has no name for. The 4-bit pairs hold two elements and the 2-bit quads four, the first in
/// the lowest bits. Shapes still count elements: n of them are stored in (n + 1) / 2 pairs or (n + 3) / 4 quads.
template<dtype type, typename Bits> struct code {
    Bits bits;  ///< the bits of one element, or of several packed ones
};
using f16 = code<dtype::f16, std::uint16_t>;               ///< binary16
using bf16 = code<dtype::bf16, std::uint16_t>;             ///< bfloat16
using f8e4m3 = code<dtype::f8e4m3, std::uint8_t>;          ///< e4m3fn
using f8e5m2 = code<dtype::f8e5m2, std::uint8_t>;          ///< e5m2
using e8m0 = code<dtype::e8m0, std::uint8_t>;              ///< a power of two
using f8e4m3fnuz = code<dtype::f8e4m3fnuz, std::uint8_t>;  ///< AMD's e4m3
using f8e5m2fnuz = code<dtype::f8e5m2fnuz, std::uint8_t>;  ///< AMD's e5m2
using f6e2m3 = code<dtype::f6e2m3, std::uint8_t>;          ///< e2m3, one to a byte
using f6e3m2 = code<dtype::f6e3m2, std::uint8_t>;          ///< e3m2, one to a byte
using hif8 = code<dtype::hif8, std::uint8_t>;              ///< HiFloat8
using i4_pair = code<dtype::i4, std::uint8_t>;             ///< two i4
using u4_pair = code<dtype::u4, std::uint8_t>;             ///< two u4
using f4e2m1_pair = code<dtype::f4e2m1, std::uint8_t>;     ///< two e2m1
using f4e1m2_pair = code<dtype::f4e1m2, std::uint8_t>;     ///< two e1m2
using i2_quad = code<dtype::i2, std::uint8_t>;             ///< four i2
using u2_quad = code<dtype::u2, std::uint8_t>;             ///< four u2

/// The dtype of a storage type. Specialize it for a half-precision type of your own with the same bits.
template<typename T> struct dtype_of {};
/// A dtype as a type.
template<dtype type> using dtype_is = std::integral_constant<dtype, type>;
template<dtype type, typename Bits> struct dtype_of<code<type, Bits>> : dtype_is<type> {};
template<> struct dtype_of<float> : dtype_is<dtype::f32> {};
template<> struct dtype_of<std::int8_t> : dtype_is<dtype::i8> {};
template<> struct dtype_of<std::uint8_t> : dtype_is<dtype::u8> {};
template<> struct dtype_of<std::int16_t> : dtype_is<dtype::i16> {};
template<> struct dtype_of<std::uint16_t> : dtype_is<dtype::u16> {};
template<> struct dtype_of<std::int32_t> : dtype_is<dtype::i32> {};

/// What a tensor can be made of: a type with a dtype_of.
template<typename T>
concept element = requires { dtype_of<std::remove_cv_t<T>>::value; };

/// Contiguous memory of a known length that outlives the expression: a span, or a vector, array or C array with a name.
template<typename R>
concept storage = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && std::ranges::borrowed_range<R> &&
                  element<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/// Storage that may be written.
template<typename R>
concept writable_storage = storage<R> && std::ranges::output_range<R, std::ranges::range_value_t<R>>;

/// A list of dimensions: {2, 3}, or any range of integers. One of int64_t is viewed, others are converted.
class dimensions {
public:
    /// No dimensions: a scalar.
    constexpr dimensions() = default;
    /// The sizes in braces.
    constexpr dimensions(std::initializer_list<std::int64_t> list) : values(list.begin(), list.size()) {}
    /// The integers of a range.
    template<std::ranges::input_range R>
        requires std::integral<std::ranges::range_value_t<R>>
    constexpr dimensions(const R &list) {
        if constexpr (std::ranges::contiguous_range<const R> &&
                      std::same_as<std::ranges::range_value_t<R>, std::int64_t>) {
            values = list;
        } else {
            std::size_t count = 0;
            for (auto size : list) {
                if (count == converted_.size()) {
                    break;  // one more than a tensor has, which it says
                }
                converted_[count++] = static_cast<std::int64_t>(size);
            }
            values = std::span(converted_).first(count);
        }
    }
    /// The same sizes.
    constexpr dimensions(const dimensions &other) : values(other.values) {
        if (values.data() == other.converted_.data()) {
            converted_ = other.converted_;
            values = std::span(converted_).first(values.size());
        }
    }
    dimensions &operator=(const dimensions &) = delete;

    /// The sizes, valid as long as this object and what it views.
    std::span<const std::int64_t> values;

private:
    std::array<std::int64_t, 9> converted_;
};

/// A read-only view of memory the caller owns. Shape and strides are copied, so they may be
/// temporaries; the data must outlive every use of the view. Strides count elements, and may be 0 or negative; left
/// out, they are dense row-major. A default one stands for "no tensor".
///
/// A range shorter than its dense shape is an error of the call. Pointers and strided views are taken on trust. A range
/// that is a temporary does not compile.
class tensor {
public:
    /// No tensor.
    constexpr tensor() = default;

    /// Memory of a known element type.
    template<element T>
    constexpr tensor(const T *data, const dimensions &shape, const dimensions &strides = {})
        : tensor(data, dtype_of<T>::value, shape, strides) {}

    /// The dtype named, for memory whose type is known at run time only.
    constexpr tensor(const void *data, dtype type, const dimensions &shape, const dimensions &strides = {})
        : data_(const_cast<void *>(data)), type_(type), present_(true), dense_(strides.values.empty()) {
        const bool mismatched = !dense_ && strides.values.size() != shape.values.size();
        if (mismatched) {
            problem_ = "a tensor's shape and strides differ in length";
        }
        if (shape.values.size() > max_rank) {
            problem_ = "a tensor's rank is above 8";
        }
        if (problem_ != nullptr) {
            return;
        }
        rank_ = static_cast<std::int32_t>(shape.values.size());
        copy(shape.values, shape_);
        copy(strides.values, strides_);
    }

    /// A range, which must be as long as the shape says.
    template<storage R>
    constexpr tensor(R &&data, const dimensions &shape, const dimensions &strides = {})
        : tensor(std::ranges::data(data), shape, strides) {
        if (dense_) {
            require_room(capacity(data));
        }
    }

    /// One dimension, as long as the range.
    template<storage R>
    constexpr tensor(R &&data) : tensor(std::ranges::data(data), {static_cast<std::int64_t>(capacity(data))}) {}

    /// What every call refuses with the message `problem`, which outlives it.
    static constexpr tensor wrong(const char *problem) {
        tensor view;
        view.present_ = true;
        view.problem_ = problem;
        return view;
    }

    /// The same view of a device's memory: `data` is what qdq_device says.
    constexpr tensor &on(const qdq_device &device) {
        device_ = device;
        return *this;
    }

    /// Whether there is a tensor.
    constexpr bool has_value() const { return present_; }
    /// Why the view itself is wrong, or nullptr.
    constexpr const char *problem() const { return problem_; }

    /// As C sees it, valid as long as this object.
    constexpr qdq_tensor c() const {
        return {data_,         static_cast<qdq_dtype>(type_),      rank_,
                shape_.data(), dense_ ? nullptr : strides_.data(), device_};
    }

private:
    static constexpr std::size_t max_rank = 8;

    /// At most eight: one by one, as a call of memcpy takes longer.
    static constexpr void copy(std::span<const std::int64_t> from, std::array<std::int64_t, max_rank> &to) {
        for (std::size_t d = 0; d < max_rank; ++d) {
            if (d == from.size()) {
                return;
            }
            to[d] = from[d];
        }
    }

    /// In elements: the packed types hold several in each unit of storage.
    template<typename R> static constexpr std::size_t capacity(const R &data) {
        constexpr dtype type = dtype_of<std::remove_cv_t<std::ranges::range_value_t<R>>>::value;
        constexpr bool pair = type == dtype::i4 || type == dtype::u4 || type == dtype::f4e2m1 || type == dtype::f4e1m2;
        constexpr bool quad = type == dtype::i2 || type == dtype::u2;
        return std::ranges::size(data) * (quad ? 4 : pair ? 2 : 1);
    }

    constexpr void require_room(std::size_t elements) {
        std::size_t needed = 1;
        bool is_short = false;
        for (std::size_t d = 0; d < static_cast<std::size_t>(rank_); ++d) {
            if (shape_[d] <= 0) {
                return;  // empty, or refused by the call with the values
            }
            is_short |= __builtin_mul_overflow(needed, static_cast<std::size_t>(shape_[d]), &needed);
        }
        if ((is_short || needed > elements) && problem_ == nullptr) {
            problem_ = "a tensor's range is shorter than its shape";
        }
    }

    void *data_ = nullptr;
    const char *problem_ = nullptr;
    dtype type_ = dtype::f32;
    std::int32_t rank_ = 0;
    bool present_ = false;
    bool dense_ = true;
    qdq_device device_{};
    std::array<std::int64_t, max_rank> shape_{};
    std::array<std::int64_t, max_rank> strides_{};
};

/// The same view of memory that may be written.
class output : public tensor {
public:
    /// As tensor's constructors, of memory that is not const.
    template<element T>
        requires(!std::is_const_v<T>)
    constexpr output(T *data, const dimensions &shape, const dimensions &strides = {}) : tensor(data, shape, strides) {}
    /// The dtype named.
    constexpr output(void *data, dtype type, const dimensions &shape, const dimensions &strides = {})
        : tensor(data, type, shape, strides) {}
    /// A range, which must be as long as the shape says.
    template<writable_storage R>
    constexpr output(R &&data, const dimensions &shape, const dimensions &strides = {})
        : tensor(data, shape, strides) {}
    /// One dimension, as long as the range.
    template<writable_storage R> constexpr output(R &&data) : tensor(data) {}
};

/// One value for the whole tensor. It must outlive the view, so temporaries are refused.
template<element T> constexpr tensor scalar(const T &value) { return tensor(&value, dimensions{}); }
/// A temporary would not outlive the view.
template<element T> tensor scalar(const T &&value) = delete;

/// No tensor, as the zero point.
inline constexpr tensor none{};

/// As qdq_options.
struct options {
    qdq::scale_mode scale_mode = qdq::scale_mode::divide;  ///< quantize: division or a product
    qdq::quantize_zp quantize_zp =
        qdq::quantize_zp::after_rounding;  ///< quantize: the zero point after rounding, or before
    qdq::dequantize_zp dequantize_zp =
        qdq::dequantize_zp::subtract;                      ///< dequantize: the zero point subtracted, or added
    qdq::rounding rounding = qdq::rounding::nearest_even;  ///< quantize, to an integer type, or stochastically
    bool saturate = true;                                  ///< f8 and hif8: false gives infinity or NaN on overflow
    std::int32_t axis = 0;                                 ///< of a 1-D or blocked scale
    std::int64_t block_size = 0;                           ///< elements per block along `axis`; 0: from the shapes
    std::int32_t quant_min = 0;  ///< the lowest code to saturate to, of an integer type; both 0: the type's own range
    std::int32_t quant_max = 0;  ///< the highest code to saturate to
    qdq::packing packing = qdq::packing::low_first;  ///< of a packed 4-bit x or y; f6 may be dense
    const std::int64_t *block_shape = nullptr;       ///< instead of axis and block_size: one for each dimension of x
    void *stream = nullptr;                          ///< of calls on a device's tensors alone
    qdq::stores stores = qdq::stores::by_size;       ///< a hint, which changes no result
    nan_code nan = nan_code::lowest;                 ///< of quantize, to an integer type
    std::uint64_t random_seed = 0;                   ///< of stochastic rounding
    std::uint64_t random_offset = 0;                 ///< of the first element of x
    bool scale_is_arranged = false;  ///< the scale's data are bytes in `scale_layout`, as arrange_scales() writes them
    qdq::scale_layout scale_layout = qdq::scale_layout::tiled_128x4;  ///< of a scale that is arranged
    qdq::global_sense global_sense = qdq::global_sense::none;         ///< the sense of global_scale
    const float *global_scale = nullptr;  ///< the tensor's own scale, above those of `scale`

    /// As C takes them.
    constexpr qdq_options c() const {
        return {static_cast<qdq_scale_mode>(scale_mode),
                static_cast<qdq_quantize_zp>(quantize_zp),
                static_cast<qdq_dequantize_zp>(dequantize_zp),
                static_cast<qdq_rounding>(rounding),
                saturate ? 0 : 1,
                axis,
                block_size,
                quant_min,
                quant_max,
                static_cast<qdq_packing>(packing),
                block_shape,
                stream,
                static_cast<qdq_stores>(stores),
                static_cast<qdq_nan>(nan),
                random_seed,
                random_offset,
                scale_is_arranged ? 1 : 0,
                static_cast<qdq_scale_layout>(scale_layout),
                static_cast<qdq_global_sense>(global_sense),
                global_scale};
    }
};

/// As qdq_scale_options.
struct scale_options {
    scale_rule rule = scale_rule::absmax;  ///< the rule
    float clip_ratio = 1;                  ///< what amax, or lowest and highest, are multiplied by
    float least_scale = 0;                 ///< a smaller scale becomes this one
    float last_clip_ratio = 0;             ///< of several clip ratios, of which each scale takes the best
    std::int32_t clip_ratio_count = 0;     ///< how many there are, from the first to the last; 0: one
    qdq::global_sense global_sense = qdq::global_sense::none;  ///< the sense of global_scale
    bool computes_global = false;                              ///< global_scale is written, not read
    float global_largest = 0;                                  ///< the largest scale of a block then; 0: 448
    float *global_scale = nullptr;                             ///< the tensor's own scale
    qdq_diagnostics *diagnostics = nullptr;                    ///< written: what was met

    /// As C takes them.
    constexpr qdq_scale_options c() const {
        return {static_cast<qdq_scale_rule>(rule),
                clip_ratio,
                least_scale,
                last_clip_ratio,
                clip_ratio_count,
                static_cast<qdq_global_sense>(global_sense),
                computes_global ? 1 : 0,
                global_largest,
                global_scale,
                diagnostics};
    }
};

/// What a call came to: true on success. A failure keeps its message. The members are those of
/// std::expected<void, result>.
class [[nodiscard]] result {
public:
    /// Of the calling thread's latest call of C: a failure takes qdq_last_error().
    result(qdq_status code) : result(code, code == QDQ_OK ? "" : qdq_last_error()) {}
    /// invalid_argument, with a message, which is copied.
    explicit result(const char *problem) : result(QDQ_INVALID_ARGUMENT, problem) {}
    /// A status with a message, which is copied.
    result(qdq_status code, const char *message) : code_(code) {
        const std::size_t length = std::min(std::strlen(message), sizeof(message_) - 1);
        std::memcpy(message_, message, length);
        message_[length] = '\0';
    }
    /// A copy, with its own message.
    result(const result &other) : result(other.code_, other.message_) {}
    /// A copy, with its own message.
    result &operator=(const result &other) {
        if (this != &other) {
            code_ = other.code_;
            std::memcpy(message_, other.message_, std::strlen(other.message_) + 1);
        }
        return *this;
    }

    /// Whether the call succeeded.
    explicit operator bool() const { return has_value(); }
    /// Whether the call succeeded.
    bool has_value() const { return code_ == QDQ_OK; }
    /// Throws bad_result_access on failure; without exceptions, aborts.
    inline void value() const;
    /// This.
    const result &error() const { return *this; }
    /// What the call came to.
    qdq::status status() const { return static_cast<qdq::status>(code_); }
    /// Which argument, which rule, the values; "" on success.
    const char *message() const { return message_; }

    /// What `next` gives, where this has succeeded; otherwise this failure.
    template<typename Next> auto and_then(Next &&next) const {
        using outcome = std::invoke_result_t<Next>;
        return has_value() ? outcome(std::invoke(std::forward<Next>(next))) : outcome(*this);
    }

private:
    qdq_status code_;
    char message_[512];
};

/// What result::value() throws.
class bad_result_access : public std::exception {
public:
    /// Of a failure, which is copied.
    explicit bad_result_access(const result &failure) : failure_(failure) {}
    /// The message.
    const char *what() const noexcept override { return failure_.message(); }
    /// The failure.
    const result &error() const { return failure_; }

private:
    result failure_;
};

inline void result::value() const {
    if (has_value()) {
        return;
    }
#if defined(__cpp_exceptions)
    throw bad_result_access(*this);
#else
    std::abort();
#endif
}

/// Passes views on to one of the C functions, unless one of them is wrong in itself. `call` takes the C arguments.
template<typename Call>
result with_c(const tensor &x, const tensor &scale, const tensor &zero_point, const output &y, const options &how,
              Call &&call) {
    for (const tensor *view : {&x, &scale, &zero_point, static_cast<const tensor *>(&y)}) {
        if (view->problem() != nullptr) {
            return result(view->problem());
        }
    }
    const qdq_tensor c_x = x.c(), c_scale = scale.c(), c_zero_point = zero_point.c(), c_y = y.c();
    const qdq_options c_how = how.c();
    return call(x.has_value() ? &c_x : nullptr, scale.has_value() ? &c_scale : nullptr,
                zero_point.has_value() ? &c_zero_point : nullptr, &c_y, &c_how);
}

/// y = quantize(x). x: f32, f16, bf16; y: a stored type of x's shape. The scale has one element, x's length along
/// `axis`, or x's rank (blocks); the zero point (or `none`) one element or the scale's shape.
/// invalid_argument: a rule of qdq.h is broken; unsupported: no kernel or usable target. y is untouched on failure.
inline result quantize(const tensor &x, const tensor &scale, const tensor &zero_point, const output &y,
                       const options &how = {}) {
    return with_c(x, scale, zero_point, y, how, [](auto... arguments) { return qdq_quantize(arguments...); });
}
/// Without a zero point.
inline result quantize(const tensor &x, const tensor &scale, const output &y, const options &how = {}) {
    return quantize(x, scale, none, y, how);
}

/// y = dequantize(x). x: a stored type; y: f32, f16, bf16. The rest as for quantize.
inline result dequantize(const tensor &x, const tensor &scale, const tensor &zero_point, const output &y,
                         const options &how = {}) {
    return with_c(x, scale, zero_point, y, how, [](auto... arguments) { return qdq_dequantize(arguments...); });
}
/// Without a zero point.
inline result dequantize(const tensor &x, const tensor &scale, const output &y, const options &how = {}) {
    return dequantize(x, scale, none, y, how);
}

/// y = quantize(dequantize(x)): codes as those of another type, granularity or packing, without an f32 tensor between
/// them. The scale, zero point (or `none`) and options of x are those of dequantize, those of y those of quantize; y
/// may overlap no input. The bits are those of both calls one after the other, by way of f32.
inline result transcode(const tensor &x, const tensor &x_scale, const tensor &x_zero_point, const options &x_how,
                        const output &y, const tensor &y_scale, const tensor &y_zero_point, const options &y_how) {
    return with_c(x, x_scale, x_zero_point, y, x_how,
                  [&](auto *c_x, auto *c_x_scale, auto *c_x_zero_point, auto *c_y, auto *c_x_how) {
                      return with_c(x, y_scale, y_zero_point, y, y_how,
                                    [=](auto *, auto *c_y_scale, auto *c_y_zero_point, auto *, auto *c_y_how) {
                                        return qdq_transcode(c_x, c_x_scale, c_x_zero_point, c_x_how, c_y, c_y_scale,
                                                             c_y_zero_point, c_y_how);
                                    });
                  });
}

/// quantize() of rows in groups that have scales of their own, as the experts of a mixture. Group g is rows offsets[g]
/// to offsets[g + 1] - 1 of x's first dimension. So there is one more of them than groups, which the first dimension
/// of scale and zero point (or `none`) counts.
inline result quantize_grouped(const tensor &x, std::span<const std::int64_t> offsets, const tensor &scale,
                               const tensor &zero_point, const output &y, const options &how = {}) {
    return with_c(x, scale, zero_point, y, how, [&](auto *c_x, auto... arguments) {
        return qdq_quantize_grouped(c_x, offsets.data(), static_cast<std::int64_t>(offsets.size()) - 1, arguments...);
    });
}
/// The same of dequantize().
inline result dequantize_grouped(const tensor &x, std::span<const std::int64_t> offsets, const tensor &scale,
                                 const tensor &zero_point, const output &y, const options &how = {}) {
    return with_c(x, scale, zero_point, y, how, [&](auto *c_x, auto... arguments) {
        return qdq_dequantize_grouped(c_x, offsets.data(), static_cast<std::int64_t>(offsets.size()) - 1, arguments...);
    });
}

/// The bytes that a matrix of scales takes in a layout.
inline std::int64_t arranged_bytes(scale_layout layout, std::int64_t rows, std::int64_t columns) {
    return qdq_arranged_bytes(static_cast<qdq_scale_layout>(layout), rows, columns);
}
/// Copies scales, e8m0 or f8e4m3, into a layout, as qdq_arrange_scales says. The last two dimensions are matrices.
inline result arrange_scales(const tensor &scale, scale_layout layout, std::span<std::uint8_t> arranged) {
    if (scale.problem() != nullptr) {
        return result(scale.problem());
    }
    const qdq_tensor c_scale = scale.c();
    return qdq_arrange_scales(&c_scale, static_cast<qdq_scale_layout>(layout), arranged.data(),
                              static_cast<std::int64_t>(arranged.size()));
}
/// The way back.
inline result restore_scales(std::span<const std::uint8_t> arranged, scale_layout layout, const output &scale) {
    if (scale.problem() != nullptr) {
        return result(scale.problem());
    }
    const qdq_tensor c_scale = scale.c();
    return qdq_restore_scales(arranged.data(), static_cast<std::int64_t>(arranged.size()),
                              static_cast<qdq_scale_layout>(layout), &c_scale);
}

/// Scales of x by a rule, for codes of a type; and zero points, or `none` where the rule has none. Both are written, as
/// qdq_compute_scales says.
inline result compute_scales(const tensor &x, dtype codes, const output &scale, const tensor &zero_point,
                             const scale_options &rule = {}, const options &how = {}) {
    const qdq_scale_options c_rule = rule.c();
    return with_c(
        x, scale, zero_point, scale, how, [&](auto *c_x, auto *c_scale, auto *c_zero_point, auto *, auto *c_how) {
            return qdq_compute_scales(c_x, static_cast<qdq_dtype>(codes), c_scale, c_zero_point, &c_rule, c_how);
        });
}
/// Without zero points.
inline result compute_scales(const tensor &x, dtype codes, const output &scale, const scale_options &rule = {},
                             const options &how = {}) {
    return compute_scales(x, codes, scale, none, rule, how);
}

/// Scales of x, zero points where the rule has such, and y = quantize(x) by them: all are written, as
/// qdq_quantize_dynamic says.
inline result quantize_dynamic(const tensor &x, const output &scale, const tensor &zero_point, const output &y,
                               const scale_options &rule = {}, const options &how = {}) {
    const qdq_scale_options c_rule = rule.c();
    return with_c(x, scale, zero_point, y, how,
                  [&](auto *c_x, auto *c_scale, auto *c_zero_point, auto *c_y, auto *c_how) {
                      return qdq_quantize_dynamic(c_x, c_scale, c_zero_point, c_y, &c_rule, c_how);
                  });
}
/// Without zero points.
inline result quantize_dynamic(const tensor &x, const output &scale, const output &y, const scale_options &rule = {},
                               const options &how = {}) {
    return quantize_dynamic(x, scale, none, y, rule, how);
}

/// quantize_dynamic() of rows in groups, as of quantize_grouped(): scales and zero points are written for each group.
inline result quantize_dynamic_grouped(const tensor &x, std::span<const std::int64_t> offsets, const output &scale,
                                       const tensor &zero_point, const output &y, const scale_options &rule = {},
                                       const options &how = {}) {
    const qdq_scale_options c_rule = rule.c();
    return with_c(
        x, scale, zero_point, y, how, [&](auto *c_x, auto *c_scale, auto *c_zero_point, auto *c_y, auto *c_how) {
            return qdq_quantize_dynamic_grouped(c_x, offsets.data(), static_cast<std::int64_t>(offsets.size()) - 1,
                                                c_scale, c_zero_point, c_y, &c_rule, c_how);
        });
}

/// One result of quantize_dynamic_pair(): the arguments of quantize_dynamic() after x.
struct dynamic_output {
    output scale;          ///< written
    output y;              ///< written: codes
    scale_options rule{};  ///< the rule
    options how{};         ///< of these those about blocks and codes
    tensor zero_point{};   ///< written; none where the rule has none
};

/// Passes two results on to one of the C functions. `call` takes x and both as C has them.
template<typename Call>
result with_c(const tensor &x, const dynamic_output &first, const dynamic_output &second, Call &&call) {
    const qdq_scale_options first_rule = first.rule.c(), second_rule = second.rule.c();
    return with_c(x, first.scale, first.zero_point, first.y, first.how,
                  [&](auto *c_x, auto *scale, auto *zero_point, auto *y, auto *how) {
                      const qdq_dynamic_output c_first{scale, zero_point, y, &first_rule, how};
                      return with_c(x, second.scale, second.zero_point, second.y, second.how,
                                    [&](auto *, auto *of_second, auto *shift, auto *codes, auto *second_how) {
                                        const qdq_dynamic_output c_second{of_second, shift, codes, &second_rule,
                                                                          second_how};
                                        return call(c_x, &c_first, &c_second);
                                    });
                  });
}

/// Quantizes x in two ways at once: with scales of blocks along rows, and of blocks along columns. x is read once where
/// blocks of both allow it, as qdq_quantize_dynamic_pair says.
inline result quantize_dynamic_pair(const tensor &x, const dynamic_output &first, const dynamic_output &second) {
    return with_c(x, first, second, [](auto... arguments) { return qdq_quantize_dynamic_pair(arguments...); });
}

/// A validated call with its kernel chosen, for calls repeated on new data of one layout. It may be copied and shared
/// between threads. The scale and zero point are read at each run and must outlive it; the data of the x and y it is
/// prepared with may be null.
class plan {
public:
    /// Prepares a quantize, by its rules.
    result prepare_quantize(const tensor &x, const tensor &scale, const tensor &zero_point, const output &y,
                            const options &how = {}) {
        return with_c(x, scale, zero_point, y, how,
                      [this](auto... arguments) { return qdq_plan_quantize(&plan_, arguments...); });
    }
    /// Prepares a dequantize, by its rules.
    result prepare_dequantize(const tensor &x, const tensor &scale, const tensor &zero_point, const output &y,
                              const options &how = {}) {
        return with_c(x, scale, zero_point, y, how,
                      [this](auto... arguments) { return qdq_plan_dequantize(&plan_, arguments...); });
    }
    /// Runs it on an x and a y laid out as those that it was prepared with. `stream` is nullptr on the host.
    result run(const void *x, void *y, void *stream = nullptr) const { return qdq_run(&plan_, x, y, stream); }

private:
    qdq_plan plan_{};
};

/// The same of quantize_dynamic(). It remembers the addresses of `global_scale` and `diagnostics`, and no others.
class dynamic_plan {
public:
    /// Prepares it, by the rules of the call.
    result prepare(const tensor &x, const output &scale, const tensor &zero_point, const output &y,
                   const scale_options &rule = {}, const options &how = {}) {
        const qdq_scale_options c_rule = rule.c();
        return with_c(x, scale, zero_point, y, how,
                      [&](auto *c_x, auto *c_scale, auto *c_zero_point, auto *c_y, auto *c_how) {
                          return qdq_plan_quantize_dynamic(&plan_, c_x, c_scale, c_zero_point, c_y, &c_rule, c_how);
                      });
    }
    /// Runs it on tensors laid out as those that it was prepared with. `zero_point` is nullptr where the rule has none,
    /// `stream` on the host.
    result run(const void *x, void *scale, void *zero_point, void *y, void *stream = nullptr) const {
        return qdq_run_dynamic(&plan_, x, scale, zero_point, y, stream);
    }

private:
    qdq_plan plan_{};
};

/// Where a run of dynamic_pair_plan puts one result.
struct dynamic_data {
    void *scale;                 ///< written
    void *y;                     ///< written
    void *zero_point = nullptr;  ///< written, where the rule has one
};

/// The same of quantize_dynamic_pair().
class dynamic_pair_plan {
public:
    /// Prepares it, by the rules of the call.
    result prepare(const tensor &x, const dynamic_output &first, const dynamic_output &second) {
        return with_c(x, first, second, [this](auto... arguments) {
            return qdq_plan_quantize_dynamic_pair(&first_, &second_, arguments...);
        });
    }
    /// Runs it on tensors laid out as those that it was prepared with. `stream` is nullptr on the host.
    result run(const void *x, const dynamic_data &first, const dynamic_data &second, void *stream = nullptr) const {
        return qdq_run_dynamic_pair(&first_, &second_, x, first.scale, first.zero_point, first.y, second.scale,
                                    second.zero_point, second.y, stream);
    }

private:
    qdq_plan first_{}, second_{};
};

}  // namespace qdq
