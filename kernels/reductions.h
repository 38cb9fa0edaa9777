// How a kernel that reduces elements, for the scales of dynamic quantization, goes over its two dimensions, and what it
// finds.
#pragma once

#include <map>
#include <string>

namespace qdq::kernels {

enum class reduction {
    row,         // each row to one result; a row has at least the elements that are reduced at once
    short_rows,  // the same of rows of at least `short_step` elements, `short_rows` rows at a time
    column,      // each column to one result; columns are a multiple of the elements that are reduced at once
};

enum class reduced_numbers {
    extremes,    // what is furthest above and below zero
    magnitudes,  // what is furthest from zero, as a number above it: all that a scale without a zero point needs
};

constexpr int short_step = 16, short_rows = 16;  // results of short rows are rounded up to so many

inline const std::map<std::string, reduction> &reduction_names() {
    static const std::map<std::string, reduction> names = {
        {"row", reduction::row}, {"short_rows", reduction::short_rows}, {"column", reduction::column}};
    return names;
}

inline const std::map<std::string, reduced_numbers> &reduced_numbers_names() {
    static const std::map<std::string, reduced_numbers> names = {{"extremes", reduced_numbers::extremes},
                                                                 {"magnitudes", reduced_numbers::magnitudes}};
    return names;
}

}  // namespace qdq::kernels
