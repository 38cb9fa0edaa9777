#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qdq::model {

class json;

// printf's %.*f.
std::string fixed(double value, int digits);

// The fewest digits that give the same float.
std::string shortest(float value);

// "[384, 1536]"
std::string shape_text(const std::vector<int64_t> &shape);

// "90.9 MB", decimal units.
std::string bytes_text(uint64_t bytes);

// A text whose control characters, which would reach a terminal, and bytes that are no UTF-8, are written as \x1b.
// Where names, and bytes of files, leave qdq they pass here: messages as they become exceptions, tables, and reports.
std::string printable(std::string_view text);

// The same of each, as a list.
json printable(const std::vector<std::string> &texts);

// The message of an exception, escaped. Of a very long one the middle is left out.
std::string one_line(std::string_view message);

// The name of a tensor, which a file can make as long as it likes, without what follows its first 200 bytes.
std::string shortened(std::string_view name);

// "a, b, c and 4 more"
std::string some_of(const std::vector<std::string> &names);

// JSON in ASCII: U+009B is a control character to a terminal, and none that JSON must escape.
std::string json_text(const json &value, int indent = -1);

// The name of a tensor, which could not be printed as JSON if it were no UTF-8; throws failure where it is not.
std::string utf8_name(std::string name);

// Columns padded to their widest cell, the first `left` columns to the left and the others to the right. Widths count
// characters, not bytes.
std::string table(const std::vector<std::vector<std::string>> &rows, size_t left);

}  // namespace qdq::model
