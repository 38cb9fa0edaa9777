// 64 Ki elements of f32 to i8 took 47 us by the generated kernels, and take 25 here, of which 11 are for random bits
// (Zen 3).
#include "handwritten/stochastic_rounding.h"
#include "handwritten/x86_stores.h"

namespace qdq::kernels {
namespace {

constexpr int64_t lanes = 8;  // of 32 bits
constexpr int registers = sharing_elements / lanes;

// Four blocks side by side in words of 64 bits, of which the low halves count. Twice as many at once: each round waits
// for the one before.
class philox_of_four {
public:
    explicit philox_of_four(uint64_t seed) : keys(seed) {}

    // The halves of words of consecutive blocks.
    void draw(uint64_t block, uint16_t *halves) const {
        constexpr int at_once = 2 * blocks * random_elements;
        for (int i = 0; i < drawn_at_once / 2; i += at_once, block += 2 * blocks) {
            draw_some(block, halves + i);
        }
    }

private:
    static constexpr int blocks = 4;
    const philox_keys keys;

    [[gnu::always_inline]] void draw_some(uint64_t block, uint16_t *halves) const {
        const __m256i first_factor = _mm256_set1_epi64x(philox_first_factor);
        const __m256i second_factor = _mm256_set1_epi64x(philox_second_factor);
        __m256i words[2][4];
        for (int i = 0; i < 2; i++) {
            // In the order in which halves of 128 bits are unpacked.
            const __m256i numbers = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<int64_t>(block) + blocks * i),
                                                     _mm256_setr_epi64x(0, 2, 1, 3));
            words[i][0] = numbers;
            words[i][1] = _mm256_srli_epi64(numbers, 32);
            words[i][2] = words[i][3] = _mm256_setzero_si256();
        }
#pragma GCC unroll 10
        for (int round = 0; round < philox_keys::rounds; round++) {
            const __m256i key[2] = {_mm256_set1_epi64x(static_cast<int64_t>(keys.of[round][0])),
                                    _mm256_set1_epi64x(static_cast<int64_t>(keys.of[round][1]))};
#pragma GCC unroll 2
            for (auto &w : words) {
                const __m256i first = _mm256_mul_epu32(w[0], first_factor);
                const __m256i second = _mm256_mul_epu32(w[2], second_factor);
                w[0] = _mm256_xor_si256(high_half(second), _mm256_xor_si256(w[1], key[0]));
                w[2] = _mm256_xor_si256(high_half(first), _mm256_xor_si256(w[3], key[1]));
                w[1] = second;
                w[3] = first;
            }
        }
        auto *to = reinterpret_cast<__m256i *>(halves);
        for (const auto &w : words) {
            const __m256i a = both_words(w[0], w[1]), b = both_words(w[2], w[3]);
            _mm256_store_si256(to++, _mm256_unpacklo_epi64(a, b));
            _mm256_store_si256(to++, _mm256_unpackhi_epi64(a, b));
        }
    }

    // What is above it is arbitrary. Shuffles leave the shifters to the products.
    static __m256i high_half(__m256i product) { return _mm256_shuffle_epi32(product, _MM_SHUFFLE(3, 3, 1, 1)); }
    static __m256i both_words(__m256i low, __m256i high) {
        return _mm256_blend_epi32(low, _mm256_slli_epi64(high, 32), 0xaa);
    }
};

struct integer_registers {
    __m256i of[registers];
};

inline __m256i load_words(const uint16_t *from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from)); }

// The high halves of lanes: the first register's are the even words.
inline __m256i words_of(__m256i first, __m256i second) {
    return _mm256_blend_epi16(_mm256_srli_epi32(first, 16), second, 0xaa);
}

inline __m256i bits_of(__m256 x) { return _mm256_castps_si256(x); }
inline __m256 magnitude_of(__m256 x) { return _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(INT32_MAX))); }
inline __m256 is_nan(__m256 x) { return _mm256_cmp_ps(x, x, _CMP_UNORD_Q); }

// A type's 32 elements in four registers, and their random bits in the same lanes. Words are those of two registers in
// turn, whose highest bits are signs; +0 is that of NaN where only numbers have one.
template<qdq_dtype dtype> struct float_registers {
    using element = std::conditional_t<dtype == QDQ_F32, float, uint16_t>;
    __m256 of[registers];

    explicit float_registers(const element *x)
        : of{load(x), load(x + lanes), load(x + 2 * lanes), load(x + 3 * lanes)} {}

    // The second half shares those of the first, with their bytes swapped.
    static integer_registers random_bits(const uint16_t *halves) {
        const auto swapped = static_cast<int32_t>(0x80800001);  // of a lane, and 0 above
        const __m256i order = _mm256_setr_epi32(swapped, swapped + 0x0404, swapped + 0x0808, swapped + 0x0c0c, swapped,
                                                swapped + 0x0404, swapped + 0x0808, swapped + 0x0c0c);
        const auto *const from = reinterpret_cast<const __m128i *>(halves);
        const __m256i first = _mm256_cvtepu16_epi32(_mm_load_si128(from));
        const __m256i second = _mm256_cvtepu16_epi32(_mm_load_si128(from + 1));
        return {first, second, _mm256_shuffle_epi8(first, order), _mm256_shuffle_epi8(second, order)};
    }

    __m256i signs(int pair) const { return words_of(bits_of(of[2 * pair]), bits_of(of[2 * pair + 1])); }
    __m256i signs_of_numbers(int pair) const { return words_of(number(of[2 * pair]), number(of[2 * pair + 1])); }

    // 32 bytes from packed words.
    static __m256i in_order(__m256i packed) {
        const __m256i by_register = _mm256_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15,  //
                                                     0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
        return _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(packed, by_register),
                                           _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    }

private:
    static __m256 load(const float *from) { return _mm256_loadu_ps(from); }
    static __m256 load(const uint16_t *from) {
        return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from)));
    }
    static __m256i number(__m256 x) { return bits_of(_mm256_andnot_ps(is_nan(x), x)); }
};

// Of words the even ones and the odd ones.
template<> struct float_registers<QDQ_BF16> {
    using element = uint16_t;
    __m256i x[2];
    __m256 of[registers];

    explicit float_registers(const uint16_t *from)
        : x{load_words(from), load_words(from + 2 * lanes)}, of{even(x[0]), odd(x[0]), even(x[1]), odd(x[1])} {}

    static integer_registers random_bits(const uint16_t *halves) {
        const __m256i order = _mm256_setr_epi32(0x02030001, 0x06070405, 0x0a0b0809, 0x0e0f0c0d,  //
                                                0x02030001, 0x06070405, 0x0a0b0809, 0x0e0f0c0d);
        const __m256i low_half = _mm256_set1_epi32(0xffff);
        const __m256i first = load_words(halves), second = _mm256_shuffle_epi8(first, order);
        return {_mm256_and_si256(first, low_half), _mm256_srli_epi32(first, 16), _mm256_and_si256(second, low_half),
                _mm256_srli_epi32(second, 16)};
    }

    __m256i signs(int pair) const { return x[pair]; }
    __m256i signs_of_numbers(int pair) const {
        const __m256i magnitudes = _mm256_and_si256(x[pair], _mm256_set1_epi16(0x7fff));
        return _mm256_andnot_si256(_mm256_cmpgt_epi16(magnitudes, _mm256_set1_epi16(0x7f80)), x[pair]);
    }

    static __m256i in_order(__m256i packed) { return _mm256_permute4x64_epi64(packed, _MM_SHUFFLE(3, 1, 2, 0)); }

private:
    static __m256 even(__m256i words) { return _mm256_castsi256_ps(_mm256_slli_epi32(words, 16)); }
    static __m256 odd(__m256i words) {
        return _mm256_castsi256_ps(_mm256_and_si256(words, _mm256_set1_epi32(static_cast<int32_t>(0xffff0000))));
    }
};

// Of 32 elements.
struct operand_vectors {
    __m256 scale, inverse, largest;
    __m256i zero_point;

    operand_vectors(const operand_arrays &from, int64_t i)
        : scale(_mm256_set1_ps(from.scale[2 * i])),
          inverse(_mm256_set1_ps(from.inverse[2 * i])),
          largest(_mm256_set1_ps(from.largest[2 * i])),
          zero_point(_mm256_set1_epi32(from.zero_point[2 * i])) {}
};

// x times the scale, or divided by it as divide_by_reciprocal in generators/arithmetic.h proves.
template<bool multiplies> [[gnu::always_inline]] inline __m256 quotient(__m256 x, const operand_vectors &by) {
    if constexpr (multiplies) {
        return _mm256_mul_ps(x, by.scale);
    }
    const __m256 guess = _mm256_mul_ps(x, by.inverse);
    return _mm256_fmadd_ps(_mm256_fnmadd_ps(guess, by.scale, x), by.inverse, guess);
}

// The least and the largest code.
struct range_vectors {
    __m256i lowest, highest;
};

// NaN becomes the least word.
template<qdq_dtype dtype, bool multiplies> struct integer_codes {
    static constexpr const element_type &type = type_of(dtype);

    static __m256i sum(__m256 x, __m256i random, const operand_vectors &by) {
        const __m256 magnitude = magnitude_of(x);
        const __m256 t = multiplies ? _mm256_min_ps(by.largest, quotient<multiplies>(magnitude, by))
                                    : quotient<multiplies>(_mm256_min_ps(by.largest, magnitude), by);
        return _mm256_add_epi32(_mm256_cvtps_epi32(t), random);
    }

    // A word of signs that is 0 is that of a number below 2^-132, whose quotient rounds to 0.
    template<typename Registers>
    static __m256i words(const Registers &x, int pair, __m256i magnitudes, __m256i zero_point) {
        return _mm256_adds_epi16(_mm256_sign_epi16(magnitudes, x.signs(pair)), zero_point);
    }

    template<typename Registers>
    static __m256i bytes(const Registers &x, __m256i first, __m256i second, const operand_vectors &by,
                         const range_vectors &range) {
        const __m256i low = words(x, 0, first, by.zero_point), high = words(x, 1, second, by.zero_point);
        __m256i clamped;
        if constexpr (type.is_signed()) {
            clamped = _mm256_max_epi8(_mm256_min_epi8(_mm256_packs_epi16(low, high), range.highest), range.lowest);
        } else {
            clamped = _mm256_max_epu8(_mm256_min_epu8(_mm256_packus_epi16(low, high), range.highest), range.lowest);
        }
        return type.bits == 4 ? _mm256_and_si256(clamped, _mm256_set1_epi8(0x0f)) : clamped;
    }
};

// A float's code is 7 bits of its sum with a number that the exponent chooses: 128 steps, and as many as there are
// codes before the exponent's first. The 16 bits below count 65536ths of a step, and random bits that are added to them
// carry.
template<qdq_dtype dtype, bool multiplies> struct float_codes {
    static constexpr const element_type &type = type_of(dtype);
    static constexpr const float_layout &layout = type.layout;

    // That of the binade of t, which is as large as the least normal at least.
    static __m256 steps_of(__m256i t) {
        constexpr int passed = 7 - layout.mantissa_bits;  // bits from a binade's number to that of its first code
        constexpr auto first = static_cast<int32_t>((uint32_t(passed) << 23) - (least_normal_of(layout) >> passed));
        const __m256i binade = _mm256_and_si256(t, _mm256_set1_epi32(0x7f800000));
        return _mm256_castsi256_ps(
            _mm256_add_epi32(_mm256_add_epi32(binade, _mm256_srli_epi32(binade, passed)), _mm256_set1_epi32(first)));
    }

    static __m256i sum(__m256 x, __m256i random, const operand_vectors &by) {
        constexpr float largest = value_of(layout, layout.largest());
        constexpr auto least_normal = int32_t(least_normal_of(layout));
        // What is no number, as the remainder of an infinite quotient is, becomes the largest.
        const __m256 t = _mm256_min_ps(magnitude_of(quotient<multiplies>(x, by)), _mm256_set1_ps(largest));
        const __m256 steps = steps_of(_mm256_max_epi32(bits_of(t), _mm256_set1_epi32(least_normal)));
        const __m256i all = _mm256_add_epi32(bits_of(_mm256_add_ps(t, steps)), random);
        return _mm256_or_si256(all, bits_of(is_nan(x)));
    }

    template<typename Registers>
    static __m256i bytes(const Registers &x, __m256i first, __m256i second, const operand_vectors &,
                         const range_vectors &) {
        const __m256i mask = _mm256_set1_epi16(int16_t(layout.magnitude_mask()));
        const __m256i packed = _mm256_packus_epi16(_mm256_and_si256(first, mask), _mm256_and_si256(second, mask));
        const __m256i magnitudes = layout.nan() < layout.magnitude_mask()
                                       ? _mm256_min_epu8(packed, _mm256_set1_epi8(char(layout.nan())))
                                       : packed;
        const __m256i signs = layout.has_nan() ? _mm256_packs_epi16(x.signs(0), x.signs(1))
                                               : _mm256_packs_epi16(x.signs_of_numbers(0), x.signs_of_numbers(1));
        const __m256i sign_bit = _mm256_set1_epi8(static_cast<char>(1 << layout.sign_bit()));
        return _mm256_or_si256(magnitudes,
                               _mm256_and_si256(type.bits == 8 ? signs : _mm256_srli_epi16(signs, 4), sign_bit));
    }
};

// Of bytes below 16 the even ones are the low nibbles.
inline __m256i nibbles(__m256i low, __m256i high) {
    const __m256i weights = _mm256_set1_epi16(0x1001);
    const __m256i words = _mm256_packus_epi16(_mm256_maddubs_epi16(low, weights), _mm256_maddubs_epi16(high, weights));
    return _mm256_permute4x64_epi64(words, _MM_SHUFFLE(3, 1, 2, 0));
}

template<qdq_dtype floats, typename Codes>
void run_groups(const stochastic_row &row, const operand_arrays &operands, int64_t count, const void *from,
                const uint16_t *halves, char *y) {
    using registers_of_x = float_registers<floats>;
    const range_vectors range = {_mm256_set1_epi8(static_cast<char>(row.lowest)),
                                 _mm256_set1_epi8(static_cast<char>(row.highest))};
    const auto bytes = [&](const auto *at, const uint16_t *random_of, const operand_vectors &by)
                           __attribute__((always_inline)) {
                               const registers_of_x x(at);
                               const integer_registers random = registers_of_x::random_bits(random_of);
                               const auto sums = [&](int pair) __attribute__((always_inline)) {
                                   return words_of(Codes::sum(x.of[2 * pair], random.of[2 * pair], by),
                                                   Codes::sum(x.of[2 * pair + 1], random.of[2 * pair + 1], by));
                               };
                               return registers_of_x::in_order(Codes::bytes(x, sums(0), sums(1), by, range));
                           };
    const call_stores stores(row.nontemporal, fetch_distance_of(row.nontemporal));
    const auto *x = static_cast<const typename registers_of_x::element *>(from);
    for (int64_t i = 0; i < count; i++, x += group_size, halves += group_size / 2) {
        stores.fetch_ahead(x);
        const __m256i low = bytes(x, halves, {operands, 2 * i});
        const __m256i high = bytes(x + sharing_elements, halves + sharing_elements / 2, {operands, 2 * i + 1});
        if constexpr (Codes::type.bits == 8) {
            stores.store(y, low);
            stores.store(y + sharing_elements, high);
        } else {
            stores.store(y, nibbles(low, high));
        }
        y += group_size * Codes::type.bits / 8;
    }
}

struct avx2_registers {
    using random_generator = philox_of_four;
    static constexpr bool takes_halves = false;
    template<qdq_dtype codes, bool multiplies>
    using codes_of = std::conditional_t<type_of(codes).is_integer(), integer_codes<codes, multiplies>,
                                        float_codes<codes, multiplies>>;
    template<qdq_dtype floats, qdq_dtype codes, bool multiplies, bool differ>
    static constexpr groups_function *groups = run_groups<floats, codes_of<codes, multiplies>>;
};

}  // namespace
}  // namespace qdq::kernels

extern "C" bool qdq_stochastic_row_avx2(const qdq::kernels::stochastic_row &row) {
    return qdq::kernels::quantize_stochastic_row<qdq::kernels::avx2_registers>(row);
}
