// Lookups of 4-bit codes by AVX-512, which its targets share. How 32 codes become the low bits of words, an instruction
// set says: Set::codes(x).
#pragma once

#include "handwritten/avx512/intrinsics.h"
#include "handwritten/avx512/repeated_operands.h"
#include "handwritten/dequantize_4_bits.h"

namespace qdq::kernels {
namespace {

// The results of an operand's 16 codes in f32.
template<typename Kernel, bool has_offset> __m512 products(const scale_and_offset &with) {
    static constexpr code_values<16> values = values_of<16>(Kernel::stored);
    __m512 value = _mm512_load_ps(values.of);
    if constexpr (has_offset) {
        value = _mm512_add_ps(value, _mm512_set1_ps(with.offset));
    }
    return _mm512_mul_ps(value, _mm512_set1_ps(with.scale));
}

// vpermw takes the low 5 bits of a word: a code, and a bit of the next, or which of two operands has the results.
template<bool of_two> __m512i look_up_words(__m512i codes, __m512i results) {
    if constexpr (of_two) {
        const __m512i second = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(16), 1);
        const int a_and_b_or_c = 0xea;  // (a & b) | c
        codes = _mm512_ternarylogic_epi32(codes, _mm512_set1_epi16(15), second, a_and_b_or_c);
    }
    return _mm512_permutexvar_epi16(codes, results);
}

template<typename Set> struct words_by {
    template<typename Kernel, bool has_offset, bool of_two> class of_codes {
    public:
        of_codes(const scale_and_offset &first, const scale_and_offset &second)
            : results(to_words<Kernel>(products<Kernel, has_offset>(first), products<Kernel, has_offset>(second))) {}

        void look_up(const char *x, char *y) const {
            store<Kernel::nontemporal>(y, look_up_words<of_two>(Set::codes(x), results));
        }

    private:
        const __m512i results;
    };
};

// 16 codes from some on, each in the low bits of a lane.
[[gnu::always_inline]] inline __m512i codes_of_lanes(const char *x) {
    const __m512i shifts = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    const __m512i low = _mm512_broadcastd_epi32(_mm_loadu_si32(x));
    return _mm512_srlv_epi32(_mm512_mask_broadcastd_epi32(low, 0xff00, _mm_loadu_si32(x + 4)), shifts);
}

// vpermps takes the low 4 bits of a lane.
template<typename Kernel, bool has_offset, bool of_two> class floats_of_codes {
public:
    floats_of_codes(const scale_and_offset &first, const scale_and_offset &second)
        : results{products<Kernel, has_offset>(first), products<Kernel, has_offset>(second)} {}

    void look_up(const char *x, char *y) const {
        for (int64_t half = 0; half < 2; half++) {
            store<Kernel::nontemporal>(
                y + 64 * half, _mm512_castps_si512(_mm512_permutexvar_ps(codes_of_lanes(x + 8 * half), results[half])));
        }
    }

private:
    const __m512 results[2];
};

template<typename Kernel> class values_of_4_bits {
public:
    [[gnu::always_inline]] __m512 operator()(const char *x, int64_t i) const {
        return _mm512_permutexvar_ps(codes_of_lanes(x + 8 * i), of_codes);
    }

private:
    static constexpr code_values<16> values = values_of<16>(Kernel::stored);
    const __m512 of_codes = _mm512_load_ps(values.of);
};

// Where operands change within 16 codes: of columns, and of short blocks.
template<typename Kernel, typename Operands> int multiply_values(const dequantize_arguments &all, const Operands &of) {
    if (all.variant == int32_t(dequantize_variant::plain)) {
        multiply_values<Kernel, false>(all, of, values_of_4_bits<Kernel>());
    } else if constexpr (Kernel::stored.is_integer()) {
        using in_caches = typename Kernel::in_caches;  // and past them
        multiply_values<in_caches, true>(all, of, values_of_4_bits<in_caches>());
    }
    return 0;
}

template<typename Kernel, typename Set>
int dequantize_4_bits_by(const dequantize_arguments &all, qdq_dequantize_kernel *generated) {
    constexpr auto order = register_order::consecutive;
    if constexpr (Kernel::is_column) {
        return all.variant > int32_t(dequantize_variant::offset)
                   ? all.run(generated)
                   : multiply_values<Kernel>(all, operands_of_columns<order>());
    }
    if constexpr (Kernel::is_block) {
        const int64_t block = 2 * int64_t{all.x->dim[0].extent} / all.scale->dim[0].extent;
        if (block < lanes) {
            return multiply_values<typename Kernel::in_caches>(all, operands_of_blocks<order>(block));
        }
    }
    constexpr bool unrolls = !Kernel::nontemporal;
    return Kernel::floats.bits == 16 ? dequantize_4_bits<Kernel, words_by<Set>::template of_codes, unrolls>(all)
                                     : dequantize_4_bits<Kernel, floats_of_codes, unrolls>(all);
}

}  // namespace
}  // namespace qdq::kernels
