#include "text.h"

#include "error.h"

#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>

namespace qdq_cli {

namespace {

bool starts_character(unsigned char utf8) { return (utf8 & 0xc0) != 0x80; }

size_t width_of(std::string_view utf8) {
    return static_cast<size_t>(std::count_if(utf8.begin(), utf8.end(), starts_character));
}

std::vector<size_t> column_widths(const std::vector<std::vector<std::string>> &rows) {
    std::vector<size_t> widths;
    for (const auto &row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], width_of(row[i]));
        }
    }
    return widths;
}

}  // namespace

std::string fixed(double value, int digits) {
    if (std::isnan(value)) {
        return "nan";  // of whichever sign
    }
    char buffer[400];
    std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
    return buffer;
}

std::string shape_text(const std::vector<int64_t> &shape) {
    std::string text = "[";
    for (size_t i = 0; i < shape.size(); ++i) {
        text += (i ? ", " : "") + std::to_string(shape[i]);
    }
    return text + "]";
}

std::string bytes_text(uint64_t bytes) {
    constexpr const char *units[] = {"kB", "MB", "GB", "TB"};
    if (bytes < 1000) {
        return std::to_string(bytes) + " B";
    }
    double value = static_cast<double>(bytes) / 1000;
    size_t unit = 0;
    for (; value >= 999.95 && unit + 1 < std::size(units); ++unit) {
        value /= 1000;
    }
    return fixed(value, 1) + " " + units[unit];
}

std::string printable(std::string_view name) {
    constexpr size_t longest = 200;
    std::string text;
    for (size_t i = 0; i < name.size(); ++i) {
        auto byte = static_cast<unsigned char>(name[i]);
        if (i >= longest && starts_character(byte)) {
            return text + "...";
        }
        auto next = static_cast<unsigned char>(i + 1 < name.size() ? name[i + 1] : 0);
        bool two_bytes = byte == 0xc2 && next < 0xa0;  // U+0080 .. U+009F
        if (byte < 0x20 || byte == 0x7f || two_bytes) {
            char escaped[5];
            std::snprintf(escaped, sizeof escaped, "\\x%02x", two_bytes ? next : byte);
            text += escaped;
            i += two_bytes;
        } else {
            text += name[i];
        }
    }
    return text;
}

std::string utf8_name(std::string name) {
    try {
        static_cast<void>(nlohmann::json(name).dump());
    } catch (const nlohmann::json::exception &) {
        throw failure("the name of a tensor or node is not valid UTF-8");
    }
    return name;
}

std::string table(const std::vector<std::vector<std::string>> &rows, size_t left) {
    std::vector<size_t> widths = column_widths(rows);
    std::string text;
    for (const auto &row : rows) {
        std::string line;
        for (size_t i = 0; i < row.size(); ++i) {
            std::string padding(widths[i] - width_of(row[i]), ' ');
            line += (i ? "  " : "") + (i < left ? row[i] + padding : padding + row[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string terminal_table(const std::vector<std::vector<std::string>> &rows, size_t left) {
    std::string text = table(rows, left);
    const char *no_color = std::getenv("NO_COLOR");
    if (isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0')) {
        text.insert(text.find('\n'), "\033[0m").insert(0, "\033[1m");
    }
    return text;
}

}  // namespace qdq_cli
