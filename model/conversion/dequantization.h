#pragma once

#include "conversion/transformation.h"

#include <memory>
#include <string>

namespace qdq::model {

// Throws usage_error where what is restored cannot go there, or not as `dtype`: F32, F16 or BF16; empty: as recorded.
std::unique_ptr<transformation> plan_dequantization(const std::string &input, const output_options &output,
                                                    const std::string &dtype, const std::string &profile);

}  // namespace qdq::model
