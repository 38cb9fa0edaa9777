#pragma once

#include "conversion/comparison.h"

#include <filesystem>
#include <string>
#include <vector>

namespace qdq::model {

// Writes a page of HTML, complete in itself, on what a comparison found: SQNR by layer, a histogram of errors, the
// worst tensors, and sizes by type. Replaces a file of this name.
void write_report(const std::filesystem::path &path, const std::vector<comparison> &all, const std::string &original,
                  const std::string &other);

// The same, of two files or folders that are compared for it.
void write_report(const std::filesystem::path &path, const std::string &original, const std::string &other);

}  // namespace qdq::model
