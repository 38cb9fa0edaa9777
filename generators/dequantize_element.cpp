#include "dequantize_element.h"

#include "arithmetic.h"

#include <cmath>

namespace qdq {

using namespace Halide;
using kind = dequantize_variant;

Expr dequantize_element::value(kind k, const Expr &code, const dequantize_operands &o) const {
    if (stored.is_float()) {
        if (k == kind::plain && !looks_up) {
            return ordinary_product(on, stored, code, o.scale);
        }
        Expr v = looks_up ? value_in_table(stored.layout, code) : float_value(on, stored, code);
        Expr product = multiply(v, o.scale);
        return k == kind::plain ? product : one_nan(product);
    }
    switch (k) {
    case kind::plain: return multiply(cast<float>(code), o.scale);
    case kind::offset: return multiply(add(cast<float>(code), o.offset), o.scale);
    case kind::general: return one_nan(multiply(add(cast<float>(code), o.offset), o.scale));
    default: return one_nan(multiply(exact_sum_as_float(on, code, o.addend, o.sign), o.scale));
    }
}

// A scale between 0 and 2^100: no NaN but of NaN codes.
Expr dequantize_element::value_of_f16(const Expr &bits, const Expr &scale) const {
    const float shift = std::ldexp(1.0f, f16_exponent_shift(stored.layout));
    return multiply(cast<float>(reinterpret<float16_t>(bits)), multiply(scale, shift));
}

Expr dequantize_element::element(kind k, const Expr &value) const {
    const bool normal = k == kind::plain || k == kind::offset;  // or 0, or NaN: kernels/variants.h
    return normal ? nearest_element_of_normal(on, floats, value) : nearest_element(on, floats, value);
}

Expr dequantize_element::element_pair(const Expr &first, const Expr &second) const {
    return element_in_upper_half(on, floats, first) >> 16 |
           (element_in_upper_half(on, floats, second) & bit_pattern(0xffff0000));
}

Expr dequantize_element::one_nan(const Expr &a) {
    return select(not_a_number(a), reinterpret<float>(bit_pattern(0x7fc00000)), a);
}

}  // namespace qdq
