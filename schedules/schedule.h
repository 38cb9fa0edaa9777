// Where the algorithm meets its mapping: a generator hands its stages over, and a function of its target decides where
// and in what order they are computed. No schedule changes a result.
#pragma once

#include "block_formats.h"
#include "forms.h"
#include "grids.h"
#include "lane_orders.h"
#include "measurement.h"
#include "parameters.h"
#include "reductions.h"
#include "repackings.h"

#include "Halide.h"

#include <string>
#include <vector>

namespace qdq {

using namespace kernels;

struct quantize_stages {
    Halide::Func output;      // (c, r), or the bytes of packed codes
    Halide::Func value;       // (c, r), x as f32
    Halide::Func broadcast;   // (c, r), the operands of each element: scale, inverse, zero point
    Halide::Func neighbours;  // (c, place, r), the value of the element at a place of packed byte c; or undefined
    Halide::Func code;        // (c, r), int32; of a byte where the output is packed, unless codes are narrowed
    Halide::Func code_pair;   // (c, r), two codes of 8 bits that are computed together; otherwise undefined
    // lanes.arguments(r), integers of 8 and 16 bits, which packed codes and those of floats become first; otherwise
    // undefined. What becomes 8 bits has a stage of 16 before, half_narrowed, where the order is one of quads.
    Halide::Func half_narrowed, narrowed;
    lane_order lanes;
    // words.arguments(r), codes of up to 8 bits with their zero points, in 16 bits and then in 8; otherwise undefined.
    Halide::Func sum, narrowed_sum;
    lane_order words;
    // (c, r), of packed codes that are narrowed: each in a byte, and the sums of neighbours, which updates compute.
    std::vector<Halide::Func> packing;
    kernels::form form;
    int longest_block;                   // the most elements that share an operand in the block form
    int codes_per_byte;                  // 1 where the output is not packed
    std::vector<Halide::Expr> variants;  // conditions, exactly one of which holds

    bool packs() const { return codes_per_byte > 1; }
};

struct dequantize_stages {
    Halide::Func output;   // (c, r)
    Halide::Func decoded;  // (c, place, r), the codes of an element of x in 16 bits; undefined where they have no use
    Halide::Func value;    // (c, place, r), what becomes element codes_per_byte * c + place of the output
    // (c, r), elements 2 * c and 2 * c + 1 of the output that are computed together; otherwise undefined.
    Halide::Func value_pair;
    int codes_per_byte;  // 1 where x is not packed
    int least_lanes;     // of the output at once: instructions::least_lanes
    std::vector<Halide::Expr> variants;

    bool packs() const { return codes_per_byte > 1; }
};

struct transpose_stages {
    Halide::Func output;  // (c, r)
    // (j, i, block) of `transpose_columns` rows i, of half as many, and so on to 1: each two of those before,
    // interleaved.
    std::vector<Halide::Func> rows;
};

struct repack_stages {
    Halide::Func output;  // (i) of the bytes
    repacking change;
};

struct reduce_stages {
    Halide::Func output;  // (i), of each row or column
    // (j, i), of a row, (j, i, block), of 16 short ones, or (i), of columns: `steps` updates of each
    Halide::Func lanes;
    std::vector<Halide::Func> met;  // (i), over `all` lanes of a row
    // (j, i, block) of short rows. `halves`: 16 rows, then 8, and so on to one. `interleaved`: what each half is
    // computed from, pairs of the rows before it, interleaved.
    std::vector<Halide::Func> halves, interleaved;
    Halide::RDom steps, all;
    reduction form;
};

struct measure_stages {
    Halide::Func sums;                             // (i), of each row or column
    std::vector<Halide::Func> lanes;               // (j, i), of a row, or (i), of columns, of each kind of squares
    std::vector<std::vector<Halide::RDom>> steps;  // along a row, or a column: an update of those for each
    std::vector<Halide::Func> met;                 // (i), over `all` lanes of a row
    Halide::Expr is_far;                           // which kind of squares it is
    Halide::Expr columns;                          // of rows
    Halide::Func counts;                           // (i), one value for each thing that is counted
    Halide::Func outside;                          // (j), updated by steps along a row, and all rows
    std::vector<Halide::Func> totals;              // (), over all lanes of those
    Halide::RDom all;
    kernels::form form;
};

struct random_stages {
    Halide::Func output;  // (i) of 64-bit words, two for each block of the generator
    Halide::Func pair;    // (k, block), those of a block
};

struct stochastic_stages {
    Halide::Func output;  // (i)
};

struct quantize_blocks_stages {
    Halide::Func output;  // (byte, block), an update for each of these ranges of bytes
    std::vector<Halide::RDom> stored;
    std::vector<Halide::Func> extremes;  // (block), of all `elements`
    Halide::RDom elements;
    std::vector<Halide::Func> sums;       // (block), of all `elements` in their order
    std::vector<Halide::Func> of_blocks;  // (block), from those
    Halide::Func codes;                   // (i, block), 8 bits
    bool keeps_codes;                     // whether they are used more than once
};

struct dequantize_blocks_stages {
    Halide::Func output;                  // (i, block); updated over `specials`, where that is defined: rarely
    std::vector<Halide::Func> halves;     // (block), updated for each block; those past the last are read, too
    std::vector<Halide::Func> peaks;      // (), over `all` of those
    std::vector<Halide::Func> of_blocks;  // (block)
    Halide::Func fifth_bits;              // (block), or undefined
    Halide::RDom all, specials;
};

// The mapping of a processor's kernels, a function for each family: schedules/<target>.cpp.
struct cpu_schedule {
    const char *name;
    void (*quantize)(quantize_stages &stages, const quantize_parameters &tuned);
    void (*dequantize)(dequantize_stages &stages, const dequantize_parameters &tuned);
    void (*transpose)(transpose_stages &stages, const transpose_parameters &tuned);
    void (*repack)(repack_stages &stages);
    void (*reduce)(reduce_stages &stages, const reduce_parameters &tuned);
    void (*measure)(measure_stages &stages);
    void (*random)(random_stages &stages);
    void (*stochastic)(stochastic_stages &stages);
    void (*quantize_blocks)(quantize_blocks_stages &stages);
    void (*dequantize_blocks)(dequantize_blocks_stages &stages);
};

// Throws std::invalid_argument for an unknown name.
const cpu_schedule &cpu_schedule_named(const std::string &name);

// Stages of a device kernel. Where nothing else is said, they are values of a lane of a unit: (lane, unit). The output
// is written by its one update.
struct device_stages {
    struct scalar {
        Halide::Func stage;
        int lanes;
        std::vector<Halide::RVar> unrolled = {};  // of its update, if it has one
    };
    struct load {
        Halide::Func stage;  // (word, unit)
        int words;
    };

    Halide::Func output;
    Halide::RVar part, unit;  // the update's dimensions: parts of a unit, and units
    int parts = 1;
    bool whole_words = false;  // parts are words that lie end to end
    int rows = 1;              // units that share their operands lie next to one another
    // Of operands, where a unit is the number of units that share them; then of elements, in the order of their use.
    std::vector<load> operand_loads, loads;  // of words that lie end to end
    std::vector<scalar> operands, scalars;
    Halide::Func stored{"stored"};  // (part, unit), the last of them
    Halide::Func code;              // (lane, unit), one update for each of the ways to compute it, over a unit's lanes
    std::vector<Halide::RVar> ways;
    // Of calls, not of their elements: which are computed by kernels of their own, as stages have less to choose there.
    std::vector<Halide::Expr> apart;
};

// Stages of a device kernel that computes scales: of a thread of a block of threads (thread, block), or of one of the
// groups that such a block takes (group, block). The output is written by its one update.
struct scales_stages {
    Halide::Func output;
    Halide::RVar byte, group, block;  // the update's dimensions
    int threads = 1, groups = 1;      // of a block
    Halide::Func begin;               // (thread, block), where the thread's group is
    Halide::Func own;                 // (thread, block), `steps` updates
    Halide::RDom steps;
    Halide::Func place;   // (step, thread, block), in x; undefined where elements are loaded one by one
    Halide::Func loaded;  // (word, step, thread, block); the same
    int loaded_words = 0;
    Halide::Func met;   // (thread, block), what the threads share
    Halide::Func part;  // (i, group, block), that of some threads; undefined where groups have few
    int parts = 0;
    Halide::Func found;                 // (group, block)
    std::vector<Halide::Func> scalars;  // (group, block), in the order of their use
};

// The mapping of a device's kernels, a function for each family.
struct device_schedule {
    const char *name;
    void (*kernel)(device_stages &stages, const device_parameters &tuned);
    void (*scales)(scales_stages &stages, const scales_parameters &tuned);
};

const device_schedule &device_schedule_named(const std::string &name);

}  // namespace qdq
