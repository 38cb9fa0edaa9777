// What a device's kernel that computes scales is told beside its buffers, x and the bytes of its output: the one list
// of its arguments.
//
// A kernel reduces groups, the elements that share a scale. It turns a group's number into a block along each of a few
// dimensions, the innermost first, and an element's number within a group into a place in each of those blocks.
#pragma once

#include "qdq/qdq.h"

#include <cstdint>
#include <map>
#include <string>

namespace qdq::kernels {

// How threads share groups. The first two take units of 16 bytes of x, the last one any places.
enum class scales_form {
    wide,     // a block of threads for a group
    narrow,   // a few neighbouring threads for a group
    strided,  // a few threads for a group; threads that are neighbours take neighbouring groups
};

constexpr int scales_form_count = 3;

inline const std::map<std::string, scales_form> &scales_form_names() {
    static const std::map<std::string, scales_form> names = {
        {"wide", scales_form::wide}, {"narrow", scales_form::narrow}, {"strided", scales_form::strided}};
    return names;
}

constexpr int scales_dimensions = 8;  // of the strided form
constexpr int scales_dimensions_of(scales_form form) { return form == scales_form::strided ? scales_dimensions : 2; }

constexpr int scales_unit_bytes = 16;  // of the others

// What a kernel writes for each group.
enum class scales_output {
    scale,
    zero_point,
    extremes,  // two f32: the numbers furthest below and above zero, of which another launch makes those of more groups
};

// A kernel takes its buffer x first, then these in the order of for_each_argument, then its output.
template<template<typename> typename Field> struct scales_arguments {
    Field<int32_t> groups;
    Field<int32_t> units;         // of a group, whose last blocks may be shorter
    Field<int64_t> first_x;       // in units
    Field<int64_t> first_output;  // in outputs
    // For each dimension: its units and blocks, and the units of a block, the latter two as invariant divisors, and the
    // strides of places in units, and of outputs by block.
    Field<int32_t> extent[scales_dimensions];
    Field<int32_t> blocks[scales_dimensions];
    Field<uint32_t> blocks_multiplier[scales_dimensions];
    Field<int32_t> blocks_shift[scales_dimensions];
    Field<int32_t> block[scales_dimensions];
    Field<uint32_t> block_multiplier[scales_dimensions];
    Field<int32_t> block_shift[scales_dimensions];
    Field<int64_t> x_step[scales_dimensions];
    Field<int64_t> output_step[scales_dimensions];
    Field<int32_t> kind;          // scales_output
    Field<int32_t> output_bytes;  // of one
    Field<int32_t> x_type;        // qdq_dtype
    Field<int32_t> scale_type;
    Field<int32_t> rule;  // qdq_scale_rule
    Field<float> clip_ratio;
    Field<float> least_scale;
    Field<float> largest;             // L of the rules
    Field<int32_t> largest_exponent;  // e there
    Field<int32_t> mantissa_bits;     // of the codes' values
    Field<int32_t> lowest;            // integer codes
    Field<int32_t> highest;
};

// Calls visit(name, d, field) for every argument of a form's kernels, in the order in which they take them; d is the
// dimension that a field is of, or -1.
template<typename Arguments, typename Visit> void for_each_argument(Arguments &a, scales_form form, Visit &&visit) {
    auto each = [&](const char *name, auto &fields) {
        for (int d = 0; d < scales_dimensions_of(form); d++) {
            visit(name, d, fields[d]);
        }
    };
    visit("groups", -1, a.groups);
    visit("units", -1, a.units);
    visit("first_x", -1, a.first_x);
    visit("first_output", -1, a.first_output);
    each("extent", a.extent);
    each("blocks", a.blocks);
    each("blocks_multiplier", a.blocks_multiplier);
    each("blocks_shift", a.blocks_shift);
    each("block", a.block);
    each("block_multiplier", a.block_multiplier);
    each("block_shift", a.block_shift);
    each("x_step", a.x_step);
    each("output_step", a.output_step);
    visit("kind", -1, a.kind);
    visit("output_bytes", -1, a.output_bytes);
    visit("x_type", -1, a.x_type);
    visit("scale_type", -1, a.scale_type);
    visit("rule", -1, a.rule);
    visit("clip_ratio", -1, a.clip_ratio);
    visit("least_scale", -1, a.least_scale);
    visit("largest", -1, a.largest);
    visit("largest_exponent", -1, a.largest_exponent);
    visit("mantissa_bits", -1, a.mantissa_bits);
    visit("lowest", -1, a.lowest);
    visit("highest", -1, a.highest);
}

}  // namespace qdq::kernels
