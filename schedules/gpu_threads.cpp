#include "gpu_threads.h"

#include <algorithm>

namespace qdq {

using namespace Halide;

// Units: 8 elements are what a load or store of 16 bytes takes of 16-bit types, and two take of 32-bit ones. With 16,
// f16 to f8e4m3 took 105 registers instead of 51.
void map_to_threads(device_stages &stages, const device_parameters &tuned, DeviceAPI device) {
    const int words_at_once = tuned.access_words, threads = tuned.threads;
    RVar block("block"), of_block("of_block"), thread("thread"), item("item"), vector("vector"), row("row");
    stages.output.gpu_single_thread(device);  // what comes before the update is nothing, and is not to be on the host
    Stage output = stages.output.update();
    // The units that threads compute at a time lie end to end. Then a thread goes on to those that share its operands.
    output.split(stages.unit, stages.unit, row, stages.rows)
        .split(stages.unit, block, of_block, threads * tuned.thread_units, TailStrategy::GuardWithIf)
        .split(of_block, item, thread, threads);
    // Each unit goes to places of its own, which Halide cannot know of the strided form. One text is for whole blocks
    // and the last: the comparison that Halide would save in whole ones by a second text is one for each thread, and
    // PoCL compiles f32 to i8 in 1.1 s instead of 2.1 and then takes as long.
    output.allow_race_conditions()
        .reorder(stages.part, row, thread, item, block)
        .gpu_blocks(block, device)
        .gpu_threads(thread, device)
        .never_partition_all();
    if (stages.whole_words) {
        output.split(stages.part, stages.part, vector, std::min(words_at_once, stages.parts)).vectorize(vector);
    }
    output.unroll(stages.part);

    auto load_at = [&](const RVar &loop, device_stages::load &of) {
        const Var word = of.stage.args()[0];
        of.stage.bound_extent(word, of.words).compute_at(stages.output, loop).store_in(MemoryType::Register);
        of.stage.vectorize(word, std::min(words_at_once, of.words)).unroll(word);
    };
    auto compute_at = [&](const RVar &loop, device_stages::scalar &of) {
        const Var lane = of.stage.args()[0];
        of.stage.bound_extent(lane, of.lanes).compute_at(stages.output, loop).store_in(MemoryType::Register);
        of.stage.unroll(lane);
        for (const RVar &part : of.unrolled) {
            of.stage.update().unroll(part);
        }
    };
    for (auto &load : stages.operand_loads) {
        load_at(thread, load);
    }
    for (auto &operand : stages.operands) {
        compute_at(thread, operand);
    }
    for (auto &load : stages.loads) {
        load_at(row, load);
    }
    for (auto &scalar : stages.scalars) {
        compute_at(row, scalar);
    }
    stages.code.compute_at(stages.output, row).store_in(MemoryType::Register).unroll(stages.code.args()[0]);
    for (size_t i = 0; i < stages.ways.size(); i++) {
        stages.code.update(int(i)).unroll(stages.ways[i]);
    }
}

void map_groups_to_threads(scales_stages &stages, const scales_parameters &tuned, DeviceAPI device) {
    stages.output.gpu_single_thread(device);
    Stage output = stages.output.update();
    output
        .allow_race_conditions()  // each group goes to a place of its own
        .reorder(stages.byte, stages.group, stages.block)
        .gpu_blocks(stages.block, device)
        .gpu_threads(stages.group, device)
        .never_partition_all()
        .unroll(stages.byte);
    for (Func &stage : stages.scalars) {
        stage.compute_at(stages.output, stages.group).store_in(MemoryType::Register);
    }
    stages.found.compute_at(stages.output, stages.group).store_in(MemoryType::Register);

    auto in_block = [&](Func &stage, int threads, int groups) {
        const std::vector<Var> args = stage.args();
        stage.compute_at(stages.output, stages.block).store_in(MemoryType::GPUShared);
        stage.bound_extent(args[0], threads).gpu_threads(args[0], device);
        if (args.size() == 3) {
            stage.bound_extent(args[1], groups);
        }
    };
    if (stages.part.defined()) {
        in_block(stages.part, stages.parts, stages.groups);
        stages.part.update().gpu_threads(stages.part.args()[0], device);
    }
    in_block(stages.met, stages.threads, stages.groups);
    const Var thread = stages.met.args()[0];
    for (Func *stage : {&stages.own, &stages.begin}) {
        stage->compute_at(stages.met, thread).store_in(MemoryType::Register);
    }
    if (stages.loaded.defined()) {
        const Var word = stages.loaded.args()[0];
        stages.loaded.bound_extent(word, stages.loaded_words).vectorize(word, tuned.access_words).unroll(word);
        for (Func *stage : {&stages.loaded, &stages.place}) {
            stage->compute_at(stages.own, stages.steps[0]).store_in(MemoryType::Register);
            stage->bound_extent(stages.place.args()[0], 1);
        }
    }
}

}  // namespace qdq
