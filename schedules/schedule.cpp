#include "targets.h"

#include <stdexcept>

namespace qdq {

namespace {

template<typename Schedules> const auto &find(const std::string &name, const Schedules &all) {
    for (const auto *each : all) {
        if (each->name == name) {
            return *each;
        }
    }
    throw std::invalid_argument("there is no schedule named \"" + name + "\"");
}

}  // namespace

const cpu_schedule &cpu_schedule_named(const std::string &name) { return find(name, cpu_schedules); }

const device_schedule &device_schedule_named(const std::string &name) { return find(name, device_schedules); }

}  // namespace qdq
