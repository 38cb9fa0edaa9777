// The codes of element types: every conversion between a code and its value, and nothing of how elements come and go.
#pragma once

#include "element_types.h"
#include "instructions.h"

#include "Halide.h"

#include <array>
#include <string>

namespace qdq {

using namespace kernels;
using Halide::Expr;

// Whether a lane of 32 bits can hold two neighbours of 16-bit floats, whose codes then meet in a byte or in two.
bool pairs(const element_type &floats, const element_type &stored);

// The type of a name in kernels/manifest.cmake. Throws std::invalid_argument where there is none.
const element_type &type_named(const std::string &name);

// Of an element of a kernel's buffer: the type itself, or an unsigned integer that holds one code, or several.
Halide::Type buffer_type(const element_type &t);

// The magnitude past which every code has saturated: of integers, whatever a fast variant's zero point; of f32, where
// any code has that is made of it.
float saturating_magnitude(const element_type &t);

// One of four values, by how many bits a tapered type has for the mantissa of the f32 of these bits, which is above 0:
// none, 1, 2 or 3.
Expr by_mantissa_bits(const Expr &bits, const std::array<uint32_t, 4> &of);

// A code of a float type in two parts: the low bits of `magnitude` are all of it but the sign, which is the top bit of
// `sign`. Other bits are arbitrary; where shift_and_add, those of `magnitude` are zero up to bit 22.
struct encoded {
    Expr magnitude, sign;
};

// t, or a limit where that is less: NaN only where the type has NaN.
Expr bounded_by(const instructions &on, const float_layout &layout, Expr limit, Expr t);

// x scaled by a positive number, from |x| so scaled and bounded by the largest value, but for rounding; NaN only where
// x is. It rounds once to nearest, subnormals included: ties to even, of tapered types away from 0. NaN keeps the sign
// of x, where it has one.
encoded encode(const instructions &on, const float_layout &layout, Expr bounded, Expr x, Expr sign = {});

// The code of a format of 8 bits in the top byte of a word: an f32's sign is there, and what is below is no NaN.
Expr code_at_top(const float_layout &layout, const encoded &e);

// The code, and the byte of two packed codes, as uint32.
Expr code_of(const instructions &on, const float_layout &layout, const encoded &e);
Expr byte_of(const instructions &on, const float_layout &layout, const encoded &first, const encoded &second);

// The code, as a uint32, of any t. `x` gives a NaN its sign. Overflow gives the largest finite code, or the overflow
// code (infinity, NaN) where no_saturate is nonzero.
Expr encode_any(const instructions &on, const float_layout &layout, Expr t, Expr x, Expr no_saturate);

// The exact f32 value of a float type's code. NaN is the positive quiet NaN without payload, but of f16, bf16 and f32,
// which are x of quantize: there it keeps its sign.
Expr float_value(const instructions &on, const element_type &t, Expr code);

// The product with a scale that is positive and finite, as is a product with each code that is a number. On PTX, which
// leaves open which NaN a product is, of formats without infinities alone.
Expr ordinary_product(const instructions &on, const element_type &t, const Expr &code, const Expr &scale);

// The value, but for the sign of a NaN.
Expr float_value_or_nan(const instructions &on, const element_type &t, Expr code);

// The same from a table of all codes.
Expr value_in_table(const float_layout &layout, Expr code);

// The value of an integer type's code as an int32, from bits in which it has a place, counted in codes from the lowest.
Expr integer_value(const element_type &t, Expr bits, Expr place = 0);

// The bits of the float type's element nearest to a, ties to even, for dequantize; NaN is to be positive and without
// payload.
Expr nearest_element(const instructions &on, const element_type &t, Expr a);

// The same of 0, NaN, or a whose magnitude is at least the least normal f32.
Expr nearest_element_of_normal(const instructions &on, const element_type &t, Expr a);

// Whether the latter is a type's instruction, as f16's is for any a.
bool converts_normals(const instructions &on, const element_type &t);

// The same of a type of 16 bits, as the upper half of a uint32 whose lower half is arbitrary: LLVM makes shuffles of
// two elements that were 16 bits wide before they meet in a lane.
Expr element_in_upper_half(const instructions &on, const element_type &t, Expr a);

// Whether a float type's codes are those of an f16 but for its larger bias, subnormals included: an f16's largest
// exponent is infinity and NaN, so a type with as many exponents must not have numbers there.
bool has_f16_layout(const float_layout &layout);

// Of such a type the bits of the f16 with the value of a code (a uint16) times 2^-f16_exponent_shift(layout).
Expr f16_bits(const float_layout &layout, Expr code);
int f16_exponent_shift(const float_layout &layout);

// The upper byte of those bits, where the lower one is zero, from a byte with the code of a packed type on top.
Expr f16_top(const float_layout &layout, Expr byte);

}  // namespace qdq
