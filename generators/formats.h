// The stored element formats and the single definition of their codes.
#pragma once

#include "instructions.h"

#include "Halide.h"

#include <map>
#include <string>

namespace qdq {

using Halide::Expr;

// Integers first.
enum class format { i8, u8, i16, u16, i32, i4, u4, f8e4m3, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f4e2m1 };

// For GeneratorParam<format>: the names used in kernels.cmake and in kernel symbols.
const std::map<std::string, format> &format_names();

bool is_integer(format f);
bool is_float(format f);
bool is_packed(format f);          // two codes in a byte
Halide::Type code_type(format f);  // holds one code

// The magnitude past which every code has saturated: of integer formats, whatever a fast variant's zero point.
float saturating_magnitude(format f);

bool is_unsigned(format f);

// A code of a float format in two parts: the low bits of `magnitude` are all of it but the sign, which is the top bit
// of `sign`. Other bits are arbitrary; where shift_and_add, those of `magnitude` are zero up to bit 22.
struct encoded {
    Expr magnitude, sign;
};

// x scaled by a positive number, from t: |x| so scaled, NaN only where x is. It rounds once to nearest even, subnormals
// included, and saturates to the largest finite value. NaN keeps the sign of x.
encoded encode(instructions on, format f, Expr t, Expr x);

// The code, and the byte of two packed codes, as uint32.
Expr code_of(instructions on, format f, const encoded &e);
Expr byte_of(instructions on, format f, const encoded &first, const encoded &second);

// The code, as a uint32, of any t. `x` gives a NaN its sign. Overflow gives the largest finite code, or the overflow
// code (infinity, NaN) where no_saturate is nonzero.
Expr encode_any(instructions on, format f, Expr t, Expr x, Expr no_saturate);

// The exact f32 value of a code. A NaN code gives the positive quiet NaN without payload.
Expr decode(instructions on, format f, Expr code);

// Where a float format's exponents and mantissas are those of an f16, subnormals included, up to its larger bias: the
// bits of the f16 with the value of a code (a uint16) times 2^-f16_exponent_shift(f).
bool has_f16_layout(format f);
Expr f16_bits(format f, Expr code);
int f16_exponent_shift(format f);

// The upper byte of those bits, where the lower one is zero, from a byte with the code of a packed format on top.
Expr f16_top(format f, Expr byte);

// f32 from the bits of an f16, which a NaN's sign survives, and the bits of an f16 from f32, for targets without
// instructions for it. (Halide 21's emulation makes NaN infinite.)
Expr f16_value(instructions on, Expr bits);
Expr f16_code(instructions on, Expr a);

}  // namespace qdq
