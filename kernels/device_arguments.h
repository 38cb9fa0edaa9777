// What a device's kernels are told beside their buffers: the one list of their arguments.
//
// A kernel counts units: groups of neighbouring elements, in the form each those of the same columns in neighbouring
// rows, or in the strided form single elements (bytes of packed codes). It turns a unit's number into an index along
// each of a few dimensions, the innermost first, and those into places in x, y, the scale and the zero point.
#pragma once

#include <cstdint>

namespace qdq::kernels {

enum class device_form {
    group,    // x and y in dense rows; one scale and zero point for all elements of a group
    each,     // the same with an operand for each element of a row; a thread computes `rows_of` rows of a group
    strided,  // any places
};

constexpr int device_form_count = 3;

constexpr int device_dimensions = 8;  // of the strided form
constexpr int dense_dimensions = 2;   // of the others
constexpr int few_dimensions = 3;     // of what most calls of the strided form have
constexpr int dimensions_of(device_form form) {
    return form == device_form::strided ? device_dimensions : dense_dimensions;
}

// Neighbouring rows whose groups of the same columns a thread computes, as they have the same operands.
constexpr int rows_of(device_form form) { return form == device_form::each ? 4 : 1; }

// Elements of a group: so many as a kernel's tuned parameter `unit_elements` says, but no less than 16 bits of codes.
constexpr int device_group(int unit_elements, int code_bits) {
    const int codes_of_word = 16 / code_bits;
    return unit_elements < codes_of_word ? codes_of_word : unit_elements;
}

// Of a word of x or y in the dense forms, by the bits of a group.
constexpr int device_word_bits(int group_bits) { return group_bits < 32 ? group_bits : 32; }

// Buffers are indexed by 32-bit numbers, so the strided form addresses them by page and place.
constexpr int page_bits = 30;

// What a zero point does to the sum.
enum class zero_point_use {
    none,
    as_float,    // an f32 sum: quantize before rounding, dequantize with a float or a short integer
    as_integer,  // an exact sum
};

// The arguments, each a Field of its type: a number where the dispatcher fills them in, an input where a generator
// declares them. A kernel takes its buffers x, scale and zero_point first, then these in the order of
// for_each_argument, then y.
template<template<typename> typename Field> struct device_arguments {
    Field<int32_t> units;
    Field<int32_t> elements;  // strided: of packed codes, the last byte may hold fewer than others
    Field<int64_t> first_x;   // in groups, or in elements (bytes of packed codes)
    Field<int64_t> first_y;
    Field<int64_t> first_scale;  // in operands
    Field<int64_t> first_zero_point;
    Field<int32_t> packing;     // qdq_packing
    Field<int32_t> dimensions;  // strided: of the first so many the extent may be above 1
    // For each dimension, innermost first: its extent and the elements (groups, in the dense forms) that share an
    // operand, as invariant divisors, and the strides of places in elements; of x and y in the dense forms, in groups.
    Field<int32_t> extent[device_dimensions];
    Field<uint32_t> extent_multiplier[device_dimensions];
    Field<int32_t> extent_shift[device_dimensions];
    Field<uint32_t> block_multiplier[device_dimensions];
    Field<int32_t> block_shift[device_dimensions];
    Field<int64_t> x_step[device_dimensions];
    Field<int64_t> y_step[device_dimensions];
    Field<int64_t> scale_step[device_dimensions];
    Field<int64_t> zero_point_step[device_dimensions];
    Field<int32_t> scale_type;   // qdq_dtype
    Field<int32_t> scale_bytes;  // of one scale
    Field<int32_t> reciprocal;   // quantize: x is multiplied by 1 / scale
    Field<int32_t> zero_point_use;
    Field<int32_t> zero_point_type;
    Field<int32_t> zero_point_bytes;
    Field<int32_t> multiplies;  // quantize
    Field<int32_t> rounding;    // quantize: qdq_rounding; integer types:
    Field<int32_t> lowest;      // the range to saturate to
    Field<int32_t> highest;
    Field<int32_t> no_saturate;    // quantize, float types; integer types: NaN gives 0
    Field<int32_t> sign;           // dequantize: 1 adds the zero point, -1 subtracts it
    Field<uint64_t> seed;          // quantize by chance: of the random numbers,
    Field<uint64_t> first_number;  // and the number there of the first element; in the dense forms of groups
};

// Calls visit(name, d, field) for every argument of a form's kernels, in the order in which they take them; d is the
// dimension that a field is of, or -1.
template<typename Arguments, typename Visit> void for_each_argument(Arguments &a, device_form form, Visit &&visit) {
    auto each = [&](const char *name, auto &fields) {
        for (int d = 0; d < dimensions_of(form); d++) {
            visit(name, d, fields[d]);
        }
    };
    visit("units", -1, a.units);
    visit("elements", -1, a.elements);
    visit("first_x", -1, a.first_x);
    visit("first_y", -1, a.first_y);
    visit("first_scale", -1, a.first_scale);
    visit("first_zero_point", -1, a.first_zero_point);
    visit("packing", -1, a.packing);
    if (form == device_form::strided) {
        visit("dimensions", -1, a.dimensions);
    }
    each("extent", a.extent);
    each("extent_multiplier", a.extent_multiplier);
    each("extent_shift", a.extent_shift);
    each("block_multiplier", a.block_multiplier);
    each("block_shift", a.block_shift);
    each("x_step", a.x_step);
    each("y_step", a.y_step);
    each("scale_step", a.scale_step);
    each("zero_point_step", a.zero_point_step);
    visit("scale_type", -1, a.scale_type);
    visit("scale_bytes", -1, a.scale_bytes);
    visit("reciprocal", -1, a.reciprocal);
    visit("zero_point_use", -1, a.zero_point_use);
    visit("zero_point_type", -1, a.zero_point_type);
    visit("zero_point_bytes", -1, a.zero_point_bytes);
    visit("multiplies", -1, a.multiplies);
    visit("rounding", -1, a.rounding);
    visit("lowest", -1, a.lowest);
    visit("highest", -1, a.highest);
    visit("no_saturate", -1, a.no_saturate);
    visit("sign", -1, a.sign);
    visit("seed", -1, a.seed);
    visit("first_number", -1, a.first_number);
}

// Division by an invariant number below 2^31, of numbers below 2^31: (n * multiplier) >> shift. (Granlund, Montgomery
// 1994.)
struct invariant_divisor {
    uint32_t multiplier;
    int32_t shift;
};
inline invariant_divisor divisor_of(int64_t d) {
    int log2 = 0;
    while ((int64_t{1} << log2) < d) {
        log2++;
    }
    const uint64_t power = uint64_t{1} << (31 + log2);
    return {static_cast<uint32_t>((power + d - 1) / d), 31 + log2};
}

}  // namespace qdq::kernels
