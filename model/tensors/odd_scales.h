#pragma once

#include "tensors/tensor_file.h"

#include <string>
#include <vector>

namespace qdq::model {

// What scales in a file do that are none of a quantizer's: 0, negative, NaN or infinite. A sentence for each kind that
// it has, of all its tensors. Reads every scale.
std::vector<std::string> odd_scales(const tensor_reader &file);

}  // namespace qdq::model
