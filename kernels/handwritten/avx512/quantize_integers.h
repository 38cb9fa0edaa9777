// Quantizes to 8-bit integers. Packs narrow four registers of codes to words and to bytes, and one permute
// of double words puts those in order. LLVM 21 takes two more permutes, and with a zero point, whose sum stands between
// the packs, packs halves of registers.
#include "handwritten/avx512/repeated_operands.h"
#include "handwritten/avx512/rounding.h"
#include "handwritten/handwritten.h"

namespace qdq::kernels {
namespace {

// What 16 elements are computed with.
struct factors {
    static constexpr float largest = 0x1p22f;  // of quotients: words saturate, with any zero point, too
    __m512 scale, inverse, largest_x;
    __m512i largest_of_zero;  // bits of a magnitude

    factors(__m512 scale, __m512 inverse)
        : scale(scale),
          inverse(inverse),
          largest_x(_mm512_mul_ps(scale, _mm512_set1_ps(largest))),
          largest_of_zero(largest_with_quotient_zero(scale)) {}
};

// NaN passes the minimum.
template<bool multiplies> [[gnu::always_inline]] inline __m512 bounded_quotient(__m512 x, const factors &with) {
    return multiplies ? _mm512_min_ps(_mm512_set1_ps(factors::largest), _mm512_mul_ps(x, with.scale))
                      : quotient<multiplies>(_mm512_min_ps(with.largest_x, x), with.scale, with.inverse);
}

// The ends of a range.
struct code_range {
    __m512i lowest, highest;

    explicit code_range(const quantize_arguments &all)
        : lowest(_mm512_set1_epi8(static_cast<char>(all.lowest))),
          highest(_mm512_set1_epi8(static_cast<char>(all.highest))) {}
};

// When a zero point is added: kernels/variants.h bounds them.
enum class addition { none, before_rounding, after_rounding };

// What all codes of a row share.
class row_operands {
public:
    row_operands(const quantize_arguments &all, int64_t row, bool multiplies)
        : own(_mm512_set1_ps(at(all.scale, row)), _mm512_set1_ps(at(multiplies ? all.scale : all.inverse, row))),
          offset(_mm512_set1_ps(at(all.zero_point, row))),
          zero_point(_mm512_set1_epi16(static_cast<int16_t>(static_cast<int32_t>(at(all.zero_point, row))))) {}

    const factors &factors_of(int64_t) const { return own; }
    __m512 offset_of(int64_t) const { return offset; }
    __m512i zero_points_of(int64_t) const { return zero_point; }

private:
    factors own;
    __m512 offset;
    __m512i zero_point;  // as words

    static float at(const halide_buffer_t *operand, int64_t row) {
        return floats_of(operand)[row * operand->dim[0].stride];
    }
};

// The operands of a call, from those of a column on.
struct operands_at {
    const float *scale, *inverse, *zero_point;

    operands_at(const quantize_arguments &all, bool multiplies)
        : scale(floats_of(all.scale)),
          inverse(multiplies ? scale : floats_of(all.inverse)),
          zero_point(floats_of(all.zero_point)) {}
};

// Those of 64 columns: their own, or of blocks.
class column_operands {
public:
    template<typename Operands>
    [[gnu::always_inline]] column_operands(const operands_at &all, const Operands &of, int64_t place)
        : own{factors_at(all, of, place, 0), factors_at(all, of, place, 1), factors_at(all, of, place, 2),
              factors_at(all, of, place, 3)},
          offset{of.of_register(all.zero_point + place, 0), of.of_register(all.zero_point + place, 1),
                 of.of_register(all.zero_point + place, 2), of.of_register(all.zero_point + place, 3)} {}

    const factors &factors_of(int64_t i) const { return own[i]; }
    __m512 offset_of(int64_t i) const { return offset[i]; }
    // As words, in the order of packs.
    __m512i zero_points_of(int64_t i) const {
        return _mm512_packs_epi32(_mm512_cvtps_epi32(offset[2 * i]), _mm512_cvtps_epi32(offset[2 * i + 1]));
    }

private:
    factors own[4];
    __m512 offset[4];

    template<typename Operands>
    [[gnu::always_inline]] static factors factors_at(const operands_at &all, const Operands &of, int64_t place,
                                                     int64_t i) {
        return {of.of_register(all.scale + place, i), of.of_register(all.inverse + place, i)};
    }
};

// 64 elements in four registers: how they are read, and how their bytes are put in order after packs, by which each 128
// bits have four codes of each register in turn.
template<qdq_dtype type> struct registers_of {
    static constexpr auto order = register_order::consecutive;
    using element = std::conditional_t<type == QDQ_F32, float, uint16_t>;

    [[gnu::always_inline]] static __m512 read(const float *first, int64_t i) {
        return _mm512_loadu_ps(first + i * lanes);
    }
    [[gnu::always_inline]] static __m512 read(const uint16_t *first, int64_t i) { return load(first + i * lanes); }
    [[gnu::always_inline]] static __m512i in_order(__m512i bytes) {
        const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        return _mm512_permutexvar_epi32(order, bytes);
    }
};

// A register of bf16 is two of f32, of its even and of its odd words.
template<> struct registers_of<QDQ_BF16> {
    static constexpr auto order = register_order::even_odd;
    using element = uint16_t;

    [[gnu::always_inline]] static __m512 read(const uint16_t *first, int64_t i) {
        const __m512i words = _mm512_loadu_si512(first + i / 2 * 2 * lanes);
        return _mm512_castsi512_ps(i % 2 == 0
                                       ? _mm512_slli_epi32(words, 16)
                                       : _mm512_and_si512(words, _mm512_set1_epi32(static_cast<int>(0xffff0000))));
    }
    [[gnu::always_inline]] static __m512i in_order(__m512i bytes) {
#if defined(__AVX512VBMI__)
        const __m512i order =
            _mm512_setr_epi64(0x0703060205010400, 0x1713161215111410, 0x2723262225212420, 0x3733363235313430,
                              0x0f0b0e0a0d090c08, 0x1f1b1e1a1d191c18, 0x2f2b2e2a2d292c28, 0x3f3b3e3a3d393c38);
        return _mm512_permutexvar_epi8(order, bytes);
#else
        const __m512i by_turns =
            _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15));
        return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7),
                                        _mm512_shuffle_epi8(bytes, by_turns));
#endif
    }
};

template<bool is_signed> [[gnu::always_inline]] inline __m512i saturated(__m512i low, __m512i high) {
    return is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
}

template<bool is_signed> [[gnu::always_inline]] inline __m512i clamped(__m512i codes, const code_range &range) {
    return is_signed ? _mm512_max_epi8(_mm512_min_epi8(codes, range.highest), range.lowest)
                     : _mm512_max_epu8(_mm512_min_epu8(codes, range.highest), range.lowest);
}

// `clamps` to a range that is not the type's.
template<typename Kernel, bool multiplies, addition adds, bool clamps, qdq_rounding rounding> struct group_quantizer {
    using registers = registers_of<Kernel::floats.dtype>;
    using element = typename registers::element;
    static constexpr bool is_signed = Kernel::stored.is_signed();
    static constexpr bool may_lose_remainders = !multiplies && Kernel::floats.dtype != QDQ_F16;

    template<typename Operands>
    [[gnu::always_inline]] static __m512i integers(const element *first, const Operands &with, int64_t i) {
        const factors &own = with.factors_of(i);
        const __m512 x = registers::read(first, i), t = bounded_quotient<multiplies>(x, own);
        return rounded<rounding, may_lose_remainders>(
            adds == addition::before_rounding ? _mm512_add_ps(t, with.offset_of(i)) : t, x, own.largest_of_zero);
    }

    // Of half of the group.
    template<typename Operands>
    [[gnu::always_inline]] static __m512i words(const element *x, const Operands &with, int64_t half) {
        const __m512i both = _mm512_packs_epi32(integers(x, with, 2 * half), integers(x, with, 2 * half + 1));
        return adds == addition::after_rounding ? _mm512_adds_epi16(both, with.zero_points_of(half)) : both;
    }

    template<typename Operands>
    [[gnu::always_inline]] static void run(const element *x, char *y, const Operands &with, const code_range &range) {
        const __m512i codes = registers::in_order(saturated<is_signed>(words(x, with, 0), words(x, with, 1)));
        store<Kernel::nontemporal>(y, clamps ? clamped<is_signed>(codes, range) : codes);
    }
};

// Within the caches nothing is fetched ahead: f32 from L3, divided, would take 8 % less (1 Mi elements, Zen 5), but
// rows whose scales are computed, of which more is on its way already, 5 % more.
template<typename Kernel, bool multiplies, addition adds, bool clamps, qdq_rounding rounding>
int quantize_rows(const quantize_arguments &all) {
    using group = group_quantizer<Kernel, multiplies, adds, clamps, rounding>;
    const int64_t columns = all.x->dim[0].extent, fetch_distance = fetch_distance_of(Kernel::nontemporal, all.x);
    const code_range range(all);
    rows_of_bytes rows(all.x, all.y);
    for (int64_t r = 0; r < rows.count; r++, rows.advance()) {
        const row_operands with(all, r, multiplies);
        const auto *x = rows.elements<typename group::element>(0);
        for (int64_t c = 0; c < columns; c += group_size, x += group_size) {
            if constexpr (Kernel::nontemporal) {
                fetch_ahead(x, fetch_distance);
            }
            group::run(x, rows.y + c, with, range);
        }
    }
    return 0;
}

// Operands of 64 columns are those of up to 16 rows: as few lines of x then come from memory side by side.
template<typename Kernel, bool multiplies, addition adds, bool clamps, qdq_rounding rounding, typename Operands>
int quantize_columns(const quantize_arguments &all, const Operands &of) {
    using group = group_quantizer<Kernel, multiplies, adds, clamps, rounding>;
    const int64_t columns = all.x->dim[0].extent;
    const operands_at operands(all, multiplies);
    const code_range range(all);
    rows_of_bytes rows(all.x, all.y);
    for (int64_t first = 0; first < rows.count; first += lanes, rows.advance(lanes)) {
        const int64_t count = rows.count - first < lanes ? rows.count - first : lanes;
        for (int64_t c = 0; c < columns; c += group_size) {
            const column_operands with(operands, of, of.place_of(c));
            for (int64_t r = 0; r < count; r++) {
                group::run(rows.elements<typename group::element>(r) + c, rows.y + r * rows.y_bytes + c, with, range);
            }
        }
    }
    return 0;
}

template<typename Kernel, bool multiplies, addition adds, bool clamps, qdq_rounding rounding = QDQ_NEAREST_EVEN>
int quantize_all(const quantize_arguments &all) {
    constexpr register_order order = registers_of<Kernel::floats.dtype>::order;
    if constexpr (Kernel::is_block) {
        const operands_of_blocks<order> of(block_of(all));
        return quantize_columns<Kernel, multiplies, adds, clamps, rounding>(all, of);
    } else if constexpr (Kernel::is_column) {
        return quantize_columns<Kernel, multiplies, adds, clamps, rounding>(all, operands_of_columns<order>());
    } else {
        return quantize_rows<Kernel, multiplies, adds, clamps, rounding>(all);
    }
}

// Past the caches all wait for memory: one loop takes codes without a zero point, too, which is 0 then. Else those that
// nothing clamps have their own: f32 to u8, divided, takes 9 % less so (64 Ki, Zen 5).
template<typename Kernel, bool multiplies> int quantize_to_nearest_even(const quantize_arguments &all, bool adds) {
    const bool clamps = adds && (all.lowest > Kernel::stored.lowest() || all.highest < Kernel::stored.highest());
    if constexpr (!Kernel::nontemporal) {
        if (!clamps) {
            return adds ? quantize_all<Kernel, multiplies, addition::after_rounding, false>(all)
                        : quantize_all<Kernel, multiplies, addition::none, false>(all);
        }
    }
    return quantize_all<Kernel, multiplies, addition::after_rounding, true>(all);
}

// The generated kernel adds zero points before rounding. Blocks round to nearest even.
template<typename Kernel, bool multiplies>
int quantize_otherwise(const quantize_arguments &all, qdq_quantize_kernel *generated) {
    if constexpr (!Kernel::is_block) {
        if (all.before == 0) {
            constexpr auto adds = addition::after_rounding;
            switch (all.rounding) {
            case QDQ_NEAREST_AWAY: return quantize_all<Kernel, multiplies, adds, true, QDQ_NEAREST_AWAY>(all);
            case QDQ_TOWARD_ZERO: return quantize_all<Kernel, multiplies, adds, true, QDQ_TOWARD_ZERO>(all);
            case QDQ_DOWN: return quantize_all<Kernel, multiplies, adds, true, QDQ_DOWN>(all);
            default: return quantize_all<Kernel, multiplies, adds, true, QDQ_UP>(all);
            }
        }
    }
    return all.run(generated);
}

// Long blocks, f32 to i8 by 16: 0.067 ns an element, and 0.056 by the generated kernel; bf16 by columns, 0.105 and
// 0.085 (Zen 5).
template<typename Kernel> bool takes_longer_by_hand(const quantize_arguments &all) {
    const auto variant = static_cast<quantize_variant>(all.variant);
    const bool is_long_block = Kernel::is_block && block_of(all) >= Kernel::stored.block;
    const bool is_plain_column =
        Kernel::is_column && (variant == quantize_variant::multiply || variant == quantize_variant::divide);
    return !Kernel::nontemporal && (is_long_block || is_plain_column);
}

template<typename Kernel> int quantize(const quantize_arguments &all, qdq_quantize_kernel *generated) {
    static_assert(Kernel::stored.bits == 8 && Kernel::stored.is_integer());
    if (takes_longer_by_hand<Kernel>(all)) {
        return all.run(generated);
    }
    constexpr auto before = addition::before_rounding;
    switch (static_cast<quantize_variant>(all.variant)) {
    case quantize_variant::multiply: return quantize_to_nearest_even<Kernel, true>(all, false);
    case quantize_variant::divide: return quantize_to_nearest_even<Kernel, false>(all, false);
    case quantize_variant::multiply_after: return quantize_to_nearest_even<Kernel, true>(all, true);
    case quantize_variant::divide_after: return quantize_to_nearest_even<Kernel, false>(all, true);
    case quantize_variant::multiply_before: return quantize_all<Kernel, true, before, true>(all);
    case quantize_variant::divide_before: return quantize_all<Kernel, false, before, true>(all);
    case quantize_variant::rounded_multiply: return quantize_otherwise<Kernel, true>(all, generated);
    case quantize_variant::rounded_divide: return quantize_otherwise<Kernel, false>(all, generated);
    default: return all.run(generated);
    }
}

}  // namespace
}  // namespace qdq::kernels
