#include "schedule.h"

#include "gpu.h"
#include "mapping.h"

#include <stdexcept>

namespace qdq {

namespace {

// The first match wins, so a target stands before those it extends.
struct target_mapping {
    bool (*matches)(const Halide::Target &);
    const cpu_mapping &mapping;
};

const target_mapping target_mappings[] = {
    {[](const Halide::Target &t) { return t.has_feature(Halide::Target::AVX512_Skylake); }, x86_avx512},
    {[](const Halide::Target &t) { return t.has_feature(Halide::Target::AVX2); }, x86_avx2},
    {[](const Halide::Target &t) { return t.arch == Halide::Target::X86; }, x86_portable},
    {[](const Halide::Target &t) { return t.arch == Halide::Target::ARM; }, arm_neon},
    {[](const Halide::Target &t) { return t.arch == Halide::Target::RISCV; }, riscv_rvv},
};

template<typename Stages>
void apply_first_match(const Halide::Target &target, Stages &stages) {
    for (const target_mapping &candidate : target_mappings) {
        if (candidate.matches(target)) {
            map_to_vectors(stages, candidate.mapping);
            return;
        }
    }
    throw std::runtime_error("no schedule for target " + target.to_string());
}

}  // namespace

void apply_schedule(const Halide::Target &target, quantize_stages stages) { apply_first_match(target, stages); }
void apply_schedule(const Halide::Target &target, dequantize_stages stages) { apply_first_match(target, stages); }
void apply_schedule(const Halide::Target &target, transpose_stages stages) { apply_first_match(target, stages); }
void apply_schedule(const Halide::Target &target, repack_stages stages) { apply_first_match(target, stages); }

void apply_schedule(const Halide::Target &target, device_stages stages) {
    if (target.has_feature(Halide::Target::CUDA)) {
        map_to_cuda(stages);
    } else if (target.has_feature(Halide::Target::OpenCL)) {
        map_to_opencl(stages);
    } else {
        throw std::runtime_error("no device schedule for target " + target.to_string());
    }
}

}  // namespace qdq
