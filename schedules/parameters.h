// The tuned numbers of one target: schedules/tuned/<target>.json.
#pragma once

#include <string>

namespace qdq {

struct parameters {
    int vector;            // lanes of f32
    int byte_vector;       // lanes of codes of 8 bits that are narrowed directly
    int narrowing_vector;  // lanes in which codes that will be narrowed are computed
    int transpose_side;    // a transpose works on blocks of side x side
};

// Throws std::runtime_error where the file is missing or lacks a number: generators report it and fail the build.
parameters read_parameters(const std::string &target_name);

}  // namespace qdq
