#include "instructions.h"

#include <sstream>
#include <stdexcept>

namespace qdq {

namespace {

struct ability {
    const char *name;
    bool instructions::*has;
};

constexpr ability abilities[] = {
    {"fma", &instructions::fma},
    {"rounding", &instructions::rounding},
    {"f16", &instructions::f16},
    {"bf16", &instructions::bf16},
    {"saturating_narrow", &instructions::saturating_narrow},
    {"saturating_conversion", &instructions::saturating_conversion},
    {"number_minimum", &instructions::number_minimum},
    {"absolute", &instructions::absolute},
    {"fast_subnormals", &instructions::fast_subnormals},
    {"byte_shifts", &instructions::byte_shifts},
    {"shift_and_add", &instructions::shift_and_add},
    {"f64", &instructions::f64},
    {"lane_masks", &instructions::lane_masks},
    {"shared_select", &instructions::shared_select},
    {"ptx", &instructions::ptx},
    {"opencl", &instructions::opencl},
};
static_assert(sizeof(instructions) == sizeof(abilities) / sizeof(abilities[0]) * sizeof(bool),
              "an ability has no name");

bool instructions::*find(const std::string &name) {
    std::string known;
    for (const ability &each : abilities) {
        if (each.name == name) {
            return each.has;
        }
        known += std::string(known.empty() ? "" : ", ") + each.name;
    }
    throw std::invalid_argument("instructions: there is no ability \"" + name + "\"; there are " + known);
}

}  // namespace

instructions instructions_named(const std::string &names) {
    instructions all;
    std::istringstream rest(names);
    for (std::string name; std::getline(rest, name, ',');) {
        all.*find(name) = true;
    }
    return all;
}

void require(bool has, const char *method, const char *ability) {
    if (!has) {
        throw std::invalid_argument(std::string(method) + ", for which the target's instructions lack " + ability);
    }
}

}  // namespace qdq
