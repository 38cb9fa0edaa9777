#include "targets.h"

#include <stdexcept>

namespace qdq {

namespace {

template<typename Schedule>
const Schedule &find(const std::string &name, std::initializer_list<const Schedule *> all) {
    for (const Schedule *each : all) {
        if (each->name == name) {
            return *each;
        }
    }
    throw std::invalid_argument("there is no schedule named \"" + name + "\"");
}

}  // namespace

const cpu_schedule &cpu_schedule_named(const std::string &name) {
    return find(name, {&x86_avx512, &x86_avx2, &x86_portable, &arm_neon, &riscv_rvv});
}

const device_schedule &device_schedule_named(const std::string &name) { return find(name, {&cuda, &opencl}); }

}  // namespace qdq
