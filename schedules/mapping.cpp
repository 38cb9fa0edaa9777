#include "mapping.h"

#include <algorithm>

namespace qdq {

using namespace Halide;

namespace {

// The dispatcher hands over whole groups along c, contiguous in x and y, and both views start at 0.
void assume_whole_groups(Func &output) {
    OutputImageParam view = output.output_buffer();
    view.dim(0).set_min(0).set_extent((view.dim(0).extent() / group_size) * group_size);
    view.dim(1).set_min(0);
}

// Makes one copy of the loops for each variant, in which the others' arithmetic is gone.
void specialize_variants(Func &output, const std::vector<Expr> &variants) {
    for (const Expr &variant : variants) {
        output.specialize(variant);
    }
    output.specialize_fail("no such variant");
}

// Lanes that share one operand keep its load a broadcast.
int code_vector(form f, const parameters &tuned) {
    switch (f) {
    case form::block16:
        return std::min(tuned.quantize_vector, 16);
    case form::block32:
        return std::min(tuned.quantize_vector, 32);
    default:
        return tuned.quantize_vector;
    }
}

constexpr int most_operands = 2048;  // the dispatcher's bound on c in forms whose scale varies along c

}  // namespace

void map_to_vectors(quantize_stages &stages, const parameters &tuned, const std::vector<Var> &narrowing_order) {
    Func &output = stages.output;
    const Var c = output.args()[0], r = output.args()[1];
    const Var group("group"), element("element");
    assume_whole_groups(output);
    output.split(c, group, element, group_size)
        .vectorize(element, stages.narrowed.defined() ? group_size : code_vector(stages.form, tuned));

    if (stages.form == form::row) {
        stages.reciprocal.compute_at(output, r);
    } else {  // all of them once, before the first row
        const Var operand = stages.reciprocal.args()[0];
        stages.reciprocal.compute_at(output, Var::outermost())
            .store_in(MemoryType::Stack)
            .bound_storage(operand, most_operands)
            .vectorize(operand, 16, TailStrategy::RoundUp);
    }

    if (stages.narrowed.defined()) {
        const lane_order &lanes = stages.lanes;
        stages.narrowed.compute_at(output, group)
            .store_in(MemoryType::Register)
            .bound_extent(lanes.lane, 8)
            .bound_extent(lanes.half, 2)
            .bound_extent(lanes.vector, 4);
        std::vector<VarOrRVar> loops(narrowing_order.begin(), narrowing_order.end());
        std::vector<Var> storage = narrowing_order;
        for (const Var &outer : {lanes.group, r}) {
            loops.emplace_back(outer);
            storage.push_back(outer);
        }
        stages.narrowed.reorder(loops).reorder_storage(storage);
        for (const Var &v : narrowing_order) {
            stages.narrowed.vectorize(v);
        }
        stages.code.compute_at(output, group)
            .store_in(MemoryType::Register)
            .vectorize(c, code_vector(stages.form, tuned), TailStrategy::RoundUp)
            .unroll(c);
    }
    specialize_variants(output, stages.variants);
}

void map_to_vectors(dequantize_stages &stages, const parameters &tuned) {
    Func &output = stages.output;
    assume_whole_groups(output);
    const Var c = output.args()[0];
    output.vectorize(c, tuned.dequantize_vector).unroll(c, tuned.dequantize_unroll);
    specialize_variants(output, stages.variants);
}

void map_to_vectors(transpose_stages &stages, int side) {
    Func &output = stages.output;
    assume_whole_groups(output);
    OutputImageParam view = output.output_buffer();
    view.dim(1).set_extent((view.dim(1).extent() / group_size) * group_size);
    const Var c = output.args()[0], r = output.args()[1];
    const Var column("column"), row("row");
    output.tile(c, r, column, row, side, side).vectorize(column).unroll(row);
    // Rows come in and go out as vectors; the turn between them is one shuffle of side * side lanes in registers.
    stages.loaded.compute_at(output, c).store_in(MemoryType::Register).bound_extent(c, side).bound_extent(r, side);
    stages.loaded.vectorize(c).unroll(r);
    stages.turned.compute_at(output, c).store_in(MemoryType::Register).bound_extent(c, side).bound_extent(r, side);
    stages.turned.vectorize(c).vectorize(r);
}

void map_to_vectors(pack_stages &stages) {
    const Var i = stages.output.args()[0];
    OutputImageParam view = stages.output.output_buffer();
    view.dim(0).set_min(0).set_extent((view.dim(0).extent() / 64) * 64);
    stages.output.vectorize(i, stages.by_halves ? 16 : 64);
}

void map_to_vectors(unpack_stages &stages) {
    const Var i = stages.output.args()[0], half("half");
    OutputImageParam view = stages.output.output_buffer();
    view.dim(0).set_min(0).set_extent((view.dim(0).extent() / 128) * 128);
    if (stages.by_halves) {
        stages.output.split(i, i, half, 32).vectorize(half, 16).unroll(half);
    } else {  // two strided stores, which Halide joins into one interleaved
        stages.output.split(i, i, half, 2).reorder(half, i).vectorize(i, 64).unroll(half);
    }
}

}  // namespace qdq
