#include "vectors.h"

#include <algorithm>

namespace qdq {

using namespace Halide;

void assume_whole_groups(Func &output, int group) {
    OutputImageParam view = output.output_buffer();
    view.dim(0).set_min(0).set_extent((view.dim(0).extent() / group) * group);
    if (output.dimensions() > 1) {
        view.dim(1).set_min(0);
    }
}

void specialize_variants(Func &output, const std::vector<Expr> &variants) {
    for (const Expr &variant : variants) {
        output.specialize(variant);
    }
    output.specialize_fail("no such variant");
}

Stage in_registers(Func &stage, Func &output, const Var &at) {
    return stage.compute_at(output, at).store_in(MemoryType::Register);
}

namespace {

// The output in vectors of pairs, which a stage computes before them.
void store_pairs(Func &output, Func &pairs, const Var &step, const Var &lane, int vector) {
    const Var pair("pair"), place("place");
    output.unroll(step).split(lane, pair, place, 2).vectorize(place).vectorize(pair);
    in_registers(pairs, output, step).vectorize(pairs.args()[0], vector);
}

// A group of a stage whose arguments are those of lanes: a vector in an order of its digits.
void as_one_vector(Func &stage, Func &output, const std::vector<Var> &order, const lane_order &lanes) {
    for (const lane_order::digit &d : lanes.digits) {
        stage.bound_extent(d.name, d.extent);
    }
    std::vector<Var> loops = order;
    loops.insert(loops.end(), {lanes.group, stage.args().back()});
    Stage mapped = in_registers(stage, output, Var("group"));
    mapped.reorder(std::vector<VarOrRVar>(loops.begin(), loops.end()));
    stage.reorder_storage(loops);
    for (const Var &digit : order) {
        mapped.vectorize(digit);
    }
}

// The codes of a group in 16 bits, before its values.
void decode_in_registers(dequantize_stages &stages, const dequantize_parameters &tuned, const Var &group, int places) {
    Func &decoded = stages.decoded;
    if (decoded.defined() && tuned.decoded_stage == decoded_stage::registers) {
        decoded.bound_extent(decoded.args()[1], places);
        in_registers(decoded, stages.output, group)
            .vectorize(decoded.args()[0], std::min<int>(group_size / places, tuned.decoding_vector))
            .unroll(decoded.args()[0])
            .unroll(decoded.args()[1]);
    }
}

// By one instruction, vpmaddubsw, whose sums saturate. Halide can't prove that the order of such sums does not matter;
// here it does not, as no sum of two codes is that large.
void sum_neighbours(Func &stage) {
    const Var c = stage.args()[0];
    const RVar place = stage.rvars()[0];
    stage.update().reorder(place, c).atomic(true).vectorize(place).vectorize(c);
}

}  // namespace

void narrow_pairs(quantize_stages &stages, const quantize_parameters &tuned) {
    Func &output = stages.output;
    const Var c = output.args()[0], step("step"), lane("lane");
    const int vector = std::min<int>(tuned.vector, group_size / 2);
    assume_whole_groups(output);
    output.split(c, c, lane, 2 * vector).split(c, c, step, std::min<int>(tuned.unroll, group_size / 2 / vector));
    store_pairs(output, stages.code_pair, step, lane, vector);
    specialize_variants(output, stages.variants);
}

void narrow_directly(quantize_stages &stages, const quantize_parameters &tuned) {
    if (stages.code_pair.defined()) {
        narrow_pairs(stages, tuned);
        return;
    }
    Func &output = stages.output;
    const Var c = output.args()[0], code_c = stages.code.args()[0], step("step"), lane("lane");
    const int whole = group_size / stages.codes_per_byte;  // what a group takes of y
    const int stored = std::min<int>(tuned.stored_vector, whole), vector = std::min<int>(tuned.vector, stored);
    assume_whole_groups(output, whole);
    // Unrolling spills registers on NEON: 74 instructions for 16 codes of f8, 63 without.
    output.split(c, c, lane, stored).vectorize(lane).split(c, c, step, std::min<int>(tuned.unroll, whole / stored));
    output.unroll(step);
    Func &user = stored == vector ? output : stages.code;
    if (stored != vector) {
        in_registers(stages.code, output, step).split(code_c, step, lane, vector).vectorize(lane).unroll(step);
    }
    if (stages.form == form::block && !stages.packs() && tuned.broadcast_stage == broadcast_stage::registers) {
        in_registers(stages.broadcast, user, step).vectorize(stages.broadcast.args()[0], vector);
    }
    if (stages.packs() && stages.neighbours.defined()) {
        const Var value_c = stages.value.args()[0], byte = stages.neighbours.args()[0],
                  place = stages.neighbours.args()[1];
        in_registers(stages.value, user, step).vectorize(value_c, tuned.vector).unroll(value_c);
        stages.neighbours.bound_extent(byte, vector).bound_extent(place, stages.codes_per_byte);
        in_registers(stages.neighbours, user, step).vectorize(byte).vectorize(place);
    } else if (!stages.packs() && tuned.value_stage == value_stage::registers) {
        in_registers(stages.value, user, step).vectorize(stages.value.args()[0], vector);
    }
    specialize_variants(output, stages.variants);
}

void narrow_by_saturating(quantize_stages &stages, const quantize_parameters &tuned, const narrowing_order &order) {
    Func &output = stages.output;
    const Var c = output.args()[0], group("group"), element("element"), code_c = stages.code.args()[0];
    const int whole = group_size / stages.codes_per_byte;
    assume_whole_groups(output, whole);
    output.split(c, group, element, whole).vectorize(element);

    if (stages.half_narrowed.defined()) {
        as_one_vector(stages.half_narrowed, output, order.words, stages.lanes);
    }
    as_one_vector(stages.narrowed, output, order.codes, stages.lanes);
    in_registers(stages.code, output, group)
        .vectorize(code_c, tuned.narrowing_vector, TailStrategy::RoundUp)
        .unroll(code_c);
    for (Func &stage : stages.packing) {
        in_registers(stage, output, group).vectorize(stage.args()[0]);
        if (stage.has_update_definition()) {
            sum_neighbours(stage);
        }
    }
    if (stages.form == form::block) {  // broadcasts, before the lanes of several blocks meet in one vector
        const Var broadcast_c = stages.broadcast.args()[0];
        in_registers(stages.broadcast, output, group).vectorize(broadcast_c, stages.longest_block).unroll(broadcast_c);
    }
    specialize_variants(output, stages.variants);
}

void narrow_sums(quantize_stages &stages, const narrowing_order &order) {
    if (stages.sum.defined()) {
        as_one_vector(stages.sum, stages.output, order.words, stages.words);
        as_one_vector(stages.narrowed_sum, stages.output, order.codes, stages.words);
    }
}

void narrow(quantize_stages &stages, const quantize_parameters &tuned, const narrowing_order &order) {
    if (stages.narrowed.defined()) {
        narrow_by_saturating(stages, tuned, order);
    } else {
        narrow_directly(stages, tuned);
    }
}

void decode_pairs(dequantize_stages &stages, const dequantize_parameters &tuned) {
    Func &output = stages.output;
    const Var c = output.args()[0], group("group"), steps("steps"), step("step"), lane("lane");
    const int vector = std::min<int>(tuned.vector, group_size / 2);
    assume_whole_groups(output);
    output.split(c, group, lane, group_size)
        .split(lane, steps, lane, 2 * vector)
        .split(steps, steps, step, std::min<int>(tuned.unroll, group_size / 2 / vector));
    store_pairs(output, stages.value_pair, step, lane, vector);
    decode_in_registers(stages, tuned, group, 2);
    specialize_variants(output, stages.variants);
}

void decode(dequantize_stages &stages, const dequantize_parameters &tuned) {
    if (stages.value_pair.defined()) {
        decode_pairs(stages, tuned);
        return;
    }
    Func &output = stages.output, &value = stages.value, &decoded = stages.decoded;
    const int places = stages.codes_per_byte;
    // Four registers at once; but f16 that become f32 alone take 28 instructions for 16 on NEON, and 33 so.
    const int tuned_vector = decoded.defined() && !stages.packs() ? tuned.vector : tuned.stored_vector;
    const int vector = std::max(tuned_vector, stages.least_lanes / places);
    const Var c = output.args()[0], group("group"), steps("steps"), step("step"), lane("lane"), byte("byte"),
              place("place");
    assume_whole_groups(output);
    output.split(c, group, lane, group_size)
        .split(lane, steps, lane, std::min(group_size, places * vector))
        .split(steps, steps, step, std::clamp(group_size / (places * vector), 1, int(tuned.unroll)))
        .unroll(step);
    if (stages.packs()) {  // neighbours meet in registers, before they are narrowed
        output.split(lane, byte, place, places).vectorize(place).vectorize(byte);
        value.bound_extent(value.args()[0], std::min(group_size / places, vector))
            .bound_extent(value.args()[1], places);
        in_registers(value, output, step).vectorize(value.args()[0]).unroll(value.args()[1]);
    } else {
        output.vectorize(lane);
    }
    decode_in_registers(stages, tuned, group, places);
    specialize_variants(output, stages.variants);
}

void transpose_in_registers(transpose_stages &stages, const transpose_parameters &tuned) {
    const int rows = tuned.transpose_rows, columns = tuned.transpose_columns;
    Func &output = stages.output;
    assume_whole_groups(output);
    OutputImageParam view = output.output_buffer();
    view.dim(1).set_extent((view.dim(1).extent() / group_size) * group_size);
    const Var c = output.args()[0], r = output.args()[1], column("column"), row("row"), block("block");
    // Along the rows of that side first whose rows are far apart, as eight of them a power of two apart share a place
    // in the L1 cache: 64 x 64 bytes that go to rows 4096 apart take 340 ns so, and 1450 along the other.
    output.tile(c, r, column, row, columns, rows).reorder(column, row, r, c).vectorize(column).unroll(row);
    output.specialize(view.dim(1).stride() > group_size).reorder(column, row, c, r).rename(c, block);
    output.rename(r, block);
    // All in registers, a row to a vector; a load that interleaves becomes one shuffle of two vectors.
    const Var pair("pair"), place("place");
    int height = columns, width = rows;
    for (Func &stage : stages.rows) {
        const Var j = stage.args()[0], i = stage.args()[1];
        stage.align_bounds(j, width).bound_extent(i, height);
        in_registers(stage, output, block).unroll(i);
        if (height == columns) {
            stage.vectorize(j, width);
        } else {
            stage.split(j, pair, place, 2).reorder(place, pair, i).unroll(place).vectorize(pair, width / 2);
        }
        height /= 2;
        width *= 2;
    }
}

void repack_bytes(repack_stages &stages) {
    const Var i = stages.output.args()[0], j("j"), k("k"), rest("rest");
    assume_whole_groups(stages.output);
    switch (stages.change) {
    case repacking::swap_nibbles: stages.output.vectorize(i, group_size); break;
    case repacking::split_halves:  // neighbours come from one byte in each of two halves
        stages.output.split(i, i, j, 16).split(j, k, rest, 2).reorder(rest, k, i).vectorize(k).unroll(rest);
        break;
    case repacking::join_halves: stages.output.split(i, i, j, 16).split(j, rest, k, 8).vectorize(k).unroll(rest); break;
    }
}

namespace {

void reduce_rows(reduce_stages &stages, int width) {
    Func &output = stages.output, &lanes = stages.lanes;
    const Var i = output.args()[0], j = lanes.args()[0];
    in_registers(lanes, output, i).vectorize(j, width);
    lanes.update().reorder(j, stages.steps).vectorize(j, width);
    for (Func &whole : stages.met) {
        whole.compute_at(output, i);
        whole.update().atomic().vectorize(stages.all, width);
    }
}

// A stage of short rows that a stage after it reads, in a register for each row or in a loop over them.
void map_rows(Func &stage, Func &output, const Var &group, int height, bool unrolls) {
    const Var r = stage.args()[1];
    stage.bound_extent(r, height);
    stage.compute_at(output, group).store_in(unrolls ? MemoryType::Register : MemoryType::Stack);
    if (unrolls) {
        stage.unroll(r);
    }
}

// Unrolled, 16 rows of 32 elements of 16 bits take 310 instructions of AVX-512, and 620 in loops. With fewer registers
// than rows that wins little: MX blocks take 0.96 of the time by AVX2, and as long by SSE, in three times as much code.
void reduce_short_rows(reduce_stages &stages, bool unrolls) {
    Func &output = stages.output, &lanes = stages.lanes;
    const Var i = output.args()[0], j = lanes.args()[0], r = lanes.args()[1];
    const Var group("group"), row("row"), pair("pair"), place("place");
    output.split(i, group, row, short_rows, TailStrategy::RoundUp).vectorize(row);
    int height = short_rows;
    for (Func &half : stages.halves) {
        map_rows(half.align_bounds(j, short_step).bound_extent(j, short_step), output, group, height, unrolls);
        half.vectorize(j, short_step);
        height /= 2;
    }
    height = short_rows / 2;
    for (Func &both : stages.interleaved) {
        map_rows(both.align_bounds(j, 2 * short_step).bound_extent(j, 2 * short_step), output, group, height, unrolls);
        both.split(j, pair, place, 2).reorder(place, pair, r).unroll(place).vectorize(pair, short_step);
        height /= 2;
    }
    if (unrolls) {
        map_rows(lanes, output, group, short_rows, true);
        lanes.update().reorder(j, r, stages.steps).unroll(r);
    } else {
        in_registers(lanes, stages.halves.front(), r);
    }
    lanes.vectorize(j, short_step);
    lanes.update().vectorize(j, short_step);
}

void reduce_columns(reduce_stages &stages, int width) {
    Func &output = stages.output, &lanes = stages.lanes;
    const Var i = output.args()[0], column = lanes.args()[0], group("group"), lane("lane");
    output.split(i, group, lane, width, TailStrategy::RoundUp).vectorize(lane);
    in_registers(lanes, output, group).vectorize(column, width);
    lanes.update().reorder(column, stages.steps).vectorize(column, width);
}

void reduce(reduce_stages &stages, const reduce_parameters &tuned, bool unrolls) {
    switch (stages.form) {
    case reduction::row: reduce_rows(stages, tuned.reduced_elements); break;
    case reduction::short_rows: reduce_short_rows(stages, unrolls); break;
    case reduction::column: reduce_columns(stages, tuned.reduced_elements); break;
    }
}

}  // namespace

void reduce(reduce_stages &stages, const reduce_parameters &tuned) { reduce(stages, tuned, false); }

void reduce_in_registers(reduce_stages &stages, const reduce_parameters &tuned) { reduce(stages, tuned, true); }

namespace {

// A stage over all lanes at once.
void meet(Func &stage, const RDom &lanes) { stage.update().atomic().vectorize(lanes.x, measured_step); }

void sum_errors(measure_stages &stages) {
    Func &output = stages.sums;
    const Var i = output.args()[0], group("group"), lane("lane");
    const Var at = stages.form == form::row ? i : group;
    if (stages.form != form::row) {
        output.split(i, group, lane, measured_step, TailStrategy::RoundUp).vectorize(lane);
    }
    for (size_t kind = 0; kind < stages.lanes.size(); kind++) {
        Func &lanes = stages.lanes[kind];
        const std::vector<RDom> &steps = stages.steps[kind];
        const Var j = lanes.args()[0];
        in_registers(lanes, output, at).vectorize(j, measured_step);
        for (size_t k = 0; k < steps.size(); k++) {
            lanes.update(int(k)).reorder(j, steps[k]).vectorize(j, measured_step);
        }
    }
    for (Func &met : stages.met) {
        meet(met.compute_at(output, i), stages.all);
    }
    output.specialize(stages.is_far);
}

}  // namespace

void measure(measure_stages &stages) {
    sum_errors(stages);
    const Var i = stages.counts.args()[0], j = stages.outside.args()[0];
    stages.counts.bound(i, 0, measured_count).unroll(i);
    Func &lanes = stages.outside;
    lanes.compute_root().store_in(MemoryType::Stack).bound(j, 0, measured_step).vectorize(j, measured_step);
    for (int k = 0; k < lanes.num_update_definitions(); k++) {
        lanes.update(k).vectorize(j, measured_step);
    }
    for (Func &total : stages.totals) {
        meet(total.compute_root().store_in(MemoryType::Stack), stages.all);
    }
}

void measure_short_rows_apart(measure_stages &stages) {
    measure(stages);
    if (stages.form == form::row) {
        stages.sums.specialize(stages.columns == measured_step);
        stages.sums.specialize(stages.columns == 2 * measured_step);
    }
}

void draw_words(random_stages &stages) {
    constexpr int blocks = 8, words = 2 * blocks;  // a register of each word of AVX-512's
    Func &output = stages.output, &pair = stages.pair;
    const Var i = output.args()[0], lane("lane"), k = pair.args()[0], block = pair.args()[1];
    assume_whole_groups(output, words);
    output.split(i, i, lane, words).vectorize(lane);
    pair.bound_extent(k, 2).bound_extent(block, blocks);
    in_registers(pair, output, i).vectorize(block).unroll(k);
}

void round_by_words(stochastic_stages &stages) {
    Func &output = stages.output;
    const Var i = output.args()[0], step("step"), lane("lane");
    assume_whole_groups(output);
    output.split(i, i, step, group_size).split(step, step, lane, sharing_distance).vectorize(lane).unroll(step);
}

namespace {

// What there is of each block, for all that a kernel is given.
Func &keep(Func &f, const Var &block) {
    return f.compute_root().store_in(MemoryType::Stack).bound_storage(block, most_blocks);
}

constexpr int blocks_at_once = 8;

}  // namespace

// x is read twice, the second time from the L1 cache, and scales are divided eight at once: a block of Q8_0 takes 6.3
// ns on AVX2, of which its codes are 28 instructions, where two divisions of its own would take 10 (ggml's kernel).
void pack_blocks(quantize_blocks_stages &stages) {
    Func &output = stages.output;
    const Var block = output.args()[1], lane("lane");
    for (Func &extreme : stages.extremes) {
        keep(extreme, block).update().atomic().vectorize(stages.elements.x, block_elements);
    }
    for (Func &sum : stages.sums) {
        keep(sum, block).update().reorder(stages.elements.x, block);
    }
    for (Func &f : stages.of_blocks) {
        keep(f, block).split(block, block, lane, blocks_at_once, TailStrategy::GuardWithIf).vectorize(lane);
    }
    if (stages.keeps_codes) {
        const Var i = stages.codes.args()[0];
        keep(stages.codes, block).bound(i, 0, block_elements).vectorize(i);
    }
    for (size_t k = 0; k < stages.stored.size(); k++) {
        const RDom &bytes = stages.stored[k];
        output.update(int(k)).reorder(bytes.x, block).allow_race_conditions().vectorize(bytes.x);
    }
}

// Scales become f32 before values. One at a time, beside its block's values, waits for the one before: vpinsrw keeps
// what else its register holds, and a block of Q8_0 takes 4.9 ns, not 3.5 (AVX2) and 2.3 (AVX-512). Whether a NaN needs
// its one pattern is asked once: a comparison of each value takes 1.1 ns.
void unpack_blocks(dequantize_blocks_stages &stages) {
    constexpr int lanes = block_elements / 2;
    Func &output = stages.output;
    const Var i = output.args()[0], block = output.args()[1], half("half"), lane("lane");
    for (Func &f : stages.halves) {
        keep(f, block).bound(block, 0, most_blocks).vectorize(block);
        f.update().unscheduled();
    }
    for (Func &peak : stages.peaks) {
        peak.compute_root().store_in(MemoryType::Stack).update().atomic().vectorize(stages.all.x, most_blocks);
    }
    for (Func &f : stages.of_blocks) {
        if (stages.halves.empty()) {
            in_registers(f, output, block);
        } else {
            keep(f, block).split(block, block, lane, blocks_at_once, TailStrategy::RoundUp).vectorize(lane);
        }
    }
    if (stages.fifth_bits.defined()) {
        keep(stages.fifth_bits, block);
    }
    output.split(i, half, lane, lanes).vectorize(lane).unroll(half);
    if (stages.specials.defined()) {
        RVar of_half("of_half"), of_lane("of_lane");
        output.update().allow_race_conditions().split(stages.specials.x, of_half, of_lane, lanes).vectorize(of_lane);
    }
}

}  // namespace qdq
