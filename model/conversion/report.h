#pragma once

#include "conversion/comparison.h"
#include "recipe/recipe.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace qdq::model {

// What a report says of how it came to be, as far as it is known.
struct report_origin {
    std::string command;                   // for a shell; empty: not known
    const recipe *quantized_by = nullptr;  // what quantized the other file or folder; null: not known
};

// Throws where a page would replace what is none: a model, one of its files, or any other.
void check_report(const std::filesystem::path &path);

// Writes a page of HTML, complete in itself, on what a comparison found: SQNR by layer and module, a histogram of
// errors, all tensors, sizes by type, and its origin. Replaces a page of this name.
void write_report(const std::filesystem::path &path, const std::vector<comparison> &all, const std::string &original,
                  const std::string &other, const report_origin &origin);

// The same, of two files or folders that are compared for it.
void write_report(const std::filesystem::path &path, const std::string &original, const std::string &other,
                  const report_origin &origin);

}  // namespace qdq::model
