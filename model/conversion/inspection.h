#pragma once

#include "conversion/transformation.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qdq::model {

// What the values of a tensor are like.
struct statistics {
    float least = 0, most = 0;  // of those that are no NaN
    uint64_t zeros = 0, nans = 0;
};

// What a file holds of a tensor.
struct inspection {
    std::string name, type;
    std::vector<int64_t> shape;
    uint64_t bytes = 0;
    bool supported = true;             // its type is one that qdq reads
    std::optional<statistics> values;  // nothing: they are no numbers that qdq knows
    std::vector<int64_t> scale_shape;  // empty: not quantized
    statistics scales;
};

// Of all tensors of a file, which it reads.
std::vector<inspection> inspect(const tensor_reader &input, const progress_function &advance);

json to_json(const std::vector<inspection> &all, const std::vector<std::string> &warnings);

}  // namespace qdq::model
