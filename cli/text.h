#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qdq_cli {

// printf's %.*f.
std::string fixed(double value, int digits);

// "[384, 1536]"
std::string shape_text(const std::vector<int64_t> &shape);

// "90.9 MB", decimal units.
std::string bytes_text(uint64_t bytes);

// A tensor name as it may be shown on a terminal: control characters, which a file can put there, are escaped, and what
// follows the first 200 bytes is left out.
std::string printable(std::string_view name);

// The name of a tensor, which could not be printed as JSON if it were no UTF-8; throws failure where it is not.
std::string utf8_name(std::string name);

// Columns padded to their widest cell, the first `left` columns to the left and the others to the right. Widths count
// characters, not bytes.
std::string table(const std::vector<std::vector<std::string>> &rows, size_t left);

// The same for standard output: where that is a terminal, and NO_COLOR is not set, the first row is in bold.
std::string terminal_table(const std::vector<std::vector<std::string>> &rows, size_t left);

}  // namespace qdq_cli
