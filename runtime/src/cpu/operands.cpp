#include "cpu/operands.h"

#include "cpu/avx2.h"
#include "cpu/fast_variants.h"
#include "cpu/spread.h"
#include "cpu/stored_scales.h"
#include "support/types.h"
#include "variants.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

namespace qdq::runtime {

namespace {

// An operand of a type as memory holds it, and what it is worth: an integer, or an f32.
template<qdq_dtype dtype> struct operand_of {
    static constexpr const element_type &type = type_of(dtype);
    using bits = std::conditional_t<type.bits == 8, uint8_t, std::conditional_t<type.bits == 16, uint16_t, uint32_t>>;
    using integer = std::conditional_t<type.is_signed(), std::make_signed_t<bits>, bits>;

    static constexpr auto value_of_bits(bits code) {
        if constexpr (type.is_integer()) {
            return static_cast<integer>(code);
        } else if constexpr (type.bits == 32) {
            return std::bit_cast<float>(code);
        } else if constexpr (type.dtype == QDQ_E8M0) {
            return value_of_e8m0(code);
        } else if constexpr (type.dtype == QDQ_F8E4M3) {
            return value_of_e4m3(code);
        } else if constexpr (type.dtype == QDQ_F16) {
            return value_of_f16(code);
        } else {
            static_assert(type.dtype == QDQ_BF16);
            return std::bit_cast<float>(uint32_t{code} << 16);
        }
    }
};

template<qdq_dtype dtype> consteval bool tells_every_code() {
    for (int code = 0; code < 256; code++) {
        const auto bits = static_cast<uint8_t>(code);
        const float told = operand_of<dtype>::value_of_bits(bits), value = value_of(type_of(dtype).layout, bits);
        if (std::bit_cast<uint32_t>(told) != std::bit_cast<uint32_t>(value)) {
            return false;
        }
    }
    return true;
}
static_assert(tells_every_code<QDQ_E8M0>() && tells_every_code<QDQ_F8E4M3>());

using types = bool(const element_type &);
constexpr bool scales(const element_type &type) { return type.roles.scale; }  // float zero points among them
constexpr bool integer_zero_points(const element_type &type) { return type.roles.zero_point && type.is_integer(); }
static_assert(std::ranges::all_of(element_types, [](const element_type &type) {
    return !type.roles.zero_point || scales(type) || integer_zero_points(type);
}));

// Calls visit(operand_of<dtype>) for one of some types.
template<types some, int number = 0, typename Visit>
[[gnu::always_inline]] inline void with_operand_type(qdq_dtype dtype, Visit visit) {
    if constexpr (number < dtype_count) {
        if constexpr (some(element_types[number])) {
            if (dtype == number) {
                visit(operand_of<qdq_dtype(number)>());
                return;
            }
        }
        with_operand_type<some, number + 1>(dtype, visit);
    }
}

// What loops convert at once: a register of AVX2 of operands as memory holds them, or so many values of 32 bits.
constexpr int64_t register_bytes = 32, lanes = 16;

// All bits or none.
inline uint32_t mask_of(bool condition) { return 0 - uint32_t{condition}; }

// An integer zero point from a float's bits: the nearest, ties to even, saturated; 0 for NaN. By masks, as compilers
// make no vectors of branches (2 ns a zero point, and 0.2 so).
inline uint32_t nearest_integer(uint32_t bits) {
    constexpr uint32_t sign = 0x80000000, half = 0x3f000000, beyond = 0x4f000000,
                       infinity = 0x7f800000;  // beyond: 2^31
    const uint32_t magnitude = bits & ~sign;
    const auto within = std::bit_cast<float>(bits & mask_of(magnitude - half < beyond - half));  // 0 below one half
    const auto whole = static_cast<int32_t>(within);                                             // toward zero
    const auto rest = std::bit_cast<uint32_t>(within - static_cast<float>(whole)), odd = uint32_t(whole & 1);
    const uint32_t away = (rest & ~sign) + odd > half, is_negative = mask_of(rest >= sign);
    const uint32_t saturated = (mask_of(bits >= sign) ^ ~sign) & mask_of(magnitude - beyond <= infinity - beyond);
    return (static_cast<uint32_t>(whole) + (away ^ is_negative) - is_negative) | saturated;
}

// Of an operand as memory holds it: an integer as an int32, any other type as an f32.
template<typename Operand> [[gnu::always_inline]] inline uint32_t bits_of(Operand, typename Operand::bits code) {
    const auto value = Operand::value_of_bits(code);
    if constexpr (Operand::type.is_integer()) {
        return static_cast<uint32_t>(value);
    } else {
        return std::bit_cast<uint32_t>(static_cast<float>(value));
    }
}

template<types some, bool vectors>
[[gnu::always_inline]] inline void read_all(qdq_dtype dtype, const void *data, int64_t first, int64_t stride,
                                            int64_t count, void *to) {
    with_operand_type<some>(dtype, [=](auto operand) __attribute__((always_inline)) {
        using memory_type = typename decltype(operand)::bits;
        auto *const bits = static_cast<uint32_t *>(to);
        constexpr int64_t together = std::max<int64_t>(lanes, register_bytes / sizeof(memory_type));
        if (vectors && stride == 1 && count >= together) {
            for (int64_t i = 0; i < count; i += together) {
                i = std::min(i, count - together);  // the last ones overlap those before
#if !defined(__clang__)  // which does not know it. GCC compares the addresses before each register without it
#pragma GCC ivdep
#endif
                for (int64_t k = 0; k < together; k++) {
                    bits[i + k] = bits_of(operand, element<memory_type>(data, first + i + k));
                }
            }
            return;
        }
        for (int64_t i = 0; i < count; i++) {
            bits[i] = bits_of(operand, element<memory_type>(data, first + i * stride));
            asm volatile("");  // vectors of them are more code, and no faster
        }
    });
}

template<types some>
QDQ_PORTABLE void read_portably(qdq_dtype dtype, const void *data, int64_t first, int64_t stride, int64_t count,
                                void *to) {
    read_all<some, portable_vectors>(dtype, data, first, stride, count, to);
}

template<types some>
QDQ_AVX2 void read_avx2(qdq_dtype dtype, const void *data, int64_t first, int64_t stride, int64_t count, void *to) {
    read_all<some, true>(dtype, data, first, stride, count, to);
}

template<types some>
void read_range(const call &op, qdq_dtype dtype, const void *data, int64_t first, int64_t stride, int64_t count,
                void *to) {
    auto *const by = runs_avx2(*op.target) ? read_avx2<some> : read_portably<some>;
    by(dtype, data, first, stride, count, to);
}

// Scales of a byte that lie in a layout, a few at a time.
void read_arranged(const call &op, const operand_range &range, int64_t count, float *to) {
    constexpr int64_t few = 256;
    uint8_t codes[few];
    for (int64_t i = 0; i < count; i += few) {
        const int64_t some = std::min(few, count - i);
        gather(op.stored, op.scale, range.scale + i * range.scale_stride, range.scale_stride, some, codes);
        read_range<scales>(op, op.scale_type, codes, 0, 1, some, to + i);
    }
}

// How many of so many operands differ.
int64_t different(int64_t stride, int64_t count) { return stride == 0 ? 1 : count; }

// All but the first few values as the first one. Out of line, as vectors of it for each array are 1 KiB.
[[gnu::noinline]] void repeat_first(void *values, int64_t count, int64_t all) {
    auto *const bits = static_cast<uint32_t *>(values);
    std::fill(bits + count, bits + all, bits[0]);
}

[[gnu::always_inline]] inline void invert(const float *scales, int64_t count, float *inverses) {
    using vector [[gnu::vector_size(lanes * sizeof(float))]] = float;
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        vector some;
        std::memcpy(&some, scales + i, sizeof(some));
        some = 1 / some;
        std::memcpy(inverses + i, &some, sizeof(some));
    }
    for (; i < count; i++) {
        inverses[i] = 1 / scales[i];
    }
}

// By vectors: arrays have spare places, which are filled later. What they hold may be subnormal numbers.
template<typename Change>
[[gnu::always_inline]] inline void change_each(int32_t *values, int64_t count, Change change) {
    static_assert(lanes <= spare_operands);
    for (int64_t i = 0; i < count; i += lanes) {
        for (int64_t k = 0; k < lanes; k++) {
            values[i + k] = change(values[i + k]);
        }
    }
}

[[gnu::always_inline]] inline void round_to_integers(int32_t *z, int64_t count) {
    change_each(z, count,
                [](int32_t bits) { return static_cast<int32_t>(nearest_integer(static_cast<uint32_t>(bits))); });
}

[[gnu::always_inline]] inline void convert_to_floats(int32_t *z, int64_t count) {
    change_each(z, count, [](int32_t zero_point) { return std::bit_cast<int32_t>(static_cast<float>(zero_point)); });
}

[[gnu::always_inline]] inline void negate_floats(int32_t *z, int64_t count) {
    change_each(z, count, [](int32_t bits) { return bits ^ INT32_MIN; });
}

// The f32 bits of 0 and of what is not so small that a quotient below 2^-60, which may be a unit off, changes the sum.
[[gnu::always_inline]] inline bool all_small_floats(const int32_t *bits, int64_t count) {
    constexpr bit_range offsets{smallest_offset, std::bit_cast<uint32_t>(float{small_zero_point})};
    return all_zero_or_within(bits, count, offsets);
}

// The first `count` values, each `times` over, a few at a time from the last on: an array grows in place. What lies
// after a few is put back.
template<typename T> void repeat_each(const target &on, T *values, int64_t count, int64_t times) {
    constexpr int64_t few = 256;
    T once[few], after[spread_past];
    for (int64_t end = count, begin; end > 0; end = begin) {
        begin = std::max<int64_t>(0, end - few);
        std::copy(values + begin, values + end, once);
        std::copy_n(values + end * times, spread_past, after);
        spread(on, once, end - begin, times, values + begin * times);
        std::copy_n(after, spread_past, values + end * times);
    }
}

// All that there are so far at a time: f8e4m3 to f16, [15, 3, 14, 14] with scales of their own for each 14 columns of
// 42 rows, takes 0.27 ns an element so, and 0.36 by 14 at a time (Zen 5).
template<typename T> void repeat_all(T *values, int64_t count, int64_t places) {
    for (int64_t there = count; there < places;) {
        const int64_t more = std::min(there, places - there);
        std::copy_n(values, more, values + there);
        there += more;
    }
}

alignas(64) int32_t zeros[operands::most_of_one + spare_operands];

// Whether products by reciprocals are quotients, bit for bit.
bool has_powers_of_two(const call &op) { return op.scale_type == QDQ_E8M0 && !op.stored.global; }

}  // namespace

const int32_t *no_zero_points() { return zeros; }

bool scales_lie_ready(const call &op, int64_t stride) {
    return op.scale_type == QDQ_F32 && !op.stored.global && !op.reciprocal && stride == 1 &&
           reinterpret_cast<uintptr_t>(op.scale) % alignof(float) == 0;
}

operands::operands(const call &op, void *memory, int64_t bytes, bool scales_lie_ready) : op(op) {
    const int64_t arrays = !scales_lie_ready + op.has_inverses() + (op.zero_point != nullptr);
    const int64_t each = array_bytes(bytes, std::max<int64_t>(arrays, 1));
    most = std::min(arrays > 1 ? most_of_several : most_of_one, room_of_array(each));
    auto next_array = [each, next = static_cast<char *>(memory)]() mutable -> void * {
        next += each;
        return next - each;
    };
    own_scale = scales_lie_ready ? nullptr : static_cast<float *>(next_array());
    own_inverse = op.has_inverses() ? static_cast<float *>(next_array()) : nullptr;
    own_zero_point = op.zero_point ? static_cast<int32_t *>(next_array()) : nullptr;
    use_scales(own_scale);
    zero_point = op.zero_point ? own_zero_point : zeros;
}

void operands::use_scales(const float *at) {
    scale = at;
    inverse = own_inverse ? own_inverse : at;
    if (op.reciprocal) {
        std::swap(scale, inverse);
    }
}

void operands::read_scales(const operand_range &range, int64_t first) {
    float *const to = own_scale + first;
    const int64_t count = different(range.scale_stride, range.count);
    if (op.stored.is_arranged) {
        read_arranged(op, range, count, to);
    } else {
        read_range<scales>(op, op.scale_type, op.scale, range.scale, range.scale_stride, count, to);
    }
    if (op.stored.global) {
        apply_global(op.stored.sense, element<float>(op.stored.global, 0), to, count);
    }
    if (op.reciprocal) {
        run_loops<invert>(*op.target, static_cast<const float *>(to), count, own_inverse + first);
        repeat_first(own_inverse + first, count, range.count);
    }
    repeat_first(to, count, range.count);
}

void operands::read_zero_points(const operand_range &range, int64_t first) {
    if (!op.zero_point) {
        return;
    }
    int32_t *const to = own_zero_point + first;
    filled = first > 0 ? std::min(filled, first) : filled;  // whole vectors are written and converted
    const int64_t count = different(range.zero_point_stride, range.count);
    const bool are_integers = type_of(op.zero_point_type).is_integer();
    auto *const read = are_integers ? read_range<integer_zero_points> : read_range<scales>;
    read(op, op.zero_point_type, op.zero_point, range.zero_point, range.zero_point_stride, count, to);
    if (op.adds_as_f32() && are_integers) {
        run_loops<convert_to_floats>(*op.target, to, count);
    } else if (!op.adds_as_f32() && !are_integers) {
        run_loops<round_to_integers>(*op.target, to, count);
    }
    if (op.adds_as_f32() && !op.quantizes() && !op.adds_zero_point) {
        run_loops<negate_floats>(*op.target, to, count);
    }
    if (count == 1 && (first == 0 || (zero_points == 1 && *to == *own_zero_point))) {
        zero_points = 1;
        return;
    }
    if (first > 0 && zero_points == 1) {
        repeat_first(own_zero_point, 1, first);
    }
    repeat_first(to, count, range.count);
    zero_points = first + range.count;
    filled = 0;
}

// Those that one part of a call after another has are there: what is converted by vectors changes some of the first. u8
// to bf16, a scale for 2 elements and one zero point, takes 0.15 ns an element so, and 0.24 otherwise (Zen 5).
void operands::repeat_zero_point(int64_t count) {
    if (zero_points != 1) {
        return;
    }
    const bool are_there = filled >= count && filled_with == *own_zero_point;
    repeat_first(own_zero_point, 1, (are_there ? 0 : count) + spare_operands);
    filled = are_there ? filled : count;
    filled_with = *own_zero_point;
}

void operands::read(const operand_range &range, int64_t first) {
    read_scales(range, first);
    read_zero_points(range, first);
}

int32_t operands::choose_variant(int64_t count) {
    const int32_t variant = op.quantizes() ? choose_quantize(count) : choose_dequantize(count);
    repeat_zero_point(count);
    return variant;
}

int32_t operands::load(const operand_range &range, bool within) {
    if (within && scales_lie_ready(op, range.scale_stride)) {
        use_scales(static_cast<const float *>(op.scale) + range.scale);
    } else {
        use_scales(own_scale);
        read_scales(range, 0);
    }
    read_zero_points(range, 0);
    const int32_t variant = choose_variant(range.count);
    if (!within) {
        pad(range.count);
    }
    return variant;
}

int32_t operands::finish(int64_t count) {
    use_scales(own_scale);
    const int32_t variant = choose_variant(count);
    pad(count);
    return variant;
}

template<typename Change> void operands::for_each_buffer(Change change) {
    change(own_scale, 1);
    if (own_inverse) {
        change(own_inverse, 1);
    }
    if (own_zero_point && !shares_zero_point()) {
        change(own_zero_point, 0);
    }
}

void operands::repeat(int64_t count, int64_t times) {
    if (times > 1) {
        for_each_buffer([&](auto *values, int) { repeat_each(*op.target, values, count, times); });
        repeat_zero_point(count * times);
        pad(count * times);
    }
}

void operands::make_periodic(int64_t count, int64_t places) {
    for_each_buffer([&](auto *values, int) { repeat_all(values, count, places); });
    repeat_zero_point(places);
    pad(places);
}

void operands::pad(int64_t count) {
    for_each_buffer([&](auto *values, int harmless) { std::fill_n(values + count, spare_operands, harmless); });
}

int32_t operands::choose_quantize(int64_t count) {
    const bool by_products = !op.multiply && has_powers_of_two(op);
    const bool adds_after = op.zero_point && !op.adds_before_rounding;
    const bool small = !op.zero_point || (op.adds_before_rounding
                                              ? run_loops<all_small_floats>(*op.target, zero_point, zero_points)
                                              : all_within(*op.target, zero_point, zero_points, small_zero_points(op)));
    const scale_abilities scales = abilities_of(op, scale, count);
    flushes = scales.flushes;
    const bool lacks_sum = adds_after && op.y_type == QDQ_I32 && op.rounding != QDQ_NEAREST_EVEN;
    const bool has_fast = !op.no_saturate && small && scales.fast && !lacks_sum;
    if (!has_fast) {
        return int32_t(op.multiply ? quantize_variant::general_multiply : quantize_variant::general_divide);
    }
    if (adds_after) {
        run_loops<convert_to_floats>(*op.target, own_zero_point, zero_points);
    }
    if (!op.multiply) {
        run_loops<invert>(*op.target, scale, count, own_inverse);
    }
    if (by_products) {
        std::swap(scale, inverse);
    }
    return int32_t(fast_variant(op, op.multiply || by_products));
}

int32_t operands::choose_dequantize(int64_t count) {
    using enum dequantize_variant;
    const bool fast = abilities_of(op, scale, count).fast;
    if (!op.zero_point) {
        return int32_t(fast ? plain : general);
    }
    if (op.adds_as_f32()) {
        return int32_t(fast && run_loops<all_small_floats>(*op.target, zero_point, zero_points) ? offset : general);
    }
    if (op.x_type == QDQ_I32 || !fast || !all_within(*op.target, zero_point, zero_points, small_zero_points(op))) {
        return int32_t(exact);
    }
    // Both are short, and so is their difference.
    run_loops<convert_to_floats>(*op.target, own_zero_point, zero_points);
    if (!op.adds_zero_point) {
        run_loops<negate_floats>(*op.target, own_zero_point, zero_points);
    }
    return int32_t(offset);
}

}  // namespace qdq::runtime
