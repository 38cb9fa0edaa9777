// The stored element formats and the single definition of their codes.
#pragma once

#include "Halide.h"

#include <map>
#include <string>

namespace qdq {

using Halide::Expr;

// Integers first.
enum class format { i8, u8, i16, u16, i32, f8e4m3, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f4e2m1 };

// For GeneratorParam<format>: the names used in kernels.cmake and in kernel symbols.
const std::map<std::string, format> &format_names();

bool is_float(format f);
Halide::Type storage_type(format f);  // of one unpacked element

// The code of t in a float format, as an int32: t rounds once to nearest even, subnormals included. `x` gives a NaN its
// sign. Overflow gives the largest finite code, or the overflow code (infinity, NaN) where no_saturate is nonzero.
Expr encode(format f, Expr t, Expr x, Expr no_saturate);

// The exact f32 value of a code (an element of storage_type). A NaN code gives NaN.
Expr decode(format f, Expr code);

}  // namespace qdq
