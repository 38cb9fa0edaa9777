// Mappings to vectors that targets share: a target's file calls those that suit it.
#pragma once

#include "schedule.h"

namespace qdq {

// What every mapping to vectors needs, a target's own too:

// The dispatcher hands over whole groups along c, contiguous in x and y, and both views start at 0. Tails in the
// kernels instead, by Halide's predicates, double the code for AVX-512 and take 11 ns a row, and four times the code
// and 22 ns for AVX2, which cannot mask bytes; the dispatcher's take 2 and 6 ns a row of many (f32 to i8, rows of 81
// and of 64).
void assume_whole_groups(Halide::Func &output, int group = group_size);

// Makes one copy of the loops for each variant, in which the others' arithmetic is gone.
void specialize_variants(Halide::Func &output, const std::vector<Halide::Expr> &variants);

// Computes a stage where it is used, in registers.
Halide::Stage in_registers(Halide::Func &stage, Halide::Func &output, const Halide::Var &at);

// Mappings of whole families:

// quantize to 8 bits of two 16-bit floats in a lane of 32: their codes meet in the lane, and nothing is shuffled.
void narrow_pairs(quantize_stages &stages, const quantize_parameters &tuned);

// quantize, where f32 become codes in registers and are then narrowed by plain conversions; and by pairs, where the
// generator made their stage.
void narrow_directly(quantize_stages &stages, const quantize_parameters &tuned);

// The digits of an element's place (lane_order), innermost first, in the order in which the target's narrowing
// instructions like codes to stand: those of 16 bits that become 8, and those that they become. Instructions interleave
// their operands, and a last permutation of the group sets that right.
struct narrowing_order {
    std::vector<Halide::Var> words, codes;
};

// quantize to codes of up to 16 bits, a group at once, so that one instruction narrows two registers of codes into one.
void narrow_by_saturating(quantize_stages &stages, const quantize_parameters &tuned, const narrowing_order &order);

// The same, after that, for sums of codes of up to 8 bits and zero points, where the generator made their stages.
void narrow_sums(quantize_stages &stages, const narrowing_order &order);

// By saturating where the generator made its stage, otherwise directly.
void narrow(quantize_stages &stages, const quantize_parameters &tuned, const narrowing_order &order);

void decode(dequantize_stages &stages, const dequantize_parameters &tuned);

// The same for dequantize, whose results of 16 bits meet in a lane.
void decode_pairs(dequantize_stages &stages, const dequantize_parameters &tuned);

void transpose_in_registers(transpose_stages &stages, const transpose_parameters &tuned);

void repack_bytes(repack_stages &stages);

// Lanes and their halves in registers; what elements are read in order, and each once.
void reduce(reduce_stages &stages, const reduce_parameters &tuned);
// The same, with a register for each of 16 short rows.
void reduce_in_registers(reduce_stages &stages, const reduce_parameters &tuned);

// The same of what is summed and counted.
void measure(measure_stages &stages);

// Rows of one step or two have no loops of them: rows of 16 take 0.12 ns an element, and 0.22 (AVX-512, Zen 5).
void measure_short_rows_apart(measure_stages &stages);

// Random words, the blocks of a group of elements at once; and what rounds f32 by them.
void draw_words(random_stages &stages);
void round_by_words(stochastic_stages &stages);

// ggml's blocks: what there is of each block first, and then all bytes.
void pack_blocks(quantize_blocks_stages &stages);
void unpack_blocks(dequantize_blocks_stages &stages);

// The schedule of targets with vectors of 256 bits or more, which differ in how quantize narrows them.
constexpr cpu_schedule wide_vectors(const char *name, decltype(cpu_schedule::quantize) quantize) {
    return {name,
            quantize,
            decode,
            transpose_in_registers,
            repack_bytes,
            reduce_in_registers,
            measure_short_rows_apart,
            draw_words,
            round_by_words,
            pack_blocks,
            unpack_blocks};
}

}  // namespace qdq
