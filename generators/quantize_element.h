// quantize of one element: what its code is. Generators say where x and its operands come from, and where the code
// goes.
#pragma once

#include "formats.h"
#include "variants.h"

#include <vector>

namespace qdq {

// The operands of an element, as a variant takes them (kernels/variants.h).
struct quantize_operands {
    Expr scale;
    Expr inverse;   // 1 / scale; of the fast variants that divide
    Expr offset;    // an f32, added before rounding; undefined: none
    Expr addend;    // added after rounding, an integral f32 (the general variant: an int32); undefined: none
    Expr rounding;  // a qdq_rounding, of the fast variants; undefined: to nearest even
    Expr chance;    // a uint32 below 2^16, of the general variants; undefined: none rounds by chance
    Expr sign;  // the bits whose highest is the sign of x, which may be a NaN that has lost it; undefined: those of x

    bool is_plain() const { return !offset.defined() && !addend.defined(); }
};

// Which of several equal ways to compute, of those that a target's instructions offer (schedules/parameters.cmake).
struct quantize_methods {
    bool divides_by_fma = false;
    bool narrows_by_saturating = false;
    bool clamps_narrowed = false;       // that, and clamps to a given range after it
    bool adds_while_narrowing = false;  // codes of up to 8 bits, that: a zero point after rounding, in 16 bits
};

class quantize_element {
public:
    // What a call says once for all elements.
    struct options {
        Expr rounding;         // qdq_rounding; of the general variants of integers, and where they round by chance
        Expr lowest, highest;  // of integer types: the range to saturate to
        Expr no_saturate;      // of float types, in the general variants; of integer types: NaN gives 0
    };

    // Throws std::invalid_argument where the instructions lack what a method needs.
    quantize_element(const instructions &on, const element_type &stored, const quantize_methods &by,
                     const options &given);

    // An int32 code whose bits above the type's own are arbitrary, by the fast variants; x is an f32. "Codes" of f32
    // are the quotients themselves, with the offset, before any rounding.
    Expr fast_code(bool multiplies, const Expr &x, const quantize_operands &o) const;

    // The same of floats, whose magnitude has no bits above its own, and whose sign is the highest.
    encoded fast_magnitude_and_sign(bool multiplies, const Expr &x, const quantize_operands &o) const;

    // What a code of floats is in that form.
    encoded magnitude_and_sign(const Expr &code) const;

    // The same in the top byte of a word, of a type of 8 bits, on a device.
    Expr fast_code_at_top(bool multiplies, const Expr &x, const quantize_operands &o) const;

    // A code of integers of up to 16 bits that have no offset or addend, on a device, by division: fewer
    // instructions.
    Expr bounded_code(const Expr &x, const quantize_operands &o) const;

    // The same of any operands: `multiplies` may vary from call to call, and `adds_before` says whether the offset is
    // added or the addend.
    Expr general_code(const Expr &multiplies, const Expr &adds_before, const Expr &x, const quantize_operands &o) const;

    // Codes of neighbours side by side, the first in the lowest bits: those of a byte of packed codes, or two of 8
    // bits.
    Expr fast_codes(bool multiplies, const std::vector<Expr> &x, const std::vector<quantize_operands> &o) const;
    Expr packed(const std::vector<Expr> &codes) const;

    // Whether codes are narrowed by instructions that saturate, those of floats as magnitudes and signs apart; whether
    // an integer's code of a fast variant is left to saturate there, and to be clamped to a given range after it; and
    // whether an addend is left to be added there.
    bool narrows_by_saturating() const;
    bool saturates(const quantize_operands &o) const;
    bool adds_while_narrowing() const;

    // The sum of such a code and an addend that is left, in 16 bits.
    Expr sum_of_words(const Expr &code, const Expr &addend) const;

    // The code of NaN of an integer type, but that it saturates; fast variants give the lowest.
    Expr nan_code() const;

    // Whether what variants.h asks of a fast variant's operands holds. The addend is an int32 here.
    Expr allows_fast(const Expr &multiplies, const quantize_operands &o) const;

private:
    Expr rounded_by_chance(const Expr &t, const Expr &chance) const;
    Expr fast_quotient(bool multiplies, const Expr &x, const quantize_operands &o) const;
    Expr quotient(const Expr &x, const quantize_operands &o) const;
    Expr with_exact_zeros(const Expr &t, const Expr &x, const Expr &scale) const;
    bool bounds_nan_early() const;
    Expr bounded_quotient(bool multiplies, const Expr &magnitude, const quantize_operands &o) const;
    encoded fast_encoded(bool multiplies, const Expr &x, const quantize_operands &o) const;
    Expr fast_integer(bool multiplies, const Expr &x, const quantize_operands &o) const;
    Expr nearest_in_range(const Expr &t) const;

    const instructions on;
    const element_type &stored;
    const quantize_methods by;
    const options given;
};

}  // namespace qdq
