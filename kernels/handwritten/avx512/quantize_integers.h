// Quantizes f32 and f16 to 8-bit integers. Packs narrow four registers of codes to words and to bytes, and one permute
// of double words puts those in order. LLVM 21 takes two more permutes, and with a zero point, whose sum stands between
// the packs, packs halves of registers.
#include "handwritten/avx512/rounding.h"
#include "handwritten/handwritten.h"

namespace qdq::kernels {
namespace {

// What a row is computed with. Words of 2^15 and more saturate with a zero point, too, whose magnitude is at most 2^14.
struct row_operands {
    static constexpr float largest = 0x1p16f;
    __m512 scale, inverse, largest_x;
    __m512i largest_of_zero;              // bits of a magnitude
    __m512i zero_point, lowest, highest;  // of words; of codes

    row_operands(const quantize_arguments &all, int64_t row, bool multiplies)
        : scale(_mm512_set1_ps(at(all.scale, row))),
          inverse(multiplies ? scale : _mm512_set1_ps(at(all.inverse, row))),
          largest_x(_mm512_mul_ps(scale, _mm512_set1_ps(largest))),
          largest_of_zero(largest_with_quotient_zero(scale)),
          zero_point(_mm512_set1_epi16(static_cast<int16_t>(at(all.zero_point, row)))),
          lowest(_mm512_set1_epi8(static_cast<char>(all.lowest))),
          highest(_mm512_set1_epi8(static_cast<char>(all.highest))) {}

private:
    static float at(const halide_buffer_t *operand, int64_t row) {
        return floats_of(operand)[row * operand->dim[0].stride];
    }
};

[[gnu::always_inline]] inline __m512 load(const float *x) { return _mm512_loadu_ps(x); }

// NaN passes the minimum.
template<bool multiplies> [[gnu::always_inline]] inline __m512 bounded_quotient(__m512 x, const row_operands &with) {
    return multiplies ? _mm512_min_ps(_mm512_set1_ps(row_operands::largest), _mm512_mul_ps(x, with.scale))
                      : quotient<multiplies>(_mm512_min_ps(with.largest_x, x), with.scale, with.inverse);
}

// Of 128 bits four codes are of each register: 0, 1, 2, 3.
[[gnu::always_inline]] inline __m512i in_order(__m512i bytes) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, bytes);
}

template<bool is_signed> [[gnu::always_inline]] inline __m512i saturated(__m512i low, __m512i high) {
    return is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
}

template<bool is_signed> [[gnu::always_inline]] inline __m512i clamped(__m512i codes, const row_operands &with) {
    return is_signed ? _mm512_max_epi8(_mm512_min_epi8(codes, with.highest), with.lowest)
                     : _mm512_max_epu8(_mm512_min_epu8(codes, with.highest), with.lowest);
}

// `adds` a zero point, `clamps` to a range that is not the type's.
template<typename Kernel, bool multiplies, bool adds, bool clamps, qdq_rounding rounding> struct row_quantizer {
    using element = std::conditional_t<Kernel::floats.bits == 32, float, uint16_t>;
    static constexpr bool is_signed = Kernel::stored.is_signed();
    static constexpr bool may_lose_remainders = !multiplies && Kernel::floats.dtype == QDQ_F32;

    [[gnu::always_inline]] static __m512i integers(const element *from, const row_operands &with) {
        const __m512 x = load(from);
        return rounded<rounding, may_lose_remainders>(bounded_quotient<multiplies>(x, with), x, with.largest_of_zero);
    }

    [[gnu::always_inline]] static __m512i words(const element *x, const row_operands &with) {
        const __m512i both = _mm512_packs_epi32(integers(x, with), integers(x + lanes, with));
        return adds ? _mm512_adds_epi16(both, with.zero_point) : both;
    }

    // Within the caches nothing is fetched ahead: f32 from L3, divided, would take 8 % less (1 Mi elements, Zen 5), but
    // rows whose scales are computed, of which more is on its way already, 5 % more.
    static void run(const element *x, char *y, int64_t columns, const row_operands &with, int64_t fetch_distance) {
        for (int64_t c = 0; c < columns; c += group_size, x += group_size) {
            if constexpr (Kernel::nontemporal) {
                fetch_ahead(x, fetch_distance);
            }
            const __m512i codes = in_order(saturated<is_signed>(words(x, with), words(x + 2 * lanes, with)));
            store<Kernel::nontemporal>(y + c, clamps ? clamped<is_signed>(codes, with) : codes);
        }
    }
};

template<typename Kernel, bool multiplies, bool adds, bool clamps, qdq_rounding rounding>
int quantize_rows(const quantize_arguments &all) {
    using row = row_quantizer<Kernel, multiplies, adds, clamps, rounding>;
    const int64_t columns = all.x->dim[0].extent, fetch_distance = fetch_distance_of(Kernel::nontemporal, all.x);
    rows_of_bytes rows(all.x, all.y);
    for (int64_t r = 0; r < rows.count; r++, rows.advance()) {
        row::run(reinterpret_cast<const typename row::element *>(rows.x), rows.y, columns,
                 row_operands(all, r, multiplies), fetch_distance);
    }
    return 0;
}

// Past the caches all wait for memory: one loop takes codes without a zero point, too, which is 0 then. Else those that
// nothing clamps have their own: f32 to u8, divided, takes 9 % less so (64 Ki, Zen 5).
template<typename Kernel, bool multiplies> int quantize_to_nearest_even(const quantize_arguments &all, bool adds) {
    const bool clamps = adds && (all.lowest > Kernel::stored.lowest() || all.highest < Kernel::stored.highest());
    if constexpr (!Kernel::nontemporal) {
        if (!clamps) {
            return adds ? quantize_rows<Kernel, multiplies, true, false, QDQ_NEAREST_EVEN>(all)
                        : quantize_rows<Kernel, multiplies, false, false, QDQ_NEAREST_EVEN>(all);
        }
    }
    return quantize_rows<Kernel, multiplies, true, true, QDQ_NEAREST_EVEN>(all);
}

// The generated kernel adds zero points before rounding.
template<typename Kernel, bool multiplies>
int quantize_otherwise(const quantize_arguments &all, qdq_quantize_kernel *generated) {
    if (all.before != 0) {
        return all.run(generated);
    }
    switch (all.rounding) {
    case QDQ_NEAREST_AWAY: return quantize_rows<Kernel, multiplies, true, true, QDQ_NEAREST_AWAY>(all);
    case QDQ_TOWARD_ZERO: return quantize_rows<Kernel, multiplies, true, true, QDQ_TOWARD_ZERO>(all);
    case QDQ_DOWN: return quantize_rows<Kernel, multiplies, true, true, QDQ_DOWN>(all);
    default: return quantize_rows<Kernel, multiplies, true, true, QDQ_UP>(all);
    }
}

template<typename Kernel> int quantize(const quantize_arguments &all, qdq_quantize_kernel *generated) {
    static_assert(Kernel::floats.dtype == QDQ_F32 || Kernel::floats.dtype == QDQ_F16);
    static_assert(Kernel::stored.bits == 8 && Kernel::stored.is_integer() && !Kernel::is_block);
    switch (static_cast<quantize_variant>(all.variant)) {
    case quantize_variant::multiply: return quantize_to_nearest_even<Kernel, true>(all, false);
    case quantize_variant::divide: return quantize_to_nearest_even<Kernel, false>(all, false);
    case quantize_variant::multiply_after: return quantize_to_nearest_even<Kernel, true>(all, true);
    case quantize_variant::divide_after: return quantize_to_nearest_even<Kernel, false>(all, true);
    case quantize_variant::rounded_multiply: return quantize_otherwise<Kernel, true>(all, generated);
    case quantize_variant::rounded_divide: return quantize_otherwise<Kernel, false>(all, generated);
    default: return all.run(generated);
    }
}

}  // namespace
}  // namespace qdq::kernels
