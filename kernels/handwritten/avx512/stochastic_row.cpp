// 64 Ki elements of f32 to i8 took 21.7 us by the generated kernels, and take 6.7 here, of which 2.6 are for random
// bits (Zen 5).
#include "handwritten/avx512/intrinsics.h"
#include "handwritten/stochastic_rounding.h"

namespace qdq::kernels {
namespace {

constexpr int64_t pair_elements = 2 * lanes;       // of two registers
static_assert(pair_elements == sharing_elements);  // which share random bits
static_assert(lanes == operand_elements);

// Eight blocks side by side in words of 64 bits, of which the low halves count. Four times as many at once, for each
// round waits for the one before: by two times 64 Ki elements of f32 to i8 take 1.6 us more.
class philox_of_eight {
public:
    explicit philox_of_eight(uint64_t seed) : keys(seed) {}

    // The halves of words of consecutive blocks.
    void draw(uint64_t block, uint16_t *halves) const {
        constexpr int sets = drawn_at_once / (8 * random_block_elements);
        const __m512i first_factor = _mm512_set1_epi64(philox_first_factor);
        const __m512i second_factor = _mm512_set1_epi64(philox_second_factor);
        __m512i words[sets][4];
        for (int i = 0; i < sets; i++) {
            const __m512i numbers = _mm512_add_epi64(_mm512_set1_epi64(static_cast<int64_t>(block) + 8 * i),
                                                     _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
            words[i][0] = numbers;
            words[i][1] = _mm512_srli_epi64(numbers, 32);
            words[i][2] = words[i][3] = _mm512_setzero_si512();
        }
#pragma GCC unroll 10
        for (int round = 0; round < philox_keys::rounds; round++) {
            const __m512i key[2] = {_mm512_set1_epi64(static_cast<int64_t>(keys.of[round][0])),
                                    _mm512_set1_epi64(static_cast<int64_t>(keys.of[round][1]))};
#pragma GCC unroll 4
            for (auto &w : words) {
                const __m512i first = _mm512_mul_epu32(w[0], first_factor);
                const __m512i second = _mm512_mul_epu32(w[2], second_factor);
                w[0] = _mm512_ternarylogic_epi32(high_half(second), w[1], key[0], a_xor_b_xor_c);
                w[2] = _mm512_ternarylogic_epi32(high_half(first), w[3], key[1], a_xor_b_xor_c);
                w[1] = second;
                w[3] = first;
            }
        }
        for (const auto &w : words) {
            const __m512i a = both_words(w[0], w[1]), b = both_words(w[2], w[3]);
            _mm512_store_si512(halves, _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b));
            _mm512_store_si512(halves + pair_elements,
                               _mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), b));
            halves += 2 * pair_elements;
        }
    }

private:
    static constexpr int a_xor_b_xor_c = 0x96;
    const philox_keys keys;

    // What is above it is arbitrary. Shuffles leave the shifters to the products.
    static __m512i high_half(__m512i product) { return _mm512_shuffle_epi32(product, _MM_PERM_DDBB); }
    static __m512i both_words(__m512i low, __m512i high) {
        return _mm512_mask_blend_epi32(0xaaaa, low, _mm512_slli_epi64(high, 32));
    }
};

constexpr int32_t upper_half = static_cast<int32_t>(0xffff0000);

struct pair_of_integers {
    __m512i of[2];
};
struct pair_of_floats {
    __m512 of[2];
};

struct alignas(64) odd_places {
    int16_t of[pair_elements] = {};

    constexpr odd_places() {
        for (int i = 0; i < pair_elements; i++) {
            of[i] = int16_t(2 * i + 1);
        }
    }
};

// A type's 32 elements in two registers, and their random bits in the same lanes. What a lane's high half holds becomes
// a word of `words`, in the elements' order. The highest bits of words are signs, and +0 is that of NaN where only
// numbers have one.
template<qdq_dtype dtype> struct pair_of_registers {
    using element = std::conditional_t<dtype == QDQ_F32, float, uint16_t>;
    __m512 of[2];

    explicit pair_of_registers(const element *x) : of{load(x), load(x + lanes)} {}

    // The second register shares those of the first, with their bytes swapped.
    static pair_of_integers random_bits(const uint16_t *halves) {
        const __m512i low = _mm512_cvtepu16_epi32(_mm256_load_si256(reinterpret_cast<const __m256i *>(halves)));
        const auto swapped = static_cast<int32_t>(0x80800001);  // of a lane, and 0 above
        const __m512i order = _mm512_setr4_epi32(swapped, swapped + 0x0404, swapped + 0x0808, swapped + 0x0c0c);
        return {low, _mm512_shuffle_epi8(low, order)};
    }

    // Operands of the first and the second half, which may differ.
    template<bool differ> static pair_of_floats spread(const float *operands) {
        return {_mm512_set1_ps(operands[0]), _mm512_set1_ps(operands[differ])};
    }

    static __m512i words(__m512i first, __m512i second) {
        static constexpr odd_places odd;
        return _mm512_permutex2var_epi16(first, _mm512_load_si512(odd.of), second);
    }

    __m512i signs() const { return words(_mm512_castps_si512(of[0]), _mm512_castps_si512(of[1])); }
    __m512i signs_of_numbers() const { return words(number(of[0]), number(of[1])); }

private:
    static __m512 load(const float *from) { return _mm512_loadu_ps(from); }
    static __m512 load(const uint16_t *from) { return kernels::load(from); }
    static __m512i number(__m512 x) {
        constexpr int zero_of_nan_else_x = 0x11111188;
        return _mm512_castps_si512(_mm512_fixupimm_ps(x, x, _mm512_set1_epi32(zero_of_nan_else_x), 0));
    }
};

// Of words the even ones and the odd ones.
template<> struct pair_of_registers<QDQ_BF16> {
    using element = uint16_t;
    __m512i x;
    __m512 of[2];

    explicit pair_of_registers(const uint16_t *from)
        : x(_mm512_loadu_si512(from)),
          of{_mm512_castsi512_ps(_mm512_slli_epi32(x, 16)),
             _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32(upper_half)))} {}

    static pair_of_integers random_bits(const uint16_t *halves) {
        const __m512i twice = _mm512_broadcast_i64x4(_mm256_load_si256(reinterpret_cast<const __m256i *>(halves)));
        const __m512i order = _mm512_set4_epi32(0x0e0f0c0d, 0x0a0b0809, 0x06070405, 0x02030001);
        const __m512i bits = _mm512_mask_shuffle_epi8(twice, __mmask64{0xffffffff00000000}, twice, order);
        return {_mm512_and_si512(bits, _mm512_set1_epi32(0xffff)), _mm512_srli_epi32(bits, 16)};
    }

    template<bool differ> static pair_of_floats spread(const float *operands) {
        const __m512 first = _mm512_set1_ps(operands[0]);
        const __m512 both = differ ? _mm512_insertf32x8(first, _mm256_set1_ps(operands[1]), 1) : first;
        return {both, both};
    }

    static __m512i words(__m512i even, __m512i odd) {
        const int a_or_b_and_c = 0xf8;  // a | (b & c)
        return _mm512_ternarylogic_epi32(_mm512_srli_epi32(even, 16), odd, _mm512_set1_epi32(upper_half), a_or_b_and_c);
    }

    __m512i signs() const { return x; }
    __m512i signs_of_numbers() const {
        const __m512i magnitudes = _mm512_and_si512(x, _mm512_set1_epi16(0x7fff));
        return _mm512_maskz_mov_epi16(_mm512_cmple_epi16_mask(magnitudes, _mm512_set1_epi16(0x7f80)), x);
    }
};

// 64 bytes from words: 128 bits of a pack are 8 words of the first register, then 8 of the second.
inline __m512i in_order(__m512i packed) {
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), packed);
}

// Of bytes below 16 the even ones are the low nibbles.
inline __m256i nibbles(__m512i bytes) {
    return _mm512_cvtepi16_epi8(_mm512_maddubs_epi16(bytes, _mm512_set1_epi16(0x1001)));
}

template<int bits> void store_bytes(const call_stores &stores, char *y, __m512i bytes) {
    if constexpr (bits == 8) {
        stores.store(y, bytes);
    } else {
        stores.store(y, nibbles(bytes));
    }
}

// Of 32 elements: the first for i = 0.
template<typename Pair, bool differ> struct operand_vectors {
    pair_of_floats scale, inverse, largest;
    __m512i zero_point;

    operand_vectors(const operand_arrays &from, int64_t i)
        : scale(Pair::template spread<differ>(from.scale + 2 * i)),
          inverse(Pair::template spread<differ>(from.inverse + 2 * i)),
          largest(Pair::template spread<differ>(from.largest + 2 * i)),
          zero_point(_mm512_set1_epi32(from.zero_point[2 * i])) {}
};

// The least and the largest code.
struct range_vectors {
    __m512i lowest, highest;
};

// NaN becomes the least word.
template<qdq_dtype dtype, bool multiplies> struct integer_codes {
    static constexpr const element_type &type = type_of(dtype);

    static __m512i sum(__m512 x, __m512i random, __m512 scale, __m512 inverse, __m512 largest) {
        const __m512 magnitude = _mm512_abs_ps(x);
        const __m512 t = multiplies ? _mm512_min_ps(largest, quotient<multiplies>(magnitude, scale, inverse))
                                    : quotient<multiplies>(_mm512_min_ps(largest, magnitude), scale, inverse);
        return _mm512_add_epi32(_mm512_cvtps_epi32(t), random);
    }

    template<typename Pair> static __m512i words_of(const Pair &x, __m512i magnitudes, __m512i zero_point) {
        const __mmask32 is_negative = _mm512_movepi16_mask(x.signs());
        return _mm512_adds_epi16(_mm512_mask_sub_epi16(magnitudes, is_negative, _mm512_setzero_si512(), magnitudes),
                                 zero_point);
    }

    static __m512i bytes(__m512i first, __m512i second, const range_vectors &range) {
        __m512i clamped;
        if constexpr (type.is_signed()) {
            clamped = _mm512_max_epi8(_mm512_min_epi8(_mm512_packs_epi16(first, second), range.highest), range.lowest);
        } else {
            clamped = _mm512_max_epu8(_mm512_min_epu8(_mm512_packus_epi16(first, second), range.highest), range.lowest);
        }
        return type.bits == 4 ? _mm512_and_si512(clamped, _mm512_set1_epi8(0x0f)) : clamped;
    }
};

// By the low bits of an exponent, from that of the least normal number on.
template<qdq_dtype dtype> struct alignas(64) powers_of_codes {
    static constexpr const float_layout &layout = type_of(dtype).layout;
    static constexpr int size = layout.exponent_bits <= 4 ? 16 : 32;
    static_assert(layout.largest() < 128);
    float of[size] = {};

    constexpr powers_of_codes() {
        for (int passed = 0; passed < int(layout.largest() >> layout.mantissa_bits); passed++) {
            const int exponent = 1 - layout.bias + passed + 127;
            const float step = std::bit_cast<float>(uint32_t(exponent - layout.mantissa_bits) << 23);
            of[exponent % size] = step * float(128 + (passed << layout.mantissa_bits));
        }
    }

    __m512 by_exponent(__m512i exponent) const {
        const __m512 low = _mm512_load_ps(of);
        if constexpr (size == 16) {
            return _mm512_permutexvar_ps(exponent, low);
        } else {
            return _mm512_permutex2var_ps(low, exponent, _mm512_load_ps(of + lanes));
        }
    }
};

// A float's code is 7 bits of its sum with a number that the exponent chooses: 128 steps, and as many as there are
// codes before the exponent's first. The 16 bits below count 65536ths of a step, and random bits that are added to them
// carry.
template<qdq_dtype dtype, bool multiplies> struct float_codes {
    static constexpr const element_type &type = type_of(dtype);
    static constexpr const float_layout &layout = type.layout;

    static __m512i sum(__m512 x, __m512i random, __m512 scale, __m512 inverse, __m512) {
        constexpr float largest = value_of(layout, layout.largest());
        constexpr auto least_normal = int32_t(least_normal_of(layout));
        constexpr int least_magnitude_without_sign = 0xa, flt_max_of_nan = 0xee, other_kept = 0;
        static constexpr powers_of_codes<dtype> powers;
        // What is no number, as the remainder of an infinite quotient is, becomes the largest.
        const __m512 t = _mm512_range_ps(quotient<multiplies>(x, scale, inverse), _mm512_set1_ps(largest),
                                         least_magnitude_without_sign);
        const __m512i normal = _mm512_max_epu32(_mm512_castps_si512(t), _mm512_set1_epi32(least_normal));
        const __m512 steps = _mm512_add_ps(t, powers.by_exponent(_mm512_srli_epi32(normal, 23)));
        const __m512i all = _mm512_add_epi32(_mm512_castps_si512(steps), random);
        return _mm512_castps_si512(
            _mm512_fixupimm_ps(_mm512_castsi512_ps(all), x, _mm512_set1_epi32(flt_max_of_nan), other_kept));
    }

    struct signed_words {
        __m512i magnitudes, signs;
    };

    template<typename Pair> static signed_words words_of(const Pair &x, __m512i sums, __m512i) {
        const __m512i own = _mm512_and_si512(sums, _mm512_set1_epi16(int16_t(layout.magnitude_mask())));
        return {own, layout.has_nan() ? x.signs() : x.signs_of_numbers()};
    }

    static __m512i bytes(const signed_words &first, const signed_words &second, const range_vectors &) {
        constexpr int a_or_b_and_c = 0xf8;  // a | (b & c)
        const __m512i packed = _mm512_packus_epi16(first.magnitudes, second.magnitudes);
        const __m512i magnitudes = layout.nan() < layout.magnitude_mask()
                                       ? _mm512_min_epu8(packed, _mm512_set1_epi8(char(layout.nan())))
                                       : packed;
        const __m512i signs = _mm512_packs_epi16(first.signs, second.signs);
        return _mm512_ternarylogic_epi32(magnitudes, type.bits == 8 ? signs : _mm512_srli_epi16(signs, 4),
                                         _mm512_set1_epi8(static_cast<char>(1 << layout.sign_bit())), a_or_b_and_c);
    }
};

template<qdq_dtype floats, typename Codes, bool differ>
void run_groups(const stochastic_row &row, const operand_arrays &operands, int64_t count, const void *from,
                const uint16_t *halves, char *y) {
    using pair = pair_of_registers<floats>;
    const auto words = [](const auto *at, const uint16_t *random_of,
                          const operand_vectors<pair, differ> &with) __attribute__((always_inline)) {
        const pair x(at);
        const auto random = pair::random_bits(random_of);
        const auto sum = [&](int i) __attribute__((always_inline)) {
            return Codes::sum(x.of[i], random.of[i], with.scale.of[i], with.inverse.of[i], with.largest.of[i]);
        };
        return Codes::words_of(x, pair::words(sum(0), sum(1)), with.zero_point);
    };
    const range_vectors range = {_mm512_set1_epi8(static_cast<char>(row.lowest)),
                                 _mm512_set1_epi8(static_cast<char>(row.highest))};
    const call_stores stores(row.nontemporal, fetch_distance_of(row.nontemporal));
    const auto *x = static_cast<const typename pair::element *>(from);
    for (int64_t i = 0; i < count; i++, x += group_size, halves += group_size / 2) {
        stores.fetch_ahead(x);
        const auto low = words(x, halves, {operands, 2 * i});
        const auto high = words(x + pair_elements, halves + pair_elements / 2, {operands, 2 * i + 1});
        store_bytes<Codes::type.bits>(stores, y, in_order(Codes::bytes(low, high, range)));
        y += group_size * Codes::type.bits / 8;
    }
}

struct avx512_registers {
    using random_generator = philox_of_eight;
    static constexpr bool takes_halves = true;
    template<qdq_dtype codes, bool multiplies>
    using codes_of = std::conditional_t<type_of(codes).is_integer(), integer_codes<codes, multiplies>,
                                        float_codes<codes, multiplies>>;
    template<qdq_dtype floats, qdq_dtype codes, bool multiplies, bool differ>
    static constexpr groups_function *groups = run_groups<floats, codes_of<codes, multiplies>, differ>;
};

}  // namespace
}  // namespace qdq::kernels

extern "C" bool qdq_stochastic_row_avx512(const qdq::kernels::stochastic_row &row) {
    return qdq::kernels::quantize_stochastic_row<qdq::kernels::avx512_registers>(row);
}
