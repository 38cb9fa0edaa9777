#include "support/text.h"

#include "support/error.h"
#include "support/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace qdq::model {

namespace {

bool starts_character(unsigned char utf8) { return (utf8 & 0xc0) != 0x80; }

struct character {
    char32_t code;
    size_t bytes;
};

// A byte that begins no character of UTF-8 counts as one, U+FFFF, which is none. So does the first one of a longer form
// than a character needs: 0xc1 0x81 would be an A.
character character_at(std::string_view text, size_t at) {
    auto first = static_cast<unsigned char>(text[at]);
    if (first < 0x80) {
        return {first, 1};
    }
    constexpr character none = {0xffff, 1};
    constexpr std::array<char32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
    size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc0 || first >= 0xf8 || bytes > text.size() - at) {
        return none;
    }
    char32_t code = first & (0x7f >> bytes);
    for (size_t i = 1; i < bytes; ++i) {
        auto next = static_cast<unsigned char>(text[at + i]);
        if (starts_character(next)) {
            return none;
        }
        code = code << 6 | (next & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code < 0xe000;
    return code < least[bytes] || code > 0x10ffff || surrogate ? none : character{code, bytes};
}

// Neither control characters, nor what ends a line, nor what turns the direction of others.
bool is_shown(char32_t code) {
    bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    bool line_or_direction = (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
                             code == 0x200e || code == 0x200f || code == 0x061c;
    return !control && !line_or_direction && code != 0xffff;
}

std::string hexadecimal(char byte) {
    char text[5];
    std::snprintf(text, sizeof text, "\\x%02x", static_cast<unsigned char>(byte));
    return text;
}

size_t width_of(std::string_view utf8) {
    return static_cast<size_t>(std::count_if(utf8.begin(), utf8.end(), starts_character));
}

std::vector<size_t> column_widths(const std::vector<std::vector<std::string>> &rows) {
    std::vector<size_t> widths;
    for (const auto &row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], width_of(printable(row[i])));
        }
    }
    return widths;
}

}  // namespace

std::string shortest(float value) {
    char buffer[32];
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

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

std::string printable(std::string_view text) {
    std::string shown;
    for (size_t at = 0; at < text.size();) {
        auto [code, bytes] = character_at(text, at);
        for (size_t end = at + bytes; at < end; ++at) {
            shown += is_shown(code) ? std::string(1, text[at]) : hexadecimal(text[at]);
        }
    }
    return shown;
}

json printable(const std::vector<std::string> &texts) {
    json list = json::array();
    for (const std::string &text : texts) {
        list.push_back(printable(text));
    }
    return list;
}

std::string shortened(std::string_view name) {
    constexpr size_t longest = 200;
    size_t end = std::min(name.size(), longest);
    while (end < name.size() && end > longest - 4 && !starts_character(static_cast<unsigned char>(name[end]))) {
        --end;
    }
    return std::string(name.substr(0, end)) + (end < name.size() ? "..." : "");
}

std::string one_line(std::string_view message) {
    constexpr size_t half = 4096;  // begins with a path, and ends with the reason
    if (message.size() <= 2 * half) {
        return printable(message);
    }
    return printable(message.substr(0, half)) + "..." + printable(message.substr(message.size() - half));
}

std::string some_of(const std::vector<std::string> &names) {
    constexpr size_t most = 5;
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), most); ++i) {
        text += (i == 0 ? "" : ", ") + shortened(names[i]);
    }
    return text + (names.size() > most ? " and " + std::to_string(names.size() - most) + " more" : "");
}

std::string json_text(const json &value, int indent) { return value.dump(indent, json::bytes::ascii); }

std::string utf8_name(std::string name) {
    try {
        static_cast<void>(json(name).dump());
    } catch (const json_error &) {
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
            std::string cell = printable(row[i]), padding(widths[i] - width_of(cell), ' ');
            line += (i ? "  " : "") + (i < left ? cell + padding : padding + cell);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

}  // namespace qdq::model
