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
    return multiplies ? _mm512_min_ps(_mm512_set1_ps(factors::largest), quotient<true>(x, with.scale, with.inverse))
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

// When a zero point is added: kernels/variants.h bounds them. `either`: as the call says, by a zero for the other; that
// is one loop for two.
enum class addition { none, before_rounding, after_rounding, either };

quantize_variant variant_of(const quantize_arguments &all) { return static_cast<quantize_variant>(all.variant); }

bool adds_before_rounding(const quantize_arguments &all) {
    using enum quantize_variant;
    const quantize_variant variant = variant_of(all);
    return variant == multiply_before || variant == divide_before || (variant >= rounded_multiply && all.before != 0);
}

// To nearest even, to the type's whole range.
bool adds_nothing(const quantize_arguments &all) {
    return variant_of(all) == quantize_variant::multiply || variant_of(all) == quantize_variant::divide;
}

// What all codes of a row share.
class row_operands {
public:
    row_operands(const quantize_arguments &all, int64_t row, bool multiplies)
        : own(_mm512_set1_ps(at(all.scale, row)), _mm512_set1_ps(at(multiplies ? all.scale : all.inverse, row))),
          offset(_mm512_set1_ps(adds_before_rounding(all) ? at(all.zero_point, row) : 0)),
          addend(adds_before_rounding(all) ? 0 : static_cast<int32_t>(at(all.zero_point, row))) {}

    const factors &factors_of(int64_t) const { return own; }
    __m512 offset_of(int64_t) const { return offset; }
    __m512i addend_of(int64_t) const { return _mm512_set1_epi32(addend); }
    __m512i addends_of(int64_t) const { return _mm512_set1_epi16(static_cast<int16_t>(addend)); }

private:
    factors own;
    __m512 offset;
    int32_t addend;

    static float at(const halide_buffer_t *operand, int64_t row) {
        return floats_of(operand)[row * operand->dim[0].stride];
    }
};

// The operands of a call.
struct operands_at {
    const float *scale, *inverse, *zero_point;
    __mmask16 added_before, added_after;  // all or none

    operands_at(const quantize_arguments &all, bool multiplies)
        : scale(floats_of(all.scale)),
          inverse(multiplies ? scale : floats_of(all.inverse)),
          zero_point(floats_of(all.zero_point)),
          added_before(adds_before_rounding(all) ? 0xffff : 0),
          added_after(static_cast<__mmask16>(~added_before)) {}
};

// Those of the blocks of 64 elements.
template<register_order order> class group_operands {
public:
    using operands_of = operands_of_blocks<order>;

    [[gnu::always_inline]] group_operands(const operands_at &all, const operands_of &of, int64_t place)
        : own{factors_at(all, of, place, 0), factors_at(all, of, place, 1), factors_at(all, of, place, 2),
              factors_at(all, of, place, 3)},
          zero_point{of.of_register(all.zero_point + place, 0), of.of_register(all.zero_point + place, 1),
                     of.of_register(all.zero_point + place, 2), of.of_register(all.zero_point + place, 3)},
          added_before(all.added_before),
          added_after(all.added_after) {}

    const factors &factors_of(int64_t i) const { return own[i]; }
    __m512 offset_of(int64_t i) const { return _mm512_maskz_mov_ps(added_before, zero_point[i]); }
    __m512i addend_of(int64_t i) const { return _mm512_maskz_cvtps_epi32(added_after, zero_point[i]); }
    // As words, in the order of packs.
    __m512i addends_of(int64_t half) const { return _mm512_packs_epi32(addend_of(2 * half), addend_of(2 * half + 1)); }

private:
    factors own[4];
    __m512 zero_point[4];
    __mmask16 added_before, added_after;

    [[gnu::always_inline]] static factors factors_at(const operands_at &all, const operands_of &of, int64_t place,
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
template<int64_t bits> [[gnu::always_inline]] inline auto packed_codes(__m512i bytes) {
    if constexpr (bits == 8) {
        return bytes;
    } else {
        const __m512i codes = _mm512_and_si512(bytes, _mm512_set1_epi8((1 << bits) - 1));
        const __m512i pairs = _mm512_maddubs_epi16(codes, _mm512_set1_epi16((1 << bits << 8) + 1));
        if constexpr (bits == 4) {
            return _mm512_cvtepi16_epi8(pairs);
        } else {
            static_assert(bits == 2);
            return _mm512_cvtepi32_epi8(_mm512_madd_epi16(pairs, _mm512_set1_epi32((16 << 16) + 1)));
        }
    }
}

// `clamps` to a range that is not the type's.
template<typename Kernel, bool multiplies, addition adds, bool clamps, bool to_nearest = true> class group_quantizer {
public:
    using registers = registers_of<Kernel::floats.dtype>;
    using element = typename registers::element;

    group_quantizer(const quantize_arguments &all, call_stores stores)
        : range(range_of(all)),
          added(added_to_magnitudes(all.rounding, tells_zeros_last ? least_normal : 0)),
          stores(stores) {}

    template<typename Operands> [[gnu::always_inline]] void run(const element *x, char *y, const Operands &with) const {
        const __m512i low = words(x, with, 0), high = words(x, with, 1);
        if constexpr (bits == 16) {
            const __m512i first = registers::words_in_order(low), second = registers::words_in_order(high);
            store(y, clamps ? clamped_words<is_signed>(first, range) : first);
            store(y + 64, clamps ? clamped_words<is_signed>(second, range) : second);
        } else {
            const __m512i bytes = is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
            const __m512i codes = registers::bytes_in_order(bytes);
            store(y, packed_codes<bits>(clamps || bits < 8 ? clamped_bytes<is_signed>(codes, range) : codes));
        }
    }

private:
    static constexpr int64_t bits = Kernel::stored.bits;
    static constexpr bool is_signed = Kernel::stored.is_signed();
    static constexpr bool adds_before = adds == addition::before_rounding || adds == addition::either;
    static constexpr bool adds_after = adds == addition::after_rounding || adds == addition::either;
    static constexpr bool may_bypass = adds == addition::either && !Kernel::is_block;
    static constexpr bool may_lose_remainders = !multiplies && Kernel::floats.dtype != QDQ_F16;
    static constexpr bool tells_zeros_last = may_lose_remainders && !adds_before;

    const code_range range;
    const __m512 added;
    const call_stores stores;

    static code_range range_of(const quantize_arguments &all) {
        return clamps ? code_range(Kernel::stored, all.lowest, all.highest)
                      : code_range(Kernel::stored, Kernel::stored.lowest(), Kernel::stored.highest());
    }

    template<typename Vector> [[gnu::always_inline]] void store(char *y, Vector codes) const {
        if constexpr (may_bypass) {
            stores.store(y, codes);
        } else {
            kernels::store<false>(y, codes);
        }
    }

    template<typename Operands>
    [[gnu::always_inline]] __m512i integers(const element *first, const Operands &with, int64_t i) const {
        const factors &own = with.factors_of(i);
        const __m512 x = registers::read(first, i);
        __m512 t = bounded_quotient<multiplies>(x, own);
        if constexpr (adds_before) {
            if constexpr (!to_nearest && may_lose_remainders) {
                t = add_unless_zero(t, x, _mm512_set1_ps(least_normal), own.largest_of_zero);
            }
            t = _mm512_add_round_ps(t, with.offset_of(i), to_nearest_even);
        }
        if constexpr (adds_after && bits == 16) {  // sums are to be within int32; a NaN becomes the bound
            t = _mm512_max_ps(t, _mm512_set1_ps(-factors::largest));
        }
        if constexpr (!to_nearest) {
            t = tells_zeros_last ? add_unless_zero(t, x, added, own.largest_of_zero)
                                 : _mm512_add_round_ps(t, with_sign_of(t, added), to_nearest_even);
        }
        // NaN becomes the least, as all does that is below those of 32 bits.
        const __m512i integer = _mm512_cvtps_epi32(t);
        return adds_after && bits == 16 ? _mm512_add_epi32(integer, with.addend_of(i)) : integer;
    }

    // Of half of the group.
    template<typename Operands>
    [[gnu::always_inline]] __m512i words(const element *x, const Operands &with, int64_t half) const {
        const __m512i a = integers(x, with, 2 * half), b = integers(x, with, 2 * half + 1);
        const __m512i both = bits == 16 && !is_signed ? _mm512_packus_epi32(a, b) : _mm512_packs_epi32(a, b);
        return adds_after && bits <= 8 ? _mm512_adds_epi16(both, with.addends_of(half)) : both;
    }
};

constexpr int64_t bytes_of(const element_type &codes, int64_t count) { return count * codes.bits / 8; }

// Within the caches nothing is fetched ahead: f32 from L3, divided, would take 8 % less (1 Mi elements, Zen 5), but
// rows whose scales are computed, of which more is on its way already, 5 % more.
template<typename Kernel, bool multiplies, addition adds, bool clamps, bool to_nearest = true>
int quantize_rows(const quantize_arguments &all, call_stores stores) {
    using group = group_quantizer<Kernel, multiplies, adds, clamps, to_nearest>;
    const int64_t columns = all.x->dim[0].extent;
    const group groups(all, stores);
    const bool has_own = all.scale->dim[0].stride != 0 || all.zero_point->dim[0].stride != 0;
    rows_of_bytes rows(all.x, all.y);
    for (int64_t r = 0; r < rows.count;) {
        const row_operands with(all, r, multiplies);
        do {
            const auto *x = rows.elements<typename group::element>(0);
            for (int64_t c = 0; c < columns; c += group_size, x += group_size) {
                if constexpr (adds == addition::either) {
                    stores.fetch_ahead(x);
                }
                groups.run(x, rows.y + bytes_of(Kernel::stored, c), with);
            }
            rows.advance();
        } while (++r < rows.count && !has_own);
    }
    return 0;
}

template<typename Kernel, bool multiplies, addition adds, bool clamps>
int quantize_blocks(const quantize_arguments &all) {
    using group = group_quantizer<Kernel, multiplies, adds, clamps>;
    constexpr register_order order = group::registers::order;
    const int64_t columns = all.x->dim[0].extent;
    const operands_of_blocks<order> of(block_of(all));
    const operands_at operands(all, multiplies);
    const group groups(all, call_stores(false, 0));
    rows_of_bytes rows(all.x, all.y);
    for (int64_t r = 0; r < rows.count; r++, rows.advance()) {
        const auto *x = rows.elements<typename group::element>(0);
        for (int64_t c = 0; c < columns; c += group_size, x += group_size) {
            const group_operands<order> with(operands, of, of.place_of(c));
            groups.run(x, rows.y + bytes_of(Kernel::stored, c), with);
        }
    }
    return 0;
}

// ns an element by hand, and by the generated kernel (Zen 5): rows of 128 f32 to i16 take 0.036 and 0.027; blocks of
// 16, f32 to i8, 0.067 and 0.056, bf16 0.066 and 0.066; blocks of 32, f32 to i2, 0.045 and 0.054.
template<typename Kernel> bool takes_longer(const quantize_arguments &all) {
    if constexpr (Kernel::floats.dtype == QDQ_BF16 || (!Kernel::is_block && Kernel::stored.bits < 16)) {
        return false;
    } else if constexpr (Kernel::is_block) {
        return Kernel::stored.bits > 2 &&
               all.x->dim[0].extent >= Kernel::stored.block * all.scale->dim[0].extent;  // a division takes 5 ns
    } else {
        return Kernel::floats.dtype == QDQ_F32 && adds_nothing(all);
    }
}

template<typename Kernel, bool multiplies> int quantize_blocks(const quantize_arguments &all) {
    return adds_nothing(all) ? quantize_blocks<Kernel, multiplies, addition::none, false>(all)
                             : quantize_blocks<Kernel, multiplies, addition::either, true>(all);
}

// Rows that nothing clamps have a loop of their own: f32 to u8, divided, takes 9 % less so (64 Ki, Zen 5). Past the
// caches all wait for memory: one loop takes codes without a zero point, too, which is 0 then.
template<typename Kernel, bool multiplies> int quantize_rows(const quantize_arguments &all, call_stores stores) {
    using enum quantize_variant;
    const quantize_variant variant = variant_of(all);
    if (variant == (multiplies ? rounded_multiply : rounded_divide)) {
        const conversions_round as_asked(all.rounding);
        return all.before != 0 ? quantize_rows<Kernel, multiplies, addition::before_rounding, true, false>(all, stores)
                               : quantize_rows<Kernel, multiplies, addition::after_rounding, true, false>(all, stores);
    }
    if (adds_nothing(all) && !stores.bypass_caches()) {
        return quantize_rows<Kernel, multiplies, addition::none, false>(all, stores);
    }
    if constexpr (Kernel::stored.bits == 8) {
        if (variant == (multiplies ? multiply_after : divide_after) && !stores.bypass_caches() &&
            all.lowest == Kernel::stored.lowest() && all.highest == Kernel::stored.highest()) {
            return quantize_rows<Kernel, multiplies, addition::after_rounding, false>(all, stores);
        }
    }
    return quantize_rows<Kernel, multiplies, addition::either, true>(all, stores);
}

bool multiplies(const quantize_arguments &all) {
    using enum quantize_variant;
    return variant_of(all) <= multiply_before || variant_of(all) == rounded_multiply;
}

// Out of line: kernels whose stores bypass the caches and others share it.
template<typename Kernel> [[gnu::noinline]] int quantize_by_hand(const quantize_arguments &all, call_stores stores) {
    if constexpr (Kernel::is_block) {
        return multiplies(all) ? quantize_blocks<Kernel, true>(all) : quantize_blocks<Kernel, false>(all);
    } else {
        return multiplies(all) ? quantize_rows<Kernel, true>(all, stores) : quantize_rows<Kernel, false>(all, stores);
    }
}

template<typename Kernel> int quantize(const quantize_arguments &all, qdq_quantize_kernel *generated) {
    static_assert(Kernel::stored.bits <= 16 && Kernel::stored.is_integer());
    if (!Kernel::nontemporal && takes_longer<Kernel>(all)) {
        return all.run(generated);
    }
    const call_stores stores(Kernel::nontemporal, fetch_distance_of(Kernel::nontemporal, all.x));
    return quantize_by_hand<typename Kernel::in_caches>(all, stores);
}

}  // namespace
}  // namespace qdq::kernels
