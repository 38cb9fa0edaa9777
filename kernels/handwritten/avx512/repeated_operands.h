// Operands of 64 consecutive elements in four registers: each element has its own, or a power of two of them share one.
// Registers repeat those of short blocks, so nothing writes an operand for each element.
#pragma once

#include "handwritten/avx512/intrinsics.h"

namespace qdq::kernels {
namespace {

// Which elements a register has: 16 in a row, or the even or the odd ones of 32, by turns.
enum class register_order { consecutive, even_odd };

template<register_order order> struct operands_of_columns {
    static int64_t place_of(int64_t column) { return column; }

    [[gnu::always_inline]] __m512 of_register(const float *first, int64_t i) const {
        if constexpr (order == register_order::consecutive) {
            return _mm512_loadu_ps(first + i * lanes);
        }
        const float *const of_both = first + i / 2 * 2 * lanes;
        const __m512i evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        return _mm512_permutex2var_ps(_mm512_loadu_ps(of_both),
                                      _mm512_or_si512(evens, _mm512_set1_epi32(static_cast<int>(i % 2))),
                                      _mm512_loadu_ps(of_both + lanes));
    }
};

// Even and odd elements have the same: no block has one element.
template<register_order order> class operands_of_blocks {
public:
    explicit operands_of_blocks(int64_t block)
        : operands_of_blocks(block, __builtin_ctzll(static_cast<uint64_t>(block))) {}

    int64_t place_of(int64_t column) const { return column >> shift; }
    [[gnu::always_inline]] __m512 of_register(const float *first, int64_t i) const {
        return _mm512_permutexvar_ps(repeats, _mm512_maskz_loadu_ps(there, first + places[i]));
    }

private:
    static constexpr int64_t together = order == register_order::consecutive ? lanes : 2 * lanes;
    const __m512i repeats;
    const int64_t places[4];
    const int shift;
    const __mmask16 there;  // no operand is read that the elements do not have

    operands_of_blocks(int64_t block, int shift)
        : repeats(_mm512_srl_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                   _mm_cvtsi32_si128(shift - (together == lanes ? 0 : 1)))),
          places{0, first_of(1) >> shift, first_of(2) >> shift, first_of(3) >> shift},
          shift(shift),
          there(static_cast<__mmask16>(block < together ? (1 << (together >> shift)) - 1 : 1)) {}

    static constexpr int64_t first_of(int64_t i) { return i * lanes / together * together; }
};

// Codes' values, with an offset or without one, times scales. values(x, i) has those of the i-th 16 of 64 codes at x.
// Out of line: kernels whose stores bypass the caches may share it with others.
template<typename Kernel, bool has_offset, typename Operands, typename Values>
[[gnu::noinline]] void multiply_values(const dequantize_arguments &all, const Operands of, const Values values) {
    constexpr int64_t group_bytes = group_size * Kernel::stored.bits / 8;
    const int64_t columns = all.y->dim[0].extent;
    const float *const scale = floats_of(all.scale), *const offset = floats_of(all.zero_point);
    rows_of_bytes rows(all.x, all.y);
    for (int64_t r = 0; r < rows.count; r++, rows.advance()) {
        const char *x = rows.x;
        char *y = rows.y;
        for (int64_t c = 0; c < columns; c += group_size, x += group_bytes) {
            const int64_t place = of.place_of(c);
            __m512 product[4];
#pragma GCC unroll 4
            for (int64_t i = 0; i < 4; i++) {
                __m512 value = values(x, i);
                if constexpr (has_offset) {
                    value = _mm512_add_ps(value, of.of_register(offset + place, i));
                }
                product[i] = _mm512_mul_ps(value, of.of_register(scale + place, i));
            }
            y = store_products<Kernel>(y, product);
        }
    }
}

}  // namespace
}  // namespace qdq::kernels
