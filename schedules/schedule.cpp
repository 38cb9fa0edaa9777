#include "schedule.h"

#include "mapping.h"

#include <stdexcept>

namespace qdq {

namespace {

// The first match wins, so a target stands before those it extends.
template<typename Stages>
struct target_schedule {
    bool (*matches)(const Halide::Target &);
    void (*apply)(Stages &);
};

template<typename Stages>
constexpr target_schedule<Stages> target_schedules[] = {
    {[](const Halide::Target &t) { return t.has_feature(Halide::Target::AVX512_Skylake); }, schedule_x86_avx512},
    {[](const Halide::Target &t) { return t.has_feature(Halide::Target::AVX2); }, schedule_x86_avx2},
    {[](const Halide::Target &t) { return t.arch == Halide::Target::X86; }, schedule_x86_portable},
};

template<typename Stages>
void apply_first_match(const Halide::Target &target, Stages &stages) {
    for (const auto &candidate : target_schedules<Stages>) {
        if (candidate.matches(target)) {
            candidate.apply(stages);
            return;
        }
    }
    throw std::runtime_error("no schedule for target " + target.to_string());
}

}  // namespace

void apply_schedule(const Halide::Target &target, quantize_stages stages) { apply_first_match(target, stages); }
void apply_schedule(const Halide::Target &target, dequantize_stages stages) { apply_first_match(target, stages); }
void apply_schedule(const Halide::Target &target, transpose_stages stages) { apply_first_match(target, stages); }
void apply_schedule(const Halide::Target &target, pack_stages stages) { apply_first_match(target, stages); }
void apply_schedule(const Halide::Target &target, unpack_stages stages) { apply_first_match(target, stages); }

}  // namespace qdq
