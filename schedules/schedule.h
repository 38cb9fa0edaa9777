// Where the algorithm meets its mapping: a generator hands its stages over, a schedule decides where and in what order
// they are computed. No schedule changes a result.
#pragma once

#include "Halide.h"
#include "forms.h"
#include "packing.h"

#include <vector>

namespace qdq {

struct quantize_stages {
    Halide::Func output;    // (c, r), or the bytes of pairs of c
    Halide::Func value;     // (c, r), x as f32
    Halide::Func spread;    // (c, r), the operands of each element: scale, inverse, zero point
    Halide::Func pairs;     // (c, k, r), the value of element k of pair c; defined where the output is packed
    Halide::Func code;      // (c, r), int32; of a pair where the output is packed
    Halide::Func narrowed;  // lane_order::arguments(r), integers of 8 and 16 bits; otherwise undefined
    lane_order lanes;
    qdq::form form;
    int block;                           // elements that share an operand in the block form
    bool packs;                          // two codes in an element of output
    std::vector<Halide::Expr> variants;  // conditions, exactly one of which holds
};

struct dequantize_stages {
    Halide::Func output;   // (c, r)
    Halide::Func decoded;  // (c, which, r), the codes of an element of x in 16 bits; undefined where they have no use
    Halide::Func product;  // (c, which, r), what becomes element c, or 2 * c + which, of the output
    qdq::form form;
    bool packs;  // two codes in an element of x
    std::vector<Halide::Expr> variants;
};

// Stages of a device kernel. Where nothing else is said, they are values of a lane of a unit: (lane, unit). The output
// is written by its one update.
struct device_stages {
    struct scalar {
        Halide::Func stage;
        int lanes;
    };

    Halide::Func output;
    Halide::RVar part, unit;  // the update's dimensions: parts of a unit, and units
    int parts = 1;
    bool whole_words = false;  // parts are words that lie end to end
    Halide::Func loaded;       // (word, unit), of x; undefined where elements are loaded one by one
    int loaded_words = 0;
    std::vector<scalar> scalars;    // in the order of their use
    Halide::Func stored{"stored"};  // (part, unit), the last of them
    Halide::Func code;              // (lane, unit), one update for each of the ways to compute it, over a unit's lanes
    std::vector<Halide::RVar> ways;
};

struct transpose_stages {
    Halide::Func output;             // (c, r)
    std::vector<Halide::Func> rows;  // (j, i, block) of 8, 4, 2 and 1 rows i, each with two of the one before in turns
    int element_bytes = 0;
};

struct repack_stages {
    Halide::Func output;  // (i) of the bytes
    repacking change;
};

void apply_schedule(const Halide::Target &target, quantize_stages stages);
void apply_schedule(const Halide::Target &target, dequantize_stages stages);
void apply_schedule(const Halide::Target &target, transpose_stages stages);
void apply_schedule(const Halide::Target &target, repack_stages stages);
void apply_schedule(const Halide::Target &target, device_stages stages);

}  // namespace qdq
