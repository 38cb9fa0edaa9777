// What encoders of floats to f8e4m3 and f4e2m1 share. What rounds a value to a code is the addition of a power of two
// that its exponent chooses; a permute of registers finds it in one instruction, where arithmetic takes five.
#pragma once

#include "handwritten/avx512/intrinsics.h"
#include "handwritten/handwritten.h"

#include <bit>

namespace qdq::kernels {
namespace {

constexpr int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }

// By the low bits of an f32's exponent, the power of two whose sum with t is t rounded to a code: 2^(e + 23 - m), e the
// exponent but at least that of the least normal code, m the bits of a mantissa. The low bits of the sum are to be the
// code, so the exponents passed since the least normal stand in the low bits of the entry.
template<int mantissa_bits, int least_exponent, int size> struct alignas(64) rounding_table {
    float by_exponent[size] = {};

    constexpr rounding_table(int first_exponent, int last_exponent) {
        for (int e = first_exponent; e <= last_exponent; e++) {
            const int exponent = e < least_exponent ? least_exponent : e, passed = (exponent - least_exponent)
                                                                                   << mantissa_bits;
            const float last_place = std::bit_cast<float>((exponent - mantissa_bits + 127) << 23);
            by_exponent[(e + 127) % size] = last_place * static_cast<float>((1 << 23) + passed);
        }
    }
};

__m512i exponents_of(__m512 t) { return _mm512_srli_epi32(_mm512_castps_si512(t), 23); }
__m512i bits_of_sum(__m512 a, __m512 b) { return _mm512_castps_si512(_mm512_add_ps(a, b)); }

// `least` is a quotient that rounds to zero, `largest` the last number; 2^-8 off, both still do. So does `nan` to the
// code of NaN.
class f8e4m3_code {
public:
    static constexpr int64_t bytes_of_64 = 64;
    static constexpr float least = 0x1p-12f, largest = 448, nan = 480;
    static constexpr bool has_nan = true;

    // In the low bits; others are of no use.
    __m512i code_of(__m512 t) const { return bits_of_sum(t, _mm512_permutex2var_ps(low, exponents_of(t), high)); }

private:
    static constexpr rounding_table<3, -6, 32> table{-13, 8};
    const __m512 low = _mm512_load_ps(table.by_exponent), high = _mm512_load_ps(table.by_exponent + lanes);
};

class f4e2m1_code {
public:
    static constexpr int64_t bytes_of_64 = 32;
    static constexpr float least = 0x1p-4f, largest = 6, nan = 6;
    static constexpr bool has_nan = false;

    __m512i code_of(__m512 t) const { return bits_of_sum(t, _mm512_permutexvar_ps(exponents_of(t), powers)); }

private:
    static constexpr rounding_table<1, 0, 16> table{-5, 2};
    const __m512 powers = _mm512_load_ps(table.by_exponent);
};

// A code, and how its bytes are stored.
template<typename Code> struct stored_code : Code {
    const call_stores stores;
    explicit stored_code(call_stores stores) : stores(stores) {}
};

// The magnitude of x with about that quotient, 2^-14 off.
template<bool multiplies> __m512 magnitude_of(float quotient, __m512 scale) {
    const __m512 divisor = multiplies ? _mm512_rcp14_ps(scale) : scale;
    return _mm512_mul_ps(_mm512_set1_ps(quotient), divisor);
}

// Operands of 16 blocks, and those past the last, which are harmless.
__m512 operands_of(const float *operands, int64_t count) {
    const __m512i blocks = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __mmask16 there =
        _mm512_cmplt_epi32_mask(blocks, _mm512_set1_epi32(static_cast<int>(least_of(count, lanes))));
    return _mm512_mask_loadu_ps(_mm512_set1_ps(1), there, operands);
}

template<typename Encoder, typename Factors>
[[gnu::always_inline]] inline void encode_next_row(call_stores stores, rows_of_bytes &rows, int64_t columns,
                                                   const Factors &with) {
    Encoder::row(stores, rows.elements<typename Encoder::element>(0), rows.codes(0), columns, with);
    rows.advance();
}

// Factors are those of up to 16 rows at a time: each row's own would cost rows of 128 a tenth of their time. What all
// rows share, or one alone has, takes less by itself.
template<typename Encoder> void encode_rows(const quantize_arguments &all, call_stores stores) {
    const int64_t columns = all.x->dim[0].extent, operand_step = all.scale->dim[0].stride;
    const float *scale = floats_of(all.scale), *inverse = floats_of(all.inverse);
    rows_of_bytes rows(all.x, all.y);
    if (rows.count == 1 || operand_step == 0) {
        const auto with = Encoder::factors_of_one(scale, inverse);
        for (int64_t r = 0; r < rows.count; r++) {
            encode_next_row<Encoder>(stores, rows, columns, with);
        }
        return;
    }
    for (int64_t first = 0; first < rows.count; first += lanes) {
        const int64_t count = least_of(lanes, rows.count - first);
        const typename Encoder::factors_of_operands with(scale + first, inverse + first, count);
        for (int64_t i = 0; i < count; i++) {
            encode_next_row<Encoder>(stores, rows, columns, with.of_operand(i));
        }
    }
}

// Of 32 elements, or the fewest that share an operand.
template<typename Encoder, int fewest>
void encode_blocks(const quantize_arguments &all, int64_t block, call_stores stores) {
    rows_of_bytes rows(all.x, all.y);
    auto *const encode = block == 32 ? Encoder::template blocks<32> : Encoder::template blocks<fewest>;
    for (int64_t r = 0; r < rows.count; r++, rows.advance()) {
        encode(stores, rows.elements<typename Encoder::element>(0), rows.codes(0), all.x->dim[0].extent,
               floats_of(all.scale), floats_of(all.inverse));
    }
}

// Factors of 64 columns are those of up to 16 rows: as few lines of x then come from memory side by side.
template<typename Encoder> void encode_columns(const quantize_arguments &all, call_stores stores) {
    const int64_t columns = all.x->dim[0].extent;
    rows_of_bytes rows(all.x, all.y);
    const int64_t together = rows.most_together(all.y->dim[0].extent, lanes);
    for (int64_t row = 0; row < rows.count; row += together, rows.advance(together)) {
        for (int64_t c = 0; c < columns; c += group_size) {
            Encoder::columns(stores, rows, least_of(together, rows.count - row), c, floats_of(all.scale),
                             floats_of(all.inverse));
        }
    }
}

// Encoder<Code, multiplies> has factors_of_operands, factors_of_one(scale, inverse), row(stores, x, y, columns,
// factors), blocks<block>(stores, x, y, columns, scales, inverses) and columns(stores, rows, count, first column,
// scales, inverses).
template<typename Encoder, typename Kernel>
void encode_all(const quantize_arguments &all, int64_t block, call_stores stores) {
    if constexpr (Kernel::is_block) {
        encode_blocks<Encoder, Kernel::stored.block>(all, block, stores);
    } else if constexpr (Kernel::is_column) {
        encode_columns<Encoder>(all, stores);
    } else {
        encode_rows<Encoder>(all, stores);
    }
}

// Whether bounds by these scales are numbers.
bool all_are_divisors(const halide_buffer_t *scale) {
    const int64_t count = scale->dim[0].stride == 0 ? 1 : scale->dim[0].extent;
    uint32_t outside = 0;
    for (int64_t i = 0; i < count; i++) {
        outside |=
            __builtin_bit_cast(uint32_t, floats_of(scale)[i]) - smallest_divisor > largest_divisor - smallest_divisor;
    }
    return outside == 0;
}

// Blocks twice as long as the generated kernel takes them, by groups.
inline int run_in_halves(const quantize_arguments &all, int64_t half, qdq_quantize_kernel *generated) {
    halide_buffer_t x = *all.x, y = *all.y, scale = *all.scale;
    halide_dimension_t x_shape[2] = {x.dim[0], x.dim[1]}, y_shape[2] = {y.dim[0], y.dim[1]}, operands = scale.dim[0];
    float twice[group_size];
    x.dim = x_shape;
    y.dim = y_shape;
    scale.dim = &operands;
    scale.host = reinterpret_cast<uint8_t *>(twice);
    const int64_t groups = x_shape[0].extent / group_size;
    x_shape[0].extent = group_size;
    y_shape[0].extent = int32_t(y_shape[0].extent / groups);
    operands.extent = int32_t(group_size / half);
    for (int64_t i = 0; i < groups; i++) {
        for (int64_t k = 0; k < operands.extent; k++) {
            twice[k] = floats_of(all.scale)[(i * operands.extent + k) / 2];
        }
        quantize_arguments part = all;
        part.x = &x;
        part.scale = &scale;
        part.y = &y;
        part.run(generated);
        x.host += group_size * x.type.bits / 8;
        y.host += y_shape[0].extent;
    }
    return 0;
}

// Whether a variant without a zero point is computed by Encoder<Code, multiplies>: bounds are to be numbers.
// Out of line: kernels whose stores bypass the caches and others share it.
template<typename Kernel, typename Code, template<typename, bool> typename Encoder>
[[gnu::noinline]] bool encodes(const quantize_arguments &all, int64_t block, call_stores stores) {
    const auto variant = static_cast<quantize_variant>(all.variant);
    if (variant == quantize_variant::divide) {
        encode_all<Encoder<Code, false>, Kernel>(all, block, stores);
        return true;
    }
    if (variant == quantize_variant::multiply && all_are_divisors(all.scale)) {
        encode_all<Encoder<Code, true>, Kernel>(all, block, stores);
        return true;
    }
    return false;
}

// Of fewer rows the columns' factors take longer than the codes: one row of bf16 to f8e4m3, 0.30 ns an element, and
// 0.23 by the generated kernel (Zen 5).
constexpr int64_t fewest_rows_of_columns = 3;

// An Encoder<Code, multiplies> takes the place of the generated kernel, where it can.
template<typename Kernel, template<typename Code, bool multiplies> typename Encoder>
int encode(const quantize_arguments &all, qdq_quantize_kernel *generated) {
    static_assert(Kernel::stored.dtype == QDQ_F8E4M3 || Kernel::stored.dtype == QDQ_F4E2M1);
    using code = stored_code<std::conditional_t<Kernel::stored.dtype == QDQ_F8E4M3, f8e4m3_code, f4e2m1_code>>;
    const call_stores stores(Kernel::nontemporal, fetch_distance_of(Kernel::nontemporal, all.x));
    const int64_t block = block_of(all);
    const bool is_worth_factors = !Kernel::is_column || rows_of_bytes(all.x, all.y).count >= fewest_rows_of_columns;
    if (is_worth_factors && encodes<typename Kernel::in_caches, code, Encoder>(all, block, stores)) {
        return 0;
    }
    return Kernel::is_block && block != Kernel::stored.block ? run_in_halves(all, Kernel::stored.block, generated)
                                                             : all.run(generated);
}

}  // namespace
}  // namespace qdq::kernels
