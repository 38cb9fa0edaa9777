// The inputs that both operations' device kernels share, and what becomes of them: which place a unit of work has in x,
// y, the scale and the zero point, and the values of the latter two.
#pragma once

#include "arithmetic.h"
#include "device_arguments.h"
#include "formats.h"

#include "Halide.h"

#include <map>
#include <string>
#include <vector>

namespace qdq {

enum class float_type { f32, f16, bf16 };

inline const std::map<std::string, float_type> &float_type_names() {
    static const std::map<std::string, float_type> names = {
        {"f32", float_type::f32}, {"f16", float_type::f16}, {"bf16", float_type::bf16}};
    return names;
}
inline int bits_of(float_type f) { return f == float_type::f32 ? 32 : 16; }

inline const std::map<std::string, device_form> &device_form_names() {
    static const std::map<std::string, device_form> names = {
        {"group", device_form::group}, {"each", device_form::each}, {"strided", device_form::strided}};
    return names;
}

inline int code_bits(format f) { return is_packed(f) ? 4 : code_type(f).bits(); }

using byte_input = Halide::GeneratorInput<Halide::Buffer<uint8_t, 2>>;

struct place_inputs {
    template<typename T>
    using array = Halide::GeneratorInput<T[device_dimensions]>;

    Halide::GeneratorInput<int32_t> units{"units"};
    Halide::GeneratorInput<int32_t> elements{"elements"};  // strided: of packed codes, the last byte may hold one
    Halide::GeneratorInput<int64_t> first_x{"first_x"};    // in groups, or in elements (bytes of packed codes)
    Halide::GeneratorInput<int64_t> first_y{"first_y"};
    Halide::GeneratorInput<int64_t> first_scale{"first_scale"};  // in operands
    Halide::GeneratorInput<int64_t> first_zero_point{"first_zero_point"};
    Halide::GeneratorInput<int32_t> packing{"packing"};  // qdq_packing
    // For each dimension, innermost first: its extent and the elements (groups, in the dense forms) that share an
    // operand, and the strides of places in elements.
    array<int32_t> extent{"extent"};
    array<uint32_t> extent_multiplier{"extent_multiplier"};
    array<int32_t> extent_shift{"extent_shift"};
    array<uint32_t> block_multiplier{"block_multiplier"};
    array<int32_t> block_shift{"block_shift"};
    array<int64_t> x_step{"x_step"};
    array<int64_t> y_step{"y_step"};
    array<int64_t> scale_step{"scale_step"};
    array<int64_t> zero_point_step{"zero_point_step"};
};

struct places {
    Expr x, y, scale, zero_point;  // int64
};

// Of a unit, by its number among the kernel's dimensions.
places places_of(const place_inputs &in, Expr unit, int dimensions);

// An element of a buffer by its 64-bit place, in two dimensions: within a page and of pages. Arguments for its Func.
std::vector<Expr> page_and_place(Expr place, Expr places_in_page, Expr pages);

struct operand_inputs {
    Halide::GeneratorInput<int32_t> scale_code{"scale_code"};    // operand_code
    Halide::GeneratorInput<int32_t> scale_bytes{"scale_bytes"};  // of one scale
    Halide::GeneratorInput<int32_t> reciprocal{"reciprocal"};    // quantize: x is multiplied by 1 / scale
    Halide::GeneratorInput<int32_t> zero_point_use{"zero_point_use"};
    Halide::GeneratorInput<int32_t> zero_point_code{"zero_point_code"};
    Halide::GeneratorInput<int32_t> zero_point_bytes{"zero_point_bytes"};
};

// The bits of an operand, read byte by byte, as its bytes may lie anywhere.
Expr operand_bits(const byte_input &bytes, Expr place, Expr operand_bytes);

// The value of a float operand; and of a zero point, whose floats round to the nearest int32, ties to even, saturated,
// and whose NaN is 0.
Expr operand_as_float(Expr bits, Expr code);
Expr operand_as_integer(Expr bits, Expr code);

// Of packed codes, the number among all elements of a byte's first (0) or second (1).
Expr packed_element(Expr byte, Expr place, Expr packing);

}  // namespace qdq
