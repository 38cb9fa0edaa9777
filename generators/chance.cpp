#include "chance.h"

#include "arithmetic.h"
#include "formats.h"

namespace qdq {

using namespace Halide;

namespace {

// Philox's multipliers, and the steps of its key.
constexpr uint64_t multipliers[] = {0xd2511f53, 0xcd9e8d57}, key_steps[] = {0x9e3779b9, 0xbb67ae85};

constexpr float chances = 65536;  // of the 16 bits of an element

// The fraction is exact. As 2^23 plus the chances it has out of 65536, rounded, it is their number in low bits.
Expr to_integer(const instructions &on, const Expr &magnitude, const Expr &chance) {
    Expr whole = downward(on, magnitude);
    Expr fraction = subtract(magnitude, whole), aligner = 8388608.0f;
    Expr aligned = on.fma ? fused_multiply_add(fraction, chances, aligner)  // the product is exact
                          : add(multiply(fraction, chances), aligner);
    Expr goes_up = ((reinterpret<uint32_t>(aligned) + chance) & bit_pattern(uint32_t(chances))) != 0;
    return select(goes_up, add(whole, 1.0f), whole);
}

Expr alignment_at(grid numbers, const Expr &exponent, const Expr &alignment) {
    return numbers == grid::tapered
               ? by_mantissa_bits(exponent, {alignment_of(0), alignment_of(1), alignment_of(2), alignment_of(3)})
               : alignment;
}

// Of 128 steps, plus less than 64, the last bit counts 65536ths of a step.
Expr to_float(const instructions &on, grid numbers, const Expr &magnitude, const Expr &chance, const Expr &least_normal,
              const Expr &alignment) {
    Expr bounded = lesser(on, beyond_all_codes, magnitude);
    Expr exponent = max(reinterpret<uint32_t>(bounded) & bit_pattern(0x7f800000), least_normal);
    Expr steps = reinterpret<float>(exponent + alignment_at(numbers, exponent, alignment));
    Expr sum = reinterpret<uint32_t>(add(bounded, steps)) + chance;
    Expr rounded = subtract(reinterpret<float>(sum & bit_pattern(0xffff0000)), steps);
    return select(not_a_number(magnitude), magnitude, rounded);
}

}  // namespace

std::vector<Expr> philox_round(const std::vector<Expr> &words, const std::vector<Expr> &key, const Expr &round) {
    const Type type = words[0].type();
    auto product = [&](int i) {
        Expr word = cast<uint64_t>(words[2 * i]) & Internal::make_const(UInt(64), uint64_t{0xffffffff});
        return word * Internal::make_const(UInt(64), multipliers[i]);
    };
    auto mixed = [&](const Expr &product, int word, int half) {
        Expr own_key = key[half] + cast(type, round) * Internal::make_const(type, key_steps[half]);
        return cast(type, product >> 32) ^ words[word] ^ own_key;
    };
    Expr first = product(0), second = product(1);
    return {mixed(second, 1, 0), cast(type, second), mixed(first, 3, 1), cast(type, first)};
}

Expr rounded_by_chance(const instructions &on, grid numbers, const Expr &t, const Expr &chance,
                       const Expr &least_normal, const Expr &alignment) {
    Expr magnitude = abs_bits(on, t);
    Expr rounded = numbers == grid::integers ? to_integer(on, magnitude, chance)
                                             : to_float(on, numbers, magnitude, chance, least_normal, alignment);
    Expr sign = reinterpret<uint32_t>(t) & bit_pattern(0x80000000);
    return reinterpret<float>(reinterpret<uint32_t>(rounded) | sign);
}

}  // namespace qdq
