#pragma once

#include "conversion/transformation.h"

#include <memory>
#include <string>

namespace qdq::model {

// To the form that an output of this name has; `method` is the quant_method of a folder's config.json, or empty. Throws
// usage_error where there is none.
std::unique_ptr<transformation> plan_recoding(const std::string &input, const output_options &output,
                                              const std::string &method);

}  // namespace qdq::model
