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
    dequantize_element(const instructions &on, const element_type &stored, const element_type &floats)
        : on(on), stored(stored), floats(floats) {}

    // The f32 value of a code: of integer types as an int32 (integer_value), of float types as its bits.
    Expr value(dequantize_variant k, const Expr &code, const dequantize_operands &o) const;

    // `plain`, of a float type's code that f16_bits made an f16.
    Expr value_of_f16(const Expr &bits, const Expr &scale) const;

    // That value as an element of y.
    Expr element(const Expr &value) const { return nearest_element(on, floats, value); }

    // A NaN result is always the positive quiet NaN without payload: instruction sets differ in those they make.
    static Expr one_nan(const Expr &a);

private:
    const instructions on;
    const element_type &stored, &floats;
};

}  // namespace qdq
