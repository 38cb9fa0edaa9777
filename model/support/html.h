#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace qdq::model {

// Text as HTML shows it: nothing of it is markup.
std::string without_markup(std::string_view text);

// The same of a name or another text of a file or path, printable and shortened.
std::string html(std::string_view text);

// Rows of texts, the first of which is the head, in a block of the class "wide".
std::string html_table(const std::vector<std::vector<std::string>> &rows);

}  // namespace qdq::model
