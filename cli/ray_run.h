#pragma once

#include "commands.h"

namespace qdq::cli {

// What run_under_bar() does of a model's folder, by a Ray cluster: the Python package gives it a task for each shard.
// Throws usage_error where the input is no folder, failure where Python or the packages are missing, or end with an
// error, which they have printed.
void run_on_ray(const quantization &plan, const recipe &rules, const quantize_options &options);

}  // namespace qdq::cli
