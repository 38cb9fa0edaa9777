// dequantize of one element: its value, given its code. Generators say where code and operands come from, and where the
// value goes.
#pragma once

#include "formats.h"
#include "variants.h"

namespace qdq {

// The operands of an element, as a variant takes them (kernels/variants.h).
struct dequantize_operands {
    Expr scale;
    Expr offset;  // an f32: the zero point with its sign
    Expr addend;  // `exact`: an int32 zero point,
    Expr sign;    // which 1 adds and -1 subtracts
};

class dequantize_element {
public:
    dequantize_element(const instructions &on, const element_type &stored, const element_type &floats,
                       bool looks_up = false)
        : on(on), stored(stored), floats(floats), looks_up(looks_up) {}

    // The f32 value of a code: of integer types as an int32 (integer_value), of float types as its bits.
    Expr value(dequantize_variant k, const Expr &code, const dequantize_operands &o) const;

    // `plain`, of a float type's code that f16_bits made an f16.
    Expr value_of_f16(const Expr &bits, const Expr &scale) const;

    // That value as an element of y.
    Expr element(dequantize_variant k, const Expr &value) const;

    // Elements 2 * c and 2 * c + 1 of y, of 16 bits each, as a uint32.
    Expr element_pair(const Expr &first, const Expr &second) const;

    // A NaN result is always the positive quiet NaN without payload: instruction sets differ in those they make.
    static Expr one_nan(const Expr &a);

private:
    const instructions on;
    const element_type &stored, &floats;
    const bool looks_up;  // float codes, in a table of their values
};

}  // namespace qdq
