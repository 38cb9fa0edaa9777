#include "support/html.h"

#include "support/text.h"

namespace qdq::model {

std::string without_markup(std::string_view text) {
    std::string escaped;
    for (char c : text) {
        switch (c) {
        case '<': escaped += "&lt;"; break;
        case '>': escaped += "&gt;"; break;
        case '&': escaped += "&amp;"; break;
        case '"': escaped += "&quot;"; break;
        default: escaped += c;
        }
    }
    return escaped;
}

std::string html(std::string_view text) { return without_markup(printable(shortened(text))); }

std::string html_table(const std::vector<std::vector<std::string>> &rows) {
    std::string text = "<div class=\"wide\"><table>\n";
    for (const std::vector<std::string> &row : rows) {
        const char *cell = &row == rows.data() ? "th" : "td";
        text += "<tr>";
        for (const std::string &value : row) {
            text += std::string("<") + cell + ">" + html(value) + "</" + cell + ">";
        }
        text += "</tr>\n";
    }
    return text + "</table></div>\n";
}

}  // namespace qdq::model
