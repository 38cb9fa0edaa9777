// The tuned numbers of one target: schedules/tuned/<target>.json.
#pragma once

#include <string>

namespace qdq {

struct parameters {
    int quantize_vector;    // lanes in which codes are computed
    int dequantize_vector;  // lanes per store
    int dequantize_unroll;
};

// Throws std::runtime_error where the file is missing or lacks a number: generators report it and fail the build.
parameters read_parameters(const std::string &target_name);

}  // namespace qdq
