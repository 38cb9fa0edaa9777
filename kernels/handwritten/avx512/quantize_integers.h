// Quantizes to integers of 2 to 16 bits. Packs narrow four registers of codes to words and to bytes, and one permute
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

// The ends of a range, in each byte or word.
struct code_range {
    __m512i lowest, highest;

    code_range(const element_type &codes, int64_t lowest, int64_t highest)
        : lowest(codes.bits == 16 ? _mm512_set1_epi16(static_cast<int16_t>(lowest))
                                  : _mm512_set1_epi8(static_cast<char>(lowest))),
          highest(codes.bits == 16 ? _mm512_set1_epi16(static_cast<int16_t>(highest))
                                   : _mm512_set1_epi8(static_cast<char>(highest))) {}
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

// 64 elements in four registers: how they are read, and how their codes are put in order after packs, by which each 128
// bits have four of each register in turn.
template<qdq_dtype type> struct registers_of {
    static constexpr auto order = register_order::consecutive;
    using element = std::conditional_t<type == QDQ_F32, float, uint16_t>;

    [[gnu::always_inline]] static __m512 read(const float *first, int64_t i) {
        return _mm512_loadu_ps(first + i * lanes);
    }
    [[gnu::always_inline]] static __m512 read(const uint16_t *first, int64_t i) { return load(first + i * lanes); }
    [[gnu::always_inline]] static __m512i bytes_in_order(__m512i bytes) {
        const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        return _mm512_permutexvar_epi32(order, bytes);
    }
    [[gnu::always_inline]] static __m512i words_in_order(__m512i words) {
        return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), words);
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
    [[gnu::always_inline]] static __m512i bytes_in_order(__m512i bytes) {
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
    [[gnu::always_inline]] static __m512i words_in_order(__m512i words) {
        const __m512i by_turns =
            _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
        return _mm512_shuffle_epi8(words, by_turns);
    }
};

template<bool is_signed> [[gnu::always_inline]] inline __m512i clamped_bytes(__m512i codes, const code_range &range) {
    return is_signed ? _mm512_max_epi8(_mm512_min_epi8(codes, range.highest), range.lowest)
                     : _mm512_max_epu8(_mm512_min_epu8(codes, range.highest), range.lowest);
}

template<bool is_signed> [[gnu::always_inline]] inline __m512i clamped_words(__m512i codes, const code_range &range) {
    return is_signed ? _mm512_max_epi16(_mm512_min_epi16(codes, range.highest), range.lowest)
                     : _mm512_max_epu16(_mm512_min_epu16(codes, range.highest), range.lowest);
}

// 64 codes, each in a byte, as packed ones: neighbours meet by multiplying the second one.
template<int64_t bits, bool nontemporal> [[gnu::always_inline]] inline void store_codes(char *y, __m512i bytes) {
    if constexpr (bits == 8) {
        store<nontemporal>(y, bytes);
    } else {
        const __m512i codes = _mm512_and_si512(bytes, _mm512_set1_epi8((1 << bits) - 1));
        const __m512i pairs = _mm512_maddubs_epi16(codes, _mm512_set1_epi16((1 << bits << 8) + 1));
        if constexpr (bits == 4) {
            store<nontemporal>(y, _mm512_cvtepi16_epi8(pairs));
        } else {
            static_assert(bits == 2);
            const __m512i quads = _mm512_madd_epi16(pairs, _mm512_set1_epi32((16 << 16) + 1));
            store<nontemporal>(y, _mm512_cvtepi32_epi8(quads));
        }
    }
}

// `clamps` to a range that is not the type's.
template<typename Kernel, bool multiplies, addition adds, bool clamps, qdq_rounding rounding> struct group_quantizer {
    using registers = registers_of<Kernel::floats.dtype>;
    using element = typename registers::element;
    static constexpr int64_t bits = Kernel::stored.bits;
    static constexpr bool is_signed = Kernel::stored.is_signed();
    static constexpr bool may_lose_remainders = !multiplies && Kernel::floats.dtype != QDQ_F16;
    static constexpr bool adds_words = adds == addition::after_rounding && bits <= 8;
    static constexpr bool adds_integers = adds == addition::after_rounding && bits == 16;

    static code_range range_of(const quantize_arguments &all) {
        return clamps ? code_range(Kernel::stored, all.lowest, all.highest)
                      : code_range(Kernel::stored, Kernel::stored.lowest(), Kernel::stored.highest());
    }

    template<typename Operands>
    [[gnu::always_inline]] static __m512i integers(const element *first, const Operands &with, int64_t i) {
        const factors &own = with.factors_of(i);
        const __m512 x = registers::read(first, i);
        __m512 t = bounded_quotient<multiplies>(x, own);
        if constexpr (adds == addition::before_rounding) {
            t = _mm512_add_ps(t, with.offset_of(i));
        }
        if constexpr (adds_integers) {  // sums are to be within int32; a NaN becomes the bound
            t = _mm512_max_ps(t, _mm512_set1_ps(-factors::largest));
        }
        const __m512i integer = rounded<rounding, may_lose_remainders>(t, x, own.largest_of_zero);
        return adds_integers ? _mm512_add_epi32(integer, _mm512_cvtps_epi32(with.offset_of(i))) : integer;
    }

    // Of half of the group.
    template<typename Operands>
    [[gnu::always_inline]] static __m512i words(const element *x, const Operands &with, int64_t half) {
        const __m512i a = integers(x, with, 2 * half), b = integers(x, with, 2 * half + 1);
        const __m512i both = bits == 16 && !is_signed ? _mm512_packus_epi32(a, b) : _mm512_packs_epi32(a, b);
        return adds_words ? _mm512_adds_epi16(both, with.zero_points_of(half)) : both;
    }

    template<typename Operands>
    [[gnu::always_inline]] static void run(const element *x, char *y, const Operands &with, const code_range &range) {
        const __m512i low = words(x, with, 0), high = words(x, with, 1);
        if constexpr (bits == 16) {
            for (const __m512i half : {registers::words_in_order(low), registers::words_in_order(high)}) {
                store<Kernel::nontemporal>(y, clamps ? clamped_words<is_signed>(half, range) : half);
                y += 64;
            }
        } else {
            const __m512i bytes = is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
            const __m512i codes = registers::bytes_in_order(bytes);
            store_codes<bits, Kernel::nontemporal>(y,
                                                   clamps || bits < 8 ? clamped_bytes<is_signed>(codes, range) : codes);
        }
    }
};

constexpr int64_t bytes_of(const element_type &codes, int64_t count) { return count * codes.bits / 8; }

// Within the caches nothing is fetched ahead: f32 from L3, divided, would take 8 % less (1 Mi elements, Zen 5), but
// rows whose scales are computed, of which more is on its way already, 5 % more.
template<typename Kernel, bool multiplies, addition adds, bool clamps, qdq_rounding rounding>
int quantize_rows(const quantize_arguments &all) {
    using group = group_quantizer<Kernel, multiplies, adds, clamps, rounding>;
    const int64_t columns = all.x->dim[0].extent, fetch_distance = fetch_distance_of(Kernel::nontemporal, all.x);
    const code_range range = group::range_of(all);
    const bool has_own = all.scale->dim[0].stride != 0 || all.zero_point->dim[0].stride != 0;
    row_operands with(all, 0, multiplies);
    rows_of_bytes rows(all.x, all.y);
    for (int64_t r = 0; r < rows.count; r++, rows.advance()) {
        if (has_own && r > 0) {
            with = row_operands(all, r, multiplies);
        }
        const auto *x = rows.elements<typename group::element>(0);
        for (int64_t c = 0; c < columns; c += group_size, x += group_size) {
            if constexpr (Kernel::nontemporal) {
                fetch_ahead(x, fetch_distance);
            }
            group::run(x, rows.y + bytes_of(Kernel::stored, c), with, range);
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
    const code_range range = group::range_of(all);
    rows_of_bytes rows(all.x, all.y);
    const int64_t together = rows.most_together(bytes_of(Kernel::stored, columns), lanes);
    for (int64_t first = 0; first < rows.count; first += together, rows.advance(together)) {
        const int64_t count = rows.count - first < together ? rows.count - first : together;
        for (int64_t c = 0; c < columns; c += group_size) {
            const column_operands with(operands, of, of.place_of(c));
            for (int64_t r = 0; r < count; r++) {
                group::run(rows.elements<typename group::element>(r) + c,
                           rows.y + r * rows.y_bytes + bytes_of(Kernel::stored, c), with, range);
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

// Rows that nothing clamps have a loop of their own: f32 to u8, divided, takes 9 % less so (64 Ki, Zen 5). Past the
// caches all wait for memory: one loop takes codes without a zero point, too, which is 0 then.
template<typename Kernel, bool multiplies> int quantize_and_add(const quantize_arguments &all) {
    if constexpr (!Kernel::is_column && !Kernel::is_block && Kernel::stored.bits == 8) {
        if (all.lowest == Kernel::stored.lowest() && all.highest == Kernel::stored.highest()) {
            return quantize_all<Kernel, multiplies, addition::after_rounding, false>(all);
        }
    }
    return quantize_all<Kernel, multiplies, addition::after_rounding, true>(all);
}

// Blocks round to nearest even. The generated kernels of other forms add zero points before rounding.
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

// Without a zero point. bf16 to i8 by columns takes 0.105 ns an element by hand, and 0.085 by the generated kernel;
// rows of 128 f32 to i16 0.036 and 0.027 (Zen 5).
template<typename Kernel, bool multiplies>
int quantize_alone(const quantize_arguments &all, qdq_quantize_kernel *generated) {
    constexpr bool are_words_of_f32 = Kernel::stored.bits == 16 && Kernel::floats.dtype == QDQ_F32;
    if constexpr (Kernel::is_column || (are_words_of_f32 && !Kernel::is_block)) {
        return all.run(generated);
    } else {
        return quantize_all<Kernel, multiplies, addition::none, false>(all);
    }
}

// Blocks of 16 f32 to i8 take 0.067 ns an element by hand, and 0.056 by the generated kernel; those of 32 f32 to i2
// 0.045 and 0.054 (Zen 5).
template<typename Kernel> bool has_long_blocks(const quantize_arguments &all) {
    return Kernel::is_block && Kernel::stored.bits > 2 &&
           all.x->dim[0].extent >= Kernel::stored.block * all.scale->dim[0].extent;  // a division takes 5 ns
}

template<typename Kernel>
[[gnu::noinline]] int quantize_in_caches(const quantize_arguments &all, qdq_quantize_kernel *generated) {
    switch (static_cast<quantize_variant>(all.variant)) {
    case quantize_variant::multiply: return quantize_alone<Kernel, true>(all, generated);
    case quantize_variant::divide: return quantize_alone<Kernel, false>(all, generated);
    case quantize_variant::multiply_after: return quantize_and_add<Kernel, true>(all);
    case quantize_variant::divide_after: return quantize_and_add<Kernel, false>(all);
    case quantize_variant::rounded_multiply: return quantize_otherwise<Kernel, true>(all, generated);
    case quantize_variant::rounded_divide: return quantize_otherwise<Kernel, false>(all, generated);
    default: break;
    }
    if constexpr (Kernel::is_block) {  // shorter than the generated kernel's
        return all.variant == static_cast<int32_t>(quantize_variant::multiply_before)
                   ? quantize_all<Kernel, true, addition::before_rounding, true>(all)
                   : quantize_all<Kernel, false, addition::before_rounding, true>(all);
    }
    return all.run(generated);
}

template<typename Kernel> int quantize(const quantize_arguments &all, qdq_quantize_kernel *generated) {
    static_assert(Kernel::stored.bits <= 16 && Kernel::stored.is_integer());
    if constexpr (Kernel::nontemporal) {
        switch (static_cast<quantize_variant>(all.variant)) {
        case quantize_variant::multiply:
        case quantize_variant::multiply_after: return quantize_all<Kernel, true, addition::after_rounding, true>(all);
        case quantize_variant::divide:
        case quantize_variant::divide_after: return quantize_all<Kernel, false, addition::after_rounding, true>(all);
        default: break;
        }
    }
    return has_long_blocks<Kernel>(all) ? all.run(generated)
                                        : quantize_in_caches<typename Kernel::in_caches>(all, generated);
}

}  // namespace
}  // namespace qdq::kernels
