// What the C++ examples share: a tensor on the screen, row by row.
#pragma once

#include <qdq/compat/common.hpp>

#include <cstdio>

inline void print_element(float value) { std::printf("%9.4f", static_cast<double>(value)); }
inline void print_element(int value) { std::printf("%5d", value); }

template<typename T> void print(const char *title, std::span<const T> values, std::int64_t columns) {
    std::printf("%s\n", title);
    for (std::size_t i = 0; i < values.size(); i++) {
        print_element(values[i]);
        if ((i + 1) % static_cast<std::size_t>(columns) == 0) {
            std::printf("\n");
        }
    }
}

// Of f32 or i8.
inline void print(const char *title, const qdq::compat::owned_tensor &y) {
    if (y.dtype() == qdq::dtype::f32) {
        print(title, y.values<float>().value(), y.shape().back());
    } else {
        print(title, y.values<std::int8_t>().value(), y.shape().back());
    }
}
