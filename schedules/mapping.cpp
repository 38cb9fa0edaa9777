#include "mapping.h"

#include <algorithm>
#include <bit>

namespace qdq {

using namespace Halide;

namespace {

// The dispatcher hands over whole groups along c, contiguous in x and y, and both views start at 0.
void assume_whole_groups(Func &output, int group = group_size) {
    OutputImageParam view = output.output_buffer();
    view.dim(0).set_min(0).set_extent((view.dim(0).extent() / group) * group);
    if (output.dimensions() > 1) {
        view.dim(1).set_min(0);
    }
}

// Makes one copy of the loops for each variant, in which the others' arithmetic is gone.
void specialize_variants(Func &output, const std::vector<Expr> &variants) {
    for (const Expr &variant : variants) {
        output.specialize(variant);
    }
    output.specialize_fail("no such variant");
}

// Computes a stage where it is used, in registers.
Stage in_registers(Func &stage, Func &output, const Var &at) {
    return stage.compute_at(output, at).store_in(MemoryType::Register);
}

// Codes, in vectors of f32, that a plain conversion narrows, several vectors at a time where that takes fewer
// instructions.
void map_directly(quantize_stages &stages, const parameters &tuned) {
    Func &output = stages.output;
    const Var c = output.args()[0], code_c = stages.code.args()[0], step("step"), lane("lane");
    const int stored = tuned.stored_vector;
    assume_whole_groups(output, stages.packs ? group_size / 2 : group_size);
    // Unrolling wins nothing on x86 and spills registers on NEON: 74 instructions for 16 codes of f8, 63 as it is.
    output.split(c, step, lane, stored).vectorize(lane);
    Func &user = stored == tuned.vector ? output : stages.code;
    if (stored != tuned.vector) {
        in_registers(stages.code, output, step).split(code_c, step, lane, tuned.vector).vectorize(lane).unroll(step);
    }
    if (stages.packs) {
        const Var value_c = stages.value.args()[0], pair = stages.pairs.args()[0], place = stages.pairs.args()[1];
        in_registers(stages.value, user, step).vectorize(value_c, tuned.vector).unroll(value_c);
        stages.pairs.bound_extent(pair, tuned.vector).bound_extent(place, 2);
        in_registers(stages.pairs, user, step).vectorize(pair).vectorize(place);
    }
}

// Integer codes of 8 and 16 bits, a group at once, so that one instruction narrows two registers of codes into one. It
// interleaves them, and a last permutation of the group sets that right.
void map_by_narrowing(quantize_stages &stages, int vector, const std::vector<Var> &order) {
    Func &output = stages.output;
    const lane_order &lanes = stages.lanes;
    const Var c = output.args()[0], group("group"), element("element"), code_c = stages.code.args()[0];
    assume_whole_groups(output);
    output.split(c, group, element, group_size).vectorize(element);

    stages.narrowed.bound_extent(lanes.lane, 8).bound_extent(lanes.half, 2).bound_extent(lanes.vector, 4);
    std::vector<Var> loops = order;
    loops.insert(loops.end(), {lanes.group, stages.narrowed.args().back()});
    Stage narrowed = in_registers(stages.narrowed, output, group);
    narrowed.reorder(std::vector<VarOrRVar>(loops.begin(), loops.end()));
    stages.narrowed.reorder_storage(loops);
    for (const Var &digit : order) {
        narrowed.vectorize(digit);
    }
    in_registers(stages.code, output, group).vectorize(code_c, vector, TailStrategy::RoundUp).unroll(code_c);
    if (stages.form == form::block) {  // broadcasts, before the lanes of several blocks meet in one vector
        const Var spread_c = stages.spread.args()[0];
        in_registers(stages.spread, output, group).vectorize(spread_c, stages.block).unroll(spread_c);
    }
}

}  // namespace

void map_to_vectors(quantize_stages &stages, const cpu_mapping &mapping) {
    const parameters tuned = read_parameters(mapping.name);
    if (stages.narrowed.defined()) {
        map_by_narrowing(stages, tuned.narrowing_vector, mapping.narrowing_order(stages.lanes));
    } else {
        map_directly(stages, tuned);
    }
    specialize_variants(stages.output, stages.variants);
}

void map_to_vectors(dequantize_stages &stages, const cpu_mapping &mapping) {
    const parameters tuned = read_parameters(mapping.name);
    Func &output = stages.output, &product = stages.product, &decoded = stages.decoded;
    // Four registers at once; but f16 that become f32 alone take 28 instructions for 16 on NEON, and 33 so.
    const int vector = decoded.defined() && !stages.packs ? tuned.vector : tuned.stored_vector;
    const Var c = output.args()[0], group("group"), step("step"), lane("lane"), pair("pair"), place("place");
    assume_whole_groups(output);
    output.split(c, group, lane, group_size).split(lane, step, lane, stages.packs ? 2 * vector : vector).unroll(step);
    if (stages.packs) {  // neighbours meet in registers, before they are narrowed
        output.split(lane, pair, place, 2).vectorize(place).vectorize(pair);
        product.bound_extent(product.args()[0], vector).bound_extent(product.args()[1], 2);
        in_registers(product, output, step).vectorize(product.args()[0]).unroll(product.args()[1]);
    } else {
        output.vectorize(lane);
    }
    if (decoded.defined()) {
        decoded.bound_extent(decoded.args()[1], stages.packs ? 2 : 1);
        in_registers(decoded, output, group)
            .vectorize(decoded.args()[0], tuned.decoding_vector)
            .unroll(decoded.args()[0])
            .unroll(decoded.args()[1]);
    }
    specialize_variants(output, stages.variants);
}

void map_to_vectors(transpose_stages &stages, const cpu_mapping &mapping) {
    const int rows = read_parameters(mapping.name).transpose_rows.at(std::countr_zero(unsigned(stages.element_bytes)));
    Func &output = stages.output;
    assume_whole_groups(output);
    OutputImageParam view = output.output_buffer();
    view.dim(1).set_extent((view.dim(1).extent() / group_size) * group_size);
    const Var c = output.args()[0], r = output.args()[1], column("column"), row("row"), block("block");
    // Along the rows of that side first whose rows are far apart, as eight of them a power of two apart share a place
    // in the L1 cache: 64 x 64 bytes that go to rows 4096 apart take 340 ns so, and 1450 along the other.
    output.tile(c, r, column, row, 8, rows).reorder(column, row, r, c).vectorize(column).unroll(row);
    output.specialize(view.dim(1).stride() > group_size).reorder(column, row, c, r).rename(c, block);
    output.rename(r, block);
    // All in registers, a row to a vector; a load that takes turns becomes one shuffle of two vectors.
    const Var pair("pair"), place("place");
    int height = 8, width = rows;
    for (Func &stage : stages.rows) {
        const Var j = stage.args()[0], i = stage.args()[1];
        stage.align_bounds(j, width).bound_extent(i, height);
        in_registers(stage, output, block).unroll(i);
        if (height == 8) {
            stage.vectorize(j, width);
        } else {
            stage.split(j, pair, place, 2).reorder(place, pair, i).unroll(place).vectorize(pair, width / 2);
        }
        height /= 2;
        width *= 2;
    }
}

void map_to_vectors(repack_stages &stages, const cpu_mapping &) {
    const Var i = stages.output.args()[0], j("j"), k("k"), rest("rest");
    assume_whole_groups(stages.output);
    switch (stages.change) {
    case repacking::swap_nibbles:
        stages.output.vectorize(i, group_size);
        break;
    case repacking::split_halves:  // neighbours come from one byte in each of two halves
        stages.output.split(i, i, j, 16).split(j, k, rest, 2).reorder(rest, k, i).vectorize(k).unroll(rest);
        break;
    case repacking::join_halves:
        stages.output.split(i, i, j, 16).split(j, rest, k, 8).vectorize(k).unroll(rest);
        break;
    }
}

}  // namespace qdq
