// The tuned numbers of one target: schedules/tuned/<target>.json.
#pragma once

#include <array>
#include <string>

namespace qdq {

struct parameters {
    int vector;                         // lanes of f32
    int stored_vector;                  // codes that are stored at once where they are narrowed directly
    int narrowing_vector;               // lanes in which codes that will be narrowed are computed
    int decoding_vector;                // lanes in which codes of 8 bits become 16
    std::array<int, 3> transpose_rows;  // of y in a block of a transpose, for elements of 1, 2 and 4 bytes
};

// Throws std::runtime_error where the file is missing or lacks a number: generators report it and fail the build.
parameters read_parameters(const std::string &target_name);

}  // namespace qdq
