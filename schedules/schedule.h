// Where the algorithm meets its mapping: a generator hands its stages over, a schedule decides where and in what order
// they are computed. No schedule changes a result.
#pragma once

#include "Halide.h"
#include "forms.h"

#include <vector>

namespace qdq {

struct quantize_stages {
    Halide::Func output;      // (c, r)
    Halide::Func code;        // (c, r), int32
    Halide::Func narrowed;    // lane_order::arguments(r), the element type; undefined for 32-bit elements
    Halide::Func reciprocal;  // (operand), 1 / scale
    lane_order lanes;
    qdq::form form;
    std::vector<Halide::Expr> variants;  // conditions, exactly one of which holds
};

struct dequantize_stages {
    Halide::Func output;  // (c, r)
    qdq::form form;
    std::vector<Halide::Expr> variants;
};

struct transpose_stages {
    Halide::Func output;  // (c, r)
    Halide::Func loaded;  // (c, r) of the input
    Halide::Func turned;  // (c, r) of the output
};

struct pack_stages {
    Halide::Func output;  // (i) of the bytes
    bool by_halves;       // neighbours in a byte come 16 elements apart
};

struct unpack_stages {
    Halide::Func output;  // (i) of the codes
    bool by_halves;
};

void apply_schedule(const Halide::Target &target, quantize_stages stages);
void apply_schedule(const Halide::Target &target, dequantize_stages stages);
void apply_schedule(const Halide::Target &target, transpose_stages stages);
void apply_schedule(const Halide::Target &target, pack_stages stages);
void apply_schedule(const Halide::Target &target, unpack_stages stages);

}  // namespace qdq
