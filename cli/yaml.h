#pragma once

#include "support/json.h"

#include <filesystem>

namespace qdq::cli {

// Whether a path is that of a file in YAML.
bool is_yaml(const std::filesystem::path &path);

// The content of such a file as JSON: scalars that are not quoted may be integers, true, false and null. Throws failure
// where it is no YAML, is beyond the bounds of parsing.h, or has what no recipe needs: tags, and keys twice. A build
// without yaml-cpp throws always.
model::json read_yaml(const std::filesystem::path &path);

}  // namespace qdq::cli
